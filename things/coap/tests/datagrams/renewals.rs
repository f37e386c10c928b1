//! Clients that have lost their context get a new one of what both sides were given (RFC 8613,
//! appendix B.2).

use std::time::Duration;

use motemix_coap::message::{Message, option};
use motemix_coap::oscore::edhoc::AnyByValue;
use motemix_coap::oscore::{Context, Contexts, Counters, Layer, NothingStored, Settings as Bounds};
use motemix_coap::{Code, DropReason, Endpoint, Method, Observe, Protection, Request, Response};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng as _;

use crate::pair::{CLIENT, Pair, SERVER, address};
use crate::protected::{self, answer, ask, given, put};

/// The client forgets all but what it was given.
fn forget(pair: &mut Pair, seed: u64) -> motemix_coap::oscore::ContextId {
    let mut contexts = Contexts::new(Bounds::default());
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let context = Context::lost(pair.now, &given(0), &mut rng).expect("sound");
    let id = contexts.insert(pair.now, context).expect("a place");
    let layer = Layer { contexts, responder: None };
    // Nothing has to be on a disk for it.
    pair.client.protect(Protection { layer, policy: Box::new(AnyByValue), store: Box::new(NothingStored) });
    id
}

fn counters(server: &mut Endpoint) -> Counters {
    *server.protection().expect("it speaks OSCORE").layer.contexts.counters()
}

#[test]
fn a_client_that_lost_its_context_gets_a_new_one_by_two_exchanges() {
    for seed in 0..8 {
        let (mut pair, before, value) = protected::pair(seed);
        (pair.loss, pair.repeat, pair.delay) = (40, 60, Duration::from_millis(300));
        assert!(answer(&mut pair, Some(before), put(b"1")).is_some());
        for (run, len) in [(1, 3), (2, 5000)] {
            let id = forget(&mut pair, 100 * seed + run);
            let body = vec![run as u8; len];
            let response = answer(&mut pair, Some(id), put(&body)).expect("it gets through");
            assert_eq!((response.code, &*value.borrow()), (Code::CHANGED, &body), "seed {seed}");
            assert_eq!(counters(&mut pair.server).renewed, run, "seed {seed}");
            // From then on it asks under the new one, by the name that the application knows.
            assert!(answer(&mut pair, Some(id), put(b"2")).is_some());
            assert_eq!(counters(&mut pair.server).renewed, run, "seed {seed}");
        }
    }
}

/// The application knows whose requests they are: by the context that both sides were given.
#[test]
fn a_new_context_is_that_of_whom_the_lost_one_was_given() {
    let (mut pair, _, _) = protected::pair(1);
    let contexts = &pair.server.protection().expect("it speaks OSCORE").layer.contexts;
    assert_eq!(contexts.len(), 1);
    let mut seen = Vec::new();
    for run in 0..3 {
        let id = forget(&mut pair, run);
        let call = ask(&mut pair, Some(id), put(b"1"));
        while seen.len() as u64 == run {
            while let Some(sent) = pair.client.poll_transmit() {
                let _ = pair.server.handle_datagram(pair.now, address(CLIENT), &sent.bytes);
            }
            if let Some(incoming) = pair.server.poll_request() {
                let given = pair.server.given_context(&incoming.ticket);
                assert_ne!(given, pair.server.context(&incoming.ticket));
                seen.push(given);
                pair.server.respond(pair.now, incoming.ticket, &Response::new(Code::CHANGED), false);
            }
            while let Some(sent) = pair.server.poll_transmit() {
                let _ = pair.client.handle_datagram(pair.now, address(SERVER), &sent.bytes);
            }
        }
        assert!(!pair.client.is_under_way(call));
    }
    assert!(seen[0].is_some() && seen.iter().all(|given| *given == seen[0]));
    assert_eq!(pair.server.protection().expect("it speaks OSCORE").layer.contexts.len(), 1);
}

/// The server was started again, and has forgotten what the client remembers: it begins itself.
#[test]
fn a_server_that_lost_a_new_context_makes_another_with_its_client() {
    let (mut pair, _, _) = protected::pair(2);
    let id = forget(&mut pair, 5);
    assert!(answer(&mut pair, Some(id), put(b"1")).is_some());
    for restart in 0..3 {
        pair.server = Endpoint::new(motemix_coap::Settings::default(), [restart; 32]);
        protected::protect(&mut pair.server, 1, Some([restart; 8]));
        assert!(answer(&mut pair, Some(id), put(b"2")).is_some());
        assert_eq!(counters(&mut pair.server).renewed, 1);
    }
}

/// What goes over the wire of a run: first request, its answer, second request, its answer.
fn recorded(pair: &mut Pair, seed: u64) -> [Vec<u8>; 4] {
    let id = forget(pair, seed);
    ask(pair, Some(id), put(b"1"));
    let mut all = Vec::new();
    while all.len() < 4 {
        let sent = pair.client.poll_transmit().expect("a request");
        pair.server.handle_datagram(pair.now, address(CLIENT), &sent.bytes).expect("taken");
        if let Some(incoming) = pair.server.poll_request() {
            pair.server.respond(pair.now, incoming.ticket, &Response::new(Code::CHANGED), false);
        }
        let answer = pair.server.poll_transmit().expect("an answer");
        pair.client.handle_datagram(pair.now, address(SERVER), &answer.bytes).expect("taken");
        all.extend([sent.bytes, answer.bytes]);
    }
    all.try_into().expect("four")
}

#[test]
fn recorded_messages_of_a_run_make_nothing_happen() {
    let (mut pair, _, _) = protected::pair(3);
    let [first, answered, second, _] = recorded(&mut pair, 1);
    let replay = |pair: &mut Pair, datagram: &[u8], id: u8| {
        let mut datagram = datagram.to_vec();
        datagram[2..4].copy_from_slice(&[id, id]);
        let _ = pair.server.handle_datagram(pair.now, address(CLIENT), &datagram);
        assert!(pair.server.poll_request().is_none());
        Message::read(&pair.server.poll_transmit().expect("an answer").bytes).expect("a message")
    };
    // The first one is answered under another R2, which nobody goes on with.
    let again = replay(&mut pair, &first, 1);
    let answered = Message::read(&answered).expect("a message");
    assert!(again.option(option::OSCORE).is_some());
    assert_ne!(again.option(option::OSCORE), answered.option(option::OSCORE));
    assert_ne!(again.payload, answered.payload);
    let replayed = replay(&mut pair, &second, 2);
    assert_eq!(
        (Code::of_byte(replayed.code), &replayed.payload[..]),
        (Some(Code::UNAUTHORIZED), &b"Replay detected"[..])
    );
    // After another run, and after the server was started again, its R2 is nobody's.
    recorded(&mut pair, 2);
    assert!(replay(&mut pair, &second, 3).option(option::OSCORE).is_some());
    pair.server = Endpoint::new(motemix_coap::Settings::default(), [9; 32]);
    protected::protect(&mut pair.server, 1, Some([9; 8]));
    assert!(replay(&mut pair, &second, 4).option(option::OSCORE).is_some());
    assert_eq!(counters(&mut pair.server).renewed, 0);
    // R2 is good for a while.
    let id = forget(&mut pair, 7);
    ask(&mut pair, Some(id), put(b"1"));
    let sent = pair.client.poll_transmit().expect("a request");
    let _ = pair.server.handle_datagram(pair.now, address(CLIENT), &sent.bytes);
    let answer = pair.server.poll_transmit().expect("an answer");
    pair.client.handle_datagram(pair.now, address(SERVER), &answer.bytes).expect("taken");
    let late = pair.client.poll_transmit().expect("a second request");
    pair.now = pair.now + Duration::from_mins(5);
    let _ = pair.server.handle_datagram(pair.now, address(CLIENT), &late.bytes);
    assert!(pair.server.poll_request().is_none());
    assert_eq!(counters(&mut pair.server).renewed, 0);
}

/// An R2 is good for a minute at least, also if the server made another key a moment after.
#[test]
fn an_r2_that_was_given_before_another_key_was_made_is_good_for_a_minute() {
    let (mut pair, _, _) = protected::pair(5);
    let begin = |pair: &mut Pair, seed| {
        let id = forget(pair, seed);
        ask(pair, Some(id), put(b"1"));
        let sent = pair.client.poll_transmit().expect("a request");
        let _ = pair.server.handle_datagram(pair.now, address(CLIENT), &sent.bytes);
        let answer = pair.server.poll_transmit().expect("an answer");
        pair.client.handle_datagram(pair.now, address(SERVER), &answer.bytes).expect("taken");
        pair.client.poll_transmit().expect("a second request").bytes
    };
    begin(&mut pair, 1);
    pair.now = pair.now + Duration::from_secs(59);
    let second = begin(&mut pair, 2);
    pair.now = pair.now + Duration::from_secs(1);
    let other = begin(&mut pair, 3);
    pair.now = pair.now + Duration::from_secs(58);
    assert_eq!(pair.server.handle_datagram(pair.now, address(CLIENT), &second), Ok(()));
    assert_eq!(counters(&mut pair.server).renewed, 1);
    // Both keys end with the run that succeeds.
    let _ = pair.server.handle_datagram(pair.now, address(CLIENT), &other);
    assert_eq!(counters(&mut pair.server).renewed, 1);
}

/// A device that was started again begins with the tokens that it began with before.
#[test]
fn a_client_that_was_started_again_observes_with_the_token_that_it_had() {
    let (mut pair, before, _) = protected::pair(6);
    let observe = || Request { observe: Some(Observe::Register), ..Request::new(Method::Get, &["value"]) };
    assert!(answer(&mut pair, Some(before), observe()).is_some());
    let observed = std::mem::take(&mut pair.observers);
    pair.events.clear();
    pair.client = Endpoint::new(motemix_coap::Settings::default(), [1; 32]);
    let id = forget(&mut pair, 1);
    let response = answer(&mut pair, Some(id), observe()).expect("a new context");
    assert_eq!((response.code, counters(&mut pair.server).renewed), (Code::CONTENT, 1));
    assert_eq!((&pair.observers, pair.server.relations()), (&observed, 1));
}

/// Strangers claim to have lost a context until a server looks at none of them any more; how many were
/// refused, and how many are to prove their addresses.
fn flood(pair: &mut Pair) -> (u32, u32) {
    let (mut refused, mut unproven) = (0, 0);
    for number in 0..1_200_u64 {
        pair.client = Endpoint::new(motemix_coap::Settings::default(), [1; 32]);
        let id = forget(pair, number);
        ask(pair, Some(id), put(b"1"));
        let mut bytes = pair.client.poll_transmit().expect("a request").bytes;
        *bytes.last_mut().expect("a tag") ^= 1;
        bytes[2..4].copy_from_slice(&(number as u16).to_be_bytes());
        match pair.server.handle_datagram(pair.now, address(1000 + number as u16), &bytes) {
            Err(DropReason::Refused) => refused += 1,
            Err(DropReason::Unproven) => unproven += 1,
            other => panic!("{other:?}"),
        }
    }
    while pair.server.poll_transmit().is_some() {}
    (refused, unproven)
}

/// A kid and any kid context cost the server two derivations of keys: strangers get so many of them.
#[test]
fn strangers_who_claim_to_have_lost_a_context_have_to_prove_their_addresses() {
    let (mut pair, _, value) = protected::pair(4);
    assert_eq!(flood(&mut pair), (1_024, 176));
    // Our own client does so by itself, and is through in less than a second.
    pair.client = Endpoint::new(motemix_coap::Settings::default(), [1; 32]);
    let (id, before) = (forget(&mut pair, 2000), pair.now);
    assert!(answer(&mut pair, Some(id), put(b"in")).is_some());
    assert_eq!((counters(&mut pair.server).renewed, &value.borrow()[..]), (1, &b"in"[..]));
    assert!(pair.now - before < Duration::from_secs(1));
    assert_eq!(pair.server.counters().unproven, 177);
    // A second later nobody has to.
    pair.now = before + Duration::from_secs(2);
    let id = forget(&mut pair, 2001);
    assert!(answer(&mut pair, Some(id), put(b"1")).is_some());
    assert_eq!(pair.server.counters().unproven, 177);
}

#[test]
fn a_lossy_way_to_a_server_that_asks_for_a_proof_of_the_address_takes_a_while() {
    for seed in 0..8 {
        let (mut pair, _, value) = protected::pair(seed);
        flood(&mut pair);
        (pair.loss, pair.repeat, pair.delay) = (40, 60, Duration::from_millis(300));
        pair.client = Endpoint::new(motemix_coap::Settings::default(), [1; 32]);
        let id = forget(&mut pair, 100 * seed);
        let body = vec![7; 3000];
        assert!(answer(&mut pair, Some(id), put(&body)).is_some(), "seed {seed}");
        assert_eq!(*value.borrow(), body);
    }
}

/// Somebody asks in the server's name: what the client sends then has been sent, and is carried out
/// once; and it is sent so once.
#[test]
fn who_asks_a_client_for_a_proof_has_no_request_carried_out_twice() {
    let (mut pair, id, _) = protected::pair(1);
    let call = ask(&mut pair, Some(id), put(b"once"));
    let sent = pair.client.poll_transmit().expect("a request").bytes;
    let asked = Message::read(&sent).expect("a message");
    let challenge = |id: u16| {
        let mut challenge = Message::empty(motemix_coap::message::Kind::NonConfirmable, id);
        (challenge.code, challenge.token) = (Code::UNAUTHORIZED.byte(), asked.token);
        challenge.push(option::ECHO, [5; 8]);
        challenge.write()
    };
    assert_eq!(pair.client.handle_datagram(pair.now, address(SERVER), &challenge(1)), Ok(()));
    let again = Message::read(&pair.client.poll_transmit().expect("once more").bytes).expect("a message");
    assert_eq!(
        (again.option(option::OSCORE), &again.payload),
        (asked.option(option::OSCORE), &asked.payload)
    );
    assert_eq!(again.option(option::ECHO), Some(&[5; 8][..]));
    let second = pair.client.handle_datagram(pair.now, address(SERVER), &challenge(2));
    assert_eq!((second, pair.client.poll_transmit()), (Err(DropReason::Unexpected), None));
    assert_eq!(pair.server.handle_datagram(pair.now, address(CLIENT), &again.write()), Ok(()));
    assert_eq!(pair.server.handle_datagram(pair.now, address(CLIENT), &sent), Err(DropReason::Refused));
    pair.run(Duration::from_secs(1), |pair| pair.response(call).is_some());
    assert_eq!(pair.response(call).map(|response| response.code), Some(Code::CHANGED));
}
