//! CoAP over UDP on this machine (RFC 7252): one request after another, and whoever answers them.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use coap_lite::{CoapOption, MessageClass, MessageType, Packet, RequestType, ResponseType};

/// EDHOC: the payload begins with message_3 (RFC 9668, 3.1).
pub const EDHOC: CoapOption = CoapOption::Unknown(21);

/// A peer that is silent for so long has failed. Nothing else depends on a clock.
const SILENCE: Duration = Duration::from_mins(3);

pub fn post(path: &[&str], payload: Vec<u8>) -> Packet {
    let mut request = Packet::new();
    request.header.code = MessageClass::Request(RequestType::Post);
    for segment in path {
        request.add_option(CoapOption::UriPath, segment.as_bytes().to_vec());
    }
    request.payload = payload;
    request
}

pub fn response(code: ResponseType, payload: Vec<u8>) -> Packet {
    let mut response = Packet::new();
    response.header.code = MessageClass::Response(code);
    response.payload = payload;
    response
}

pub fn path(request: &Packet) -> Vec<&[u8]> {
    request.get_option(CoapOption::UriPath).into_iter().flatten().map(Vec::as_slice).collect()
}

pub fn is_success(response: &Packet) -> bool {
    matches!(response.header.code, MessageClass::Response(code) if !code.is_error())
}

fn receive(socket: &UdpSocket) -> (SocketAddr, Vec<u8>) {
    let mut room = [0; 1500];
    let (len, from) = socket.recv_from(&mut room).expect("the peer answers");
    (from, room[..len].to_vec())
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    socket.set_read_timeout(Some(SILENCE)).expect("a time above zero");
    socket
}

/// Of a request; different for all clients here. The system gives a port out again while a server
/// still remembers what it answered there.
static NEXT_ID: AtomicU16 = AtomicU16::new(0);

/// Asks one server. On loopback nothing is lost, so nothing is sent again.
pub struct Client {
    socket: UdpSocket,
}

impl Client {
    pub fn of(port: u16) -> Self {
        let socket = socket();
        socket.connect((Ipv4Addr::LOCALHOST, port)).expect("loopback");
        Self { socket }
    }

    pub fn request(&self, mut request: Packet) -> Packet {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        request.header.message_id = id;
        request.header.set_type(MessageType::Confirmable);
        request.set_token(id.to_be_bytes().to_vec());
        self.send(&request);
        loop {
            let (_, bytes) = receive(&self.socket);
            let response = Packet::from_bytes(&bytes).expect("CoAP");
            // A server that takes its time acknowledges first and sends its response by itself.
            if response.header.get_type() == MessageType::Confirmable {
                let mut acknowledgement = Packet::new();
                acknowledgement.header.code = MessageClass::Empty;
                acknowledgement.header.message_id = response.header.message_id;
                acknowledgement.header.set_type(MessageType::Acknowledgement);
                self.send(&acknowledgement);
            }
            if response.header.code != MessageClass::Empty && response.get_token() == request.get_token() {
                return response;
            }
        }
    }

    fn send(&self, packet: &Packet) {
        self.socket.send(&packet.to_bytes().expect("a short packet")).expect("loopback");
    }
}

/// Answers whoever asks.
pub struct Server {
    socket: UdpSocket,
    answered: HashMap<(SocketAddr, u16), Vec<u8>>,
}

impl Server {
    pub fn new() -> Self {
        Self { socket: socket(), answered: HashMap::new() }
    }

    pub fn port(&self) -> u16 {
        self.socket.local_addr().expect("it is bound").port()
    }

    /// What ends [`Server::serve`], from another thread.
    pub fn end(&self) -> impl FnOnce() + Send + use<> {
        let port = self.port();
        move || {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
            socket.send_to(&[], (Ipv4Addr::LOCALHOST, port)).expect("loopback");
        }
    }

    /// Answers each request once. Whoever asks again, because it took long, gets the same answer.
    pub fn serve(&mut self, mut answer: impl FnMut(Packet) -> Packet) {
        loop {
            let (from, bytes) = receive(&self.socket);
            if bytes.is_empty() {
                return;
            }
            let request = Packet::from_bytes(&bytes).expect("CoAP");
            if request.header.get_type() != MessageType::Confirmable {
                continue;
            }
            let id = request.header.message_id;
            let response = self.answered.entry((from, id)).or_insert_with(|| {
                let token = request.get_token().to_vec();
                let mut response = answer(request);
                response.header.message_id = id;
                response.header.set_type(MessageType::Acknowledgement);
                response.set_token(token);
                response.to_bytes().expect("a short packet")
            });
            self.socket.send_to(response, from).expect("loopback");
        }
    }
}
