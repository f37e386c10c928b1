//! Outer blocks: of messages that OSCORE or EDHOC is in (RFC 8613, section 4.1.3.4.2).

use std::net::SocketAddr;

use motemix_coap::message::{Kind, Message, option};
use motemix_coap::oscore::edhoc::{
    self, AnyByValue, Own, OwnSecret, Responder, begin, from_response, to_request,
};
use motemix_coap::oscore::{Contexts, Layer, NothingStored, Settings as Bounds};
use motemix_coap::{Block, Code, DropReason, Endpoint, Event, Protection, Request, Response, Settings};
use motemix_crypto::Secret;
use motemix_neighbour::edhoc::Method as Authentication;
use motemix_neighbour::edhoc::cipher_suite::Ed25519Key;
use motemix_time::Instant;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng as _;

use crate::pair::{CLIENT, SERVER, address};
use crate::protected;

/// Who proves itself in a handshake.
pub fn own(byte: u8, name: &str) -> Own {
    let key = OwnSecret::Ed25519(Ed25519Key::new(Secret::new([byte; 32])));
    Own::new(key, Some(name), None).expect("short")
}

pub fn contexts() -> Contexts {
    Contexts::new(Bounds::default())
}

/// A server that answers handshakes of everybody.
pub fn responder() -> Endpoint {
    let mut server = Endpoint::new(Settings::default(), [3; 32]);
    let responder = Responder::new(edhoc::Settings::default(), vec![own(1, "server")]);
    server.protect(Protection {
        layer: Layer { contexts: contexts(), responder: Some(responder) },
        policy: Box::new(AnyByValue),
        store: Box::new(NothingStored),
    });
    server
}

/// The datagrams that carry a message in outer blocks of 256 bytes.
fn in_blocks(datagram: &[u8], first_id: u16, tag: Option<&[u8]>) -> Vec<Vec<u8>> {
    let message = Message::read(datagram).expect("a message");
    let mut all = Vec::new();
    for number in 0.. {
        let Some((part, block)) = (Block { number, more: false, exponent: 4 }).of(&message.payload) else {
            break;
        };
        let mut one = Message { id: first_id + number as u16, payload: part.to_vec(), ..message.clone() };
        one.push_number(option::BLOCK1, block.value());
        if let Some(tag) = tag {
            one.push(option::REQUEST_TAG, tag);
        }
        all.push(one.write());
    }
    all
}

fn answers(server: &mut Endpoint) -> Vec<Message> {
    let sent = std::iter::from_fn(|| server.poll_transmit());
    sent.map(|sent| Message::read(&sent.bytes).expect("a message")).collect()
}

#[test]
fn a_protected_request_in_outer_blocks_is_put_together_and_opened() {
    let (mut pair, id, value) = protected::pair(1);
    let (now, body) = (pair.now, [b'o'; 1000]);
    let call = protected::ask(&mut pair, Some(id), protected::put(&body));
    let datagram = pair.client.poll_transmit().expect("a request").bytes;
    let blocks = in_blocks(&datagram, 100, Some(b"1"));
    // Another client's behind the same address, with other bytes: its tag keeps it apart.
    let other = in_blocks(&datagram, 200, Some(b"2"));
    pair.server.handle_datagram(now, address(CLIENT), &other[0]).expect("taken");
    assert_eq!(blocks.len(), 4);
    for block in &blocks[..3] {
        while pair.server.poll_transmit().is_some() {}
        pair.server.handle_datagram(now, address(CLIENT), block).expect("taken");
        let answer = answers(&mut pair.server).pop().expect("an answer");
        assert_eq!(Code::of_byte(answer.code), Some(Code::CONTINUE));
        assert!(answer.option(option::OSCORE).is_none() && answer.option(option::BLOCK1).is_some());
    }
    pair.server.handle_datagram(now, address(CLIENT), &blocks[3]).expect("taken");
    let incoming = pair.server.poll_request().expect("the whole request");
    assert_eq!(incoming.request, protected::put(&body));
    value.borrow_mut().clone_from(&incoming.request.payload);
    pair.server.respond(now, incoming.ticket, &Response::new(Code::CHANGED), false);
    let mut answer = answers(&mut pair.server).pop().expect("an answer");
    // The last block is acknowledged outside, and what OSCORE protects is the same as without.
    assert_eq!(answer.option(option::BLOCK1), Some(&[0x34][..]));
    answer.id = Message::read(&datagram).expect("a message").id;
    pair.client.handle_datagram(now, address(SERVER), &answer.write()).expect("the response");
    let event = pair.client.poll_event().expect("it has come");
    assert_eq!(event, Event::Response { call, response: Response::new(Code::CHANGED) });
    // Once more is a replay.
    for (at, block) in in_blocks(&datagram, 300, None).iter().enumerate() {
        assert_eq!(pair.server.handle_datagram(now, address(CLIENT), block).is_ok(), at < 3);
    }
    assert!(pair.server.poll_request().is_none());
}

#[test]
fn a_handshake_in_outer_blocks_is_put_together() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut server = responder();
    let device = own(2, &"a device with a long name ".repeat(9));
    let mut client = Endpoint::new(Settings::default(), [1; 32]);
    let mut now = Instant::from_micros(1_000_000);
    // Each of its requests goes in blocks.
    let mut ask = |request: Request, first_id: u16| {
        now = now + std::time::Duration::from_secs(1);
        client.request(now, address(SERVER), request).expect("room");
        let datagram = client.poll_transmit().expect("a datagram").bytes;
        let mut last = None;
        for block in in_blocks(&datagram, first_id, None) {
            server.handle_datagram(now, address(CLIENT), &block).expect("taken");
            last = answers(&mut server).pop();
        }
        let mut answer = last.expect("an answer");
        answer.id = Message::read(&datagram).expect("a message").id;
        client.handle_datagram(now, address(SERVER), &answer.write()).expect("the response");
        match client.poll_event() {
            Some(Event::Response { response, .. }) => response,
            other => panic!("{other:?}"),
        }
    };
    let (mut begun, message_1) =
        begin(&device, Authentication::Signatures, &[], (&contexts(), &[]), &mut rng).expect("a name");
    let response = ask(to_request(&message_1), 100);
    let met = begun.meet(&from_response(&response), &device, &mut AnyByValue, &mut rng).expect("the server");
    let message_3 = to_request(&met.alone());
    assert!(message_3.payload.len() > 256, "several blocks");
    let response = ask(message_3, 200);
    met.confirm(&from_response(&response)).expect("message_4");
}

/// Nobody has proven anything when these are put together: they take the places that any bodies of
/// strangers take.
#[test]
fn outer_blocks_that_never_end_take_no_more_places_than_others() {
    let (mut pair, id, _) = protected::pair(1);
    protected::ask(&mut pair, Some(id), protected::put(&[b'o'; 1000]));
    let datagram = pair.client.poll_transmit().expect("a request").bytes;
    let mut refused = 0;
    for number in 0..1000_u16 {
        let [high, low] = number.to_be_bytes();
        let from = SocketAddr::from(([10, 0, high, low], 5683));
        let first = &in_blocks(&datagram, number, None)[0];
        let taken = pair.server.handle_datagram(pair.now, from, first);
        refused += usize::from(taken == Err(DropReason::Unproven));
    }
    assert_eq!(refused, 1000 - 128);
    let kinds: Vec<_> = answers(&mut pair.server).iter().map(|answer| answer.kind).collect();
    assert!(kinds.iter().all(|kind| *kind == Kind::Acknowledgement));
}
