//! RFC 8387 §7.3: registration with the public key, signed updates, verification by any party.

mod building;

use building::*;
use motemix_broker::directory::Refusal;
use motemix_coap::link_format::{self, Link};
use motemix_coap::{Code, Method, Observe, Peer, Request, Response, format};
use motemix_object::{Audience, Credential, SealedReading};
use motemix_readings::base64url;

fn look_up(query: &str) -> Request {
    Request { query: vec![query.to_owned()], ..get(&["rd-lookup", "res"]) }
}

fn registration(device: &Device, lifetime: u32) -> Request {
    let links = format!("</t>;rt=temperature;key={}", base64url::encode(device.credential()));
    let request = with(Request::new(Method::Post, &["rd"]), format::LINK_FORMAT, links.as_bytes());
    let query = vec![format!("ep={:.8}", device.identity), format!("lt={lifetime}")];
    Request { query, ..request }
}

#[test]
fn a_device_registers_and_sleeps_and_an_application_verifies_what_it_never_heard_itself() {
    let mut device = Device::new(1);
    let mut building = Building::new(policy(), &[]);

    // An application waits for thermometers that are not there yet.
    let observe = Request { observe: Some(Observe::Register), ..look_up("rt=temperature") };
    let (response, settled) = building.ask(&stranger(1), 1, observe);
    assert_eq!((response.code, text(&response).as_str()), (Code::CONTENT, ""));
    assert!(settled.answers[0].observing);

    // One registers with its key, over OSCORE: the application hears of it.
    let (response, settled) = building.ask(&proven(&device), 1, registration(&device, 3600));
    assert_eq!(response.code, Code::CREATED, "{}", text(&response));
    assert_eq!(settled.notices.len(), 1);
    assert_eq!(settled.notices[0].relation, relation(&stranger(1), 1));
    let links = link_format::parse(&text(&settled.notices[0].response), 8).unwrap();
    let credential = base64url::decode(links[0].value("key").unwrap()).unwrap();
    let credential = Credential::parse(&credential).unwrap();

    // It makes itself a topic, publishes without protection, and sleeps.
    let identity = device.identity;
    let id = building.create(
        &proven(&device),
        &[
            (0, Property::Text("room/temperature")),
            (2, Property::Text("core.ps.data")),
            (3, Property::Number(18)),
            (DEVICE, Property::Bytes(identity.as_bytes())),
        ],
    );
    let reading = device.seal(21);
    assert_eq!(building.answer(&stranger(9), put(&id, 18, &reading)).code, Code::CREATED);

    // The application finds the topic by its device, reads, and trusts nobody on the way.
    let by_device = with(
        Request::new(Method::Fetch, &["ps"]),
        606,
        &map(&[(DEVICE, Property::Bytes(identity.as_bytes()))]),
    );
    assert_eq!(text(&building.answer(&stranger(1), by_device)), format!("</ps/{id}>"));
    let response = building.answer(&stranger(1), get(&["ps", "data", &id]));
    let sealed = SealedReading::parse(&response.payload).unwrap();
    assert_eq!(credential.identity().unwrap(), identity);
    let verified = sealed.verify(credential.key(), &identity, 0, Audience::new(NETWORK).unwrap()).unwrap();
    assert_eq!(verified.sequence(), 0);

    // A device that is gone for good drops out of the directory, and the application hears that.
    building.wait(3601);
    building.broker.expire(building.now);
    let settled = building.broker.stored();
    assert_eq!(settled.notices.len(), 1);
    assert_eq!(&*settled.notices[0].response.payload, b"");
}

#[test]
fn a_registration_by_somebody_else_is_refused_and_counted() {
    let (device, other) = (Device::new(1), Device::new(2));
    let mut building = Building::new(policy(), &[]);
    // A key that the caller does not hold, before and after its owner came.
    let response = building.answer(&stranger(1), registration(&device, 3600));
    assert_eq!(response.code, Code::UNAUTHORIZED, "{}", text(&response));
    assert_eq!(building.answer(&proven(&other), registration(&device, 3600)).code, Code::UNAUTHORIZED);
    assert_eq!(building.answer(&proven(&device), registration(&device, 3600)).code, Code::CREATED);
    let place = building.broker.state().registrations().next().unwrap().0.0.to_string();
    let remove = Request::new(Method::Delete, &["rd", &place]);
    for caller in [stranger(1), stranger(9), proven(&other)] {
        let response = building.answer(&caller, remove.clone());
        assert!(!response.code.is_success(), "{caller:?}");
    }
    assert!(building.broker.counters().directory.of(Refusal::Unproven) >= 3);
    assert_eq!(building.answer(&proven(&device), remove).code, Code::DELETED);
}

#[test]
fn observers_of_a_look_up_hear_of_what_changes_its_answer_alone() {
    let (device, other) = (Device::new(1), Device::new(2));
    let mut building = Building::new(policy(), &[]);
    let observe = |query: &str| Request { observe: Some(Observe::Register), ..look_up(query) };
    building.ask(&stranger(1), 1, observe("rt=humidity"));
    building.ask(&stranger(1), 2, observe(&format!("ep={:.8}", device.identity)));
    building.ask(&stranger(2), 3, observe(&format!("ep={:.8}", device.identity)));
    let told = |settled: &motemix_broker::Settled<u32>| settled.notices.len();

    let (_, settled) = building.ask(&proven(&other), 1, registration(&other, 3600));
    assert_eq!(told(&settled), 0);
    let (_, settled) = building.ask(&proven(&device), 1, registration(&device, 3600));
    assert_eq!(told(&settled), 2);
    // A renewal changes nothing that they see.
    building.wait(60);
    let (response, settled) = building.ask(&proven(&device), 1, registration(&device, 3600));
    assert_eq!((response.code, told(&settled)), (Code::CREATED, 0));
    building.broker.end(&relation(&stranger(1), 2));
    building.wait(3600);
    building.broker.expire(building.now);
    assert_eq!(told(&building.broker.stored()), 1);
}

#[test]
fn what_the_store_did_not_take_is_not_registered() {
    let device = Device::new(1);
    let mut building = Building::new(policy(), &[]);
    let caller = proven(&device);
    let (broker, now) = (&mut building.broker, building.now);
    broker.handle(now, &caller, 1, relation(&caller, 1), registration(&device, 3600));
    assert_eq!(broker.changes().len(), 1);
    let settled = broker.not_stored("the disk is full");
    assert_eq!(settled.answers[0].response.code, Code::SERVICE_UNAVAILABLE);
    assert_eq!(broker.state().registrations().len(), 0);
    assert_eq!(broker.next_expiry(), None);
}

#[test]
fn an_endpoint_that_only_asks_is_asked_for_its_links() {
    let mut building = Building::new(policy(), &[]);
    let caller = stranger(1);
    let simple =
        Request { query: vec!["ep=lamp".to_owned()], ..Request::new(Method::Post, &[".well-known", "rd"]) };
    let (broker, now) = (&mut building.broker, building.now);
    broker.handle(now, &caller, 5, relation(&caller, 1), simple);
    let pending = broker.poll_fetch().unwrap();
    assert!(broker.poll_fetch().is_none());
    assert_eq!(Peer::Datagram(pending.fetch.to), caller.peer);
    assert_eq!(pending.fetch.request.path, [".well-known", "core"]);
    assert!(broker.stored().answers.is_empty());

    let links = link_format::emit(&[Link::new("/on").with("rt", "light")]);
    let said = Response::content(Code::CONTENT, format::LINK_FORMAT, links.into_bytes());
    broker.fetched(now, pending.ticket, &pending.fetch.registrant, Some(&said));
    assert_eq!(broker.changes().len(), 1);
    let settled = broker.stored();
    assert_eq!((settled.answers[0].ticket, settled.answers[0].response.code), (5, Code::CHANGED));
    assert!(text(&building.answer(&stranger(2), look_up("rt=light"))).contains("/on"));
}
