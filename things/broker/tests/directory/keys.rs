//! Devices that register their keys (RFC 8387 §7.3), and who would like to be one of them.

use motemix_broker::directory::Refusal;
use motemix_broker::{Caller, Change};
use motemix_coap::Request;
use motemix_coap::link_format::parse;
use motemix_object::{Algorithm, Freshness, Order, Policy, Stale};

use crate::desk::{Device, Town, at, mote, request};

const HOME: &str = "[2001:db8::17]:5683";
const ELSEWHERE: &str = "[2001:db8:bad::1]:5683";

/// The directory after a device has registered as `attic`.
fn town_with(device: &mut Device) -> (Town, String) {
    let mut town = Town::new();
    let place = town.registered(&at(HOME), &device.registration("attic"));
    (town, place)
}

/// All parts of the answer that say something of the directory.
fn says_nothing(town: &mut Town, caller: &Caller, request: &Request) {
    let response = town.ask(caller, request);
    assert!(response.location_path.is_empty() && response.content_format.is_none());
    let text = std::str::from_utf8(&response.payload).unwrap();
    assert!(!text.contains(|character: char| character.is_ascii_digit()), "{text}");
}

#[test]
fn a_device_registers_its_key_and_everybody_finds_it() {
    for algorithm in [Algorithm::Ed25519, Algorithm::Es256] {
        let mut device = Device::new(1, algorithm);
        let (mut town, place) = town_with(&mut device);
        let shown = device.links().replace("</temp>", "<coap://[2001:db8::17]/temp>").replace('"', "");
        assert_eq!(town.found("/rd-lookup/res"), shown);
        let key = parse(&shown, 1).unwrap()[0].value("key").unwrap().to_owned();
        // Who has a key finds its endpoint, and who has the endpoint finds its key.
        let endpoint = town.found(&format!("/rd-lookup/ep?key={key}"));
        let link = format!("<{place}>;base=coap://[2001:db8::17];ep=attic;key={key};rt=core.rd-ep");
        assert_eq!(endpoint, link);
        let registered: Vec<_> = town.state.registrations().map(|(_, found)| found.device).collect();
        assert_eq!(registered, [Some(device.identity)]);
    }
}

#[test]
fn a_key_that_nobody_proves_is_not_registered() {
    let (mut town, mut device, mut mallory) = (Town::new(), mote(1), mote(2));
    let line = "POST /rd?ep=attic&base=coap://[2001:db8::17]";
    let plain = request(line, &device.links());
    town.refuses(&at(HOME), &plain, "4.01", Refusal::Unproven);
    // Somebody who has a key, and is not who he says he is.
    town.refuses(&mallory.proven(ELSEWHERE), &plain, "4.01", Refusal::Unproven);
    let signed_by_another = mallory.signed(plain.clone());
    town.refuses(&at(ELSEWHERE), &signed_by_another, "4.03", Refusal::NotHeld);
    for proof in ["", "%", "AA", "hEOhASc"] {
        let mut malformed = plain.clone();
        malformed.query.push(format!("proof={proof}"));
        town.refuses(&at(HOME), &malformed, "4.00", Refusal::Malformed);
    }
    town.registered(&at(HOME), &device.signed(plain));
}

/// A registration by somebody else.
#[test]
fn a_registration_by_somebody_else_does_not_take_a_devices_name() {
    let mut device = mote(1);
    let (mut town, place) = town_with(&mut device);
    let (before, mut mallory) = (town.found("/rd-lookup/res"), mote(2));
    // With his own key, which he holds; without a key, from the same address too.
    town.refuses(&at(ELSEWHERE), &mallory.registration("attic"), "4.03", Refusal::Foreign);
    let keyless = request("POST /rd?ep=attic&base=coap://mallory", "</temp>;rt=temperature");
    town.refuses(&at(ELSEWHERE), &keyless, "4.03", Refusal::Foreign);
    town.refuses(&at(HOME), &keyless, "4.03", Refusal::Foreign);
    // Updates and removals, without a proof, with his own, and as himself.
    for line in [format!("POST {place}?base=coap://mallory"), format!("DELETE {place}")] {
        let plain = request(&line, "");
        town.refuses(&at(HOME), &plain, "4.01", Refusal::Unproven);
        town.refuses(&mallory.proven(HOME), &plain, "4.01", Refusal::Unproven);
        let signed = mallory.signed(plain);
        town.refuses(&at(HOME), &signed, "4.03", Refusal::NotHeld);
    }
    assert_eq!(town.found("/rd-lookup/res"), before);
}

#[test]
fn a_device_updates_and_removes_what_it_registered() {
    let mut device = mote(1);
    let (mut town, place) = town_with(&mut device);
    let update = device.signed(request(&format!("POST {place}?lt=60&base=coap://new"), ""));
    assert_eq!(town.said(&at(ELSEWHERE), &update).0, "2.04");
    assert!(town.found("/rd-lookup/ep").contains("base=coap://new;"));
    // An update that says no base keeps the one that was signed, wherever it comes from.
    let renewal = device.signed(request(&format!("POST {place}"), ""));
    assert_eq!(town.said(&at(ELSEWHERE), &renewal).0, "2.04");
    assert!(town.found("/rd-lookup/ep").contains("base=coap://new;"));
    let removal = device.signed(request(&format!("DELETE {place}"), ""));
    assert_eq!(town.said(&at(ELSEWHERE), &removal).0, "2.02");
    assert_eq!(town.state.registrations().len(), 0);
}

#[test]
fn a_device_under_oscore_needs_no_signature() {
    let (mut town, device) = (Town::new(), mote(1));
    let place = town.registered(&device.proven(HOME), &request("POST /rd?ep=attic", &device.links()));
    let update = request(&format!("POST {place}?lt=60"), "");
    assert_eq!(town.said(&device.proven(HOME), &update).0, "2.04");
    town.refuses(&at(HOME), &update, "4.01", Refusal::Unproven);
    let removal = request(&format!("DELETE {place}"), "");
    assert_eq!(town.said(&device.proven(ELSEWHERE), &removal).0, "2.02");
}

/// A device whose address has changed since it registered without proving anything: when it proves
/// its key, and the operator has listed it, the registration moves at once.
#[test]
fn a_listed_device_that_proves_its_key_takes_what_an_address_registered() {
    let (mut device, stranger) = (mote(1), mote(2));
    let listed = [device.identity].into();
    let mut town = Town::with(|settings| settings.devices = Some(listed));
    town.registered(&at("192.0.2.7:5683"), &request("POST /rd?ep=attic", "</temp>"));
    // Neither an address nor a key that nobody has listed.
    let plain = request("POST /rd?ep=attic", "</temp>");
    town.refuses(&at("192.0.2.8:5683"), &plain, "4.03", Refusal::Foreign);
    town.refuses(&stranger.proven("192.0.2.8:5683"), &plain, "4.03", Refusal::Foreign);
    let shown = request("POST /rd?ep=attic&base=coap://192.0.2.8", &device.links());
    town.refuses(&at("192.0.2.8:5683"), &shown, "4.01", Refusal::Unproven);
    // Under OSCORE, and by a signature.
    town.registered(&device.proven("192.0.2.8:5683"), &plain);
    assert_eq!(town.found("/rd-lookup/res"), "<coap://192.0.2.8/temp>");
    town.refuses(&at("192.0.2.7:5683"), &plain, "4.03", Refusal::Foreign);
    let mut town = Town::with(|settings| settings.devices = Some([device.identity].into()));
    town.registered(&at("192.0.2.7:5683"), &request("POST /rd?ep=attic", "</temp>"));
    town.registered(&at("192.0.2.9:5683"), &device.registration("attic"));
    assert!(town.found("/rd-lookup/ep").contains("base=coap://[2001:db8::17];"));
}

/// A device that has proven its key moves with each request, whatever its address is.
#[test]
fn a_device_under_oscore_moves_its_registration_at_once() {
    let (mut town, device) = (Town::new(), mote(1));
    let place = town.registered(&device.proven("192.0.2.7:5683"), &request("POST /rd?ep=attic", "</t>"));
    let update = request(&format!("POST {place}"), "");
    assert_eq!(town.said(&device.proven("198.51.100.9:777"), &update).0, "2.04");
    assert_eq!(town.found("/rd-lookup/res"), "<coap://198.51.100.9:777/t>");
    town.registered(&device.proven("203.0.113.1:5683"), &request("POST /rd?ep=attic", "</new>"));
    assert_eq!(town.found("/rd-lookup/res"), "<coap://203.0.113.1/new>");
}

/// Links in an update: of a registration with a key they show the same key.
#[test]
fn the_links_of_an_update_keep_the_registrations_key() {
    let mut device = mote(1);
    let (mut town, place) = town_with(&mut device);
    let links = format!("{},</new>", device.links());
    let update = device.signed(request(&format!("POST {place}"), &links));
    assert_eq!(town.said(&at(HOME), &update).0, "2.04");
    assert!(town.found(&place).ends_with(",</new>"));
    for links in ["</new>".to_owned(), mote(2).links()] {
        let update = device.signed(request(&format!("POST {place}"), &links));
        town.refuses(&at(HOME), &update, "4.00", Refusal::Malformed);
    }
    // A broken link with the key in it is not left out: the device would be registered without one.
    for broken in
        [device.links().replace("</temp>", "<//temp>"), device.links().replace("</temp>", "</t emp>")]
    {
        let line = "POST /rd?ep=attic&base=coap://[2001:db8::17]";
        let signed = device.signed(request(line, &format!("</ok>,{broken}")));
        town.refuses(&at(HOME), &signed, "4.00", Refusal::Format);
    }
}

/// Replay of a registration.
#[test]
fn a_recorded_registration_changes_nothing_and_gives_nothing_away() {
    let mut device = mote(1);
    let mut town = Town::new();
    let registration = device.registration("attic");
    let place = town.registered(&at(HOME), &registration);
    let update = device.signed(request(&format!("POST {place}?lt=86400"), ""));
    town.ask(&at(HOME), &update);
    for recorded in [&registration, &update] {
        town.refuses(&at(ELSEWHERE), recorded, "4.03", Refusal::NotHeld);
        says_nothing(&mut town, &at(ELSEWHERE), recorded);
    }
    let removal = device.signed(request(&format!("DELETE {place}"), ""));
    town.ask(&at(HOME), &removal);
    // Not when it is gone either: numbers outlive registrations.
    town.refuses(&at(ELSEWHERE), &registration, "4.03", Refusal::NotHeld);
    town.refuses(&at(ELSEWHERE), &removal, "4.04", Refusal::Absent);
    // Nor does one that was signed before and held back.
    device.next = 1;
    let held_back = device.registration("attic");
    town.refuses(&at(ELSEWHERE), &held_back, "4.03", Refusal::NotHeld);
    device.next = 3;
    town.registered(&at(HOME), &device.registration("attic"));
    // The last number has none above it.
    device.next = u64::MAX;
    let last = device.signed(request(&format!("DELETE {place}"), ""));
    town.refuses(&at(HOME), &last, "4.03", Refusal::NotHeld);
}

/// A forged base, and everything else that a carrier could change.
#[test]
fn whoever_carries_a_registration_changes_nothing_of_it() {
    let (mut town, mut device) = (Town::new(), mote(1));
    let links = device.links();
    let line = "POST /rd?ep=attic&base=coap://[2001:db8::17]&lt=60&et=x";
    let signed = device.signed(request(line, &links));
    let forge = |change: &dyn Fn(&mut Request)| {
        let mut forged = signed.clone();
        change(&mut forged);
        forged
    };
    let swap = |from: &'static str, to: &'static str| {
        forge(&|forged| {
            let place = forged.query.iter_mut().find(|parameter| **parameter == from).unwrap();
            *place = to.to_owned();
        })
    };
    for forged in [
        swap("base=coap://[2001:db8::17]", "base=coap://[2001:db8:bad::1]"),
        swap("ep=attic", "ep=cellar"),
        swap("lt=60", "lt=4294967295"),
        swap("et=x", "et=y"),
        forge(&|forged| drop(forged.query.remove(3))),
        forge(&|forged| forged.query.insert(0, "d=hall".to_owned())),
        forge(&|forged| forged.query.swap(0, 1)),
        forge(&|forged| forged.payload.extend(b",<http://mallory/>;rt=temperature")),
        forge(&|forged| {
            let at = forged.payload.windows(4).position(|bytes| bytes == b"temp").unwrap();
            forged.payload[at] = b'T';
        }),
    ] {
        town.refuses(&at(ELSEWHERE), &forged, "4.03", Refusal::NotHeld);
    }
    // Two proofs: which of them counts is not for a carrier to choose.
    let twice = forge(&|forged| forged.query.push("proof=AA".to_owned()));
    town.refuses(&at(ELSEWHERE), &twice, "4.00", Refusal::Malformed);
    let place = town.registered(&at(HOME), &signed);
    // An update does not become a removal, nor one of another place.
    let mut removal = device.signed(request(&format!("POST {place}"), ""));
    removal.method = motemix_coap::Method::Delete;
    town.refuses(&at(HOME), &removal, "4.03", Refusal::NotHeld);
}

#[test]
fn a_signed_registration_says_its_base() {
    // Otherwise whoever passes it on puts his own address there.
    let (mut town, mut device) = (Town::new(), mote(1));
    let links = device.links();
    let baseless = device.signed(request("POST /rd?ep=attic", &links));
    town.refuses(&at(ELSEWHERE), &baseless, "4.00", Refusal::Malformed);
    assert_eq!(town.state.freshness(&device.identity), None);
}

#[test]
fn what_was_signed_for_another_network_holds_nowhere_else() {
    let (mut town, mut device) = (Town::new(), mote(1));
    let links = device.links();
    let plain = request("POST /rd?ep=attic&base=coap://h", &links);
    for audience in ["", "plants"] {
        let foreign = device.signed_for(audience, plain.clone());
        town.refuses(&at(HOME), &foreign, "4.03", Refusal::NotHeld);
    }
}

#[test]
fn a_registration_moves_the_numbers_of_readings_on_and_never_back() {
    let mut device = mote(1);
    let mut town = Town::new();
    device.next = 700;
    town.registered(&at(HOME), &device.registration("attic"));
    let fresh = town.state.freshness(&device.identity).unwrap();
    assert_eq!(fresh.next(), 701);
    assert_eq!(fresh.check(600, Policy { order: Order::Window, threshold: 9 }), Err(Stale::Late));
    // Readings came meanwhile: a registration that was signed before them is late.
    let later = Freshness::starting_at(800);
    town.state.apply(Change::Freshness(device.identity, Some(later)));
    let late = device.registration("attic");
    town.refuses(&at(HOME), &late, "4.03", Refusal::NotHeld);
    assert_eq!(town.state.freshness(&device.identity), Some(later));
}

#[test]
fn only_listed_devices_register_if_there_is_a_list() {
    let (mut listed, mut stranger) = (mote(1), mote(2));
    let mut town = Town::with(|settings| {
        settings.devices = Some([listed.identity].into());
        settings.keyless = false;
    });
    town.registered(&at(HOME), &listed.registration("attic"));
    town.refuses(&at(HOME), &stranger.registration("hall"), "4.03", Refusal::Forbidden);
    // Nor without a key, whoever he proves to be.
    let keyless = request("POST /rd?ep=hall", "</t>");
    town.refuses(&at(HOME), &keyless, "4.03", Refusal::Forbidden);
    town.refuses(&stranger.proven(HOME), &keyless, "4.03", Refusal::Forbidden);
    town.registered(&listed.proven(HOME), &keyless);
}

#[test]
fn who_is_taken_off_the_list_changes_nothing_any_more() {
    let mut device = mote(1);
    let (mut town, place) = town_with(&mut device);
    town.settings.devices = Some([].into());
    let update = device.signed(request(&format!("POST {place}"), ""));
    town.refuses(&at(HOME), &update, "4.03", Refusal::Forbidden);
}

#[test]
fn the_text_of_a_label_is_a_name_for_that_device_alone() {
    let (mut device, mut mallory) = (mote(1), mote(2));
    for name in [format!("MOTEMIX:ID:{:.32}", device.identity), format!("motemix:id:{:.32}", device.identity)]
    {
        let mut town = Town::new();
        town.refuses(&at(HOME), &mallory.registration(&name), "4.03", Refusal::Forbidden);
        let keyless = request(&format!("POST /rd?ep={name}"), "</t>");
        town.refuses(&at(HOME), &keyless, "4.03", Refusal::Forbidden);
        town.registered(&at(HOME), &device.registration(&name));
    }
    let mut town = Town::new();
    let nobodys = device.registration("MOTEMIX:ID:0123");
    town.refuses(&at(HOME), &nobodys, "4.03", Refusal::Forbidden);
}

#[test]
fn who_proved_himself_keeps_what_he_registered_without_a_key() {
    let (mut town, tool) = (Town::new(), mote(3));
    let line = request("POST /rd?ep=lamp&base=coap://lamp", "</on>");
    let place = town.registered(&tool.proven(HOME), &line);
    let update = request(&format!("POST {place}"), "");
    // Not even from his address.
    town.refuses(&at(HOME), &update, "4.03", Refusal::Foreign);
    assert_eq!(town.said(&tool.proven(ELSEWHERE), &update).0, "2.04");
}

#[test]
fn a_registration_keeps_its_key() {
    let mut device = mote(1);
    let (mut town, place) = town_with(&mut device);
    // Not even its holder drops it, or others could have the name by its address.
    let without = device.signed(request("POST /rd?ep=attic&base=coap://h", "</temp>"));
    town.refuses(&at(HOME), &without, "4.03", Refusal::Foreign);
    let removal = device.signed(request(&format!("DELETE {place}"), ""));
    town.ask(&at(HOME), &removal);
    let (mut next, line) = (mote(2), "attic");
    town.registered(&at(HOME), &next.registration(line));
}

#[test]
fn malformed_and_two_keys_are_refused() {
    let (mut town, mut one, two) = (Town::new(), mote(1), mote(2));
    let both = format!("{},{}", one.links(), two.links());
    for links in [&*both, "</t>;key", "</t>;key=\"\"", "</t>;key=\"?\"", "</t>;key=AAAA", "</t>;key=a;key=b"]
    {
        let signed = one.signed(request("POST /rd?ep=a&base=coap://h", links));
        town.refuses(&at(HOME), &signed, "4.00", Refusal::Malformed);
    }
    // As an attribute of the endpoint nobody would have proven it.
    let key = one.links().split_once("key=").unwrap().1.replace('"', "");
    let spoofed = request(&format!("POST /rd?ep=a&key={key}"), "</t>");
    town.refuses(&at(HOME), &spoofed, "4.00", Refusal::Malformed);
    // A proof of nothing.
    let keyless = one.signed(request("POST /rd?ep=a&base=coap://h", "</t>"));
    town.refuses(&at(HOME), &keyless, "4.00", Refusal::Malformed);
    // The same key with several links is one.
    let links = format!("{},{}", one.links(), one.links().replace("temp", "humidity"));
    let signed = one.signed(request("POST /rd?ep=a&base=coap://h", &links));
    town.registered(&at(HOME), &signed);
}
