//! Datagrams on loopback, where nothing is lost. A peer that waited too long sends a message again.

use std::cell::RefCell;
use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use motemix_coap::oscore::Message;

/// A peer that is silent for so long has failed. Nothing else depends on a clock.
const SILENCE: Duration = Duration::from_mins(3);
const CON: u8 = 0x40;
const NON: u8 = 0x50;
const ACK: u8 = 0x60;
const TYPE: u8 = 0x30;
const EMPTY: u8 = 0;

/// What stands before the options.
#[derive(Debug, Clone)]
pub struct Head {
    kind: u8,
    id: [u8; 2],
    pub token: Vec<u8>,
}

pub struct Wire {
    socket: UdpSocket,
    next: u16,
    /// Messages that were received, by peer, type and message ID (RFC 7252 §4.5).
    received: RefCell<HashSet<(SocketAddr, u8, [u8; 2])>>,
}

impl Wire {
    pub fn new() -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        socket.set_read_timeout(Some(SILENCE)).expect("a time above zero");
        Self { socket, next: 1, received: RefCell::default() }
    }

    pub fn port(&self) -> u16 {
        self.socket.local_addr().expect("it is bound").port()
    }

    /// The next message that is new and not empty, acknowledged if it wants that and is no request.
    pub fn receive(&self) -> (SocketAddr, Head, Message) {
        loop {
            let mut room = [0; 1500];
            let (len, from) = self.socket.recv_from(&mut room).expect("the peer sends");
            let datagram = &room[..len];
            let (fixed, rest) = datagram.split_first_chunk::<4>().expect("a header");
            let (token, rest) = rest.split_at(usize::from(fixed[0] & 0x0f));
            let head = Head { kind: fixed[0] & TYPE | CON, id: [fixed[2], fixed[3]], token: token.to_vec() };
            let message = Message::from_bytes(&[&fixed[1..2], rest].concat()).expect("options");
            if message.code == EMPTY {
                continue;
            }
            if head.kind == CON && message.is_response() {
                self.socket.send_to(&[ACK, EMPTY, head.id[0], head.id[1]], from).expect("loopback");
            }
            if self.received.borrow_mut().insert((from, head.kind, head.id)) {
                return (from, head, message);
            }
        }
    }

    fn send(&self, to: SocketAddr, head: &Head, message: &Message) {
        let bytes = message.to_bytes();
        let first = head.kind | head.token.len() as u8;
        let datagram = [&[first, bytes[0]], &head.id[..], &head.token, &bytes[1..]].concat();
        self.socket.send_to(&datagram, to).expect("loopback");
    }

    fn next_id(&mut self) -> [u8; 2] {
        self.next += 1;
        self.next.to_be_bytes()
    }

    /// Sends a request; its token.
    pub fn ask(&mut self, port: u16, request: &Message) -> Vec<u8> {
        let id = self.next_id();
        let head = Head { kind: CON, id, token: id.to_vec() };
        self.send(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), &head, request);
        head.token
    }

    /// What comes to a token.
    pub fn hear(&self, token: &[u8]) -> Message {
        loop {
            let (_, head, message) = self.receive();
            if head.token == token {
                return message;
            }
        }
    }

    /// A response in the acknowledgement.
    pub fn answer(&self, to: SocketAddr, request: &Head, response: &Message) {
        let kind = if request.kind == CON { ACK } else { NON };
        self.send(to, &Head { kind, ..request.clone() }, response);
    }

    /// A further response to a request.
    pub fn notify(&mut self, to: SocketAddr, request: &Head, response: &Message) {
        let head = Head { kind: NON, id: self.next_id(), token: request.token.clone() };
        self.send(to, &head, response);
    }
}
