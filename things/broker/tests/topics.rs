//! Topics from their creation to their end (draft-ietf-core-coap-pubsub).

mod building;

use building::*;
use motemix_broker::{Moment, Policy, Refused};
use motemix_coap::{Code, ETag, Method, Observe, Request, format};

const CONF: u16 = format::CORE_PUBSUB_CBOR;

#[test]
fn a_topic_is_half_created_until_something_is_published() {
    let mut building = Building::new(policy(), &[]);
    let id = building.topic("room/temperature");

    let (response, observing) = building.observe(&stranger(1), 1, &id);
    assert_eq!((response.code, observing), (Code::NOT_FOUND, false));

    let put_one = put(&id, format::SENML_JSON, b"[1]");
    assert_eq!(building.answer(&local(), put_one).code, Code::CREATED);
    let (response, observing) = building.observe(&stranger(1), 1, &id);
    assert_eq!((response.code, observing), (Code::CONTENT, true));
    assert_eq!(response.content_format, Some(format::SENML_JSON));

    let (response, settled) = building.ask(&local(), 2, put(&id, format::SENML_JSON, b"[2]"));
    assert_eq!(response.code, Code::CHANGED);
    assert_eq!(settled.notices.len(), 1);
    assert_eq!(&*settled.notices[0].response.payload, b"[2]");
    assert!(!settled.notices[0].last);

    // Deleted data sets it back, and whoever observed hears that it is over.
    let (response, settled) = building.ask(&local(), 2, Request::new(Method::Delete, &["ps", "data", &id]));
    assert_eq!(response.code, Code::DELETED);
    assert_eq!(settled.notices[0].response.code, Code::NOT_FOUND);
    assert!(settled.notices[0].last);
    assert_eq!(building.broker.observers(), 0);
    assert_eq!(building.answer(&stranger(1), get(&["ps", "data", &id])).code, Code::NOT_FOUND);
    assert_eq!(building.answer(&stranger(1), get(&["ps", &id])).code, Code::CONTENT);
    assert_eq!(building.answer(&local(), put(&id, format::JSON, b"3")).code, Code::CREATED);
}

#[test]
fn the_draft_s_example_of_a_creation_is_answered_as_it_says() {
    let mut building = Building::new(policy(), &[]);
    // { 0: "living-room-sensor", 2: "core.ps.data" }
    let payload =
        hex::decode("a200726c6976696e672d726f6f6d2d73656e736f72026c636f72652e70732e64617461").unwrap();
    let response = building.answer(&local(), with(Request::new(Method::Post, &["ps"]), CONF, &payload));

    assert_eq!(response.code, Code::CREATED);
    assert_eq!(response.content_format, Some(606));
    let id = response.location_path[1].clone();
    let uri = format!("/ps/data/{id}");
    let expected = map(&[
        (0, Property::Text("living-room-sensor")),
        (1, Property::Text(&uri)),
        (2, Property::Text("core.ps.data")),
        (7, Property::Number(86_400)),
    ]);
    assert_eq!(hex::encode(&response.payload), hex::encode(&expected));

    // What there is: links, without attributes that the types imply.
    let listed = building.answer(&stranger(1), get(&["ps"]));
    assert_eq!((listed.content_format, text(&listed)), (Some(40), format!("</ps/{id}>")));
    let of_data = Request { query: vec!["rt=core.ps.data".into()], ..get(&["ps"]) };
    assert_eq!(text(&building.answer(&stranger(1), of_data)), format!("<{uri}>"));
    let of_others = Request { query: vec!["rt=temperature".into()], ..get(&["ps"]) };
    assert_eq!(text(&building.answer(&stranger(1), of_others)), "");

    // A part of it: FETCH with keys 1 and 3, of which it has the first.
    let part = with(Request::new(Method::Fetch, &["ps", &id]), format::CBOR, &[0x82, 1, 3]);
    let part = building.answer(&stranger(1), part);
    assert_eq!(part.content_format, Some(606));
    assert_eq!(*part.payload, *map(&[(1, Property::Text(&uri))]));
}

#[test]
fn a_filter_finds_topics_that_have_all_that_it_says() {
    let mut building = Building::new(policy(), &[]);
    let mut ids = Vec::new();
    for (name, kind) in [("a/t", "temperature"), ("b/t", "temperature"), ("c/h", "humidity")] {
        let properties =
            [(0, Property::Text(name)), (2, Property::Text("core.ps.data")), (4, Property::Text(kind))];
        ids.push(building.create(&local(), &properties));
    }
    let mut found = |filter: &[(i64, Property<'_>)]| {
        let request = with(Request::new(Method::Fetch, &["ps"]), CONF, &map(filter));
        let response = building.answer(&stranger(1), request);
        assert_eq!(response.code, Code::CONTENT);
        text(&response)
    };
    assert_eq!(found(&[(4, Property::Text("temperature"))]).matches("</ps/").count(), 2);
    let both = [(0, Property::Text("b/t")), (4, Property::Text("temperature"))];
    assert_eq!(found(&both), format!("</ps/{}>", ids[1]));
    assert_eq!(found(&[(0, Property::Text("b/t")), (4, Property::Text("humidity"))]), "");
    assert_eq!(found(&[(0, Property::Text("nobody's"))]), "");
    assert_eq!(found(&[]).matches("</ps/").count(), 3);
}

#[test]
fn a_topic_that_is_initialized_can_be_observed_at_once() {
    let mut building = Building::new(policy(), &[]);
    let properties = [
        (0, Property::Text("room")),
        (2, Property::Text("core.ps.data")),
        (3, Property::Number(112)),
        (8, Property::Bytes(&[0x80])),
    ];
    let id = building.create(&local(), &properties);
    let (response, observing) = building.observe(&stranger(1), 1, &id);
    assert!(observing);
    assert_eq!((response.content_format, &*response.payload), (Some(112), &[0x80][..]));
    // The publication that follows is no first one, and has to be in this format.
    assert_eq!(building.answer(&local(), put(&id, 112, &[0x81, 0xa0])).code, Code::CHANGED);
    assert_eq!(building.answer(&local(), put(&id, 60, &[1])).code, Code::UNSUPPORTED_CONTENT_FORMAT);
}

#[test]
fn what_a_creation_must_not_say_is_named() {
    let mut building = Building::new(policy(), &[]);
    let (name, data) = (Property::Text("room"), Property::Text("core.ps.data"));
    building.topic("taken");
    for (properties, says) in [
        (vec![(2, data)], "topic-name (0) is missing"),
        (vec![(0, name)], "resource-type (2) is missing"),
        (vec![(0, name), (2, Property::Text("other"))], "has to be core.ps.data"),
        (vec![(0, name), (2, data), (1, Property::Text("/mine"))], "topic-data (1) is chosen here"),
        (vec![(0, name), (2, data), (9, data)], "property 9 is not known"),
        (vec![(0, name), (0, name), (2, data)], "property 0 is there twice"),
        (vec![(0, Property::Number(1)), (2, data)], "property 0 is no text"),
        (vec![(0, Property::Text("a/#")), (2, data)], "+ or #"),
        (vec![(0, Property::Text("")), (2, data)], "use 1 to 128"),
        (vec![(0, name), (2, data), (5, Property::Date(1))], "over already"),
        (vec![(0, name), (2, data), (5, Property::Number(1))], "no date"),
        (vec![(0, name), (2, data), (7, Property::Number(0))], "is 0"),
        (vec![(0, name), (2, data), (8, Property::Bytes(b"x"))], "initialize needs"),
        (vec![(0, name), (2, data), (DEVICE, Property::Bytes(b"x"))], "no identity of 32 bytes"),
        (vec![(0, Property::Text("taken")), (2, data)], "this name already"),
    ] {
        let response = building.answer(&local(), post(&properties));
        assert_eq!(response.code, Code::BAD_REQUEST, "{says}");
        assert!(text(&response).contains(says), "{} has not {says}", text(&response));
    }
    for garbage in ["", "a1", "bf00ff", "a100", "a200617202", "ff", "a0ff", "bb00ffffffffffffff"] {
        let payload = hex::decode(garbage).unwrap();
        let response = building.answer(&local(), with(Request::new(Method::Post, &["ps"]), CONF, &payload));
        assert_eq!(response.code, Code::BAD_REQUEST, "{garbage}");
    }
    let unsaid = Request { content_format: None, ..post(&[(0, name), (2, data)]) };
    assert_eq!(building.answer(&local(), unsaid).code, Code::UNSUPPORTED_CONTENT_FORMAT);
    assert_eq!(building.broker.state().topics().len(), 1);
}

#[test]
fn post_replaces_a_configuration_and_ipatch_changes_a_part() {
    let mut building = Building::new(policy(), &[]);
    let later = START.as_secs() + 1000;
    let id = building.create(
        &local(),
        &[
            (0, Property::Text("room")),
            (2, Property::Text("core.ps.data")),
            (4, Property::Text("temperature")),
            (5, Property::Date(later)),
            (6, Property::Number(100)),
        ],
    );
    let change = |method, properties: &[(i64, Property<'_>)]| {
        with(Request::new(method, &["ps", &id]), CONF, &map(properties))
    };
    let response = building.answer(&local(), change(Method::IPatch, &[(6, Property::Number(5))]));
    assert_eq!(response.code, Code::CHANGED);
    let topic = building.broker.state().topics().next().unwrap().1.clone();
    assert_eq!((topic.max_subscribers, topic.topic_type.as_deref()), (Some(5), Some("temperature")));

    // What stays may be said; what POST does not say goes back to its default.
    let response = building
        .answer(&local(), change(Method::Post, &[(0, Property::Text("room")), (7, Property::Number(60))]));
    assert_eq!(response.code, Code::CHANGED);
    let topic = building.broker.state().topics().next().unwrap().1.clone();
    assert_eq!((topic.max_subscribers, topic.topic_type.as_deref(), topic.expires), (None, None, None));
    assert_eq!(topic.observer_check, 60);

    for wrong in [(0, Property::Text("other")), (1, Property::Text("/x")), (2, Property::Text("x"))] {
        for method in [Method::Post, Method::IPatch] {
            let response = building.answer(&local(), change(method, &[wrong]));
            assert_eq!(response.code, Code::BAD_REQUEST);
            assert!(text(&response).contains("stay as they are"), "{}", text(&response));
        }
    }

    // Two who read the same version: one is later.
    let etag = building.answer(&local(), get(&["ps", &id])).etag.unwrap();
    let guarded = |most| {
        let change = change(Method::IPatch, &[(6, Property::Number(most))]);
        Request { if_match: vec![etag.as_bytes().to_vec()], ..change }
    };
    assert_eq!(building.answer(&local(), guarded(7)).code, Code::CHANGED);
    assert_eq!(building.answer(&local(), guarded(8)).code, Code::PRECONDITION_FAILED);
}

#[test]
fn fewer_subscribers_are_served_and_the_last_to_come_go() {
    let mut building = Building::new(policy(), &[]);
    let properties =
        [(0, Property::Text("room")), (2, Property::Text("core.ps.data")), (6, Property::Number(2))];
    let id = building.create(&local(), &properties);
    building.answer(&local(), put(&id, 60, &[1]));
    assert!(building.observe(&stranger(1), 1, &id).1);
    assert!(building.observe(&stranger(2), 1, &id).1);
    // The third one is answered, without Observe.
    let (response, observing) = building.observe(&stranger(3), 1, &id);
    assert_eq!((response.code, observing), (Code::CONTENT, false));
    assert_eq!(building.broker.counters().refused(Refused::Observation), 1);

    let fewer = with(Request::new(Method::IPatch, &["ps", &id]), CONF, &map(&[(6, Property::Number(1))]));
    let (response, settled) = building.ask(&local(), 1, fewer);
    assert_eq!(response.code, Code::CHANGED);
    assert_eq!(settled.notices.len(), 1);
    assert_eq!(settled.notices[0].relation, relation(&stranger(2), 1));
    assert_eq!((settled.notices[0].response.code, settled.notices[0].last), (Code::NOT_FOUND, true));
    assert_eq!(building.broker.observers(), 1);
}

#[test]
fn whoever_stops_hears_no_more() {
    let mut building = Building::new(policy(), &[]);
    let id = building.topic("room");
    building.answer(&local(), put(&id, 60, &[1]));
    for token in 1..=3 {
        building.observe(&stranger(1), token, &id);
    }
    let stop = Request { observe: Some(Observe::Deregister), ..get(&["ps", "data", &id]) };
    let (response, settled) = building.ask(&stranger(1), 1, stop);
    assert_eq!((response.code, settled.answers[0].observing), (Code::CONTENT, false));
    building.broker.end(&relation(&stranger(1), 2));
    // The same token again is the same observation.
    building.observe(&stranger(1), 3, &id);
    let (_, settled) = building.ask(&local(), 1, put(&id, 60, &[2]));
    assert_eq!(settled.notices.len(), 1);
    assert_eq!(settled.notices[0].relation, relation(&stranger(1), 3));
}

#[test]
fn a_topic_ends_when_it_says_and_its_observers_hear_of_it() {
    let mut building = Building::new(policy(), &[]);
    let later = START.as_secs() + 100;
    let properties =
        [(0, Property::Text("room")), (2, Property::Text("core.ps.data")), (5, Property::Date(later))];
    let id = building.create(&local(), &properties);
    building.answer(&local(), put(&id, 60, &[1]));
    building.observe(&stranger(1), 1, &id);
    assert_eq!(building.broker.next_expiry().map(Moment::as_secs), Some(later));

    building.wait(99);
    building.broker.expire(building.now);
    assert!(building.broker.changes().is_empty());
    building.wait(1);
    building.broker.expire(building.now);
    assert_eq!(building.broker.changes().len(), 2);
    let settled = building.broker.stored();
    assert_eq!((settled.notices[0].response.code, settled.notices[0].last), (Code::NOT_FOUND, true));
    assert_eq!(building.answer(&stranger(1), get(&["ps", &id])).code, Code::NOT_FOUND);
    assert_eq!(building.broker.next_expiry(), None);
}

#[test]
fn observers_are_asked_in_time_whether_they_still_listen() {
    let mut building = Building::new(policy(), &[]);
    let properties =
        [(0, Property::Text("room")), (2, Property::Text("core.ps.data")), (7, Property::Number(60))];
    let id = building.create(&local(), &properties);
    building.answer(&local(), put(&id, 60, &[1]));
    building.observe(&stranger(1), 1, &id);

    // Within the time a notification asks nothing.
    building.wait(30);
    let (_, settled) = building.ask(&local(), 1, put(&id, 60, &[2]));
    assert!(!settled.notices[0].confirm);
    // One that is due anyway asks, and without one the newest value is sent again.
    building.wait(30);
    let (_, settled) = building.ask(&local(), 1, put(&id, 60, &[3]));
    assert!(settled.notices[0].confirm);
    building.wait(60);
    assert!(building.broker.next_expiry().unwrap() <= building.now);
    building.broker.expire(building.now);
    let settled = building.broker.stored();
    assert_eq!(settled.notices.len(), 1);
    assert!(settled.notices[0].confirm && settled.feed.is_empty());
    assert_eq!(&*settled.notices[0].response.payload, &[3]);
    assert_eq!(building.broker.next_expiry(), Some(building.now.plus_secs(60)));
}

#[test]
fn a_reader_who_has_the_newest_value_gets_no_body() {
    let mut building = Building::new(policy(), &[]);
    let id = building.topic("room");
    building.answer(&local(), put(&id, 60, &[1]));
    let first = building.answer(&stranger(1), get(&["ps", "data", &id]));
    let etag = first.etag.unwrap();
    let again = Request { etags: vec![etag], ..get(&["ps", "data", &id]) };
    let valid = building.answer(&stranger(1), again.clone());
    assert_eq!((valid.code, valid.payload.len(), valid.etag), (Code::VALID, 0, Some(etag)));
    building.answer(&local(), put(&id, 60, &[2]));
    assert_eq!(building.answer(&stranger(1), again).code, Code::CONTENT);

    let other = ETag::new(&[1]).unwrap();
    let guarded = |etag: ETag| Request { if_match: vec![etag.as_bytes().to_vec()], ..put(&id, 60, &[3]) };
    assert_eq!(building.answer(&local(), guarded(other)).code, Code::PRECONDITION_FAILED);
    let current = building.answer(&stranger(1), get(&["ps", "data", &id])).etag.unwrap();
    assert_eq!(building.answer(&local(), guarded(current)).code, Code::CHANGED);
    let first_only = Request { if_none_match: true, ..put(&id, 60, &[4]) };
    assert_eq!(building.answer(&local(), first_only).code, Code::PRECONDITION_FAILED);
    let elsewhere = Request { accept: Some(50), ..get(&["ps", "data", &id]) };
    assert_eq!(building.answer(&stranger(1), elsewhere).code, Code::NOT_ACCEPTABLE);
}

#[test]
fn a_newcomer_finds_the_way_by_itself() {
    let mut building = Building::new(policy(), &[]);
    let mut found = |query: &[&str]| {
        let query = query.iter().map(|&parameter| parameter.to_owned()).collect();
        text(&building.answer(&stranger(1), Request { query, ..get(&[".well-known", "core"]) }))
    };
    assert_eq!(found(&["rt=core.ps"]), "</ps>;rt=\"core.ps core.ps.coll\";ct=40");
    assert_eq!(found(&["rt=core.ps.coll"]), "</ps>;rt=\"core.ps core.ps.coll\";ct=40");
    assert_eq!(found(&["rt=core.rd*"]).matches('<').count(), 3);
    assert_eq!(found(&["href=/rd"]), "</rd>;rt=core.rd;ct=40");
    assert_eq!(found(&["obs"]).matches('<').count(), 2);
    assert_eq!(found(&["rt=nothing"]), "");
    assert_eq!(found(&[]).matches('<').count(), 4);
}

#[test]
fn what_is_not_there_and_what_is_not_done_are_told_apart() {
    let mut building = Building::new(policy(), &[]);
    let id = building.topic("room");
    for path in [vec![], vec!["ps", "none"], vec!["ps", "data"], vec!["ps", "data", "none"], vec!["x"]] {
        assert_eq!(building.answer(&local(), get(&path)).code, Code::NOT_FOUND, "{path:?}");
    }
    for path in [vec!["ps"], vec!["ps", &id], vec!["ps", "data", &id], vec![".well-known", "core"]] {
        let response = building.answer(&local(), Request::new(Method::Patch, &path));
        assert_eq!(response.code, Code::METHOD_NOT_ALLOWED, "{path:?}");
    }
    assert_eq!(building.broker.counters().refused(Refused::Method), 4);
}

#[test]
fn what_the_store_did_not_take_nobody_hears_of() {
    let mut building = Building::new(Policy::default(), &[]);
    let id = building.topic("room");
    building.answer(&local(), put(&id, 60, &[1]));
    building.observe(&stranger(1), 1, &id);
    let before = building.broker.state().clone();

    // Three in a batch: each sees what those before it changed.
    let (broker, now) = (&mut building.broker, building.now);
    broker.handle(now, &local(), 1, relation(&local(), 1), put(&id, 60, &[2]));
    let observe = Request { observe: Some(Observe::Register), ..get(&["ps", "data", &id]) };
    broker.handle(now, &stranger(2), 2, relation(&stranger(2), 1), observe);
    broker.handle(
        now,
        &local(),
        3,
        relation(&local(), 1),
        post(&[(0, Property::Text("other")), (2, Property::Text("core.ps.data"))]),
    );
    assert_eq!(broker.changes().len(), 2);
    let settled = broker.not_stored("the disk is full");

    assert_eq!(settled.answers.len(), 3);
    for answer in &settled.answers {
        assert_eq!((answer.response.code, answer.observing), (Code::SERVICE_UNAVAILABLE, false));
        assert!(text(&answer.response).contains("the disk is full"));
    }
    assert!(settled.notices.is_empty() && settled.feed.is_empty());
    assert_eq!(*broker.state(), before);
    assert_eq!(broker.observers(), 1);
    assert!(broker.is_settled());
    // The name is free again.
    building.topic("other");
}

#[test]
fn an_observer_is_answered_first_and_not_told_the_same_twice() {
    let mut building = Building::new(policy(), &[]);
    let id = building.topic("room");
    let (broker, now) = (&mut building.broker, building.now);
    broker.handle(now, &local(), 1, relation(&local(), 1), put(&id, 60, &[1]));
    let observe = Request { observe: Some(Observe::Register), ..get(&["ps", "data", &id]) };
    broker.handle(now, &stranger(1), 2, relation(&stranger(1), 1), observe.clone());
    let settled = broker.stored();
    assert_eq!(&*settled.answers[1].response.payload, &[1]);
    assert!(settled.answers[1].observing && settled.notices.is_empty());
    // Published after it began, in the same batch.
    broker.handle(now, &stranger(2), 2, relation(&stranger(2), 1), observe);
    broker.handle(now, &local(), 1, relation(&local(), 1), put(&id, 60, &[2]));
    broker.handle(now, &local(), 1, relation(&local(), 1), put(&id, 60, &[3]));
    let settled = broker.stored();
    // Each hears of the newest once.
    assert_eq!(settled.notices.len(), 2);
    assert!(settled.notices.iter().all(|notice| *notice.response.payload == [3]));
}

#[test]
fn what_another_broker_stored_comes_before_what_is_open_here() {
    let mut building = Building::new(policy(), &[]);
    let id = building.topic("room");
    building.answer(&local(), put(&id, 60, &[1]));
    building.observe(&stranger(1), 1, &id);
    let (_, other) = Building::new(policy(), &[]).ask(
        &local(),
        1,
        post(&[(0, Property::Text("theirs")), (2, Property::Text("core.ps.data"))]),
    );

    let (broker, now) = (&mut building.broker, building.now);
    broker.handle(now, &local(), 5, relation(&local(), 1), put(&id, 60, &[2]));
    let settled = broker.foreign(other.feed.clone());
    assert_eq!(settled.feed, other.feed);
    assert!(settled.answers.is_empty());
    assert_eq!(broker.state().topics().len(), 2);
    // What waited still waits, and can still be taken back.
    assert_eq!(broker.changes().len(), 1);
    let settled = broker.not_stored("no quorum");
    assert_eq!(settled.answers[0].ticket, 5);
    assert_eq!(broker.state().topics().len(), 2);
    assert_eq!(*broker.state().values().next().unwrap().1.payload, [1]);
}

#[test]
fn a_device_signs_what_it_asks_of_topics() {
    let mut device = Device::new(1);
    let mut building = Building::new(policy(), &[&device]);
    let identity = device.identity;
    let own = |name| {
        post(&[
            (0, Property::Text(name)),
            (2, Property::Text("core.ps.data")),
            (DEVICE, Property::Bytes(identity.as_bytes())),
        ])
    };
    assert_eq!(building.answer(&stranger(1), own("room")).code, Code::UNAUTHORIZED);
    let signed = device.sign(own("room"));
    // Changed on the way, by somebody who has no key here, or for somebody else.
    let changed = Request { payload: own("door").payload, ..signed.clone() };
    assert_eq!(building.answer(&stranger(1), changed).code, Code::FORBIDDEN);
    assert_eq!(building.answer(&stranger(1), Device::new(2).sign(own("room"))).code, Code::UNAUTHORIZED);
    let nobodys = Request { query: vec!["proof=AAAA".to_owned()], ..own("room") };
    assert_eq!(building.answer(&stranger(1), nobodys).code, Code::BAD_REQUEST);

    let made = building.answer(&stranger(1), signed.clone());
    assert_eq!(made.code, Code::CREATED, "{}", text(&made));
    // It is the device's: a recorded request makes no second one, and nobody else ends it.
    assert_eq!(building.answer(&stranger(1), signed).code, Code::FORBIDDEN);
    let id = &made.location_path[1];
    let ends = Request::new(Method::Delete, &["ps", id]);
    assert_eq!(building.answer(&stranger(1), ends.clone()).code, Code::UNAUTHORIZED);
    assert_eq!(building.answer(&stranger(1), device.sign(ends)).code, Code::DELETED);
}
