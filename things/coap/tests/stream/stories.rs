//! What two sides of a connection have of each other.

use std::time::Duration;

use motemix_coap::{Carrier, Code, Event, Method, Observe, Peer, Relation, Request, Response, Token, format};

use crate::pair::{Alone, CARRIERS, CSM, PATIENCE, PING, PONG, Pair, RELEASE, SILENCE, content, frame};

fn observe(path: &str) -> Request {
    Request { observe: Some(Observe::Register), ..Request::new(Method::Get, &[path]) }
}

/// The client observes `t`, which is 20.
fn observing(carrier: Carrier) -> (Pair, motemix_coap::CallId, Relation) {
    let mut pair = Pair::new(carrier);
    let call = pair.client.request(pair.now, &observe("t")).expect("room");
    pair.carry();
    let incoming = pair.server.poll_request().expect("a request");
    let relation = incoming.ticket.relation();
    pair.server.respond(pair.now, incoming.ticket, &content("20"), true);
    pair.carry();
    assert_eq!(pair.client.poll_event(), Some(Event::Response { call, response: content("20") }));
    (pair, call, relation)
}

#[test]
fn a_request_arrives_whole_and_so_does_its_response() {
    for carrier in CARRIERS {
        let mut pair = Pair::new(carrier);
        let request = Request {
            query: vec!["u=Cel".to_owned()],
            content_format: Some(format::COSE_SIGN1),
            accept: Some(format::TEXT),
            if_none_match: true,
            payload: vec![7; 60_000],
            ..Request::new(Method::Put, &["a", "", "ä"])
        };
        let call = pair.client.request(pair.now, &request).expect("room");
        pair.carry();
        let response = Response {
            max_age: Some(0),
            location_path: vec!["b".to_owned()],
            ..Response::content(Code::CREATED, format::SENML_CBOR, vec![9; 50_000])
        };
        assert_eq!(pair.answer(&response, false), request);
        pair.carry();
        assert_eq!(pair.client.poll_event(), Some(Event::Response { call, response }));
        assert_eq!(pair.client.poll_event(), None);
    }
}

#[test]
fn responses_come_in_any_order_and_either_side_asks() {
    for carrier in CARRIERS {
        let mut pair = Pair::new(carrier);
        let [first_call, second_call] = ["a", "b"]
            .map(|path| pair.client.request(pair.now, &Request::new(Method::Get, &[path])).expect("room"));
        pair.carry();
        let first = pair.server.poll_request().expect("a request");
        assert_eq!(
            (&first.request.path[..], &pair.answer(&content("b"), false).path[..]),
            (&["a".to_owned()][..], &["b".to_owned()][..])
        );
        let asked_back = pair.server.request(pair.now, &Request::new(Method::Get, &["c"])).expect("room");
        pair.carry();
        assert_eq!(
            pair.client.poll_event(),
            Some(Event::Response { call: second_call, response: content("b") })
        );
        let incoming = pair.client.poll_request().expect("the server's request");
        pair.client.respond(pair.now, incoming.ticket, &content("c"), false);
        pair.server.respond(pair.now, first.ticket, &content("a"), false);
        pair.carry();
        assert_eq!(
            pair.client.poll_event(),
            Some(Event::Response { call: first_call, response: content("a") })
        );
        assert_eq!(
            pair.server.poll_event(),
            Some(Event::Response { call: asked_back, response: content("c") })
        );
    }
}

#[test]
fn an_observer_is_told_until_it_cancels() {
    for carrier in CARRIERS {
        let (mut pair, call, relation) = observing(carrier);
        pair.wait(Duration::from_secs(200));
        pair.server.notify(pair.now, &relation, &content("21"), false);
        pair.carry();
        assert_eq!(pair.client.poll_event(), Some(Event::Notification { call, response: content("21") }));
        pair.client.cancel(pair.now, call);
        pair.carry();
        let incoming = pair.server.poll_request().expect("a request");
        assert_eq!(
            (incoming.request.observe, incoming.ticket.relation()),
            (Some(Observe::Deregister), relation)
        );
        assert_eq!(pair.server.poll_event(), Some(Event::Gone(relation)));
        pair.server.respond(pair.now, incoming.ticket, &content("21"), false);
        pair.server.notify(pair.now, &relation, &content("22"), false);
        pair.carry();
        assert_eq!(pair.client.poll_event(), Some(Event::Notification { call, response: content("21") }));
        assert_eq!(pair.client.poll_event(), None);
    }
}

#[test]
fn the_last_notification_ends_the_observation_at_both_sides() {
    let (mut pair, call, relation) = observing(Carrier::Stream);
    let gone = Response::error(Code::NOT_FOUND, "the topic was deleted");
    pair.server.notify(pair.now, &relation, &gone, true);
    pair.server.notify(pair.now, &relation, &content("21"), false);
    pair.carry();
    assert_eq!(pair.client.poll_event(), Some(Event::Notification { call, response: gone }));
    assert_eq!(pair.client.poll_event(), None);
}

#[test]
fn a_slow_reader_gets_the_newest_state_and_a_bounded_queue() {
    let (mut pair, call, relation) = observing(Carrier::Stream);
    for value in 1..=100_000 {
        pair.server.notify(pair.now, &relation, &content(&value.to_string()), false);
    }
    let mut bytes = 0;
    let mut last = None;
    while let Some(message) = pair.server.poll_transmit() {
        bytes += message.len();
        pair.client.handle_bytes(pair.now, &message);
        while let Some(event) = pair.client.poll_event() {
            last = Some(event);
        }
    }
    assert!(bytes < (256 << 10) + 100, "{bytes}");
    assert_eq!(last, Some(Event::Notification { call, response: content("100000") }));
}

#[test]
fn observations_and_calls_end_with_the_connection() {
    let (mut pair, call, relation) = observing(Carrier::WebSocket);
    pair.server.closed();
    pair.client.closed();
    assert_eq!(pair.server.poll_event(), Some(Event::Gone(relation)));
    assert_eq!(pair.client.poll_event(), Some(Event::Failed { call }));
    assert!(pair.server.is_over() && pair.client.is_over());
    assert!(pair.client.request(pair.now, &observe("t")).is_err());
}

#[test]
fn a_response_longer_than_the_peer_takes_comes_in_blocks() {
    // No Max-Message-Size came: 1152 is the base value.
    let mut alone = Alone::introduced(Carrier::Stream);
    alone.say(&frame(1, &[1], &[]));
    let response = Response { payload: vec![5; 1500].into(), ..Response::new(Code::CONTENT) };
    alone.answer(&response);
    let sent = alone.sent();
    assert!(sent[0].write(Carrier::Stream).len() <= 1152);
    // ETag of 8 bytes, Block2 0/more/1024, Size2 1500, 1024 bytes.
    assert_eq!(sent[0].rest[0], 0x48);
    assert_eq!(sent[0].rest[9..16], [0xd1, 6, 0x0e, 0x52, 0x05, 0xdc, 0xff]);
    assert_eq!(sent[0].rest.len(), 9 + 7 + 1024);
    // Block2 1/last/1024.
    alone.say(&frame(1, &[2], &[0xd1, 10, 0x16]));
    assert_eq!(alone.sent()[0].rest.len(), 9 + 4 + 476);
}

#[test]
fn a_csm_may_come_again_and_says_how_much_is_taken_now() {
    let mut alone = Alone::introduced(Carrier::Stream);
    alone.say(&frame(CSM, &[], &[0x22, 0x07, 0xd0]));
    alone.say(&frame(1, &[1], &[]));
    alone.answer(&Response { payload: vec![5; 1500].into(), ..Response::new(Code::CONTENT) });
    assert_eq!(alone.sent()[0].rest.len(), 1501);
    // One without an option changes nothing (RFC 8323 §5.3).
    alone.say(&frame(CSM, &[], &[]));
    alone.say(&frame(1, &[1], &[]));
    alone.answer(&Response { payload: vec![5; 1500].into(), ..Response::new(Code::CONTENT) });
    assert_eq!(alone.sent()[0].rest.len(), 1501);
}

#[test]
fn a_silent_connection_is_asked_whether_it_lives() {
    let mut pair = Pair::new(Carrier::Stream);
    for _ in 0..100 {
        pair.wait(SILENCE);
        pair.carry();
        assert!(!pair.server.is_over() && !pair.client.is_over());
    }
    let mut alone = Alone::introduced(Carrier::Stream);
    assert_eq!(alone.session.poll_timeout(), Some(alone.now + SILENCE));
    alone.wait(SILENCE);
    assert_eq!(alone.sent(), [frame(PING, &[], &[])]);
    assert_eq!(alone.session.poll_timeout(), Some(alone.now + PATIENCE));
    alone.wait(PATIENCE);
    alone.aborts();
}

#[test]
fn a_pong_with_custody_waits_until_what_came_before_is_answered() {
    let mut alone = Alone::introduced(Carrier::Stream);
    let custody = [0x20];
    alone.say(&frame(PING, &[0x41], &custody));
    assert_eq!(alone.sent(), [frame(PONG, &[0x41], &custody)]);
    alone.say(&frame(1, &[1], &[]));
    alone.say(&frame(PING, &[0x42], &custody));
    alone.say(&frame(1, &[2], &[]));
    assert_eq!(alone.sent(), []);
    alone.answer(&Response::new(Code::VALID));
    assert_eq!(alone.sent(), [frame(0x43, &[1], &[]), frame(PONG, &[0x42], &custody)]);
    // What came behind the Ping still waits.
    assert!(alone.session.poll_request().is_some());
}

#[test]
fn who_releases_a_connection_still_gets_its_answers() {
    let mut alone = Alone::introduced(Carrier::WebSocket);
    alone.say(&frame(1, &[1], &[]));
    alone.say(&frame(RELEASE, &[], &[]));
    assert!(!alone.session.is_over());
    assert!(alone.session.request(alone.now, &observe("t")).is_err());
    alone.answer(&Response::new(Code::VALID));
    assert!(alone.session.is_over());
    assert_eq!(alone.sent(), [frame(0x43, &[1], &[])]);
    // Without anything to answer it is over at once, and after half a minute in any case.
    let mut alone = Alone::introduced(Carrier::WebSocket);
    alone.say(&frame(RELEASE, &[], &[]));
    assert!(alone.session.is_over());
    let mut alone = Alone::introduced(Carrier::WebSocket);
    alone.say(&frame(1, &[1], &[]));
    alone.say(&frame(RELEASE, &[], &[]));
    alone.wait(PATIENCE);
    assert!(alone.session.is_over());
}

#[test]
fn a_release_is_the_last_that_is_said() {
    let (mut pair, call, relation) = observing(Carrier::Stream);
    pair.server.release();
    assert!(pair.server.is_over());
    assert_eq!(pair.server.poll_event(), Some(Event::Gone(relation)));
    pair.carry();
    assert!(pair.client.is_over());
    assert_eq!(pair.client.poll_event(), Some(Event::Failed { call }));
}

#[test]
fn a_call_that_nobody_answers_fails_and_a_late_answer_harms_nothing() {
    let mut pair = Pair::new(Carrier::Stream);
    let call = pair.client.request(pair.now, &Request::new(Method::Get, &["a"])).expect("room");
    pair.carry();
    pair.wait(SILENCE);
    pair.carry();
    pair.wait(Duration::from_secs(7));
    assert_eq!(pair.client.poll_event(), Some(Event::Failed { call }));
    pair.answer(&content("a"), false);
    pair.carry();
    assert_eq!(pair.client.poll_event(), None);
    assert!(!pair.client.is_over());
}

#[test]
fn relations_of_nobody_are_not_told() {
    let mut alone = Alone::introduced(Carrier::Stream);
    let relation = Relation { peer: Peer::Stream(7), token: Token::new(&[1]).expect("short") };
    alone.session.notify(alone.now, &relation, &content("21"), false);
    assert_eq!(alone.sent(), []);
}
