//! What others get of a broker while one address floods it. Requests are repeated as CoAP has it, and
//! what counts is how many are answered, and how much the broker computed for the flood.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use motemix_coap::oscore::edhoc::{AnyByValue, Own, OwnSecret, begin, from_response, to_request};
use motemix_coap::oscore::{Contexts, Message, Settings};
use motemix_coap::{Code, Endpoint, Method, Request, format};
use motemix_crypto::Secret;
use motemix_neighbour::edhoc::Method as Authentication;
use motemix_neighbour::edhoc::cipher_suite::Ed25519Key;
use motemix_os::rng::HostRng;
use serde_json::Value;
use socket2::{Domain, Socket, Type};

use crate::broker_load::{Broker, Client};
use crate::flood::Flood;
use crate::http::Connections;
use crate::{ALONE, ELSEWHERE};

/// Handshakes, requests and visits of others during each flood.
const HONEST: u32 = 20;
/// Between two of them.
const BETWEEN: Duration = Duration::from_millis(30);
/// So many are sent together, and then the next after a while: 5,000 a second at most.
const TOGETHER: u64 = 25;
const PAUSE: Duration = Duration::from_millis(5);

fn own() -> Own {
    Own::new(OwnSecret::Ed25519(Ed25519Key::new(Secret::new([9; 32]))), None, None).expect("a key").by_value()
}

fn first_message(rng: &mut HostRng) -> (motemix_coap::oscore::edhoc::Begun, Message) {
    let contexts = Contexts::new(Settings::default());
    begin(&own(), Authentication::Signatures, &[], (&contexts, &[]), rng).expect("a key for the method")
}

/// The datagram of a request.
fn datagram(to: SocketAddr, request: Request) -> Vec<u8> {
    let mut endpoint = Endpoint::new(motemix_coap::Settings::default(), [5; 32]);
    endpoint.request(motemix_time::Instant::from_micros(1), to, request).expect("there is room");
    endpoint.poll_transmit().expect("it leaves").bytes
}

/// The same request again and again, each time with another message id.
fn flood(to: SocketAddr, from: impl Iterator<Item = [u8; 4]>, mut datagram: Vec<u8>) -> Flood {
    let bind = |address| UdpSocket::bind((std::net::Ipv4Addr::from(address), 0)).expect("an address");
    let sockets: Vec<_> = from.map(bind).collect();
    let mut id = 0_u16;
    Flood::by(move || {
        let mut sent = 0;
        for _ in 0..TOGETHER {
            id = id.wrapping_add(1);
            datagram[2..4].copy_from_slice(&id.to_be_bytes());
            sent += u64::from(sockets[usize::from(id) % sockets.len()].send_to(&datagram, to).is_ok());
        }
        thread::sleep(PAUSE);
        sent
    })
}

/// Whether a client makes keys with the broker.
fn makes_keys(client: &mut Client, rng: &mut HostRng) -> bool {
    let (mut begun, message_1) = first_message(rng);
    let over = AtomicBool::new(false);
    let Some(message_2) = client.ask(&to_request(&message_1), &over) else { return false };
    let Ok(met) = begun.meet(&from_response(&message_2), &own(), &mut AnyByValue, rng) else { return false };
    let message_4 = client.ask(&to_request(&met.alone()), &over);
    message_4.is_some_and(|message_4| met.confirm(&from_response(&message_4)).is_ok())
}

/// Asks the page, from another address than floods of connections come from.
fn visit(page: SocketAddr, path: &str) -> Option<Value> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).ok()?;
    socket.bind(&SocketAddr::from((ELSEWHERE, 0)).into()).ok()?;
    socket.connect(&page.into()).ok()?;
    let mut stream = TcpStream::from(socket);
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {page}\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
}

/// Others, while something floods: how many of their handshakes, requests and visits are answered.
fn others(broker: &Broker, page: SocketAddr) -> [u32; 3] {
    let mut rng = HostRng::new().expect("entropy");
    let mut answered = [0; 3];
    for _ in 0..HONEST {
        thread::sleep(BETWEEN);
        // Each is another client, whose address nobody knows yet.
        let mut client = Client::new(broker.address);
        answered[0] += u32::from(makes_keys(&mut client, &mut rng));
        let asked = client.ask(&Request::new(Method::Get, &[".well-known", "core"]), &AtomicBool::new(false));
        answered[1] += u32::from(asked.is_some_and(|response| response.code == Code::CONTENT));
        answered[2] += u32::from(visit(page, "/api/status").is_some());
    }
    answered
}

fn tell(what: &str, rate: u64, [handshakes, requests, visits]: [u32; 3]) {
    println!(
        "{what:<55} {rate:>7}/s  of {HONEST} each {handshakes} handshakes, {requests} requests, {visits} \
         visits of others"
    );
    for answered in [handshakes, requests, visits] {
        assert!(answered * 100 >= HONEST * 95, "{what}: {answered} of {HONEST}");
    }
}

#[test]
fn floods_of_one_address_leave_others_the_broker() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().expect("a folder");
    let mut broker = Broker::start(folder.path(), &["--page", "127.0.0.1:0"]);
    let page = broker.page();
    let counter = |group: &str, name: &str| {
        let counters = visit(page, "/api/counters").expect("the page answers");
        counters[group][name].as_u64().unwrap_or_else(|| panic!("{group}.{name}: {counters}"))
    };

    let message_1 =
        datagram(broker.address, to_request(&first_message(&mut HostRng::new().expect("entropy")).1));
    let begun = Instant::now();
    let flooding = flood(broker.address, [ELSEWHERE; 8].into_iter(), message_1);
    let answered = others(&broker, page);
    let sent = flooding.end();
    tell("first messages of EDHOC from one address", sent.a_second(), answered);
    // Eight a second for all who proved no address, and one for each of the others.
    let computed = counter("edhoc", "begun");
    let most = 8 * (begun.elapsed().as_secs() + 2) + u64::from(2 * HONEST);
    println!("    of {} messages, {computed} were computed for", sent.count);
    assert!(computed <= most, "{computed} handshakes were begun, and at most {most} should have been");

    let mut reading = Request::new(Method::Put, &["ps", "data", "none"]);
    (reading.content_format, reading.payload) = (Some(format::COSE_SIGN1), vec![0x5a; 88]);
    let from = (1..=200).map(|last| [127, 0, 1, last]);
    let (unproven, requests) = (counter("datagrams", "unproven"), counter("broker", "requests"));
    let begun = Instant::now();
    let flooding = flood(broker.address, from, datagram(broker.address, reading));
    let answered = others(&broker, page);
    let sent = flooding.end();
    tell("signed readings under 200 addresses", sent.a_second(), answered);
    let looked_at = counter("broker", "requests") - requests;
    println!("    of {} readings, {looked_at} were looked at", sent.count);
    assert!(looked_at <= 64 * (begun.elapsed().as_secs() + 3) + u64::from(4 * HONEST), "{looked_at}");
    assert!(sent.count < 1000 || counter("datagrams", "unproven") > unproven);

    for (what, to) in [("connections to the broker", broker.address), ("connections to the page", page)] {
        let flooding = Connections::idle(to);
        let answered = others(&broker, page);
        tell(what, flooding.end().a_second(), answered);
    }
}
