//! A whole endpoint behind aiocoap's client: requests that do not fit a message with message_3 in
//! front of them come in outer blocks.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use motemix_coap::oscore::edhoc::{self, Responder};
use motemix_coap::oscore::{Contexts, Layer, NothingStored, Settings as Bounds};
use motemix_coap::{Code, Endpoint, Protection, Response, Settings};
use motemix_time::Instant;
use serde_json::json;

use crate::edhoc::{Known, credentials, party};
use crate::python::Python;

/// A peer that is silent for so long has failed. Nothing else depends on a clock.
const SILENCE: Duration = Duration::from_secs(60);

/// Answers each PUT until one has no body; the bodies, and how many datagrams came.
fn serve(socket: &UdpSocket, mut endpoint: Endpoint) -> (Vec<Vec<u8>>, usize) {
    let (began, mut bodies, mut datagrams) = (std::time::Instant::now(), Vec::<Vec<u8>>::new(), 0);
    socket.set_read_timeout(Some(SILENCE)).expect("a time above zero");
    while bodies.last().is_none_or(|body| !body.is_empty()) {
        let mut room = [0; 2048];
        let (len, from) = socket.recv_from(&mut room).expect("the peer sends");
        datagrams += 1;
        let now = Instant::from_micros(1) + began.elapsed();
        let _ = endpoint.handle_datagram(now, from, &room[..len]);
        while let Some(incoming) = endpoint.poll_request() {
            assert!(endpoint.device(&incoming.ticket).is_some(), "under a context");
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
        let served = serve(&socket, endpoint);
        visitor.join().expect("all was as expected");
        served
    });
    assert_eq!(bodies, [body.to_vec(), Vec::new()]);
    assert!(datagrams > 3, "message_1, two blocks at least, and the last request: {datagrams}");
}
