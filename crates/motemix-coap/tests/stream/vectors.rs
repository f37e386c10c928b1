//! What RFC 8323 publishes, and each boundary of its length field.

use motemix_coap::stream::{Carriage, Frame, NoFrame, SUBPROTOCOL, Settings, Signal, WEB_SOCKET_PATH};
use motemix_coap::{Code, Method, Response, Token};
use serde_json::Value;

use crate::pair::Alone;

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../../../vectors/coap/rfc8323.json")).expect("JSON")
}

fn code(text: &str) -> u8 {
    let (class, detail) = text.split_once('.').expect("a point");
    class.parse::<u8>().expect("a class") << 5 | detail.parse::<u8>().expect("a detail")
}

fn hex(value: &Value) -> Vec<u8> {
    hex::decode(value.as_str().expect("hexadecimal digits")).expect("hexadecimal digits")
}

#[test]
fn the_frames_of_rfc_8323_are_read_and_written() {
    let vectors = vectors();
    let frames = vectors["frames"].as_array().expect("frames");
    assert_eq!(frames.len(), 3);
    for vector in frames {
        let bytes = hex(&vector["stream"]);
        let (frame, len) = Frame::of_stream(&bytes, 1152).expect("a frame").expect("all of it");
        assert_eq!(len, bytes.len());
        assert_eq!(frame.code, code(vector["code"].as_str().expect("a code")));
        assert_eq!(frame.token.as_bytes(), hex(&vector["token"]));
        assert_eq!(frame.to_stream(), bytes);
        let signal = match vector["signal"].as_str() {
            Some("ping") => Some(Signal::Ping { custody: false }),
            Some("pong") => Some(Signal::Pong { custody: false }),
            _ => continue,
        };
        assert_eq!(Signal::of_frame(&frame), Ok(signal.clone()));
        assert_eq!(signal.map(|signal| signal.to_frame(frame.token)), Some(frame));
    }
}

#[test]
fn the_exchange_of_appendix_b_happens() {
    let vectors = vectors();
    assert_eq!(vectors["handshake"]["path"], WEB_SOCKET_PATH);
    assert_eq!(vectors["handshake"]["protocol"], SUBPROTOCOL);
    let exchange = &vectors["exchange"];
    let token = hex(&exchange["request"]["token"]);
    // Uri-Path twice, Uri-Query.
    let mut rest = b"\xb7sensors\x0btemperature".to_vec();
    rest.extend_from_slice(b"\x45u=Cel");
    let mut server = Alone::introduced(Carriage::WebSocket, Settings::default());
    server.say_bytes(&[&[1, 1, token[0]], &rest[..]].concat());
    let incoming = server.session.poll_request().expect("a request");
    assert_eq!(incoming.request.method, Method::Get);
    assert_eq!(Value::from(incoming.request.path), exchange["request"]["path"]);
    assert_eq!(Value::from(incoming.request.query), exchange["request"]["query"]);
    let text = exchange["response"]["payload"].as_str().expect("a text");
    let response = Response { payload: text.as_bytes().into(), ..Response::new(Code::CONTENT) };
    server.session.respond(server.now, incoming.ticket, &response, false);
    let bytes = server.session.poll_transmit().expect("the response");
    assert_eq!(bytes, [&[1, code("2.05"), token[0], 0xff], text.as_bytes()].concat());
}

#[test]
fn each_length_has_one_form() {
    // The last of each form, and the first of the next (RFC 8323 §3.2).
    let forms = [(0, 0), (12, 0), (13, 1), (268, 1), (269, 2), (65_804, 2), (65_805, 4), (70_000, 4)];
    for (len, extended) in forms {
        let token = Token::new(&[1, 2, 3]).expect("short");
        let frame = Frame { code: 2, token, rest: vec![0xa5; len] };
        let bytes = frame.to_stream();
        assert_eq!(bytes.len(), 1 + extended + 1 + 3 + len);
        for cut in [0, 1, extended, extended + 1, bytes.len() - 1] {
            assert_eq!(
                Frame::of_stream(&bytes[..cut.min(bytes.len() - 1)], 1 << 20),
                Ok(None),
                "{len} {cut}"
            );
        }
        let more = [&bytes[..], &[0xff; 5]].concat();
        assert_eq!(Frame::of_stream(&more, bytes.len()), Ok(Some((frame.clone(), bytes.len()))));
        let too_long = NoFrame::TooLong { len: bytes.len() as u64, most: bytes.len() - 1 };
        assert_eq!(Frame::of_stream(&bytes, bytes.len() - 1), Err(too_long));
        assert_eq!(Frame::of_message(&frame.to_message(), 1 << 20), Ok(frame));
    }
}

#[test]
fn the_longest_length_is_refused_before_any_of_it_has_come() {
    let header = [0xf0, 0xff, 0xff, 0xff, 0xff];
    let len = 6 + 65_805 + u64::from(u32::MAX);
    assert_eq!(Frame::of_stream(&header, 1 << 20), Err(NoFrame::TooLong { len, most: 1 << 20 }));
}
