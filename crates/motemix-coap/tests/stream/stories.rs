//! What two sides of a connection have of each other.

use std::time::Duration;

use motemix_coap::stream::{Carriage, End, Event, Full, Settings, Signal};
use motemix_coap::{Code, Method, Observe, Peer, Relation, Request, Response, Token, format};

use crate::pair::{Alone, CARRIAGES, Pair, content, csm, frame};

fn observe(path: &str) -> Request {
    Request { observe: Some(Observe::Register), ..Request::new(Method::Get, &[path]) }
}

#[test]
fn a_request_arrives_whole_and_so_does_its_response() {
    for carriage in CARRIAGES {
        let mut pair = Pair::new(carriage);
        let request = Request {
            query: vec!["u=Cel".to_owned()],
            content_format: Some(format::COSE_SIGN1),
            accept: Some(format::TEXT),
            if_none_match: true,
            payload: vec![7; 100_000],
            ..Request::new(Method::Put, &["a", "", "ä"])
        };
        pair.carry();
        let call = pair.client.request(pair.now, &request).expect("there is room");
        pair.carry();
        let response = Response {
            max_age: Some(0),
            location_path: vec!["b".to_owned()],
            ..Response::content(Code::CREATED, format::SENML_CBOR, vec![9; 70_000])
        };
        let incoming = pair.answer(&response, false);
        assert_eq!(incoming.request, request);
        pair.carry();
        assert_eq!(pair.client.poll_event(), Some(Event::Response { call, response }));
        assert_eq!(pair.client.poll_event(), None);
    }
}

#[test]
fn responses_come_in_any_order_and_either_side_asks() {
    for carriage in CARRIAGES {
        let mut pair = Pair::new(carriage);
        let calls = ["a", "b"].map(|path| pair.client.request(pair.now, &Request::new(Method::Get, &[path])));
        pair.carry();
        let first = pair.server.poll_request().expect("a request");
        let second = pair.answer(&content("b"), false);
        assert_eq!([&first.request.path[0], &second.request.path[0]], ["a", "b"]);
        let asked_back = pair.server.request(pair.now, &Request::new(Method::Get, &["c"])).expect("room");
        pair.carry();
        let call = calls[1].expect("room");
        assert_eq!(pair.client.poll_event(), Some(Event::Response { call, response: content("b") }));
        let incoming = pair.client.poll_request().expect("the server's request");
        pair.client.respond(pair.now, incoming.ticket, &content("c"), false);
        pair.server.respond(pair.now, first.ticket, &content("a"), false);
        pair.carry();
        let call = calls[0].expect("room");
        assert_eq!(pair.client.poll_event(), Some(Event::Response { call, response: content("a") }));
        assert_eq!(
            pair.server.poll_event(),
            Some(Event::Response { call: asked_back, response: content("c") })
        );
    }
}

#[test]
fn an_observer_is_told_until_it_cancels() {
    for carriage in CARRIAGES {
        let mut pair = Pair::new(carriage);
        let call = pair.client.request(pair.now, &observe("t")).expect("room");
        pair.carry();
        let relation = pair.answer(&content("20"), true).relation;
        pair.carry();
        assert_eq!(pair.client.poll_event(), Some(Event::Notification { call, response: content("20") }));
        pair.wait(Duration::from_secs(200));
        pair.server.notify(pair.now, &relation, &content("21"), false);
        pair.carry();
        assert_eq!(pair.client.poll_event(), Some(Event::Notification { call, response: content("21") }));
        pair.client.cancel(pair.now, call).expect("room");
        pair.carry();
        let incoming = pair.answer(&content("21"), false);
        assert_eq!((incoming.request.observe, incoming.relation), (Some(Observe::Deregister), relation));
        assert_eq!(pair.server.poll_event(), Some(Event::Gone(relation)));
        pair.server.notify(pair.now, &relation, &content("22"), false);
        pair.carry();
        assert_eq!(pair.client.poll_event(), Some(Event::Response { call, response: content("21") }));
        assert_eq!(pair.client.poll_event(), None);
    }
}

#[test]
fn the_last_notification_ends_the_observation_at_both_sides() {
    let mut pair = Pair::new(Carriage::Bytes);
    let call = pair.client.request(pair.now, &observe("t")).expect("room");
    pair.carry();
    let relation = pair.answer(&content("20"), true).relation;
    pair.carry();
    pair.client.poll_event();
    let gone = Response::error(Code::NOT_FOUND, "the topic was deleted");
    pair.server.notify(pair.now, &relation, &gone, true);
    pair.server.notify(pair.now, &relation, &content("21"), false);
    pair.carry();
    assert_eq!(pair.client.poll_event(), Some(Event::Response { call, response: gone }));
    assert_eq!(pair.client.poll_event(), None);
}

#[test]
fn a_slow_reader_gets_the_newest_state_and_no_queue() {
    let mut pair = Pair::new(Carriage::Bytes);
    let call = pair.client.request(pair.now, &observe("t")).expect("room");
    pair.carry();
    let relation = pair.answer(&content("0"), true).relation;
    pair.carry();
    pair.client.poll_event();
    for value in 1..=10_000 {
        pair.server.notify(pair.now, &relation, &content(&value.to_string()), false);
    }
    pair.carry();
    assert_eq!(pair.client.poll_event(), Some(Event::Notification { call, response: content("10000") }));
    assert_eq!(pair.client.poll_event(), None);
    assert_eq!(pair.server.counters().coalesced, 9_999);
}

#[test]
fn observations_end_with_the_connection() {
    let mut pair = Pair::new(Carriage::WebSocket);
    let call = pair.client.request(pair.now, &observe("t")).expect("room");
    pair.carry();
    let relation = pair.answer(&content("20"), true).relation;
    pair.carry();
    pair.client.poll_event();
    pair.server.lost(pair.now);
    pair.client.lost(pair.now);
    assert_eq!(pair.server.poll_event(), Some(Event::Gone(relation)));
    assert_eq!(pair.client.poll_event(), Some(Event::Failed(call)));
    assert!(pair.server.is_over() && pair.client.is_over());
    assert_eq!(pair.client.request(pair.now, &observe("t")), Err(Full::Ended));
}

#[test]
fn there_are_as_many_observations_as_there_is_room_for() {
    let mut pair = Pair::with(Carriage::Bytes, Settings { observations: 1, ..Settings::default() });
    for path in ["a", "b"] {
        pair.client.request(pair.now, &observe(path)).expect("room");
    }
    pair.carry();
    pair.answer(&content("a"), true);
    let relation = pair.answer(&content("b"), true).relation;
    pair.carry();
    assert!(matches!(pair.client.poll_event(), Some(Event::Notification { .. })));
    assert!(matches!(pair.client.poll_event(), Some(Event::Response { .. })));
    assert_eq!(pair.server.poll_event(), Some(Event::Gone(relation)));
    assert_eq!(pair.server.counters().not_observed, 1);
}

#[test]
fn a_response_longer_than_the_peer_takes_is_an_error_and_not_a_dead_connection() {
    let mut alone = Alone::introduced(Carriage::Bytes, Settings::default());
    // No Max-Message-Size came: 1152 is the base value.
    for (len, code) in [(1135, Code::CONTENT), (1152, Code::INTERNAL_SERVER_ERROR)] {
        alone.say(&frame(1, &[1], &[]));
        let incoming = alone.session.poll_request().expect("a request");
        let response = Response { payload: vec![0; len].into(), ..Response::new(Code::CONTENT) };
        alone.session.respond(alone.now, incoming.ticket, &response, false);
        let sent = alone.sent();
        assert_eq!(sent[0].code, code.byte());
        assert!(sent[0].to_stream().len() <= 1152);
    }
    assert_eq!(alone.session.counters().too_long, 1);
    alone.say(&csm(Some(2000)).to_frame(Token::default()));
    alone.say(&frame(1, &[1], &[]));
    let incoming = alone.session.poll_request().expect("a request");
    let response = Response { payload: vec![0; 1900].into(), ..Response::new(Code::CONTENT) };
    alone.session.respond(alone.now, incoming.ticket, &response, false);
    assert_eq!(alone.sent()[0].code, Code::CONTENT.byte());
}

#[test]
fn a_quiet_connection_is_asked_whether_it_lives() {
    let mut pair = Pair::new(Carriage::Bytes);
    pair.carry();
    for _ in 0..100 {
        let timeout = pair.server.poll_timeout().expect("a Ping is due");
        pair.now = timeout;
        pair.wait(Duration::ZERO);
        pair.carry();
        assert_eq!((pair.server.end(), pair.client.end()), (None, None));
    }
    // The client is gone, and nobody knows.
    pair.wait(Settings::default().ping_after);
    while pair.server.poll_transmit().is_some() {}
    pair.wait(Settings::default().pong_timeout);
    assert_eq!(pair.server.end(), Some(&End::NoPong));
}

#[test]
fn a_pong_with_custody_waits_until_what_came_before_is_answered() {
    let mut alone = Alone::introduced(Carriage::Bytes, Settings::default());
    alone.say(&frame(1, &[1], &[]));
    let token = Token::new(&[0x42]).expect("short");
    alone.say(&Signal::Ping { custody: true }.to_frame(token));
    alone.say(&frame(1, &[2], &[]));
    assert_eq!(alone.sent(), []);
    let first = alone.session.poll_request().expect("a request");
    alone.session.respond(alone.now, first.ticket, &content("1"), false);
    let sent = alone.sent();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0].token.as_bytes(), [1]);
    assert_eq!(sent[1], Signal::Pong { custody: true }.to_frame(token));
    // What came behind the Ping still waits.
    assert!(alone.session.poll_request().is_some());
}

#[test]
fn a_release_waits_for_answers_and_takes_no_more_requests() {
    for carriage in CARRIAGES {
        let mut pair = Pair::new(carriage);
        let call = pair.client.request(pair.now, &Request::new(Method::Get, &["a"])).expect("room");
        pair.carry();
        pair.server.close(pair.now);
        pair.carry();
        assert_eq!((pair.server.end(), pair.client.end()), (None, None));
        assert_eq!(pair.client.request(pair.now, &observe("b")), Err(Full::Ended));
        pair.answer(&content("a"), false);
        pair.carry();
        assert_eq!(pair.client.poll_event(), Some(Event::Response { call, response: content("a") }));
        assert_eq!(pair.server.end(), Some(&End::Closed));
        let released = End::Released { alternatives: Vec::new(), hold_off: None };
        assert_eq!(pair.client.end(), Some(&released));
        assert!(pair.server.is_over() && pair.client.is_over());
    }
}

#[test]
fn a_release_does_not_wait_for_ever() {
    let mut pair = Pair::new(Carriage::Bytes);
    pair.client.request(pair.now, &observe("a")).expect("room");
    pair.carry();
    pair.server.close(pair.now);
    pair.carry();
    pair.wait(Settings::default().release_timeout);
    assert_eq!(pair.server.end(), Some(&End::Closed));
}

#[test]
fn a_release_names_other_addresses() {
    let mut alone = Alone::introduced(Carriage::Bytes, Settings::default());
    let alternatives = vec!["[2001:db8::2]:5683".to_owned(), "other.example".to_owned()];
    let release = Signal::Release { alternatives: alternatives.clone(), hold_off: Some(30) };
    alone.say(&release.to_frame(Token::default()));
    assert_eq!(alone.session.end(), Some(&End::Released { alternatives, hold_off: Some(30) }));
}

#[test]
fn a_call_that_nobody_answers_fails() {
    let mut pair = Pair::new(Carriage::Bytes);
    let call = pair.client.request(pair.now, &Request::new(Method::Get, &["a"])).expect("room");
    pair.carry();
    pair.wait(Settings::default().answer_timeout);
    assert_eq!(pair.client.poll_event(), Some(Event::Failed(call)));
    // It comes too late, and harms nothing.
    pair.answer(&content("a"), false);
    pair.carry();
    assert_eq!(pair.client.poll_event(), None);
    assert_eq!(pair.client.counters().strange, 1);
    assert_eq!(pair.client.end(), None);
}

#[test]
fn relations_of_another_connection_are_not_told() {
    let mut pair = Pair::new(Carriage::Bytes);
    pair.client.request(pair.now, &observe("t")).expect("room");
    pair.carry();
    let relation = pair.answer(&content("20"), true).relation;
    pair.carry();
    let other = Relation { peer: Peer::Stream(99), ..relation };
    pair.server.notify(pair.now, &other, &content("21"), false);
    assert_eq!(pair.server.poll_transmit(), None);
}
