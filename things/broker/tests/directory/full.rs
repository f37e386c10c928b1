//! A full directory says so, and keeps what it has.

use motemix_broker::directory::Refusal;

use crate::desk::{Town, at, mote, request};

fn registration(name: u32) -> motemix_coap::Request {
    request(&format!("POST /rd?ep=n{name}"), "</t>")
}

#[test]
fn a_full_directory_takes_renewals_and_nobody_else() {
    let mut town = Town::with(|settings| settings.registrations = 3);
    for name in 0..3 {
        town.registered(&at("192.0.2.7:5683"), &registration(name));
    }
    let response = town.ask(&at("192.0.2.8:5683"), &registration(3));
    assert_eq!((response.code.to_string().as_str(), response.max_age), ("5.03", Some(60)));
    assert_eq!(town.refused.of(Refusal::Full), 1);
    town.registered(&at("192.0.2.7:5683"), &registration(1));
    assert_eq!(town.state.registrations().len(), 3);
}

#[test]
fn one_network_does_not_fill_the_directory() {
    let mut town = Town::with(|settings| settings.registrations_of_a_network = 2);
    // Whoever has one address of a network has 2⁶⁴ of them.
    for (name, from) in [(0, "[2001:db8:0:1::1]:5683"), (1, "[2001:db8:0:1:ffff::2]:5683")] {
        town.registered(&at(from), &registration(name));
    }
    let response = town.ask(&at("[2001:db8:0:1::3]:5683"), &registration(2));
    assert_eq!((response.code.to_string().as_str(), response.max_age), ("4.29", Some(60)));
    assert_eq!(town.refused.of(Refusal::Crowded), 1);
    town.registered(&at("[2001:db8:0:2::3]:5683"), &registration(2));
}

#[test]
fn a_registration_has_so_many_bytes_and_links() {
    let mut town = Town::with(|settings| (settings.links, settings.registration_bytes) = (2, 100));
    let from = at("192.0.2.7:5683");
    let most = format!("</{}>,</b>", "a".repeat(88));
    town.registered(&from, &request("POST /rd?ep=a", &most));
    let more = format!("</{}>,</b>", "a".repeat(89));
    town.refuses(&from, &request("POST /rd?ep=a", &more), "4.13", Refusal::Large);
    town.refuses(&from, &request("POST /rd?ep=a", "</a>,</b>,</c>"), "4.13", Refusal::Large);
}

#[test]
fn an_operator_may_want_short_lives_of_those_without_a_key() {
    let mut town = Town::with(|settings| settings.keyless_lifetime = 90_000);
    let from = at("192.0.2.7:5683");
    let place = town.registered(&from, &request("POST /rd?ep=a&lt=90000", "</t>"));
    for line in ["POST /rd?ep=b&lt=90001".to_owned(), format!("POST {place}?lt=90001")] {
        town.refuses(&from, &request(&line, ""), "4.00", Refusal::Forbidden);
    }
    let mut device = mote(1);
    let links = device.links();
    let long = device.signed(request("POST /rd?ep=c&base=coap://h&lt=4294967295", &links));
    town.registered(&from, &long);
}

#[test]
fn the_broker_remembers_numbers_of_so_many_devices() {
    let mut town = Town::with(|settings| settings.known_devices = 1);
    let from = at("192.0.2.7:5683");
    let (mut first, mut second) = (mote(1), mote(2));
    town.registered(&from, &first.registration("a"));
    town.refuses(&from, &second.registration("b"), "5.03", Refusal::Full);
    town.registered(&from, &first.registration("a"));
}

#[test]
fn a_long_answer_is_asked_for_in_pages() {
    let mut town = Town::with(|settings| settings.look_up_bytes = 60);
    let from = at("192.0.2.7:5683");
    town.registered(&from, &request("POST /rd?ep=a", "</a>,</b>,</c>"));
    town.refuses(&from, &request("GET /rd-lookup/res", ""), "4.00", Refusal::Long);
    let page = |page| format!("/rd-lookup/res?count=2&page={page}");
    assert_eq!(town.found(&page(0)), "<coap://192.0.2.7/a>,<coap://192.0.2.7/b>");
    assert_eq!(town.found(&page(1)), "<coap://192.0.2.7/c>");
    assert_eq!(town.found("/rd-lookup/res?count=2&page=18446744073709551615"), "");
    assert_eq!(town.found("/rd-lookup/res?count=0"), "");
}

#[test]
fn a_device_that_the_operator_lists_has_its_place_whoever_has_taken_all_others() {
    let mut town = Town::with(|settings| (settings.known_devices, settings.registrations) = (1, 2));
    let from = at("192.0.2.7:5683");
    let (mut stranger, mut listed) = (mote(1), mote(2));
    town.registered(&from, &stranger.registration("a"));
    town.registered(&from, &registration(1));
    town.refuses(&from, &listed.registration("b"), "5.03", Refusal::Full);
    // The operator does what the refusal asks for.
    town.settings.devices = Some([listed.identity].into());
    town.registered(&from, &listed.registration("b"));
    town.refuses(&from, &registration(2), "5.03", Refusal::Full);
}

#[test]
fn who_shows_no_key_has_a_place_for_a_week_at_most_unless_the_operator_says_otherwise() {
    let mut town = Town::new();
    let from = at("192.0.2.7:5683");
    let forever = request("POST /rd?ep=a&lt=4294967295", "</t>");
    let text = town.refuses(&from, &forever, "4.00", Refusal::Forbidden);
    assert_eq!(text, "lt= is at most 604800 without a key");
    let place = town.registered(&from, &request("POST /rd?ep=a&lt=604800", "</t>"));
    town.wait(604_801);
    assert_eq!(town.found("/rd-lookup/ep?ep=a"), "", "{place}");
}

#[test]
fn a_listed_device_has_one_place_of_its_own_and_takes_no_others_beyond_the_bounds() {
    let mut town =
        Town::with(|settings| (settings.registrations, settings.registrations_of_a_network) = (3, 2));
    let from = at("192.0.2.7:5683");
    let mut listed = mote(1);
    town.settings.devices = Some([listed.identity].into());
    town.registered(&from, &registration(1));
    town.registered(&from, &registration(2));
    town.registered(&from, &listed.registration("a"));
    town.refuses(&from, &listed.registration("b"), "5.03", Refusal::Full);
    town.settings.registrations = 4;
    listed.next -= 1;
    town.refuses(&from, &listed.registration("b"), "4.29", Refusal::Crowded);
    // It renews what it has.
    listed.next -= 1;
    town.registered(&from, &listed.registration("a"));
}
