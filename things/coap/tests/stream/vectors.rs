//! What RFC 8323 publishes, and each boundary of its length field.

use motemix_coap::{Carrier, Code, Method, Response};
use serde_json::Value;

use crate::pair::{Alone, Frame, PONG, frame};

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../../../vectors/coap/rfc8323.json")).expect("JSON")
}

fn hex(value: &Value) -> Vec<u8> {
    hex::decode(value.as_str().expect("hexadecimal digits")).expect("hexadecimal digits")
}

#[test]
fn a_ping_of_rfc_8323_has_its_pong() {
    let frames = &vectors()["frames"];
    let mut alone = Alone::introduced(Carrier::Stream);
    alone.say_bytes(&hex(&frames["ping"]));
    assert_eq!(alone.session.poll_transmit(), Some(hex(&frames["pong"])));
}

#[test]
fn a_response_without_options_is_the_one_of_rfc_8323() {
    let frames = &vectors()["frames"];
    let bytes = hex(&frames["valid"]);
    let mut alone = Alone::introduced(Carrier::Stream);
    alone.say(&frame(1, &[0x7f], &[]));
    alone.answer(&Response::new(Code::VALID));
    assert_eq!(alone.session.poll_transmit(), Some(bytes));
}

#[test]
fn the_exchange_of_appendix_b_happens() {
    let vectors = vectors();
    let exchange = &vectors["exchange"];
    let token = hex(&exchange["request"]["token"]);
    let mut alone = Alone::introduced(Carrier::WebSocket);
    // Uri-Path twice, Uri-Query.
    alone.say(&frame(1, &token, b"\xb7sensors\x0btemperature\x45u=Cel"));
    let text = exchange["response"]["payload"].as_str().expect("a text");
    let response = Response { payload: text.as_bytes().into(), ..Response::new(Code::CONTENT) };
    let request = alone.answer(&response);
    assert_eq!(request.method, Method::Get);
    assert_eq!(Value::from(request.path), exchange["request"]["path"]);
    assert_eq!(Value::from(request.query), exchange["request"]["query"]);
    let payload = [b"\xff", text.as_bytes()].concat();
    assert_eq!(alone.sent(), [frame(Code::CONTENT.byte(), &token, &payload)]);
}

#[test]
fn each_length_has_one_form_and_is_read_byte_by_byte() {
    // The last of each form, and the first of the next (RFC 8323 §3.2): a marker and a payload.
    for len in [3, 12, 13, 268, 269, 60_000, 65_804, 65_805, 65_900] {
        let rest = [&[0xff], &vec![0xa5; len - 1][..]].concat();
        let put = Frame { code: 3, token: vec![1, 2, 3], rest };
        let bytes = put.write(Carrier::Stream);
        let mut whole = Alone::introduced(Carrier::Stream);
        whole.say_bytes(&bytes);
        let mut pieces = Alone::introduced(Carrier::Stream);
        let (head, body) = bytes.split_at(7);
        for byte in head {
            pieces.say_bytes(&[*byte]);
        }
        for piece in body.chunks(997) {
            assert!(pieces.session.poll_request().is_none());
            pieces.say_bytes(piece);
        }
        for alone in [&mut whole, &mut pieces] {
            assert_eq!(alone.answer(&Response::new(Code::CHANGED)).payload.len(), len - 1);
        }
    }
}

#[test]
fn responses_of_each_length_can_be_read() {
    for len in [0, 1, 11, 12, 255, 256, 267, 268, 1000, 60_000] {
        let mut alone = Alone::new(Carrier::Stream);
        // Max-Message-Size 65,536.
        alone.say(&frame(0xe1, &[], &[0x23, 1, 0, 0]));
        alone.sent();
        alone.say(&frame(1, &[9], &[]));
        alone.answer(&Response { payload: vec![7; len].into(), ..Response::new(Code::CONTENT) });
        let sent = alone.sent();
        assert_eq!(sent.len(), 1);
        assert_eq!(sent[0].rest.len(), if len == 0 { 0 } else { len + 1 });
    }
}

#[test]
fn a_pong_of_nobody_harms_nothing() {
    let mut alone = Alone::introduced(Carrier::Stream);
    alone.say(&frame(PONG, &[0x42], &[]));
    assert!(!alone.session.is_over());
}
