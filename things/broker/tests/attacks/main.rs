//! Attacks of the table in `docs/explanation/broker-attacks.md`, and what comes of it.

#[path = "../building/mod.rs"]
mod building;
mod look_ups;

use building::*;
use motemix_broker::{Policy, Refused};
use motemix_coap::{Code, Method, Observe, Request, format};
use motemix_object::Path;

const COSE: u16 = format::COSE_SIGN1;

#[test]
fn a_flood_of_observers_takes_a_peer_s_places_and_nobody_else_s() {
    let policy = parse("[limits]\nobservers = 40\nobservers_of_a_peer = 5\n[rates]\nburst = 1000");
    let mut building = Building::new(policy, &[]);
    let id = building.topic("room");
    building.answer(&local(), put(&id, 60, &[1]));

    let accepted = (0..100).filter(|token| building.observe(&stranger(1), *token, &id).1).count();
    assert_eq!(accepted, 5);
    assert!(building.observe(&stranger(2), 1, &id).1);
    // Ports and the last 64 bits of an address are an attacker's to choose.
    let mut near = stranger(1);
    near.peer = motemix_coap::Peer::Datagram("[2001:db8:0:1:ffff::2]:9".parse().unwrap());
    assert!(!building.observe(&near, 1, &id).1);
    // Many addresses fill all places; they are reported, and none takes one from who was here.
    for number in 3..100 {
        building.observe(&stranger(number), 1, &id);
    }
    assert_eq!(building.broker.observers(), 40);
    let (response, observing) = building.observe(&stranger(200), 1, &id);
    assert_eq!((response.code, observing), (Code::CONTENT, false));
    let (_, settled) = building.ask(&local(), 1, put(&id, 60, &[2]));
    assert!(settled.notices.iter().any(|notice| notice.relation == relation(&stranger(2), 1)));
    assert!(building.broker.counters().refused(Refused::Observation) >= 100);
}

#[test]
fn one_address_with_many_keys_gives_its_observers_places_to_others() {
    let policy = parse("[limits]\nobservers = 40\n[rates]\nburst = 1000");
    let mut building = Building::new(policy, &[]);
    let id = building.topic("room");
    building.answer(&local(), put(&id, 60, &[1]));
    // Each key is another peer, and all of them are at one address.
    for number in 0..60 {
        let mut device = proven(&Device::new(number + 1));
        device.peer = stranger(1).peer;
        building.observe(&device, number, &id);
    }
    for number in 2..41 {
        assert!(building.observe(&stranger(number), 1, &id).1, "{number}");
    }
    assert_eq!(building.broker.observers(), 40);
    // Whoever lost its place is told.
    let (_, settled) = building.ask(&local(), 1, put(&id, 60, &[2]));
    assert!(settled.notices.iter().any(|notice| notice.relation == relation(&stranger(2), 1)));
    let (_, observing) = building.observe(&stranger(41), 1, &id);
    assert!(!observing, "whoever has as many as others have gives up none");
}

/// Each forged address is another one, and all of them have what one source has.
#[test]
fn observers_under_forged_addresses_take_no_place_of_a_proven_one() {
    let policy = parse("[limits]\nobservers = 40\n[rates]\nburst = 1000");
    let mut building = Building::new(policy, &[]);
    let id = building.topic("room");
    building.answer(&local(), put(&id, 60, &[1]));
    for token in 0..10 {
        assert!(building.observe(&stranger(1), token, &id).1);
    }
    let observing = |building: &mut Building, number| {
        let forged = motemix_broker::Caller { proven: false, ..stranger(number) };
        building.observe(&forged, 1, &id).1
    };
    assert_eq!((2..200).filter(|number| observing(&mut building, *number)).count(), 30);
    // Whoever proves its address gets a place of theirs.
    assert!(building.observe(&stranger(300), 1, &id).1);
    let (_, settled) = building.ask(&local(), 1, put(&id, 60, &[2]));
    let told = |number| {
        let peer = stranger(number).peer;
        settled.notices.iter().filter(|notice| notice.relation.peer == peer).count()
    };
    assert_eq!((building.broker.observers(), told(1), told(300)), (40, 10, 1));
}

#[test]
fn an_observer_that_is_refused_takes_no_place_from_another() {
    let policy = parse(
        "[limits]\nobservers = 10\nobservers_of_a_topic = 6\nobserved_look_ups = 4\n[rates]\nburst = 1000",
    );
    let mut building = Building::new(policy, &[]);
    let [full, other] = ["full", "other"].map(|name| building.topic(name));
    for id in [&full, &other] {
        building.answer(&local(), put(id, 60, &[1]));
    }
    for number in 2..8 {
        assert!(building.observe(&stranger(number), 1, &full).1);
    }
    // One source has most: whoever comes and is let in gets a place of its own.
    for token in 0..4 {
        assert!(building.observe(&stranger(1), token, &other).1);
    }
    let heard = |building: &mut Building, value| {
        let (_, settled) = building.ask(&local(), 1, put(&other, 60, &[value]));
        settled.notices.iter().filter(|notice| notice.relation.peer == stranger(1).peer).count()
    };
    assert!(!building.observe(&stranger(100), 1, &full).1, "the topic is full");
    assert_eq!((building.broker.observers(), heard(&mut building, 2)), (10, 4));
    let look_up = |building: &mut Building, number: u16, token: u8| {
        let query = vec![format!("rt=of-{number}-{token}")];
        let observe = Request { observe: Some(Observe::Register), query, ..get(&["rd-lookup", "res"]) };
        building.ask(&stranger(number), token, observe).1.answers[0].observing
    };
    assert!(look_up(&mut building, 101, 1));
    assert_eq!(heard(&mut building, 3), 3);
    assert!(!look_up(&mut building, 101, 2), "a quarter of the look-ups");
    assert_eq!((building.broker.observers(), heard(&mut building, 4)), (10, 3));
}

#[test]
fn a_flood_of_requests_is_told_to_wait_and_leaves_others_alone() {
    let mut building = Building::new(parse("[rates]\nrequests = 10\nburst = 20"), &[]);
    building.topic("room");
    let answers: Vec<_> = (0..50).map(|_| building.answer(&stranger(1), get(&["ps"]))).collect();
    assert_eq!(answers.iter().filter(|answer| answer.code == Code::CONTENT).count(), 20);
    let last = answers.last().unwrap();
    assert_eq!((last.code, last.max_age), (Code::TOO_MANY_REQUESTS, Some(1)));
    assert_eq!(building.answer(&stranger(2), get(&["ps"])).code, Code::CONTENT);
    assert_eq!(building.broker.counters().refused(Refused::Rate), 30);
    building.wait(1);
    assert_eq!(building.answer(&stranger(1), get(&["ps"])).code, Code::CONTENT);
}

#[test]
fn topics_are_squatted_by_nobody_unknown_and_by_a_device_within_its_quota() {
    let policy = parse("[limits]\ntopics = 5\ntopics_of_a_device = 3");
    let (device, other) = (Device::new(1), Device::new(2));
    let mut building = Building::new(policy, &[]);
    let named = |name: &str| post(&[(0, Property::Text(name)), (2, Property::Text("core.ps.data"))]);

    let response = building.answer(&stranger(1), named("room"));
    assert_eq!(response.code, Code::UNAUTHORIZED);
    assert!(text(&response).contains("OSCORE"), "{}", text(&response));
    for number in 0..3 {
        let response = building.answer(&proven(&device), named(&format!("mine/{number}")));
        assert_eq!(response.code, Code::CREATED);
    }
    let response = building.answer(&proven(&device), named("mine/3"));
    assert_eq!(response.code, Code::FORBIDDEN);
    assert!(text(&response).contains("3 topics"), "{}", text(&response));
    assert_eq!(building.broker.counters().refused(Refused::Quota), 1);
    // Full is said, and goes by.
    building.topic("one");
    building.topic("two");
    let response = building.answer(&proven(&other), named("three"));
    assert_eq!((response.code, response.max_age), (Code::SERVICE_UNAVAILABLE, Some(60)));
    assert_eq!(building.broker.counters().refused(Refused::Full), 1);
}

#[test]
fn a_rule_keeps_names_for_whom_they_are_of() {
    let device = Device::new(1);
    let digits = format!("{:.16}", device.identity);
    let policy = parse(&format!(
        "[[access]]\ntopics = \"building/+/temperature\"\ncreate = [\"device {digits}\"]\n\
         [[access]]\ntopics = \"building/#\"\ncreate = [\"local\"]\nread = [\"device\", \"local\"]\n",
    ));
    let other = Device::new(2);
    let mut building = Building::new(policy, &[]);
    let named = |name: &str| post(&[(0, Property::Text(name)), (2, Property::Text("core.ps.data"))]);
    for (caller, name, code) in [
        (proven(&device), "building/7/temperature", Code::CREATED),
        (proven(&other), "building/8/temperature", Code::FORBIDDEN),
        (proven(&device), "building/7/humidity", Code::FORBIDDEN),
        (local(), "building/7/humidity", Code::CREATED),
        (proven(&other), "garden", Code::CREATED),
    ] {
        assert_eq!(building.answer(&caller, named(name)).code, code, "{name}");
    }
    // Whoever may not read a topic does not see it in the list either.
    assert_eq!(text(&building.answer(&stranger(1), get(&["ps"]))).matches('<').count(), 1);
    assert_eq!(text(&building.answer(&proven(&other), get(&["ps"]))).matches('<').count(), 3);
}

#[test]
fn a_topic_of_somebody_else_is_neither_changed_nor_deleted_nor_published_to() {
    let (device, other) = (Device::new(1), Device::new(2));
    let mut building = Building::new(policy(), &[]);
    let properties = [(0, Property::Text("mine")), (2, Property::Text("core.ps.data"))];
    let id = building.create(&proven(&device), &properties);
    let change = with(
        Request::new(Method::IPatch, &["ps", &id]),
        format::CORE_PUBSUB_CBOR,
        &map(&[(6, Property::Number(0))]),
    );
    for request in [
        change,
        Request::new(Method::Delete, &["ps", &id]),
        put(&id, 60, &[1]),
        Request::new(Method::Delete, &["ps", "data", &id]),
    ] {
        assert_eq!(building.answer(&proven(&other), request.clone()).code, Code::FORBIDDEN);
        assert_eq!(building.answer(&stranger(1), request).code, Code::UNAUTHORIZED);
    }
    assert_eq!(building.answer(&proven(&device), put(&id, 60, &[1])).code, Code::CREATED);
    assert_eq!(building.broker.counters().refused(Refused::Access), 8);
}

#[test]
fn a_replayed_reading_is_refused_wherever_and_whenever_it_comes() {
    let mut device = Device::new(1);
    let mut building = Building::new(policy(), &[&device]);
    let (one, two) = (building.topic_of("room/t", &device), building.topic_of("hall/t", &device));
    let old = device.seal(20);
    let new = device.seal(21);
    for reading in [&old, &new] {
        building.answer(&stranger(1), put(&one, COSE, reading));
    }
    assert_eq!(building.answer(&stranger(2), put(&one, COSE, &old)).code, Code::CONFLICT);
    // Not in another topic of the device.
    assert_eq!(building.answer(&stranger(2), put(&two, COSE, &old)).code, Code::CONFLICT);
    // Not after the value, the topic or the registration went.
    building.answer(&local(), Request::new(Method::Delete, &["ps", "data", &one]));
    assert_eq!(building.answer(&stranger(2), put(&one, COSE, &old)).code, Code::CONFLICT);
    building.answer(&local(), Request::new(Method::Delete, &["ps", &one]));
    let again = building.topic_of("room/t", &device);
    assert_eq!(building.answer(&stranger(2), put(&again, COSE, &new)).code, Code::CONFLICT);
    assert_eq!(building.broker.counters().refused(Refused::Stale), 4);
    assert_eq!(building.answer(&stranger(1), put(&again, COSE, &device.seal(22))).code, Code::CREATED);
}

#[test]
fn a_reading_of_an_expired_registration_is_nobody_s() {
    let mut device = Device::new(1);
    let mut building = Building::new(policy(), &[&device]);
    let id = building.topic_of("room/t", &device);
    building.wait(100_000);
    building.broker.expire(building.now);
    building.broker.stored();
    let response = building.answer(&stranger(1), put(&id, COSE, &device.seal(20)));
    assert_eq!(response.code, Code::UNAUTHORIZED);
}

#[test]
fn a_forged_reading_moves_no_number() {
    let (mut device, mut liar) = (Device::new(1), Device::new(2));
    let mut building = Building::new(policy(), &[&device]);
    let id = building.topic_of("room/t", &device);
    // Signed by another key under the device's names.
    liar.identity = device.identity;
    for number in [0, 1, 500, 1000] {
        for path in [Path::Direct, Path::Anonymous] {
            let forged = liar.seal_as(number, 99, NETWORK, path);
            assert_eq!(building.answer(&stranger(1), put(&id, COSE, &forged)).code, Code::FORBIDDEN);
        }
    }
    assert_eq!(building.broker.state().freshness(&device.identity), None);
    assert_eq!(building.answer(&stranger(1), put(&id, COSE, &device.seal(20))).code, Code::CREATED);
}

#[test]
fn values_are_bounded_one_by_one_and_all_together() {
    let policy = parse("[limits]\npayload = 100\nbytes_of_a_device = 150");
    let device = Device::new(1);
    let mut building = Building::new(policy, &[]);
    let create = |name: &'static str| [(0, Property::Text(name)), (2, Property::Text("core.ps.data"))];
    let one = building.create(&proven(&device), &create("one"));
    let two = building.create(&proven(&device), &create("two"));
    let publish = |id: &str, len: usize| put(id, 42, &vec![0; len]);

    let response = building.answer(&proven(&device), publish(&one, 101));
    assert_eq!((response.code, response.size1.is_some()), (Code::REQUEST_ENTITY_TOO_LARGE, true));
    assert_eq!(building.answer(&proven(&device), publish(&one, 100)).code, Code::CREATED);
    assert_eq!(building.answer(&proven(&device), publish(&two, 51)).code, Code::FORBIDDEN);
    assert_eq!(building.answer(&proven(&device), publish(&two, 50)).code, Code::CREATED);
    // What makes room counts.
    assert_eq!(building.answer(&proven(&device), publish(&one, 10)).code, Code::CHANGED);
    assert_eq!(building.answer(&proven(&device), publish(&two, 100)).code, Code::CHANGED);
    building.answer(&proven(&device), Request::new(Method::Delete, &["ps", "data", &two]));
    assert_eq!(building.answer(&proven(&device), publish(&one, 100)).code, Code::CHANGED);
}

#[test]
fn what_bridges_bring_takes_no_room_of_receivers_and_devices() {
    let policy = parse(
        "[limits]\ntopics_of_others = 3\nbytes_of_others = 100\ntopics_of_receivers = 4\nbytes_of_receivers = 300\n\
         topics = 1",
    );
    let (mut one, mut two) = (Device::new(1), Device::new(2));
    let mut building = Building::new(policy, &[&one, &two]);
    let named = |name: &str| post(&[(0, Property::Text(name)), (2, Property::Text("core.ps.data"))]);
    let zigbee: Vec<String> = (0..3).map(|number| building.topic(&format!("zigbee/{number}"))).collect();
    let response = building.answer(&local(), named("zigbee/3"));
    assert_eq!((response.code, text(&response).contains("3 topics")), (Code::FORBIDDEN, true));
    assert_eq!(building.answer(&local(), put(&zigbee[0], 42, &[0; 100])).code, Code::CREATED);
    assert_eq!(building.answer(&local(), put(&zigbee[1], 42, &[0; 1])).code, Code::FORBIDDEN);

    // A receiver makes both of its topics for each device, and hands over.
    let mut readings = Vec::new();
    for device in [&one, &two] {
        let short = format!("{:.32}", device.identity);
        readings.push(building.topic_of(&format!("devices/{short}/readings"), device));
        building.topic(&format!("devices/{short}/commands"));
    }
    assert_eq!(building.answer(&local(), put(&readings[0], COSE, &one.seal(20))).code, Code::CREATED);
    assert_eq!(building.broker.counters().refused(Refused::Quota), 2);
    // Its own bounds are others, and what is beyond them waits: nobody is at fault.
    let other = format!("devices/{:032x}/commands", 1);
    assert_eq!(building.answer(&local(), named(&other)).code, Code::FORBIDDEN);
    let long = two.seal_as(0, 10_i64.pow(18), NETWORK, Path::Direct);
    let policy = motemix_broker::Policy {
        limits: motemix_broker::policy::Limits {
            bytes_of_receivers: long.len() as u64,
            ..building.broker.policy().limits
        },
        ..building.broker.policy().clone()
    };
    building.broker = motemix_broker::Broker::new(policy, building.broker.state().clone());
    let response = building.answer(&local(), put(&readings[1], COSE, &long));
    assert_eq!((response.code, response.max_age), (Code::SERVICE_UNAVAILABLE, Some(60)));
    assert!(text(&response).contains("limits.bytes_of_receivers"), "{}", text(&response));
    assert_eq!(building.broker.counters().refused(Refused::Quota), 1);
}

#[test]
fn more_devices_than_the_broker_remembers_are_told_so() {
    let mut devices = [Device::new(1), Device::new(2)];
    let policy = parse("[limits]\ndevices = 1");
    let mut building = Building::new(policy, &[&devices[0], &devices[1]]);
    let ids = [building.topic_of("a", &devices[0]), building.topic_of("b", &devices[1])];
    let readings = [devices[0].seal(1), devices[1].seal(2)];
    assert_eq!(building.answer(&stranger(1), put(&ids[0], COSE, &readings[0])).code, Code::CREATED);
    let response = building.answer(&stranger(1), put(&ids[1], COSE, &readings[1]));
    assert_eq!(response.code, Code::SERVICE_UNAVAILABLE);
}

#[test]
fn a_read_by_observation_is_refused_as_a_read_is() {
    let policy = parse("[[access]]\ntopics = \"secret/#\"\nread = [\"local\"]");
    let mut building = Building::new(Policy { ..policy }, &[]);
    let id = building.topic("secret/room");
    building.answer(&local(), put(&id, 60, &[1]));
    let (response, observing) = building.observe(&stranger(1), 1, &id);
    assert_eq!((response.code, observing), (Code::FORBIDDEN, false));
    let request = Request { observe: Some(Observe::Register), ..get(&["ps", &id]) };
    assert_eq!(building.answer(&stranger(1), request).code, Code::FORBIDDEN);
    let (_, settled) = building.ask(&local(), 1, put(&id, 60, &[2]));
    assert!(settled.notices.is_empty());
}

#[test]
fn links_that_never_come_take_a_few_places_and_leave_the_others() {
    let mut building = Building::new(parse("[rates]\nburst = 1000"), &[]);
    let simple = |name: usize| Request {
        query: vec![format!("ep=lamp-{name}")],
        ..Request::new(Method::Post, &[".well-known", "rd"])
    };
    let now = building.now;
    let mut asked = Vec::new();
    let mut ask = |broker: &mut motemix_broker::Broker<u32>, caller: &motemix_broker::Caller, name: usize| {
        broker.handle(now, caller, 1, relation(caller, 1), simple(name));
        let fetch = broker.poll_fetch();
        let code = broker.stored().answers.first().map(|answer| answer.response.code);
        assert_eq!(fetch.is_some(), code.is_none());
        asked.extend(fetch);
        code
    };
    let broker = &mut building.broker;
    let codes: Vec<_> = (0..6).map(|name| ask(broker, &stranger(1), name)).collect();
    assert_eq!(codes[..4], [None; 4]);
    assert_eq!(codes[4..], [Some(Code::SERVICE_UNAVAILABLE); 2]);
    assert_eq!(ask(broker, &stranger(2), 10), None);
    // All places together.
    for number in 3..40 {
        for name in 0..4 {
            ask(broker, &stranger(number), 100 + usize::from(number) * 4 + name);
        }
    }
    assert_eq!(ask(broker, &stranger(50), 1000), Some(Code::SERVICE_UNAVAILABLE));
    let first = asked.swap_remove(0);
    assert_eq!(asked.len(), 63);
    // Whoever is given up makes room.
    broker.fetched(now, first.ticket, &first.fetch.registrant, None);
    assert_eq!(broker.stored().answers[0].response.code, Code::BAD_REQUEST);
    broker.handle(now, &stranger(51), 1, relation(&stranger(51), 1), simple(1001));
    let proof_first = broker.poll_fetch().expect("there is room");
    // And so is whoever has to prove its address first.
    broker.not_fetched(&proof_first.fetch.registrant);
    broker.handle(now, &stranger(52), 1, relation(&stranger(52), 1), simple(1002));
    assert!(broker.poll_fetch().is_some());
}

#[test]
fn a_topic_for_a_devices_readings_is_made_by_it_or_by_whom_a_rule_names() {
    let (mut device, thief, gateway) = (Device::new(1), Device::new(2), Device::new(3));
    let policy = parse(&format!(
        "[[access]]\ntopics = \"weather/#\"\ncreate = [\"device\"]\n\
         [[access]]\ntopics = \"gateway/#\"\ncreate = [\"device {:.16}\"]\n",
        gateway.identity
    ));
    let mut building = Building::new(policy, &[&device]);
    let of_device = |name: &str| {
        let bytes = device.identity;
        post(&[
            (0, Property::Text(name)),
            (2, Property::Text("core.ps.data")),
            (DEVICE, Property::Bytes(bytes.as_bytes())),
        ])
    };
    for (caller, name, code) in [
        // Neither where nothing is said, nor where each device may create topics.
        (proven(&thief), "steal", Code::FORBIDDEN),
        (proven(&thief), "weather/steal", Code::FORBIDDEN),
        (proven(&thief), "gateway/steal", Code::FORBIDDEN),
        (proven(&gateway), "gateway/of-it", Code::CREATED),
        (proven(&device), "weather/own", Code::CREATED),
        (local(), "room", Code::CREATED),
    ] {
        let response = building.answer(&caller, of_device(name));
        assert_eq!(response.code, code, "{name}: {}", text(&response));
    }
    assert_eq!(building.broker.counters().refused(Refused::Access), 3);
    let own = building.topic_of("own", &device);
    assert_eq!(building.answer(&stranger(1), put(&own, COSE, &device.seal(20))).code, Code::CREATED);
}
