//! What goes well.

use motemix_coap::oscore::message::number;
use motemix_coap::oscore::{Message, Unsent};
use motemix_coap::{Code, Method};

use crate::two::{client_and_server, content, get, later, notification, observe, put};

#[test]
fn a_request_and_its_response_show_nobody_what_they_say() {
    let [mut client, mut server] = client_and_server();
    let mut request = put("door", b"open");
    request.add(number::URI_HOST, "house.example");
    let (outer, mut asked) = client.ask(&request);
    assert_eq!(outer.code, Method::Post.byte());
    let shown: Vec<_> = outer.options().map(|(number, _)| number).collect();
    assert_eq!(shown, [number::URI_HOST, number::OSCORE]);

    let (inner, mut exchange) = server.take(&outer).expect("the client's");
    assert_eq!(inner, request);
    let mut response = Message::new(Code::NOT_FOUND.byte());
    response.payload = b"there is no door".to_vec();
    let outer = server.answer(&mut exchange, &response);
    assert_eq!(outer.code, Code::CHANGED.byte());
    assert_eq!(outer.option(number::OSCORE), Some(&[][..]), "the nonce is the request's");
    assert_eq!(client.hear(&mut asked, &outer), Ok(response));
}

#[test]
fn an_observation_is_seen_outside_and_ordered_inside() {
    let [mut client, mut server] = client_and_server();
    let (outer, mut asked) = client.ask(&observe("warmth", &[]));
    assert_eq!(outer.code, Method::Fetch.byte(), "GET has no body, and POST no observation");
    assert_eq!(outer.option(number::OBSERVE), Some(&[][..]));
    let (inner, mut exchange) = server.take(&outer).expect("the client's");
    assert_eq!(inner, observe("warmth", &[]));

    let notices: Vec<_> =
        (0..4_u8).map(|order| server.answer(&mut exchange, &notification(order, &[20 + order]))).collect();
    for (order, outer) in (0..).zip(&notices) {
        assert_eq!(outer.code, Code::CONTENT.byte());
        assert_eq!(outer.option(number::OBSERVE), Some(&[order][..]));
    }
    assert_eq!(notices[0].option(number::OSCORE), Some(&[][..]));
    assert_eq!(notices[1].option(number::OSCORE), Some(&[1, 0][..]), "a number of the server's");
    let mut heard = Vec::new();
    // The third overtakes the second.
    for at in [0, 2, 1, 3] {
        if let Ok(inner) = client.hear(&mut asked, &notices[at]) {
            heard.push((inner.option(number::OBSERVE).map(<[u8]>::to_vec), inner.payload));
        }
    }
    let expected = [(1, 20), (2, 22), (3, 23)].map(|(order, value)| (Some(vec![order]), vec![value]));
    assert_eq!(heard, expected);

    // The last one says that there is nothing more to come.
    let end = server.answer(&mut exchange, &Message::new(Code::NOT_FOUND.byte()));
    assert_eq!(client.hear(&mut asked, &end), Ok(Message::new(Code::NOT_FOUND.byte())));
    let more = server.answer(&mut exchange, &notification(9, b"24"));
    client.hear(&mut asked, &more).expect_err("the observation is over");
}

#[test]
fn each_block_is_a_message_of_its_own() {
    let [mut client, mut server] = client_and_server();
    for (at, more) in [(0_u8, true), (1, true), (2, false)] {
        let mut block = put("log", &[at; 16]);
        block.add(number::BLOCK1, [at << 4 | u8::from(more) << 3]);
        let (outer, mut asked) = client.ask(&block);
        assert_eq!(outer.option(number::BLOCK1), None);
        let (inner, mut exchange) = server.take(&outer).expect("the client's");
        assert_eq!(inner, block);
        let mut response = Message::new(if more { Code::CONTINUE } else { Code::CHANGED }.byte());
        response.add(number::BLOCK1, inner.option(number::BLOCK1).expect("it has one"));
        let outer = server.answer(&mut exchange, &response);
        assert_eq!(client.hear(&mut asked, &outer), Ok(response));
    }
}

#[test]
fn requests_may_overtake_each_other() {
    let [mut client, mut server] = client_and_server();
    let mut sent: Vec<_> = (0..10_u8).map(|byte| client.ask(&put("log", &[byte]))).collect();
    sent.reverse();
    for (byte, (outer, mut asked)) in (0..10).rev().zip(sent) {
        let (inner, mut exchange) = server.take(&outer).expect("the client's");
        assert_eq!(inner.payload, [byte]);
        let outer = server.answer(&mut exchange, &content(&[byte]));
        assert_eq!(client.hear(&mut asked, &outer), Ok(content(&[byte])));
    }
}

#[test]
fn both_sides_may_ask() {
    let [mut one, mut other] = client_and_server();
    for _ in 0..3 {
        let (outer, mut asked) = one.ask(&get("here"));
        let (_, mut exchange) = other.take(&outer).expect("the one's");
        let (back, mut asked_back) = other.ask(&get("there"));
        let (_, mut exchange_back) = one.take(&back).expect("the other's");
        let outer = other.answer(&mut exchange, &content(b"1"));
        assert_eq!(one.hear(&mut asked, &outer), Ok(content(b"1")));
        let outer = one.answer(&mut exchange_back, &content(b"2"));
        assert_eq!(other.hear(&mut asked_back, &outer), Ok(content(b"2")));
    }
}

#[test]
fn what_would_show_the_path_is_not_sent() {
    let [mut client, _] = client_and_server();
    let mut request = get("door");
    request.add(number::PROXY_URI, "coap://house.example/door");
    let sent = client.contexts.protect_request(later(1), client.id, request, &mut client.disk);
    assert_eq!(sent.err(), Some(Unsent::ProxyUri));
}
