//! Many requests, many observers, and ids that come again.

use std::net::SocketAddr;
use std::time::Duration;

use motemix_coap::message::{Kind, Message, option};
use motemix_coap::{Code, Endpoint, Event, Method, Relation, Request, Response, Settings, Token, format};
use motemix_time::Instant;

use crate::pair::{SERVER, address};

const NOW: Instant = Instant::from_micros(1_000_000);

fn server() -> Endpoint {
    Endpoint::new(Settings::default(), [3; 32])
}

fn get(id: u16, token: u32, observe: bool) -> Message {
    let mut message = Message::empty(Kind::Confirmable, id);
    message.code = 1;
    message.token = Token::new(&token.to_be_bytes()).unwrap();
    if observe {
        message.push_number(option::OBSERVE, 0);
    }
    message.push(option::URI_PATH, *b"t");
    message
}

fn text(text: &str) -> Response {
    Response::content(Code::CONTENT, format::TEXT, text.as_bytes())
}

fn sent(endpoint: &mut Endpoint) -> Vec<(SocketAddr, Message)> {
    let sent = std::iter::from_fn(|| endpoint.poll_transmit());
    sent.map(|sent| (sent.to, Message::read(&sent.bytes).expect("a message"))).collect()
}

/// Asks, and lets the application answer; the token of the answer, and whether it was asked.
fn ask(server: &mut Endpoint, now: Instant, message: &Message) -> (Token, bool) {
    let _ = server.handle_datagram(now, address(9), &message.write());
    let incoming = server.poll_request();
    let was_asked = incoming.is_some();
    if let Some(incoming) = incoming {
        let observing = incoming.request.observe.is_some();
        server.respond(now, incoming.ticket, &text("21.5"), observing);
    }
    let answers = sent(server);
    assert_eq!(answers.len(), 1, "{message:?}");
    (answers[0].1.token, was_asked)
}

/// Ids have 16 bits: whoever asks faster than they become free uses them again.
#[test]
fn a_client_that_asks_more_often_than_there_are_ids_is_answered_each_time() {
    let mut server = server();
    for number in 0..140_000_u32 {
        let now = NOW + Duration::from_micros(70) * number;
        let message = get(number as u16, number, false);
        assert_eq!(ask(&mut server, now, &message), (message.token, true), "request {number}");
        if number % 1000 == 0 {
            assert_eq!(ask(&mut server, now, &message), (message.token, false), "once more");
        }
    }
}

#[test]
fn an_id_is_free_again_when_its_lifetime_is_over() {
    let mut server = server();
    let message = get(7, 7, false);
    assert_eq!(ask(&mut server, NOW, &message), (message.token, true));
    let soon = NOW + Duration::from_secs(246);
    assert_eq!(ask(&mut server, soon, &message), (message.token, false));
    let later = NOW + Duration::from_secs(248);
    assert_eq!(ask(&mut server, later, &message), (message.token, true));
}

/// The first notification of each is confirmable: all of them at the same moment.
#[test]
fn ten_thousand_observers_hear_of_every_change() {
    const OBSERVERS: u32 = 10_000;
    let mut server = server();
    let mut relations: Vec<Relation> = Vec::new();
    let peer = |number: u32| SocketAddr::from(([10, 0, (number >> 8) as u8, number as u8], 5683));
    for number in 0..OBSERVERS {
        server.handle_datagram(NOW, peer(number), &get(1, number, true).write()).unwrap();
        let incoming = server.poll_request().unwrap();
        relations.push(incoming.ticket.relation());
        server.respond(NOW, incoming.ticket, &text("0"), true);
        assert_eq!(sent(&mut server).len(), 1);
    }
    for round in 1..=100 {
        let now = NOW + Duration::from_secs(round);
        for relation in &relations {
            server.notify(now, relation, &text(&round.to_string()), false, false);
        }
        let told = sent(&mut server);
        assert_eq!(told.len(), relations.len(), "round {round}");
        for (to, message) in told {
            if message.kind == Kind::Confirmable {
                let empty = Message::empty(Kind::Acknowledgement, message.id);
                server.handle_datagram(now, to, &empty.write()).unwrap();
            }
        }
        server.handle_timeout(now);
    }
    assert_eq!(server.relations(), relations.len());
    assert_eq!(server.poll_event(), None, "nobody is gone");
}

/// A peer remembers ids of messages that were not confirmable too (RFC 7252 §4.5).
#[test]
fn no_observer_sees_an_id_twice_while_others_are_told() {
    let mut server = server();
    let peer = |number: u32| SocketAddr::from(([10, 0, (number >> 8) as u8, number as u8], 5683));
    let mut relations = Vec::new();
    for number in 0..1000 {
        server.handle_datagram(NOW, peer(number), &get(1, number, true).write()).unwrap();
        let incoming = server.poll_request().unwrap();
        relations.push(incoming.ticket.relation());
        server.respond(NOW, incoming.ticket, &text("0"), true);
    }
    sent(&mut server);
    let mut seen = std::collections::HashSet::new();
    // The first of them hears of every change, the others now and then.
    for round in 1..=2000_u32 {
        let now = NOW + Duration::from_millis(100) * round;
        let told =
            if round % 7 == 3 { &relations[..usize::from(round as u16) % 1000] } else { &relations[..1] };
        for relation in told {
            server.notify(now, relation, &text("1"), false, false);
        }
        for (to, message) in sent(&mut server) {
            if message.kind == Kind::Confirmable {
                let empty = Message::empty(Kind::Acknowledgement, message.id);
                server.handle_datagram(now, to, &empty.write()).unwrap();
            }
            assert!(to != peer(0) || seen.insert(message.id), "round {round}: id {}", message.id);
        }
    }
}

/// RFC 7959, section 2.5: a server may say that it wants shorter blocks.
#[test]
fn a_server_with_room_for_short_blocks_gets_the_whole_body_in_them() {
    let mut client = Endpoint::new(Settings::default(), [4; 32]);
    let mut put = Request::new(Method::Put, &["t"]);
    put.payload = (0..3000_u32).map(|at| at as u8).collect();
    let call = client.request(NOW, address(SERVER), put.clone()).unwrap();
    let mut body = Vec::new();
    for round in 0.. {
        assert!(round < 100, "it goes on for ever");
        let messages = sent(&mut client);
        let [(_, request)] = &messages[..] else { panic!("{messages:?}") };
        let block = request.number(option::BLOCK1).expect("a block");
        let (number, more, len) = (block >> 4, block & 8, 16 << (block & 7));
        assert_eq!(number as usize * len, body.len(), "the next byte that is missing");
        body.extend_from_slice(&request.payload);
        let mut answer = Message::empty(Kind::Acknowledgement, request.id);
        answer.token = request.token;
        answer.code = if more == 0 { Code::CHANGED } else { Code::CONTINUE }.byte();
        // 64 bytes, from the first answer on.
        answer.push_number(option::BLOCK1, number << 4 | more | 2);
        client.handle_datagram(NOW, address(SERVER), &answer.write()).unwrap();
        if more == 0 {
            break;
        }
    }
    assert_eq!(body, put.payload);
    let expected = motemix_coap::Event::Response { call, response: Response::new(Code::CHANGED) };
    assert_eq!(client.poll_event(), Some(expected));
}

/// RFC 7959, section 2.9.3: 4.13 with a shorter block.
#[test]
fn a_server_that_refuses_a_long_block_gets_short_ones_from_the_beginning() {
    let mut client = Endpoint::new(Settings::default(), [4; 32]);
    let mut put = Request::new(Method::Put, &["t"]);
    put.payload = vec![5; 3000];
    client.request(NOW, address(SERVER), put).unwrap();
    let (_, request) = sent(&mut client).remove(0);
    let mut answer = Message::empty(Kind::Acknowledgement, request.id);
    (answer.token, answer.code) = (request.token, Code::REQUEST_ENTITY_TOO_LARGE.byte());
    answer.push_number(option::BLOCK1, 8 | 1);
    client.handle_datagram(NOW, address(SERVER), &answer.write()).unwrap();
    let (_, again) = sent(&mut client).remove(0);
    assert_eq!((again.number(option::BLOCK1), again.payload.len()), (Some(8 | 1), 32));
    // Refused once more, that is the answer.
    let mut answer = Message::empty(Kind::Acknowledgement, again.id);
    (answer.token, answer.code) = (again.token, Code::REQUEST_ENTITY_TOO_LARGE.byte());
    answer.push_number(option::BLOCK1, 8 | 1);
    client.handle_datagram(NOW, address(SERVER), &answer.write()).unwrap();
    assert!(matches!(client.poll_event(), Some(motemix_coap::Event::Response { .. })));
}

/// What the application is told of an observation that it accepted.
fn gone(server: &mut Endpoint) -> bool {
    matches!(server.poll_event(), Some(Event::Gone(_)))
}

#[test]
fn an_observation_that_another_request_takes_the_token_of_is_told_to_be_over() {
    let mut server = server();
    assert!(ask(&mut server, NOW, &get(1, 7, true)).1);
    assert_eq!(server.relations(), 1);
    assert!(!gone(&mut server));
    ask(&mut server, NOW, &get(2, 7, false));
    assert_eq!(server.relations(), 0);
    assert!(gone(&mut server));
    ask(&mut server, NOW, &get(3, 7, false));
    assert!(!gone(&mut server), "there was none");
}

#[test]
fn an_observation_that_begins_anew_is_not_ended_by_the_end_of_the_one_before() {
    let mut server = server();
    assert!(ask(&mut server, NOW, &get(1, 7, true)).1);
    // Both have arrived before the application looks.
    ask(&mut server, NOW, &get(2, 7, false));
    ask(&mut server, NOW, &get(3, 7, true));
    assert_eq!(server.relations(), 1);
    assert!(!gone(&mut server));
}
