//! Requests, observations and long bodies between two who mean well.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use motemix_coap::{Code, ETag, Method, Observe, Request, Response, Settings, format};
use proptest::prelude::*;

use crate::pair::{Application, Pair};

fn text(text: &str) -> Response {
    Response::content(Code::CONTENT, format::TEXT, text.as_bytes())
}

fn body(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index * 7 % 251) as u8).collect()
}

/// Answers each request with its own payload, and says how often it was asked.
fn echoing() -> (Application, Rc<RefCell<u64>>) {
    let count = Rc::new(RefCell::new(0));
    let counted = Rc::clone(&count);
    let application = move |request: Request, _| {
        *counted.borrow_mut() += 1;
        (Response::content(Code::CHANGED, format::OCTETS, request.payload), false)
    };
    (Box::new(application), count)
}

fn observable() -> Application {
    Box::new(|request: Request, _| (text("21.5"), request.observe == Some(Observe::Register)))
}

fn put(len: usize) -> Request {
    let mut request = Request::new(Method::Put, &["ps", "data", "t"]);
    request.payload = body(len);
    request
}

fn observe() -> Request {
    let mut request = Request::new(Method::Get, &["t"]);
    request.observe = Some(Observe::Register);
    request
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A request is carried out once, however often its datagrams come, and its response comes.
    #[test]
    fn requests_are_carried_out_once_over_a_bad_wire(seed: u64, len in 0_usize..6000, takes in 0_u64..3000) {
        let (application, count) = echoing();
        let mut pair = Pair::new(seed, application);
        (pair.loss, pair.repeat, pair.delay) = (40, 80, Duration::from_millis(300));
        pair.takes = Duration::from_millis(takes);
        for number in 1..=3 {
            let call = pair.ask(put(len));
            pair.run(Duration::from_mins(10), |pair| pair.response(call).is_some() || pair.has_failed(call));
            if let Some(response) = pair.response(call) {
                prop_assert!(response.payload[..] == body(len)[..], "{:?}", response.code);
            }
            prop_assert!(*count.borrow() <= number, "carried out twice");
        }
    }
}

#[test]
fn an_answer_that_takes_long_comes_in_a_message_of_its_own() {
    let (application, count) = echoing();
    let mut pair = Pair::new(1, application);
    pair.takes = Duration::from_secs(30);
    assert_eq!(pair.answer_to(put(4)).payload[..], body(4)[..]);
    assert_eq!(*count.borrow(), 1);
    assert_eq!(pair.client.counters().repeated, 0, "it was acknowledged before");
}

#[test]
fn long_bodies_go_both_ways_in_blocks() {
    let (application, _) = echoing();
    let mut pair = Pair::new(1, application);
    for len in [1024, 1025, 5000, 65_536] {
        let answer = pair.answer_to(put(len));
        assert!(answer.payload[..] == body(len)[..], "{len}: {:?}", answer.code);
    }
    let refused = pair.answer_to(put(65_537));
    assert_eq!((refused.code, refused.size1), (Code::REQUEST_ENTITY_TOO_LARGE, Some(64 << 10)));
}

#[test]
fn a_body_that_changes_while_it_is_read_stays_what_it_was() {
    let count = Rc::new(RefCell::new(0_u8));
    let counted = Rc::clone(&count);
    let application: Application = Box::new(move |_, _| {
        *counted.borrow_mut() += 1;
        let number = *counted.borrow();
        let mut response = Response::content(Code::CONTENT, format::OCTETS, vec![number; 5000]);
        response.etag = ETag::new(&[number]);
        (response, false)
    });
    let mut pair = Pair::new(1, application);
    let got = pair.answer_to(Request::new(Method::Get, &["t"]));
    assert!(got.payload[..] == [1; 5000]);
    assert_eq!(*count.borrow(), 1, "the other blocks are of the body that was begun with");
}

#[test]
fn an_observer_hears_of_changes_until_it_has_had_enough() {
    let mut pair = Pair::new(1, observable());
    let call = pair.ask(observe());
    pair.run(Duration::from_secs(1), |pair| pair.response(call).is_some());
    assert_eq!(pair.observers.len(), 1);
    for number in 0..200 {
        pair.notify(&text(&number.to_string()));
        pair.run(Duration::from_millis(20), |_| false);
    }
    let heard = pair.notifications(call).len();
    assert_eq!(heard, 200, "{:?}", pair.server.counters());
    pair.client.cancel(call);
    pair.notify(&text("nobody"));
    pair.run(Duration::from_secs(1), |_| false);
    assert_eq!((pair.observers.len(), pair.gone(), pair.server.relations()), (0, 1, 0));
}

#[test]
fn an_observer_that_is_gone_is_found_out_and_costs_a_few_datagrams() {
    let mut pair = Pair::new(1, observable());
    let call = pair.ask(observe());
    pair.run(Duration::from_secs(1), |pair| pair.response(call).is_some());
    pair.loss = 255;
    let before = pair.server.counters().sent;
    for number in 0..1000 {
        pair.notify(&text(&number.to_string()));
        pair.run(Duration::from_millis(100), |_| false);
    }
    assert_eq!(pair.observers.len(), 0);
    let sent = pair.server.counters().sent - before;
    assert_eq!(sent, 5, "the first, and four repetitions of it");
}

#[test]
fn an_observer_behind_a_bad_wire_ends_with_the_newest_state() {
    for seed in 0..30 {
        let mut pair = Pair::new(seed, observable());
        (pair.loss, pair.repeat, pair.delay) = (60, 60, Duration::from_millis(400));
        let call = pair.ask(observe());
        pair.run(Duration::from_mins(5), |pair| pair.response(call).is_some());
        for number in 0..40 {
            pair.notify(&text(&number.to_string()));
            pair.run(Duration::from_millis(300), |_| false);
        }
        // The one that says so is confirmed, as one is after so many that were not.
        pair.loss = 0;
        pair.notify(&text("last"));
        pair.run(Duration::from_mins(5), |pair| {
            pair.notifications(call).last().is_some_and(|last| last.payload[..] == *b"last")
        });
        let is_there = pair.notifications(call).last().is_some_and(|last| last.payload[..] == *b"last");
        assert!(is_there || pair.observers.is_empty(), "seed {seed}");
    }
}

#[test]
fn a_long_notification_is_read_to_its_end() {
    let long = |byte: u8| Response::content(Code::CONTENT, format::OCTETS, vec![byte; 3000]);
    let now = Rc::new(RefCell::new(1_u8));
    let current = Rc::clone(&now);
    let application: Application = Box::new(move |request: Request, _| {
        (long(*current.borrow()), request.observe == Some(Observe::Register))
    });
    let mut pair = Pair::new(1, application);
    let call = pair.ask(observe());
    pair.run(Duration::from_secs(5), |pair| pair.response(call).is_some());
    *now.borrow_mut() = 2;
    pair.notify(&long(2));
    pair.run(Duration::from_secs(5), |pair| !pair.notifications(call).is_empty());
    assert!(pair.notifications(call)[0].payload[..] == [2; 3000]);
}

#[test]
fn whoever_has_to_prove_its_address_does_so_and_is_served() {
    let (application, count) = echoing();
    let mut settings = Settings::default();
    settings.challenge = true;
    let mut pair = Pair::with(1, settings, application);
    assert_eq!(pair.answer_to(put(4)).payload[..], body(4)[..]);
    assert_eq!((pair.server.counters().unproven, *count.borrow()), (1, 1));
    assert_eq!(pair.answer_to(put(4)).code, Code::CHANGED);
    assert_eq!(pair.server.counters().unproven, 1, "it is remembered");
}
