//! A whole endpoint behind aiocoap's client: requests in outer blocks, because they do not fit a
//! message with message_3 in front of them, and a client that has lost its context.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use motemix_coap::oscore::edhoc::{self, AnyByValue, Responder};
use motemix_coap::oscore::{Context, Contexts, Layer, NothingStored, Numbers, Preshared, Settings as Bounds};
use motemix_coap::{Code, Endpoint, Protection, Response, Settings};
use motemix_time::Instant;
use serde_json::json;

use crate::edhoc::{Known, credentials, party};
use crate::python::Python;

/// A peer that is silent for so long has failed. Nothing else depends on a clock.
const SILENCE: Duration = Duration::from_secs(60);

/// Answers each PUT until so many have come; the bodies, and how many datagrams came.
fn serve(socket: &UdpSocket, mut endpoint: Endpoint, most: usize) -> (Vec<Vec<u8>>, usize) {
    let (began, mut bodies, mut datagrams) = (std::time::Instant::now(), Vec::new(), 0);
    socket.set_read_timeout(Some(SILENCE)).expect("a time above zero");
    while bodies.len() < most {
        let mut room = [0; 2048];
        let (len, from) = socket.recv_from(&mut room).expect("the peer sends");
        datagrams += 1;
        let now = Instant::from_micros(1) + began.elapsed();
        let _ = endpoint.handle_datagram(now, from, &room[..len]);
        while let Some(incoming) = endpoint.poll_request() {
            assert!(endpoint.context(&incoming.ticket).is_some(), "under a context");
            bodies.push(incoming.request.payload);
            endpoint.respond(now, incoming.ticket, &Response::new(Code::CHANGED), false);
        }
        while let Some(sent) = endpoint.poll_transmit() {
            socket.send_to(&sent.bytes, sent.to).expect("loopback");
        }
    }
    (bodies, datagrams)
}

#[test]
fn aiocoaps_combined_request_of_a_thousand_bytes_is_put_together() {
    let mut python = Python::under_oscore();
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    let (ours, theirs) = (party("ours", 0x01, false, &mut rng), party("theirs", 0x02, false, &mut rng));
    let socket = UdpSocket::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("a port");
    let mut question = credentials(&theirs, &ours, false);
    question["port"] = socket.local_addr().expect("it is bound").port().into();
    question["combined"] = true.into();
    python.ask("introduce", question).expect("a client");
    let mut endpoint = Endpoint::new(Settings::default(), [7; 32]);
    endpoint.protect(Protection {
        layer: Layer {
            contexts: Contexts::new(Bounds::default()),
            responder: Some(Responder::new(edhoc::Settings::default(), vec![ours.own])),
        },
        policy: Box::new(Known(theirs.kid, theirs.own.ccs().to_vec())),
        store: Box::new(NothingStored),
    });
    let body = [b'o'; 1000];
    let (bodies, datagrams) = thread::scope(|scope| {
        let visitor = scope.spawn(|| {
            for payload in [&body[..], b""] {
                let answer = python.ask("put", json!({"payload": hex::encode(payload)})).expect("a response");
                assert_eq!((&answer["code"], &answer["is_protected"]), (&json!(0x44), &json!(true)));
            }
        });
        let served = serve(&socket, endpoint, 2);
        visitor.join().expect("all was as expected");
        served
    });
    assert_eq!(bodies, [body.to_vec(), Vec::new()]);
    assert!(datagrams > 3, "message_1, two blocks at least, and the last request: {datagrams}");
}

/// RFC 8613, appendix B.2, with the derivations of aiocoap: one that nobody here wrote.
#[test]
fn aiocoap_that_has_lost_its_context_gets_a_new_one_by_two_exchanges() {
    let mut python = Python::under_oscore();
    let (secret, salt) = ([0x5a; 16], [0xa5; 8]);
    let given = Preshared {
        name: "door",
        master_secret: &secret,
        master_salt: &salt,
        id_context: None,
        sender: &[1],
        recipient: &[2],
    };
    let mut contexts = Contexts::new(Bounds::default());
    let now = Instant::from_micros(1);
    // What was seen before is forgotten here as well.
    let context = Context::preshared(now, &given, Numbers::volatile(), Some([7; 8])).expect("sound");
    contexts.insert(now, context).expect("a place");
    let socket = UdpSocket::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("a port");
    let port = socket.local_addr().expect("it is bound").port();
    let mut endpoint = Endpoint::new(Settings::default(), [7; 32]);
    endpoint.protect(Protection {
        layer: Layer { contexts, responder: None },
        policy: Box::new(AnyByValue),
        store: Box::new(NothingStored),
    });
    let (bodies, _) = thread::scope(|scope| {
        let visitor = scope.spawn(|| {
            let question = json!({
                "port": port, "payload": hex::encode(b"again"), "secret": hex::encode(secret), "salt": hex::encode(salt),
                "sender": "02", "recipient": "01",
            });
            python.ask("renew", question).expect("two exchanges")
        });
        let served = serve(&socket, endpoint, 3);
        assert_eq!(visitor.join().expect("all was as expected")["codes"], json!([0x81, 0x44, 0x44, 0x44]));
        served
    });
    assert_eq!(bodies, [b"again"; 3]);
}
