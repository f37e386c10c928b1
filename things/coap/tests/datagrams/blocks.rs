//! Bodies in blocks: which blocks are of one body (RFC 7959, RFC 9175).

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use motemix_coap::message::{Kind, Message, option};
use motemix_coap::{Block, Code, Endpoint, Method, Request, Response, Settings, Token, format};
use motemix_time::Instant;

use crate::pair::address;
use crate::protected;

const NOW: Instant = Instant::from_micros(1_000_000);

/// A server that answers what it is asked at once, and a client that writes its messages by hand.
struct Bench {
    server: Endpoint,
    next: u16,
    /// Bodies that the application got.
    bodies: Vec<Vec<u8>>,
    response: Response,
}

impl Bench {
    fn new() -> Self {
        let response = Response::new(Code::CHANGED);
        Self { server: Endpoint::new(Settings::default(), [3; 32]), next: 0, bodies: Vec::new(), response }
    }

    /// A message with these options, answered.
    fn ask(&mut self, method: Method, options: &[(u16, &[u8])], payload: &[u8]) -> Message {
        self.next += 1;
        let mut message = Message::empty(Kind::Confirmable, self.next);
        message.code = method.byte();
        message.token = Token::new(&self.next.to_be_bytes()).expect("short");
        message.push(option::URI_PATH, *b"t");
        for (number, value) in options {
            message.push(*number, *value);
        }
        message.payload = payload.to_vec();
        let _ = self.server.handle_datagram(NOW, address(9), &message.write());
        while let Some(incoming) = self.server.poll_request() {
            self.bodies.push(incoming.request.payload);
            self.server.respond(NOW, incoming.ticket, &self.response, false);
        }
        let sent = self.server.poll_transmit().expect("an answer");
        Message::read(&sent.bytes).expect("a message")
    }

    /// A block of 16 bytes of a PUT, and the code of the answer.
    fn put(&mut self, number: u32, more: bool, byte: u8, options: &[(u16, &[u8])]) -> Option<Code> {
        let block = Block { number, more, exponent: 0 }.value().to_be_bytes();
        let block1 = (option::BLOCK1, &block[1..]);
        let options: Vec<_> = options.iter().copied().chain([block1]).collect();
        Code::of_byte(self.ask(Method::Put, &options, &[byte; 16]).code)
    }
}

const CONTINUE: Option<Code> = Some(Code::CONTINUE);
const CHANGED: Option<Code> = Some(Code::CHANGED);
const INCOMPLETE: Option<Code> = Some(Code::REQUEST_ENTITY_INCOMPLETE);

/// RFC 9175, section 3.3: two bodies whose blocks come by turns.
#[test]
fn options_of_the_cache_key_tell_bodies_apart() {
    for (one, other) in [
        (&[(option::REQUEST_TAG, &b"1"[..])][..], &[(option::REQUEST_TAG, &b"2"[..])][..]),
        (&[(option::REQUEST_TAG, b"")], &[]),
        (&[(option::REQUEST_TAG, b""), (option::REQUEST_TAG, b"")], &[(option::REQUEST_TAG, b"")]),
        (&[(option::IF_MATCH, b"v1")], &[]),
        (&[(option::IF_NONE_MATCH, b"")], &[]),
        (&[(option::CONTENT_FORMAT, b"")], &[(option::CONTENT_FORMAT, &[42])]),
        (&[(option::URI_QUERY, b"a")], &[(option::URI_QUERY, b"b")]),
        (&[(option::ACCEPT, &[50])], &[]),
        (&[(option::URI_HOST, b"here")], &[(option::URI_HOST, b"there")]),
        // Elective ones that nobody knows: safe to forward, and of the key.
        (&[(10_000, b"x")], &[(10_000, b"y")]),
    ] {
        let mut bench = Bench::new();
        assert_eq!(bench.put(0, true, b'a', one), CONTINUE);
        assert_eq!(bench.put(0, true, b'b', other), CONTINUE);
        assert_eq!(bench.put(1, true, b'a', one), CONTINUE);
        assert_eq!(bench.put(1, true, b'b', other), CONTINUE);
        assert_eq!(bench.put(2, false, b'b', other), CHANGED);
        assert_eq!(bench.put(2, false, b'a', one), CHANGED);
        assert_eq!(bench.bodies, [[b'b'; 48], [b'a'; 48]], "{one:?} {other:?}");
    }
}

#[test]
fn options_that_are_of_one_message_alone_do_not_tell_bodies_apart() {
    let mut bench = Bench::new();
    assert_eq!(bench.put(0, true, b'a', &[(option::SIZE1, &[32])]), CONTINUE);
    assert_eq!(bench.put(1, false, b'a', &[]), CHANGED);
    assert_eq!(bench.bodies, [[b'a'; 32]]);
}

/// A condition that stands in some blocks alone is not ignored: nothing is stored.
#[test]
fn a_condition_of_one_block_alone_is_not_passed_over() {
    for condition in [(option::IF_MATCH, &b"v1"[..]), (option::IF_NONE_MATCH, b"")] {
        for (first, second) in [(&[condition][..], &[][..]), (&[], &[condition])] {
            let mut bench = Bench::new();
            assert_eq!(bench.put(0, true, b'a', first), CONTINUE);
            assert_eq!(bench.put(1, false, b'a', second), INCOMPLETE);
            assert!(bench.bodies.is_empty());
        }
    }
}

#[test]
fn a_block_that_comes_again_is_acknowledged_if_it_has_the_same_bytes() {
    let mut bench = Bench::new();
    assert_eq!(bench.put(0, true, b'a', &[]), CONTINUE);
    assert_eq!(bench.put(1, true, b'b', &[]), CONTINUE);
    assert_eq!(bench.put(1, true, b'b', &[]), CONTINUE);
    assert_eq!(bench.put(2, false, b'c', &[]), CHANGED);
    assert_eq!(bench.bodies, [[[b'a'; 16], [b'b'; 16], [b'c'; 16]].concat()]);
    // Of another body, and which of the two the others are of nobody knows.
    let mut bench = Bench::new();
    assert_eq!(bench.put(0, true, b'a', &[]), CONTINUE);
    assert_eq!(bench.put(1, true, b'b', &[]), CONTINUE);
    assert_eq!(bench.put(1, true, b'x', &[]), INCOMPLETE);
    assert_eq!(bench.put(2, false, b'c', &[]), INCOMPLETE);
    assert!(bench.bodies.is_empty());
}

/// RFC 7959, section 2.3: the M bit in a response says that more is collected.
#[test]
fn an_error_to_a_block_asks_for_no_more_blocks() {
    let block = |number: u8, more: bool| [number << 4 | u8::from(more) << 3];
    let ask = |bench: &mut Bench, number, more| {
        bench.ask(Method::Put, &[(option::BLOCK1, &block(number, more))], &[0; 16])
    };
    let mut bench = Bench::new();
    let refused = ask(&mut bench, 3, true);
    assert_eq!((Code::of_byte(refused.code), refused.option(option::BLOCK1)), (INCOMPLETE, None));
    let taken = ask(&mut bench, 0, true);
    assert_eq!((Code::of_byte(taken.code), taken.option(option::BLOCK1)), (CONTINUE, Some(&[8][..])));
    // The last block says which one it was, also if the application refuses the whole.
    bench.response = Response::error(Code::FORBIDDEN, "no");
    let last = ask(&mut bench, 1, false);
    assert_eq!(
        (Code::of_byte(last.code), last.option(option::BLOCK1)),
        (Some(Code::FORBIDDEN), Some(&[0x10][..]))
    );
    let mut large = Bench::new();
    for number in 0..64_u8 {
        let value = u32::from(number) << 4 | 0x0e;
        let option = (option::BLOCK1, &value.to_be_bytes()[2..]);
        assert_eq!(Code::of_byte(large.ask(Method::Put, &[option], &[0; 1024]).code), CONTINUE);
    }
    let large = large.ask(Method::Put, &[(option::BLOCK1, &[4, 0x0e])], &[0; 1024]);
    assert_eq!(Code::of_byte(large.code), Some(Code::REQUEST_ENTITY_TOO_LARGE));
    assert_eq!(large.option(option::BLOCK1), None);
}

/// RFC 9175, section 3.8: a client knows by the ETag whether two blocks are of one response.
#[test]
fn a_response_in_blocks_has_an_etag_also_if_its_application_gave_none() {
    let mut bench = Bench::new();
    let ask = |bench: &mut Bench, number: u8| {
        let answer = bench.ask(Method::Get, &[(option::BLOCK2, &[number << 4 | 2])], &[]);
        (answer.option(option::ETAG).map(<[u8]>::to_vec), answer.payload)
    };
    let mut seen = BTreeSet::new();
    for byte in 0..3 {
        bench.response = Response::content(Code::CONTENT, format::OCTETS, [byte; 150]);
        let (etag, part) = ask(&mut bench, 0);
        assert_eq!(part, [byte; 64]);
        // The application has another one by now; the client gets what it began with.
        bench.response = Response::content(Code::CONTENT, format::OCTETS, [99; 150]);
        assert_eq!(ask(&mut bench, 1), (etag.clone(), vec![byte; 64]));
        assert_eq!(ask(&mut bench, 2), (etag.clone(), vec![byte; 22]));
        assert!(seen.insert(etag.expect("one")));
    }
    // What fits needs none.
    bench.response = Response::content(Code::CONTENT, format::OCTETS, [1; 60]);
    assert_eq!(ask(&mut bench, 0), (None, vec![1; 60]));
}

/// RFC 8132, section 2: what a FETCH asks for is of the key of its response. Some clients send it
/// with each request, and some with the first alone.
#[test]
fn responses_to_two_fetches_are_not_mixed() {
    let mut bench = Bench::new();
    let ask = |bench: &mut Bench, number: u8, asks: &[u8]| {
        bench.ask(Method::Fetch, &[(option::BLOCK2, &[number << 4 | 2])], asks).payload
    };
    for (asks, byte) in [(&b"one"[..], 1), (b"two", 2)] {
        bench.response = Response::content(Code::CONTENT, format::OCTETS, [byte; 150]);
        assert_eq!(ask(&mut bench, 0, asks), [byte; 64]);
    }
    assert_eq!(ask(&mut bench, 1, b"one"), [1; 64]);
    assert_eq!(ask(&mut bench, 1, b"two"), [2; 64]);
    assert_eq!(ask(&mut bench, 2, b""), [2; 22], "the newest");
}

/// What our own client does: a body of its own for each of several requests that are under way at
/// once, also under OSCORE.
#[test]
fn two_bodies_of_one_client_for_one_resource_at_once_arrive_whole() {
    for (seed, is_protected) in (0..4).flat_map(|seed| [(seed, false), (seed, true)]) {
        let seen: Rc<RefCell<Vec<Vec<u8>>>> = Rc::default();
        let kept = seen.clone();
        let application = move |request: Request, _| {
            kept.borrow_mut().push(request.payload);
            (Response::new(Code::CHANGED), false)
        };
        let (mut pair, context) = protected::pair_with(seed, Box::new(application));
        (pair.loss, pair.repeat, pair.delay) = (40, 60, Duration::from_millis(300));
        let calls = [b'a', b'b', b'c'].map(|byte| {
            let context = Some(context).filter(|_| is_protected);
            (byte, protected::ask(&mut pair, context, protected::put(&[byte; 5000])))
        });
        pair.run(Duration::from_mins(10), |pair| {
            calls.iter().all(|(_, call)| pair.response(*call).is_some() || pair.has_failed(*call))
        });
        for (byte, call) in calls {
            assert_eq!(pair.response(call).map(|response| response.code), CHANGED, "seed {seed}");
            assert!(seen.borrow().contains(&vec![byte; 5000]), "seed {seed}");
        }
        assert!(seen.borrow().iter().all(|body| body.iter().all(|byte| *byte == body[0])), "seed {seed}");
    }
}
