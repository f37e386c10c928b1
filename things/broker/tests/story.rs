//! RFC 8387 §7.3: registration with the public key, signed updates, verification by any party.

mod building;

use building::*;
use motemix_broker::directory::Refusal;
use motemix_broker::state::{RegistrationId, TopicId};
use motemix_broker::store::{Retention, Sqlite};
use motemix_broker::{Broker, Store as _};
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

/// A clock that was a day ahead, while somebody registered, published and observed, and what is in
/// the store then. The clock is right from `building.now` on.
fn after_a_day_ahead(building: &mut Building, store: &mut Sqlite) -> (String, RegistrationId) {
    let keyless = Request {
        query: ["ep=shed", "lt=3600", "base=coap://[2001:db8::7]"].map(str::to_owned).to_vec(),
        ..with(Request::new(Method::Post, &["rd"]), format::LINK_FORMAT, b"</t>;rt=temperature")
    };
    let mut ask = |building: &mut Building, request: Request| {
        building.broker.handle(building.now, &local(), 7, relation(&local(), 1), request);
        store.commit(building.broker.changes()).unwrap();
        building.broker.stored().answers.remove(0).response
    };
    let right = building.now;
    building.wait(DAY);
    let made = ask(building, post(&[(0, Property::Text("cellar")), (2, Property::Text("core.ps.data"))]));
    let topic = made.location_path[1].clone();
    for (degrees, code) in [("20", Code::CREATED), ("21", Code::CHANGED)] {
        assert_eq!(ask(building, put(&topic, 0, degrees.as_bytes())).code, code);
    }
    let registered = ask(building, keyless);
    assert_eq!(registered.code, Code::CREATED, "{}", text(&registered));
    assert!(building.observe(&stranger(1), 2, &topic).1);
    building.now = right;
    (topic, RegistrationId(registered.location_path[1].as_str().into()))
}

const DAY: u64 = 24 * 3600;

#[test]
fn what_was_stored_while_the_clock_was_ahead_is_as_old_as_when_it_was_set_right() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Sqlite::open(folder.path(), Retention::default()).unwrap();
    let mut store = open();
    let mut building = Building::new(policy(), &[]);
    let (topic, registration) = after_a_day_ahead(&mut building, &mut store);
    let (topic, right) = (TopicId(topic.as_str().into()), building.now);
    let passes = |building: &mut Building, store: &mut Sqlite, seconds: u64| {
        building.wait(seconds);
        building.broker.expire(building.now);
        store.commit(building.broker.changes()).unwrap();
        building.broker.stored()
    };
    // For some minutes it may be the present clock that is wrong.
    for seconds in [0, 50, 50, 50, 50, 50] {
        assert_eq!(passes(&mut building, &mut store, seconds).feed, []);
    }
    let settled = passes(&mut building, &mut store, 50);
    assert_eq!(settled.feed.len(), 2);
    assert_eq!(settled.notices, [], "observers have this value");
    // So it is after a start as well, and the history has no value twice.
    drop(store);
    let mut store = open();
    let state = store.load().unwrap();
    assert_eq!(state.value(&topic).unwrap().published, right);
    assert_eq!(state.registration(&registration).unwrap().expires, right.plus_secs(3600));
    assert_eq!(store.history(&topic, 10, None).unwrap().len(), 2);
    // Whoever observes is asked within a day from when it was set right, not from the false day.
    let mut asked = 0;
    while building.now < right.plus_secs(DAY) {
        let settled = passes(&mut building, &mut store, 50);
        asked += settled.notices.iter().filter(|notice| notice.confirm).count();
    }
    assert_eq!(asked, 1);
    // The endpoint that did not come back is gone since, as it would be with a right clock.
    assert!(building.broker.state().registration(&registration).is_none());
}

#[test]
fn a_start_sets_moments_right_unless_its_clock_was_behind_until_a_time_server_answered() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Sqlite::open(folder.path(), Retention::default()).unwrap();
    let mut building = Building::new(policy(), &[]);
    after_a_day_ahead(&mut building, &mut store);
    // A start with a clock that is right, and stays so.
    let mut right = Broker::<u32>::new(policy(), store.load().unwrap());
    for minute in 0..=5 {
        assert_eq!(right.changes(), []);
        right.expire(START.plus_secs(60 * minute));
    }
    assert_eq!(right.changes().len(), 2);
    // A start with the clock of the day before. After a minute it is set.
    let mut broker = Broker::<u32>::new(policy(), store.load().unwrap());
    for minute in [0, 1] {
        broker.expire(START.plus_secs(60 * minute));
    }
    for second in [5, 305, 400, 700] {
        broker.expire(START.plus_secs(DAY + second));
    }
    assert_eq!(broker.changes(), []);
}
