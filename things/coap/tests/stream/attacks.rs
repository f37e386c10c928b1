//! What a peer does that it must not, and what becomes of the connection.

use std::time::Duration;

use motemix_coap::{Carrier, Code, Endpoint, Event, Method, Request, Response, Room, Session, Settings};
use motemix_time::Instant;
use proptest::prelude::*;

use crate::pair::{Alone, CARRIERS, CSM, Frame, PATIENCE, PING, PONG, RELEASE, frame};

#[test]
fn a_peer_that_never_introduces_itself_is_left() {
    for carrier in CARRIERS {
        let mut alone = Alone::new(carrier);
        alone.sent();
        alone.wait(PATIENCE.mul_f32(0.9));
        assert!(!alone.session.is_over());
        alone.wait(PATIENCE.mul_f32(0.2));
        alone.aborts();
    }
}

#[test]
fn a_first_message_that_is_no_csm_ends_the_connection() {
    for first in [frame(1, &[1], &[]), frame(0, &[], &[]), frame(PING, &[], &[]), frame(0x45, &[1], &[])] {
        for carrier in CARRIERS {
            let mut alone = Alone::new(carrier);
            alone.say(&first);
            alone.aborts();
        }
    }
}

#[test]
fn half_a_message_is_not_waited_for_however_slowly_it_drips() {
    let mut alone = Alone::introduced(Carrier::Stream);
    let message = frame(3, &[1], &[0xff; 200]).write(Carrier::Stream);
    for byte in &message[..50] {
        alone.say_bytes(&[*byte]);
        alone.wait(Duration::from_millis(500));
    }
    assert!(!alone.session.is_over());
    for byte in &message[50..62] {
        alone.say_bytes(&[*byte]);
        alone.wait(Duration::from_millis(500));
    }
    alone.aborts();
}

#[test]
fn a_message_longer_than_was_said_ends_the_connection_before_it_has_come() {
    for header in [&[0xe0, 0xff, 0xff][..], &[0xf0, 0, 0, 0x10, 0], &[0xf0, 0xff, 0xff, 0xff, 0xff]] {
        let mut alone = Alone::new(Carrier::Stream);
        let said = &alone.sent()[0].rest;
        // Max-Message-Size.
        assert_eq!(said[0], 0x23);
        let most = said[1..].iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        assert!(most < 66_000 + 1024);
        alone.say(&frame(CSM, &[], &[]));
        alone.say_bytes(header);
        let is_too_long = header[0] == 0xf0;
        assert_eq!(alone.session.is_over(), is_too_long, "{header:?}");
    }
    let mut alone = Alone::introduced(Carrier::WebSocket);
    alone.say(&frame(3, &[], &vec![0xff; 100_000]));
    alone.aborts();
}

#[test]
fn tokens_that_cannot_be_end_the_connection() {
    for len in 9..=15 {
        for carrier in CARRIERS {
            let mut alone = Alone::introduced(carrier);
            alone.say_bytes(&[&[len, 1], &[0; 20][..]].concat());
            alone.aborts();
        }
    }
}

#[test]
fn a_websocket_message_has_no_length_of_its_own_and_a_whole_header() {
    for message in [&[0x10, 1, 0xff][..], &[0], &[2, 1, 0]] {
        let mut alone = Alone::introduced(Carrier::WebSocket);
        alone.say_bytes(message);
        alone.aborts();
    }
}

#[test]
fn an_unknown_critical_option_of_a_csm_is_named_in_the_abort() {
    // Option 9; Max-Message-Size of five bytes; Block-Wise-Transfer with a value.
    for (rest, option) in [(&[0x90][..], 9), (&[0x25, 1, 2, 3, 4, 5], 2), (&[0x41, 0], 4)] {
        let mut alone = Alone::new(Carrier::Stream);
        alone.say(&frame(CSM, &[], rest));
        assert_eq!(alone.aborts().rest[..2], [0x21, option]);
    }
}

#[test]
fn critical_options_of_other_signals_end_the_connection_and_elective_ones_do_not() {
    for code in [PING, PONG, RELEASE, 0xf0] {
        let mut alone = Alone::introduced(Carrier::Stream);
        alone.say(&frame(code, &[], &[0x90]));
        // There is no Bad-CSM-Option where there is no CSM.
        assert_eq!(alone.aborts().rest[0], 0xff);
    }
    for code in [CSM, PING, PONG, 0xf0] {
        let mut alone = Alone::introduced(Carrier::Stream);
        alone.say(&frame(code, &[], &[0xa0]));
        assert!(!alone.session.is_over());
    }
}

#[test]
fn codes_that_neither_ask_nor_answer_end_the_connection() {
    for code in [0x20, 0x3f, 0x60, 0xc1] {
        let mut alone = Alone::introduced(Carrier::Stream);
        alone.say(&frame(code, &[], &[]));
        alone.aborts();
    }
}

#[test]
fn options_that_cannot_be_told_apart_end_the_connection() {
    // A payload of nothing, reserved delta and length, a value beyond the end, a header without its end.
    for rest in [&[0xff][..], &[0xf0], &[0x0f], &[0x12, 1], &[0xd0]] {
        let mut alone = Alone::introduced(Carrier::Stream);
        alone.say(&frame(1, &[1], rest));
        alone.aborts();
    }
}

#[test]
fn a_request_that_is_not_understood_is_refused_and_the_connection_goes_on() {
    let cases = [
        // A critical option that is unknown, a path that is no text, Proxy-Scheme, no method.
        (frame(1, &[1], &[0x90]), Code::BAD_OPTION),
        (frame(1, &[2], &[0xb1, 0xff]), Code::BAD_OPTION),
        (frame(1, &[3], &[0xd1, 26, b'x']), Code::PROXYING_NOT_SUPPORTED),
        (frame(31, &[4], &[]), Code::METHOD_NOT_ALLOWED),
    ];
    let mut alone = Alone::introduced(Carrier::Stream);
    for (asked, code) in cases {
        alone.say(&asked);
        let sent = alone.sent();
        assert_eq!((sent.len(), sent[0].code, &sent[0].token), (1, code.byte(), &asked.token), "{asked:?}");
    }
    // An elective one harms nothing.
    alone.say(&frame(1, &[5], &[0xa0]));
    assert!(alone.session.poll_request().is_some());
}

#[test]
fn who_asks_and_reads_nothing_is_read_no_more() {
    let mut alone = Alone::introduced(Carrier::Stream);
    let asked = frame(1, &[1], &[]).write(Carrier::Stream);
    alone.say_bytes(&asked.repeat(64));
    assert!(!alone.session.wants_more());
    let response = Response { payload: vec![0; 1000].into(), ..Response::new(Code::CONTENT) };
    let mut answered = 0;
    while alone.session.wants_more() || answered < 64 {
        if answered >= 64 {
            alone.say_bytes(&asked);
        }
        alone.answer(&response);
        answered += 1;
    }
    // 256 KiB of memory wait.
    assert!((230..=256).contains(&answered), "{answered}");
    while alone.session.poll_transmit().is_some() {}
    assert!(alone.session.wants_more());
}

/// An answer of a look-up, and what may wait beside one.
const LONG: usize = 1 << 20;
const WAITING: usize = 256 << 10;

fn long(fill: u8) -> Response {
    Response { payload: vec![fill; LONG].into(), ..Response::new(Code::CONTENT) }
}

#[test]
fn what_waits_to_leave_bounds_what_is_answered() {
    for carrier in CARRIERS {
        let mut alone = Alone::taking_long(carrier);
        // They come in one piece, or as fast as there is room for them.
        let asked = frame(1, &[1], &[]).write(carrier);
        match carrier {
            Carrier::Stream => alone.say_bytes(&asked.repeat(1000)),
            Carrier::WebSocket => (0..1000).for_each(|_| alone.say_bytes(&asked)),
        }
        let answered: usize = (0..100).map(|_| alone.answer_all(&long(0), false)).sum();
        assert_eq!(answered, 1, "{carrier:?}");
        assert!(alone.session.waiting() < WAITING + LONG + 100);
        assert!(!alone.session.wants_more());
        // Whoever reads is answered, all of it.
        let mut read = 0;
        while alone.session.poll_transmit().is_some() {
            read += 1;
            alone.answer_all(&long(0), false);
        }
        assert_eq!(read, 1000, "{carrier:?}");
        assert!(alone.session.wants_more());
    }
}

#[test]
fn errors_and_pongs_that_nobody_reads_are_bounded_as_well() {
    let unknown = frame(1, &[1], &[0x90]);
    for (asked, answers) in [(unknown, 5000), (frame(PING, &[1; 8], &[]), 40_000)] {
        let mut alone = Alone::introduced(Carrier::Stream);
        alone.say_bytes(&asked.write(Carrier::Stream).repeat(answers));
        assert!(alone.session.waiting() < WAITING + 100, "{}", alone.session.waiting());
        // However long nobody reads, it is this side that waits.
        alone.wait(PATIENCE * 2);
        assert!(!alone.session.is_over());
        assert_eq!(alone.sent().len(), answers);
    }
}

/// A Pong has two bytes, and takes more memory than those until it leaves.
#[test]
fn short_messages_that_nobody_reads_count_with_the_memory_that_each_takes() {
    // A message in memory: three words, and a block of the allocator.
    const LEAST: usize = 24 + 32;
    for carrier in CARRIERS {
        for asked in [frame(PING, &[], &[]), frame(1, &[], &[0x90])] {
            let mut alone = Alone::introduced(carrier);
            let mut count = 0;
            while alone.session.wants_more() {
                alone.say(&asked);
                count += 1;
            }
            assert!(count * LEAST <= WAITING, "{count} messages wait");
            assert!(alone.session.waiting() < WAITING + 200);
            assert_eq!(alone.sent().len(), count);
            assert_eq!(alone.session.waiting(), 0);
        }
    }
}

/// Signals are read at the rate that the application has for messages.
#[test]
fn who_sends_more_signals_than_it_may_is_read_again_when_it_has_waited() {
    let seconds = Duration::from_secs;
    let pings = |count: usize| frame(PING, &[], &[]).write(Carrier::Stream).repeat(count);
    for (said, answers) in [(pings(10), 10), (frame(0, &[], &[]).write(Carrier::Stream).repeat(10), 0)] {
        let mut alone = Alone::introduced(Carrier::Stream);
        alone.say_bytes(&said);
        assert_eq!((alone.session.take_unseen(), alone.sent().len()), (10, answers));
        alone.session.refuse_unseen(alone.now + seconds(3));
        // One is read, and nothing behind it.
        alone.say_bytes(&[&said[..], &frame(1, &[1], &[]).write(Carrier::Stream)].concat());
        assert_eq!((alone.session.take_unseen(), alone.sent().len()), (1, answers / 10));
        assert!(!alone.session.wants_more() && alone.session.poll_request().is_none());
        assert_eq!(alone.session.poll_timeout(), Some(alone.now + seconds(3)));
        alone.wait(seconds(2));
        assert_eq!((alone.sent().len(), alone.session.take_unseen()), (0, 0));
        alone.wait(seconds(1));
        assert_eq!((alone.sent().len(), alone.session.take_unseen()), (answers - answers / 10, 9));
        assert!(alone.session.wants_more());
        assert!(alone.session.poll_request().is_some());
    }
}

#[test]
fn who_is_far_behind_catches_up_as_it_reads_and_gets_the_newest_of_all() {
    let mut alone = Alone::taking_long(Carrier::Stream);
    let token = |number: u8| [number, 7];
    let short = Response { payload: vec![1].into(), ..Response::new(Code::CONTENT) };
    let mut relations = Vec::new();
    for number in 0..100 {
        // Observe: 0
        alone.say(&frame(1, &token(number), &[0x60]));
        let incoming = alone.session.poll_request().expect("a request");
        relations.push(incoming.ticket.relation());
        alone.session.respond(alone.now, incoming.ticket, &short, true);
    }
    alone.sent();
    for fill in 2..5 {
        for relation in &relations {
            alone.session.notify(alone.now, relation, &long(fill), false);
        }
        assert!(alone.session.waiting() < WAITING + LONG + 100);
    }
    // Some have ended meanwhile, and one of them has begun again.
    alone.session.forget(&relations[50]);
    alone.session.forget(&relations[51]);
    let mut newest = [0; 100];
    let mut reads = 0;
    while let Some(bytes) = alone.session.poll_transmit() {
        assert!(alone.session.waiting() < WAITING + LONG + 100);
        let notification = Frame::read(Carrier::Stream, &bytes);
        newest[usize::from(notification.token[0])] = *notification.rest.last().expect("a payload");
        reads += 1;
    }
    let mut expected = [4; 100];
    expected[50..52].fill(0);
    assert_eq!(newest, expected);
    // One of the first change had left.
    assert_eq!(reads, 1 + 98);
}

#[test]
fn connections_of_one_peer_and_of_all_share_a_bound() {
    let room = Room::new(8 * LONG);
    let bodies = Endpoint::new(Settings::default(), [7; 32]).bodies();
    let now = Instant::default();
    let shares: Vec<_> = (0..4).map(|_| room.share(3 * LONG)).collect();
    let begin = |number: u64| {
        let session = Session::new(now, number, Carrier::Stream, Settings::default(), [3, 4]);
        let mut session = session.sharing(shares[number as usize / 16].clone(), bodies.clone(), None);
        let csm = frame(CSM, &[], &[0x23, 0x40, 0, 0]).write(Carrier::Stream);
        let asked = frame(1, &[1], &[]).write(Carrier::Stream);
        session.handle_bytes(now, &[csm, asked.repeat(20)].concat());
        session
    };
    let mut sessions: Vec<_> = (0..64).map(begin).collect();
    let answer = |sessions: &mut [Session]| {
        let mut count = 0;
        for session in sessions {
            while let Some(incoming) = session.poll_request() {
                session.respond(now, incoming.ticket, &long(0), false);
                count += 1;
            }
        }
        count
    };
    // A peer has its share, and all have what there is.
    assert_eq!(answer(&mut sessions[..16]), 3);
    assert_eq!(answer(&mut sessions[..16]), 0);
    assert!(sessions[15].waits_for_room());
    assert_eq!(answer(&mut sessions), 5);
    assert!(room.is_full());
    assert!(room.taken() < 9 * LONG);
    // What is being written waits too.
    let bytes = std::iter::from_fn(|| sessions[0].poll_transmit()).map(|bytes| bytes.len()).sum();
    sessions[0].set_under_way(bytes);
    assert_eq!(answer(&mut sessions), 0);
    sessions[0].set_under_way(0);
    assert_eq!(answer(&mut sessions), 1);
    // Who leaves makes room, and all of it is free at the end.
    sessions.drain(..16);
    assert_eq!(answer(&mut sessions), 3);
    sessions.clear();
    assert_eq!(room.taken(), 0);
}

#[test]
fn pings_that_want_custody_are_bounded() {
    let mut alone = Alone::introduced(Carrier::Stream);
    alone.say(&frame(1, &[1], &[]));
    let ping = frame(PING, &[2], &[0x20]);
    alone.say_bytes(&ping.write(Carrier::Stream).repeat(20));
    // Those that there is no room for are answered at once, and promise nothing.
    assert_eq!(alone.sent(), vec![frame(PONG, &[2], &[]); 12]);
    alone.answer(&Response::new(Code::VALID));
    assert_eq!(alone.sent().len(), 1 + 8);
}

#[test]
fn a_response_with_an_unknown_critical_option_fails_its_call() {
    let mut alone = Alone::introduced(Carrier::Stream);
    let call = alone.session.request(alone.now, &Request::new(Method::Get, &["a"])).expect("room");
    let token = alone.sent()[0].token.clone();
    alone.say(&Frame { code: 0x45, token, rest: vec![0x90] });
    assert_eq!(alone.session.poll_event(), Some(Event::Failed { call }));
    assert!(!alone.session.is_over());
}

#[test]
fn nothing_is_sent_behind_an_abort() {
    let mut alone = Alone::introduced(Carrier::Stream);
    alone.say(&frame(1, &[1], &[]));
    let incoming = alone.session.poll_request().expect("a request");
    alone.say(&frame(0x20, &[], &[]));
    alone.session.respond(alone.now, incoming.ticket, &Response::new(Code::VALID), true);
    alone.aborts();
    alone.say(&frame(1, &[1], &[]));
    assert_eq!(alone.sent(), []);
    assert_eq!(alone.session.poll_timeout(), None);
}

proptest! {
    #[test]
    fn bytes_of_any_kind_in_any_pieces_do_the_same(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        cut in 1_usize..50,
    ) {
        let mut whole = Alone::introduced(Carrier::Stream);
        let mut pieces = Alone::introduced(Carrier::Stream);
        whole.say_bytes(&bytes);
        for piece in bytes.chunks(cut) {
            pieces.say_bytes(piece);
        }
        prop_assert_eq!(whole.session.is_over(), pieces.session.is_over());
        loop {
            let [one, other] = [&mut whole, &mut pieces]
                .map(|alone| alone.session.poll_request().map(|incoming| incoming.request));
            prop_assert_eq!(&one, &other);
            if one.is_none() {
                break;
            }
        }
        prop_assert_eq!(whole.sent(), pieces.sent());
    }
}
