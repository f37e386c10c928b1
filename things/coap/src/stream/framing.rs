//! Where a message begins and ends on a connection (RFC 8323 §3.2 and §8.4).

use std::collections::VecDeque;

use crate::message::{Malformed, Message};

/// What carries messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// A stream of bytes: each message has its length in front.
    Stream,
    /// A WebSocket: each of its binary messages is one.
    WebSocket,
}

/// What the bytes so far are.
pub(super) enum NextMessage {
    Message(Message),
    /// No whole message; whether one has begun.
    More {
        begun: bool,
    },
    /// What came is none, and nobody knows where the next one begins.
    Malformed(&'static str),
}

#[derive(Debug)]
pub(super) struct Framing {
    carrier: Carrier,
    longest: usize,
    received: Vec<u8>,
    /// Bytes of `received` that were read.
    done: usize,
    /// Lengths of the messages of a WebSocket that were not.
    messages: VecDeque<usize>,
}

impl Framing {
    pub(super) const fn new(carrier: Carrier, longest: usize) -> Self {
        Self { carrier, longest, received: Vec::new(), done: 0, messages: VecDeque::new() }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.received.drain(..self.done);
        self.done = 0;
        if self.received.is_empty() {
            // One long message does not keep its room for as long as the connection lasts.
            self.received = Vec::new();
        }
        self.received.extend_from_slice(bytes);
        if self.carrier == Carrier::WebSocket && !bytes.is_empty() {
            self.messages.push_back(bytes.len());
        }
    }

    pub(super) fn next(&mut self) -> NextMessage {
        let mut bytes = &self.received[self.done..];
        if let Some(len) = self.messages.pop_front() {
            bytes = &bytes[..len];
        }
        let Some(first) = bytes.first().copied() else { return NextMessage::More { begun: false } };
        let token_len = usize::from(first & 0x0f);
        if token_len > 8 {
            return NextMessage::Malformed("a token has at most 8 bytes");
        }
        let (head, body) = match self.carrier {
            Carrier::WebSocket if first >> 4 != 0 => {
                return NextMessage::Malformed("messages of a WebSocket have no length");
            }
            // Code and token are in front of what the length counts.
            Carrier::WebSocket => (1, bytes.len().saturating_sub(2 + token_len)),
            Carrier::Stream => match length(bytes) {
                Some(found) => found,
                None => return NextMessage::More { begun: true },
            },
        };
        if body > self.longest {
            return NextMessage::Malformed("the message is longer than was said that it may be");
        }
        let end = head + 1 + token_len + body;
        let Some(message) = bytes.get(head..end) else {
            if self.carrier == Carrier::WebSocket {
                return NextMessage::Malformed("the message ends too early");
            }
            return NextMessage::More { begun: true };
        };
        // The form that datagrams have, with an id that says nothing.
        let mut datagram = vec![0x50 | first & 0x0f, message[0], 0, 0];
        datagram.extend_from_slice(&message[1..]);
        self.done += end;
        match Message::read_any(&datagram, Malformed { confirmable: None }) {
            Ok(message) => NextMessage::Message(message),
            Err(_) => NextMessage::Malformed("a message is not one of CoAP"),
        }
    }

    pub(super) fn write(&self, message: &Message) -> Vec<u8> {
        let datagram = message.write();
        let token = message.token.as_bytes();
        let body = datagram.get(4 + token.len()..).unwrap_or_default();
        let mut bytes = Vec::with_capacity(body.len() + 16);
        match self.carrier {
            Carrier::WebSocket => bytes.push(token.len() as u8),
            Carrier::Stream => put_length(body.len(), token.len() as u8, &mut bytes),
        }
        bytes.push(message.code);
        bytes.extend_from_slice(token);
        bytes.extend_from_slice(body);
        bytes
    }
}

/// The bytes in front of the code, and those of options and payload; `None` if not all of the
/// former are here.
fn length(bytes: &[u8]) -> Option<(usize, usize)> {
    let (first, rest) = bytes.split_first()?;
    Some(match first >> 4 {
        13 => (2, 13 + usize::from(*rest.first()?)),
        14 => (3, 269 + usize::from(u16::from_be_bytes(*rest.first_chunk()?))),
        15 => (5, 65_805_usize.saturating_add(u32::from_be_bytes(*rest.first_chunk()?) as usize)),
        short => (1, usize::from(short)),
    })
}

fn put_length(body: usize, token_len: u8, out: &mut Vec<u8>) {
    match body {
        0..13 => out.push((body as u8) << 4 | token_len),
        13..269 => out.extend([13 << 4 | token_len, (body - 13) as u8]),
        269..65_805 => {
            out.push(14 << 4 | token_len);
            out.extend(((body - 269) as u16).to_be_bytes());
        }
        _ => {
            out.push(15 << 4 | token_len);
            out.extend(((body - 65_805) as u32).to_be_bytes());
        }
    }
}
