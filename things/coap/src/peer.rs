//! Who is on the other side.

use std::fmt;
use std::net::SocketAddr;

/// The other side of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Peer {
    /// Sends datagrams from this address; whoever sent one may have forged it.
    Datagram(SocketAddr),
    /// Has a connection, TCP or WebSocket, that the caller calls by this number.
    Stream(u64),
}

/// What a client calls a request: up to 8 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Token {
    len: u8,
    bytes: [u8; Token::MAX_LEN],
}

impl Token {
    /// The longest, in bytes (RFC 7252 §3).
    pub const MAX_LEN: usize = 8;
    /// That of no bytes.
    pub const EMPTY: Self = Self { len: 0, bytes: [0; Self::MAX_LEN] };

    /// Made of up to 8 bytes.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > Self::MAX_LEN {
            return None;
        }
        let mut token = Self { len: bytes.len() as u8, ..Self::default() };
        token.bytes[..bytes.len()].copy_from_slice(bytes);
        Some(token)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
