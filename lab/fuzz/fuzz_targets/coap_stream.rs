//! CoAP over a connection: whatever a peer sends, in whatever pieces, at whatever times. What waits
//! stays bounded, and nothing is sent behind the end.
#![cfg_attr(fuzzing, no_main)]

use motemix_fuzz::fuzz_target;
use std::time::Duration;

use arbitrary::Arbitrary;
use motemix_coap::{Carrier, Code, Method, Observe, Request, Response, Session, Settings};
use motemix_time::Instant;

#[derive(Arbitrary, Debug)]
enum Step<'a> {
    /// The peer sends this, in pieces of so many bytes over a stream.
    Bytes(&'a [u8], u8),
    /// The application answers a request with so many bytes.
    Answer(u16, bool),
    /// It tells its observers.
    Notify(u16, bool),
    /// It asks the peer.
    Ask(bool),
    /// It asks for no more notifications.
    Cancel,
    /// The peer reads so many messages.
    Read(u8),
    Wait(u16),
    Release,
}

fuzz_target!(|input: (bool, bool, Vec<Step>)| {
    let (is_web, is_introduced, steps) = input;
    let carrier = if is_web { Carrier::WebSocket } else { Carrier::Stream };
    let mut now = Instant::default();
    let mut session = Session::new(now, 1, carrier, Settings::default(), [1, 2]);
    if is_introduced {
        // The same over either: it has no options.
        session.handle_bytes(now, &[0, 0xe1]);
        assert!(!session.is_over());
    }
    let mut observers = Vec::new();
    let mut calls = Vec::new();
    for step in steps.into_iter().take(200) {
        match step {
            Step::Bytes(bytes, piece) if !is_web => {
                for piece in bytes.chunks(usize::from(piece).max(1)) {
                    session.handle_bytes(now, piece);
                }
            }
            Step::Bytes(bytes, _) => session.handle_bytes(now, bytes),
            Step::Answer(len, observing) => {
                let Some(incoming) = session.poll_request() else { continue };
                if observing && incoming.request.observe == Some(Observe::Register) {
                    observers.push(incoming.ticket.relation());
                }
                session.respond(now, incoming.ticket, &response(len), observing);
            }
            Step::Notify(len, last) => {
                for relation in &observers {
                    session.notify(now, relation, &response(len), last);
                }
            }
            Step::Ask(observing) => {
                let observe = observing.then_some(Observe::Register);
                let request = Request { observe, ..Request::new(Method::Get, &["t"]) };
                calls.extend(session.request(now, &request));
            }
            Step::Cancel => calls.iter().for_each(|call| session.cancel(now, *call)),
            Step::Read(messages) => {
                for _ in 0..messages {
                    session.poll_transmit();
                }
            }
            Step::Wait(seconds) => {
                now = now + Duration::from_secs(seconds.into());
                session.handle_timeout(now);
                assert!(session.poll_timeout().is_none_or(|due| due > now));
            }
            Step::Release => session.release(),
        }
        while session.poll_event().is_some() {}
    }
    session.closed();
    while session.poll_event().is_some() {}
    assert!(session.is_over() && session.poll_request().is_none());
    assert!(session.poll_transmit().is_none() && session.poll_timeout().is_none());
    session.handle_bytes(now, &[0, 0xe1]);
    assert!(session.poll_transmit().is_none());
});

fn response(len: u16) -> Response {
    Response { payload: vec![0x6d; len.into()].into(), ..Response::new(Code::CONTENT) }
}
