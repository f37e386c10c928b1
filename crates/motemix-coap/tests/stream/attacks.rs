//! What a peer does that it must not, and what becomes of the connection.

use std::time::Duration;

use motemix_coap::stream::{BadSignal, Carriage, End, Event, NoFrame, Settings, Signal};
use motemix_coap::{Code, Method, Request, Response, Token};
use proptest::prelude::*;

use crate::pair::{Alone, CARRIAGES, content, csm, frame};

#[test]
fn a_peer_that_never_introduces_itself_is_left() {
    for carriage in CARRIAGES {
        let mut alone = Alone::new(carriage, Settings::default());
        alone.sent();
        alone.wait(Settings::default().csm_timeout.mul_f32(0.9));
        assert_eq!(alone.session.end(), None);
        alone.wait(Duration::from_secs(1));
        alone.aborted(&End::CsmTimeout);
    }
}

#[test]
fn a_first_message_that_is_no_csm_ends_the_connection() {
    for first in
        [frame(1, &[1], &[]), frame(0, &[], &[]), Signal::Ping { custody: false }.to_frame(Token::default())]
    {
        for carriage in CARRIAGES {
            let mut alone = Alone::new(carriage, Settings::default());
            alone.say(&first);
            assert_eq!(alone.session.poll_request(), None);
            alone.aborted(&End::NoCsm);
        }
    }
}

#[test]
fn half_a_message_is_not_waited_for_however_slowly_it_drips() {
    let mut alone = Alone::introduced(Carriage::Bytes, Settings::default());
    let message = frame(1, &[1], &[0xa5; 200]).to_stream();
    for byte in &message[..120] {
        alone.say_bytes(&[*byte]);
        alone.wait(Duration::from_millis(490));
    }
    assert_eq!(alone.session.end(), None);
    for byte in &message[120..130] {
        alone.say_bytes(&[*byte]);
        alone.wait(Duration::from_millis(490));
    }
    alone.aborted(&End::MessageTimeout);
}

#[test]
fn a_message_longer_than_was_said_ends_the_connection_before_it_has_come() {
    let mut alone =
        Alone::introduced(Carriage::Bytes, Settings { max_message_size: 2000, ..Settings::default() });
    let len = 2001;
    alone.say_bytes(&frame(1, &[], &vec![0; len - 4]).to_stream()[..3]);
    alone.aborted(&End::NoFrame(NoFrame::TooLong { len: len as u64, most: 2000 }));
    let mut alone =
        Alone::introduced(Carriage::WebSocket, Settings { max_message_size: 2000, ..Settings::default() });
    alone.say(&frame(1, &[], &vec![0; 2001 - 2]));
    alone.aborted(&End::NoFrame(NoFrame::TooLong { len: 2001, most: 2000 }));
}

#[test]
fn tokens_that_cannot_be_end_the_connection() {
    for len in 9..=15 {
        for carriage in CARRIAGES {
            let mut alone = Alone::introduced(carriage, Settings::default());
            alone.say_bytes(&[&[len, 1], &[0; 20][..]].concat());
            alone.aborted(&End::NoFrame(NoFrame::TokenLength(len)));
        }
    }
}

#[test]
fn a_websocket_message_has_no_length_of_its_own() {
    let mut alone = Alone::introduced(Carriage::WebSocket, Settings::default());
    alone.say_bytes(&[0x10, 1, 0xff]);
    alone.aborted(&End::NoFrame(NoFrame::Length(1)));
    for short in [&[][..], &[0], &[2, 1, 0]] {
        let mut alone = Alone::introduced(Carriage::WebSocket, Settings::default());
        alone.say_bytes(short);
        alone.aborted(&End::NoFrame(NoFrame::Short));
    }
}

#[test]
fn an_unknown_critical_option_of_a_csm_is_named_in_the_abort() {
    let mut alone = Alone::new(Carriage::Bytes, Settings::default());
    // Option 9 of no value.
    alone.say(&frame(0xe1, &[], &[0x90]));
    let bad = BadSignal::Critical { code: 0xe1, option: 9 };
    assert_eq!(alone.session.end(), Some(&End::Signal(bad)));
    let sent = alone.sent();
    let abort = Signal::of_frame(sent.last().expect("an Abort"));
    assert!(matches!(abort, Ok(Some(Signal::Abort { bad_csm_option: Some(9), .. }))), "{abort:?}");
}

#[test]
fn critical_options_of_other_signals_end_the_connection_and_elective_ones_do_not() {
    for code in [0xe2, 0xe3, 0xe4] {
        let mut alone = Alone::introduced(Carriage::Bytes, Settings::default());
        alone.say(&frame(code, &[], &[0x90]));
        alone.aborted(&End::Signal(BadSignal::Critical { code, option: 9 }));
    }
    for code in [0xe1, 0xe2, 0xe3, 0xf0] {
        let mut alone = Alone::introduced(Carriage::Bytes, Settings::default());
        alone.say(&frame(code, &[], &[0xa0]));
        assert_eq!(alone.session.end(), None);
    }
}

#[test]
fn values_that_an_option_of_a_csm_cannot_have_end_the_connection() {
    for rest in [&[0x25, 1, 2, 3, 4, 5][..], &[0x41, 0]] {
        let mut alone = Alone::new(Carriage::Bytes, Settings::default());
        alone.say(&frame(0xe1, &[], rest));
        assert!(matches!(alone.session.end(), Some(End::Signal(BadSignal::Value { code: 0xe1, .. }))));
    }
}

#[test]
fn codes_that_neither_ask_nor_answer_end_the_connection() {
    for code in [0x20, 0x3f, 0x60, 0xc1] {
        let mut alone = Alone::introduced(Carriage::Bytes, Settings::default());
        alone.say(&frame(code, &[], &[]));
        alone.aborted(&End::Code(code));
    }
}

#[test]
fn an_empty_message_is_ignored_whatever_it_has() {
    let mut alone = Alone::introduced(Carriage::Bytes, Settings::default());
    alone.say(&frame(0, &[1, 2], &[0xff]));
    assert_eq!(alone.session.end(), None);
    assert_eq!(alone.sent(), []);
}

#[test]
fn options_that_cannot_be_told_apart_end_the_connection() {
    // A payload of nothing, a reserved delta, a reserved length, a value beyond the end, a number above 65535.
    for rest in [&[0xff][..], &[0xf0], &[0x0f], &[0x12, 1], &[0xe0, 0xff, 0xff], &[0xd0]] {
        let mut alone = Alone::introduced(Carriage::Bytes, Settings::default());
        alone.say(&frame(1, &[1], rest));
        assert!(matches!(alone.session.end(), Some(End::NoOptions(_))), "{rest:?}");
    }
}

#[test]
fn a_request_that_is_not_understood_is_refused_and_the_connection_goes_on() {
    let cases = [
        // A critical option that is unknown, a path that is no text, Proxy-Scheme, no method.
        (frame(1, &[1], &[0x90]), Code::BAD_OPTION),
        (frame(1, &[1], &[0xb1, 0xff]), Code::BAD_OPTION),
        (frame(1, &[1], &[0xd1, 26, b'x']), Code::PROXYING_NOT_SUPPORTED),
        (frame(31, &[1], &[]), Code::METHOD_NOT_ALLOWED),
    ];
    let mut alone = Alone::introduced(Carriage::Bytes, Settings::default());
    for (asked, code) in cases {
        alone.say(&asked);
        let sent = alone.sent();
        assert_eq!((sent.len(), sent[0].code, sent[0].token), (1, code.byte(), asked.token), "{asked:?}");
    }
    assert_eq!(alone.session.counters().refused, 4);
    // An elective one harms nothing.
    alone.say(&frame(1, &[1], &[0xa0]));
    assert!(alone.session.poll_request().is_some());
}

#[test]
fn who_asks_and_reads_nothing_is_read_no_more_and_then_left() {
    let settings = Settings { requests: 4, unsent: 5_000, ..Settings::default() };
    let mut alone = Alone::introduced(Carriage::Bytes, settings.clone());
    let asked = frame(1, &[1], &[]).to_stream();
    alone.say_bytes(&asked.repeat(1000));
    assert!(!alone.session.wants_input());
    let response = Response { payload: vec![0; 900].into(), ..Response::new(Code::CONTENT) };
    let mut answered = 0;
    while let Some(incoming) = alone.session.poll_request() {
        alone.session.respond(alone.now, incoming.ticket, &response, false);
        answered += 1;
    }
    // Six answers are more than 5,000 bytes, and three more requests had been taken.
    assert_eq!(answered, 9);
    assert!(!alone.session.wants_input());
    alone.wait(settings.unread_timeout);
    assert_eq!(alone.session.end(), Some(&End::Unread));
    assert!(alone.session.is_over());
}

#[test]
fn who_reads_again_is_answered_in_full() {
    let settings = Settings { requests: 4, unsent: 5_000, ..Settings::default() };
    let mut alone = Alone::introduced(Carriage::WebSocket, settings);
    for _ in 0..1000 {
        alone.say(&frame(1, &[1], &[]));
    }
    let mut answered = 0;
    loop {
        while let Some(incoming) = alone.session.poll_request() {
            alone.session.respond(alone.now, incoming.ticket, &content("yes"), false);
            answered += 1;
        }
        if alone.sent().is_empty() {
            break;
        }
    }
    assert_eq!(answered, 1000);
    assert!(alone.session.wants_input());
}

#[test]
fn more_than_was_asked_for_ends_the_connection() {
    let settings = Settings { requests: 1, max_message_size: 2000, ..Settings::default() };
    let mut alone = Alone::introduced(Carriage::Bytes, settings);
    let asked = frame(1, &[1], &[]).to_stream();
    for _ in 0..10_000 {
        alone.say_bytes(&asked);
    }
    alone.aborted(&End::Overrun);
}

#[test]
fn pings_and_their_pongs_are_bounded() {
    let settings = Settings { unsent: 3_000, ..Settings::default() };
    let mut alone = Alone::introduced(Carriage::Bytes, settings);
    alone.say(&frame(1, &[1], &[]));
    let ping = Signal::Ping { custody: true }.to_frame(Token::new(&[1]).expect("short")).to_stream();
    alone.say_bytes(&ping.repeat(10_000));
    assert!(!alone.session.wants_input());
    let waiting: usize = std::iter::from_fn(|| alone.session.poll_transmit()).map(|bytes| bytes.len()).sum();
    assert!(waiting > 3_000);
}

#[test]
fn a_response_with_an_unknown_critical_option_fails_its_call() {
    let mut alone = Alone::introduced(Carriage::Bytes, Settings::default());
    let call = alone.session.request(alone.now, &Request::new(Method::Get, &["a"])).expect("room");
    let token = alone.sent()[0].token;
    alone.say(&frame(0x45, token.as_bytes(), &[0x90]));
    assert_eq!(alone.session.poll_event(), Some(Event::Failed(call)));
    assert_eq!(alone.session.end(), None);
}

#[test]
fn what_a_peer_says_in_an_abort_writes_on_no_terminal() {
    let mut alone = Alone::introduced(Carriage::Bytes, Settings::default());
    let diagnostic = format!("\u{1b}[2J{}", "x".repeat(5_000));
    alone.say(&Signal::Abort { bad_csm_option: Some(2), diagnostic }.to_frame(Token::default()));
    let Some(End::Aborted { bad_csm_option: Some(2), diagnostic }) = alone.session.end() else {
        panic!("{:?}", alone.session.end())
    };
    assert!(diagnostic.starts_with(" [2J") && diagnostic.len() == 256);
    assert_eq!(alone.sent(), []);
}

proptest! {
    #[test]
    fn bytes_of_any_kind_in_any_pieces_do_the_same(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        cut in 1_usize..50,
    ) {
        let mut whole = Alone::introduced(Carriage::Bytes, Settings::default());
        let mut pieces = Alone::introduced(Carriage::Bytes, Settings::default());
        whole.say_bytes(&bytes);
        for piece in bytes.chunks(cut) {
            pieces.say_bytes(piece);
        }
        prop_assert_eq!(whole.session.end(), pieces.session.end());
        prop_assert_eq!(whole.session.counters(), pieces.session.counters());
        prop_assert_eq!(whole.sent(), pieces.sent());
    }
}

#[test]
fn a_csm_may_come_again() {
    let mut alone = Alone::introduced(Carriage::Bytes, Settings::default());
    alone.say(&csm(None).to_frame(Token::default()));
    assert_eq!(alone.session.end(), None);
}
