//! Signed readings: accepted once, from their device alone, and stored with what makes them fresh.

mod building;

use building::*;
use motemix_broker::state::Signed;
use motemix_broker::store::{Retention, Sqlite};
use motemix_broker::{Broker, Change, Policy, Refused, Store as _};
use motemix_broker_client::client::topics;
use motemix_coap::{Code, Method, Request, format};
use motemix_object::Path;

const COSE: u16 = format::COSE_SIGN1;

#[test]
fn a_device_publishes_unprotected_and_whoever_asks_gets_what_it_signed() {
    let mut device = Device::new(1);
    let mut building = Building::new(policy(), &[&device]);
    let id = building.topic_of("room/t", &device);

    let first = device.seal(20);
    // The policy says nothing of strangers: the signature decides.
    assert_eq!(building.answer(&stranger(1), put(&id, COSE, &first)).code, Code::CREATED);
    let value = building.broker.state().values().next().unwrap().1.clone();
    assert_eq!(value.signed, Signed::ByDevice { sequence: 0 });
    assert_eq!(*building.answer(&stranger(2), get(&["ps", "data", &id])).payload, *first);

    // Behind mixes readings come through somebody else, under names that change.
    let rotating = device.seal_as(5, 21, NETWORK, Path::Anonymous);
    assert_eq!(building.answer(&local(), put(&id, COSE, &rotating)).code, Code::CHANGED);
    // In another order: within the window.
    let late = device.seal_as(3, 22, NETWORK, Path::Direct);
    assert_eq!(building.answer(&stranger(1), put(&id, COSE, &late)).code, Code::CHANGED);
    assert_eq!(building.broker.counters().verified, 3);
    let fresh = building.broker.state().freshness(&device.identity).unwrap();
    assert_eq!(fresh.next(), 6);
}

#[test]
fn a_reading_may_be_a_jws() {
    let mut device = Device::new(1);
    let mut building = Building::new(policy(), &[&device]);
    let id = building.topic_of("room/t", &device);
    let jws = device.seal_jws(20);
    assert_eq!(building.answer(&stranger(1), put(&id, format::TEXT, &jws)).code, Code::CREATED);
    // A device that signs as COSE from now on ends who observes: an observation has one format.
    let (_, observing) = building.observe(&stranger(2), 1, &id);
    assert!(observing);
    let cose = device.seal(21);
    let (response, settled) = building.ask(&stranger(1), 2, put(&id, COSE, &cose));
    assert_eq!(response.code, Code::CHANGED, "{}", text(&response));
    let [notice] = &settled.notices[..] else { panic!("{settled:?}") };
    assert_eq!((notice.last, notice.response.code), (true, Code::NOT_FOUND));
    assert_eq!(building.observe(&stranger(2), 1, &id).0.content_format, Some(COSE));
    // Unless who made the topic wants one format.
    let properties = [
        (0, Property::Text("hall/t")),
        (2, Property::Text("core.ps.data")),
        (3, Property::Number(COSE.into())),
        (DEVICE, Property::Bytes(device.identity.as_bytes())),
    ];
    let id = building.create(&local(), &properties);
    let response = building.answer(&stranger(1), put(&id, format::TEXT, &device.seal_jws(22)));
    assert_eq!(response.code, Code::UNSUPPORTED_CONTENT_FORMAT);
    assert!(text(&response).contains("takes Content-Format 18"), "{}", text(&response));
}

#[test]
fn the_same_reading_again_is_no_news() {
    let mut device = Device::new(1);
    let mut building = Building::new(policy(), &[&device]);
    let id = building.topic_of("room/t", &device);
    let reading = device.seal(20);
    building.answer(&stranger(1), put(&id, COSE, &reading));
    building.observe(&stranger(2), 1, &id);

    let (response, settled) = building.ask(&stranger(1), 3, put(&id, COSE, &reading));

    assert_eq!(response.code, Code::CHANGED);
    assert!(settled.notices.is_empty() && settled.feed.is_empty());
    assert_eq!(building.broker.counters().repetitions, 1);
}

#[test]
fn a_variant_of_a_reading_that_somebody_publishes_first_keeps_nobody_from_the_original() {
    let mut device = Device::new(1);
    let mut building = Building::new(policy(), &[&device]);
    let id = building.topic_of("room/t", &device);
    let original = device.seal(20);
    // An unprotected header that nobody has to understand: the signature does not cover it.
    let (head, payload) = original.split_at(original.iter().position(|byte| *byte == 0xa0).unwrap());
    let long = [head, b"\xa1\x61x\x59\x02\x00", &[0; 512], &payload[1..]].concat();
    let tagged = [&b"\xd8\x12"[..], &original].concat();
    let trailing = [&original[..], b"\0"].concat();
    for variant in [long, tagged, trailing] {
        let response = building.answer(&stranger(1), put(&id, COSE, &variant));
        assert_eq!(response.code, Code::BAD_REQUEST, "{}", text(&response));
    }
    assert_eq!(building.answer(&stranger(2), put(&id, COSE, &original)).code, Code::CREATED);
    assert_eq!(*building.answer(&stranger(3), get(&["ps", "data", &id])).payload, *original);
    // So it is with the white space around a JWS.
    let twin = device.seal_jws(21);
    for variant in [[&twin[..], b"\n"].concat(), [b" ", &twin[..]].concat()] {
        let response = building.answer(&stranger(1), put(&id, format::TEXT, &variant));
        assert_eq!(response.code, Code::BAD_REQUEST, "{}", text(&response));
    }
    assert_eq!(building.answer(&stranger(2), put(&id, format::TEXT, &twin)).code, Code::CHANGED);
    assert_eq!(*building.answer(&stranger(3), get(&["ps", "data", &id])).payload, *twin);
}

#[test]
fn what_a_device_signed_that_means_nothing_is_refused_with_the_rule_that_it_breaks() {
    let mut device = Device::new(1);
    let mut building = Building::new(policy(), &[&device]);
    let id = building.topic_of("room/t", &device);
    for (pack, rule) in [
        (&b"\x81\xa3\x20\x0b\x00\x61t\x02\x15"[..], "version 11"),
        (b"\x81\xa2\x00\x63a b\x02\x15", "\"a b\" is no name"),
        (b"\x81\xa1\x00\x61t", "neither a value nor a sum"),
        (b"{}", "not SenML in JSON"),
    ] {
        let reading = device.seal_pack(0, pack, NETWORK, Path::Direct);
        let response = building.answer(&stranger(1), put(&id, COSE, &reading));
        assert_eq!(response.code, Code::BAD_REQUEST);
        assert!(text(&response).contains(rule), "{}", text(&response));
    }
    // Maps and texts without a length are SenML (RFC 8428, 6).
    let reading = device.seal_pack(0, b"\x81\xbf\x00\x7f\x61t\xff\x02\x15\xff", NETWORK, Path::Direct);
    assert_eq!(building.answer(&stranger(1), put(&id, COSE, &reading)).code, Code::CREATED);
}

#[test]
fn a_device_that_lost_count_registers_its_number_and_goes_on() {
    let mut device = Device::new(1);
    let mut building = Building::new(policy(), &[&device]);
    let id = building.topic_of("room/t", &device);
    let far = device.seal_as(100_000, 20, NETWORK, Path::Direct);
    let response = building.answer(&stranger(1), put(&id, COSE, &far));
    assert_eq!(response.code, Code::CONFLICT);
    assert!(text(&response).contains("publish its signed registration here first"), "{}", text(&response));

    let next = device.says_next(100_000);
    assert_eq!(building.answer(&stranger(1), put(&id, COSE, &next)).code, Code::CHANGED);
    assert!(building.broker.state().values().next().is_none());
    assert_eq!(building.answer(&stranger(1), put(&id, COSE, &far)).code, Code::CREATED);
    // Neither goes back.
    assert_eq!(building.answer(&stranger(1), put(&id, COSE, &next)).code, Code::CONFLICT);
}

#[test]
fn each_refusal_says_what_to_do() {
    let (mut device, mut other) = (Device::new(1), Device::new(2));
    let mut building = Building::new(policy(), &[&device]);
    let id = building.topic_of("room/t", &device);
    let unregistered = building.topic_of("room/h", &other);
    let mut damaged = device.seal(20);
    *damaged.last_mut().unwrap() ^= 1;
    let elsewhere = device.seal_as(1, 20, "another network", Path::Direct);
    for (topic, payload, format, code, says) in [
        (&id, damaged, COSE, Code::FORBIDDEN, "check key and network"),
        (&id, elsewhere, COSE, Code::FORBIDDEN, "check key and network"),
        (&id, other.seal(20), COSE, Code::FORBIDDEN, "of another device"),
        (&id, b"junk".to_vec(), COSE, Code::BAD_REQUEST, "neither a signed reading nor"),
        (&id, b"junk".to_vec(), format::TEXT, Code::BAD_REQUEST, "no signed reading as JWS"),
        (&id, vec![0xff], format::TEXT, Code::BAD_REQUEST, "not a text"),
        (&id, b"{}".to_vec(), format::JSON, Code::UNSUPPORTED_CONTENT_FORMAT, "18 (COSE_Sign1)"),
        (&unregistered, other.seal(20), COSE, Code::UNAUTHORIZED, "attribute key at /rd first"),
    ] {
        let response = building.answer(&stranger(1), put(topic, format, &payload));
        assert_eq!(response.code, code, "{}", text(&response));
        assert!(text(&response).contains(says), "{} has not {says}", text(&response));
    }
    assert_eq!(building.broker.counters().refused(Refused::Signature), 3);
    assert_eq!(building.broker.counters().refused(Refused::UnknownDevice), 1);
    assert!(building.broker.state().values().next().is_none());
}

#[test]
fn a_strict_policy_takes_rising_numbers_alone() {
    let mut device = Device::new(1);
    let mut building = Building::new(parse("freshness = \"strict\""), &[&device]);
    let id = building.topic_of("room/t", &device);
    let early = device.seal(1);
    let late = device.seal(2);
    assert_eq!(building.answer(&stranger(1), put(&id, COSE, &late)).code, Code::CREATED);
    let response = building.answer(&stranger(1), put(&id, COSE, &early));
    assert_eq!(response.code, Code::CONFLICT, "{}", text(&response));
}

#[test]
fn a_broker_may_leave_the_check_to_applications() {
    let mut device = Device::new(1);
    let policy = Policy { verify: false, ..policy() };
    let mut building = Building::new(policy, &[]);
    let id = building.topic_of("room/t", &device);
    let reading = device.seal(20);
    // Nobody vouches for it, so the policy has to let the publisher.
    let response = building.answer(&stranger(1), put(&id, COSE, &reading));
    assert_eq!(response.code, Code::UNAUTHORIZED);
    assert_eq!(building.answer(&local(), put(&id, COSE, &reading)).code, Code::CREATED);
    let value = building.broker.state().values().next().unwrap().1.clone();
    assert_eq!(value.signed, Signed::Unchecked);
}

#[test]
fn after_a_restart_a_replay_is_still_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Sqlite::open(folder.path(), Retention::default()).unwrap();
    let mut device = Device::new(1);
    store.commit(&[device.registration()]).unwrap();
    let mut building = Building { broker: Broker::new(policy(), store.load().unwrap()), now: START };
    let old = device.seal(20);
    let new = device.seal(21);
    building.broker.handle(
        START,
        &local(),
        1,
        relation(&local(), 1),
        post(&[
            (0, Property::Text("room/t")),
            (2, Property::Text("core.ps.data")),
            (DEVICE, Property::Bytes(device.identity.as_bytes())),
        ]),
    );
    store.commit(building.broker.changes()).unwrap();
    let settled = building.broker.stored();
    let id = settled.answers[0].response.location_path[1].clone();
    for reading in [&old, &new] {
        let publish = put(&id, COSE, reading);
        building.broker.handle(START, &stranger(1), 1, relation(&stranger(1), 1), publish);
        // The value and what makes it fresh are of one batch.
        assert!(matches!(building.broker.changes(), [Change::Freshness(..), Change::Value(..)]));
        store.commit(building.broker.changes()).unwrap();
        building.broker.stored();
    }
    drop((building, store));

    let mut store = Sqlite::open(folder.path(), Retention::default()).unwrap();
    let mut building = Building { broker: Broker::new(policy(), store.load().unwrap()), now: START };
    assert_eq!(building.answer(&stranger(1), put(&id, COSE, &old)).code, Code::CONFLICT);
    assert_eq!(building.answer(&stranger(1), put(&id, COSE, &new)).code, Code::CHANGED);
    assert_eq!(building.broker.counters().repetitions, 1);
    let newer = device.seal(22);
    assert_eq!(building.answer(&stranger(1), put(&id, COSE, &newer)).code, Code::CHANGED);
}

#[test]
fn what_a_device_signed_is_not_a_stranger_s_to_delete() {
    let mut device = Device::new(1);
    let mut building = Building::new(policy(), &[&device]);
    let id = building.topic_of("room/t", &device);
    building.answer(&stranger(1), put(&id, COSE, &device.seal(20)));
    let delete = Request::new(Method::Delete, &["ps", "data", &id]);
    assert_eq!(building.answer(&stranger(1), delete.clone()).code, Code::UNAUTHORIZED);
    assert_eq!(building.answer(&local(), delete).code, Code::DELETED);
}

#[test]
fn a_receiver_says_the_number_of_a_reading_and_nobody_else_does() {
    let mut device = Device::new(1);
    let mut building = Building::new(policy(), &[&device]);
    let id = building.topic_of("room/temperature", &device);
    let far = |device: &mut Device, number: u64| {
        let reading = device.seal_as(number, 20, NETWORK, motemix_object::Path::Anonymous);
        let query = vec![format!("sequence={number}")];
        Request { query, ..put(&id, 18, &reading) }
    };
    // A stranger's word counts nothing, and a receiver's not against the signature.
    assert_eq!(building.answer(&stranger(1), far(&mut device, 90_000)).code, Code::FORBIDDEN);
    let mut wrong = far(&mut device, 90_000);
    wrong.query = vec!["sequence=90001".to_owned()];
    assert_eq!(building.answer(&local(), wrong).code, Code::FORBIDDEN);
    assert_eq!(building.answer(&local(), far(&mut device, 90_000)).code, Code::CREATED);
    // Only once, and from then on the device may publish itself.
    let replayed = far(&mut device, 90_000);
    building.answer(&local(), far(&mut device, 90_001));
    assert_eq!(building.answer(&local(), replayed).code, Code::CONFLICT);
    let own = device.seal_as(90_002, 21, NETWORK, motemix_object::Path::Anonymous);
    assert_eq!(building.answer(&stranger(1), put(&id, 18, &own)).code, Code::CHANGED);
    let mut malformed = far(&mut device, 90_003);
    malformed.query = vec!["sequence=many".to_owned()];
    assert_eq!(building.answer(&local(), malformed).code, Code::BAD_REQUEST);
}

#[test]
fn a_reading_that_another_topic_took_first_is_taken_from_a_receiver_all_the_same_and_once() {
    let mut device = Device::new(1);
    let mut building = Building::new(policy(), &[&device]);
    let (elsewhere, own) = (building.topic_of("elsewhere", &device), building.topic_of("own", &device));
    let readings: Vec<Vec<u8>> = (0..4).map(|degrees| device.seal(degrees)).collect();
    let told = |number: usize| {
        let query = vec![format!("sequence={number}")];
        Request { query, ..put(&own, 18, &readings[number]) }
    };
    // Somebody copies them there before the receiver hands them over.
    for reading in &readings {
        let code = building.answer(&stranger(1), put(&elsewhere, 18, reading)).code;
        assert!(code.is_success(), "{code}");
    }
    assert_eq!(building.answer(&local(), told(1)).code, Code::CREATED);
    assert_eq!(building.answer(&local(), told(0)).code, Code::CHANGED);
    assert_eq!(building.answer(&local(), told(3)).code, Code::CHANGED);
    // What this topic has stays refused, and a stranger repeats none of them.
    for number in [0, 1] {
        assert_eq!(building.answer(&local(), told(number)).code, Code::CONFLICT);
    }
    assert_eq!(building.answer(&stranger(1), told(2)).code, Code::CONFLICT);
    // Nor is one taken whose signature is not right.
    let mut forged = told(2);
    *forged.payload.last_mut().unwrap() ^= 1;
    assert_eq!(building.answer(&local(), forged).code, Code::FORBIDDEN);
    assert_eq!(building.answer(&local(), told(2)).code, Code::CHANGED);
    assert_eq!(building.answer(&local(), told(3)).code, Code::CONFLICT);
    // The device goes on with its next number.
    assert_eq!(building.answer(&stranger(1), put(&own, 18, &device.seal(20))).code, Code::CHANGED);
    // What a start leaves of this is the newest value: what is below it counts as taken.
    let mut restarted =
        Building { broker: Broker::new(policy(), building.broker.state().clone()), now: START };
    for number in 0..3 {
        assert_eq!(restarted.answer(&local(), told(number)).code, Code::CONFLICT);
    }
}

#[test]
fn a_receiver_of_another_network_is_told_so_and_a_stranger_s_word_for_it_counts_nothing() {
    let mut building = Building::new(policy(), &[]);
    let mut asks = |caller, network| building.answer(&caller, topics::network(network));
    let refused = asks(local(), "plant");
    assert_eq!(refused.code, Code::PRECONDITION_FAILED);
    assert!(String::from_utf8_lossy(&refused.payload).contains("\"plant\""));
    for (caller, network) in [(local(), NETWORK), (stranger(1), "plant")] {
        let answer = asks(caller, network);
        assert_eq!((answer.code, answer.payload.len()), (Code::CONTENT, 0));
    }
}
