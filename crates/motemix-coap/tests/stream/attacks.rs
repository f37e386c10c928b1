//! What a peer does that it must not, and what becomes of the connection.

use std::time::Duration;

use motemix_coap::{Carrier, Code, Event, Method, Request, Response};
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
    // 256 KiB wait.
    assert!((256..300).contains(&answered), "{answered}");
    while alone.session.poll_transmit().is_some() {}
    assert!(alone.session.wants_more());
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
