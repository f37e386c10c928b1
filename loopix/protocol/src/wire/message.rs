//! The payload of the originals: the receiver, and a message whose first bytes may say that it is
//! cover.

use rand_core::CryptoRng;
use rmpv::Value;

use super::command::Text;
use crate::pack::{decode, encode, text};
use crate::packet::forward;

/// What loop cover begins with.
pub const LOOP: &[u8; 2] = b"HT";
/// What dummies of the fork of 2018 begin with.
pub const DUMMY: &[u8; 2] = b"HD";

/// The receiver: address and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// IP address or DNS name.
    pub host: String,
    /// UDP port.
    pub port: u16,
    /// The node's name.
    pub name: String,
}

impl Destination {
    fn parse(value: &Value) -> Option<Self> {
        let [host, port, name] = value.as_array()?.as_slice() else { return None };
        Some(Self {
            host: text(host)?.to_owned(),
            port: u16::try_from(port.as_u64()?).ok()?,
            name: text(name)?.to_owned(),
        })
    }

    fn value(&self) -> Value {
        Value::Array(vec![Text::Str.value(&self.host), Value::from(self.port), Text::Bin.value(&self.name)])
    }

    /// The bytes of a payload that carries `message` here.
    pub fn payload(&self, message: &[u8]) -> Vec<u8> {
        forward::payload(self.value(), message)
    }

    /// The most bytes that a message for this destination may have, in a body of `body_len` bytes.
    pub fn room(&self, body_len: usize) -> usize {
        // The prefix of a message of more than 255 bytes is one longer.
        let empty = self.payload(&[0; 256]).len() - 256;
        body_len.saturating_sub(16 + 1 + empty)
    }
}

/// How the bytes of a message are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    /// They are the sender's byte string.
    #[default]
    Bytes,
    /// They are the msgpack of what the sender sent in place of a byte string: text, a number, an
    /// array … The originals send whatever their application gives them.
    Msgpack,
}

/// What the receiver is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// How to read `bytes`.
    pub encoding: Encoding,
    /// 1,003 of them at most.
    pub bytes: Vec<u8>,
}

impl Message {
    /// What follows `prefix` in a byte string. Cover is one.
    pub fn after(&self, prefix: &[u8]) -> Option<&[u8]> {
        if self.encoding == Encoding::Bytes { self.bytes.strip_prefix(prefix) } else { None }
    }
}

/// Receiver and message of a payload. `None` if it is no such pair.
pub fn parse(payload: &[u8]) -> Option<(Destination, Message)> {
    let Value::Array(fields) = decode(payload).ok()? else { return None };
    let [destination, message] = <[Value; 2]>::try_from(fields).ok()?;
    let message = match message {
        Value::Binary(bytes) => Message { encoding: Encoding::Bytes, bytes },
        // Written in the shortest form, it is never longer than it came.
        value => Message { encoding: Encoding::Msgpack, bytes: encode(&value) },
    };
    Some((Destination::parse(&destination)?, message))
}

/// `prefix`, and noise after it.
pub fn noise(prefix: &[u8], noise_len: usize, rng: &mut impl CryptoRng) -> Vec<u8> {
    let mut message = prefix.to_vec();
    message.resize(prefix.len() + noise_len, 0);
    rng.fill_bytes(&mut message[prefix.len()..]);
    message
}
