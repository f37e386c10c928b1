//! Several brokers on one store: whoever was behind decides its requests anew.

mod building;

use std::sync::Arc;

use building::*;
use motemix_broker::state::Value;
use motemix_broker::{Change, Settled};
use motemix_coap::{Code, Observe, Request};

/// Two brokers that know the same.
fn two(device: &Device) -> (Building, Building) {
    let building = || {
        let mut building = Building::new(policy(), &[device]);
        building.broker.keep_requests();
        building
    };
    (building(), building())
}

/// What the first one stores, for the second one.
fn stored(building: &mut Building, token: u8, request: Request) -> Vec<Change> {
    building.broker.handle(building.now, &local(), 1, relation(&local(), token), request);
    let changes = building.broker.changes().to_vec();
    assert!(building.broker.stored().answers[0].response.code.is_success());
    changes
}

fn handle(building: &mut Building, ticket: u32, request: Request) {
    let caller = stranger(1);
    let token = u8::try_from(ticket).unwrap();
    building.broker.handle(building.now, &caller, ticket, relation(&caller, token), request);
}

fn codes(settled: &Settled<u32>) -> Vec<(u32, Code)> {
    settled.answers.iter().map(|answer| (answer.ticket, answer.response.code)).collect()
}

#[test]
fn a_reading_that_reaches_both_is_stored_once_and_both_senders_hear_that_it_is() {
    let mut device = Device::new(1);
    let (mut one, mut two) = two(&device);
    let topic = [
        (0, Property::Text("room/temperature")),
        (2, Property::Text("core.ps.data")),
        (DEVICE, Property::Bytes(device.identity.as_bytes())),
    ];
    let made = stored(&mut one, 1, post(&topic));
    let Change::Topic(id, _) = &made[0] else { panic!("{made:?}") };
    let id = id.0.to_string();
    two.broker.foreign(made);
    let (_, observing) = two.observe(&stranger(7), 9, &id);
    assert!(!observing, "there is nothing yet");
    let first = device.seal(20);
    let first = stored(&mut one, 2, put(&id, 18, &first));
    two.broker.foreign(first);
    assert!(two.observe(&stranger(7), 9, &id).1);

    let reading = device.seal(21);
    handle(&mut two, 3, put(&id, 18, &reading));
    assert_eq!(two.broker.changes().len(), 2);
    let of_one = stored(&mut one, 3, put(&id, 18, &reading));
    let settled = two.broker.again(two.now, of_one);
    // The observer hears of what the other one stored, nobody of what is not.
    assert_eq!((settled.answers.len(), settled.notices.len()), (0, 1));
    assert_eq!(*settled.notices[0].response.payload, reading);
    assert_eq!(two.broker.changes(), []);
    let settled = two.broker.stored();
    assert_eq!((codes(&settled), settled.notices.len()), (vec![(3, Code::CHANGED)], 0));
    assert_eq!(two.broker.state(), one.broker.state());
}

#[test]
fn of_two_topics_of_one_name_there_is_one_and_who_came_second_is_told() {
    let device = Device::new(1);
    let (mut one, mut two) = two(&device);
    let topic = |name| post(&[(0, Property::Text(name)), (2, Property::Text("core.ps.data"))]);
    let caller = local();
    for (ticket, name) in [(1, "hall"), (2, "cellar")] {
        two.broker.handle(two.now, &caller, ticket, relation(&caller, 1), topic(name));
    }
    let of_one = stored(&mut one, 1, topic("hall"));
    two.broker.again(two.now, of_one);
    let changes = two.broker.changes().to_vec();
    let settled = two.broker.stored();
    assert_eq!(codes(&settled)[1], (2, Code::CREATED));
    assert!(!settled.answers[0].response.code.is_success(), "{:?}", settled.answers[0]);
    one.broker.foreign(changes);
    assert_eq!(two.broker.state(), one.broker.state());
    assert_eq!(one.broker.state().topics().len(), 2);
}

#[test]
fn an_observation_that_begins_meanwhile_begins_with_what_the_other_one_stored() {
    let device = Device::new(1);
    let (mut one, mut two) = two(&device);
    let made = stored(&mut one, 1, post(&[(0, Property::Text("hall")), (2, Property::Text("core.ps.data"))]));
    let Change::Topic(id, _) = &made[0] else { panic!("{made:?}") };
    let id = id.0.to_string();
    let first = stored(&mut one, 2, put(&id, 0, b"20"));
    two.broker.foreign(made.into_iter().chain(first).collect());

    let observe = Request { observe: Some(Observe::Register), ..get(&["ps", "data", &id]) };
    handle(&mut two, 4, observe);
    let of_one = stored(&mut one, 3, put(&id, 0, b"21"));
    let settled = two.broker.again(two.now, of_one);
    assert_eq!(settled.notices.len(), 0, "it was answered with nothing yet");
    let settled = two.broker.stored();
    assert_eq!(&*settled.answers[0].response.payload, b"21");
    assert!(settled.answers[0].observing);
    assert_eq!(two.broker.observers(), 1);
}

#[test]
fn a_moment_that_one_broker_sets_right_is_no_new_value_at_the_other() {
    const DAY: u64 = 24 * 3600;
    let (mut one, mut two) = two(&Device::new(1));
    let right = one.now;
    one.wait(DAY);
    let made =
        stored(&mut one, 1, post(&[(0, Property::Text("cellar")), (2, Property::Text("core.ps.data"))]));
    let Change::Topic(id, _) = &made[0] else { panic!("{made:?}") };
    let path = id.0.to_string();
    let value = stored(&mut one, 2, put(&path, 0, b"20"));
    two.broker.foreign([made.clone(), value].concat());
    assert!(two.observe(&stranger(7), 9, &path).1);
    // Its clock is set right, and stays so.
    for minute in 0..=5 {
        one.broker.expire(right.plus_secs(60 * minute));
    }
    let set_right = one.broker.changes().to_vec();
    let settled = two.broker.foreign(set_right);
    assert_eq!((settled.feed.len(), settled.notices.len()), (1, 0));
    assert_eq!(two.broker.state().value(id).unwrap().published, right);
    // One whose clock is behind does not go on changing what others store.
    let of_value = |value: &Value| Value { published: right.plus_secs(DAY), ..value.clone() };
    let ahead = two.broker.state().value(id).map(|value| Arc::new(of_value(value)));
    for minute in 10..=30 {
        two.broker.expire(right.plus_secs(60 * minute));
        assert_eq!(two.broker.changes(), []);
        if minute == 20 {
            two.broker.foreign(vec![Change::Value(id.clone(), ahead.clone())]);
        }
    }
}
