//! One CoAP message as bytes (RFC 7252 §3): kind, id and token, a code, options and a payload.
//!
//! What the RFC does not let through is refused.

use crate::{Token, options};

/// The longest message that is read over datagrams, in bytes: a block of 1,024 with its options.
pub const MAX_DATAGRAM_LEN: usize = 1500;

/// What a message is to the layer of messages (RFC 7252 §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Repeated until it is acknowledged.
    Confirmable,
    /// Sent once.
    NonConfirmable,
    /// Says that a confirmable message arrived; may carry the response.
    Acknowledgement,
    /// Says that a message means nothing here.
    Reset,
}

/// Numbers of options that are understood (RFC 7252 §5.10, 7641, 7959, 8613, 9175).
pub mod option {
    #![expect(missing_docs, reason = "each is what its RFC calls it")]
    pub const IF_MATCH: u16 = 1;
    pub const URI_HOST: u16 = 3;
    pub const ETAG: u16 = 4;
    pub const IF_NONE_MATCH: u16 = 5;
    pub const OBSERVE: u16 = 6;
    pub const URI_PORT: u16 = 7;
    pub const LOCATION_PATH: u16 = 8;
    pub const OSCORE: u16 = 9;
    pub const URI_PATH: u16 = 11;
    pub const CONTENT_FORMAT: u16 = 12;
    pub const MAX_AGE: u16 = 14;
    pub const URI_QUERY: u16 = 15;
    pub const ACCEPT: u16 = 17;
    pub const LOCATION_QUERY: u16 = 20;
    pub const BLOCK2: u16 = 23;
    pub const BLOCK1: u16 = 27;
    pub const SIZE2: u16 = 28;
    pub const PROXY_URI: u16 = 35;
    pub const PROXY_SCHEME: u16 = 39;
    pub const SIZE1: u16 = 60;
    pub const ECHO: u16 = 252;
    pub const NO_RESPONSE: u16 = 258;
    pub const REQUEST_TAG: u16 = 292;
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What it is to the layer of messages.
    pub kind: Kind,
    /// Tells messages between two addresses apart.
    pub id: u16,
    /// Tells requests of a client apart.
    pub token: Token,
    /// Zero, a method, or a response's code.
    pub code: u8,
    /// Number and value, by number, in the order in which they stood there.
    pub options: Vec<(u16, Vec<u8>)>,
    /// What follows the options.
    pub payload: Vec<u8>,
}

/// Why bytes are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed {
    /// The id and whether it wants to be acknowledged, where that can be read: such a message is
    /// answered by a reset.
    pub confirmable: Option<u16>,
}

impl Message {
    /// A message without token, options and payload.
    pub const fn empty(kind: Kind, id: u16) -> Self {
        Self { kind, id, token: Token::EMPTY, code: 0, options: Vec::new(), payload: Vec::new() }
    }

    /// Reads a message.
    ///
    /// # Errors
    /// It is none, or one of another version of CoAP.
    pub fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let nothing = Malformed { confirmable: None };
        let [first, code, high, low, ..] = *bytes else { return Err(nothing) };
        // Those of other versions are passed over in silence (§3).
        if first >> 6 != 1 {
            return Err(nothing);
        }
        let id = u16::from_be_bytes([high, low]);
        let malformed = Malformed { confirmable: Some(id).filter(|_| first & 0x30 == 0) };
        let is_empty_and_more = code == 0 && bytes.len() > 4;
        // Class 7 is a connection's, and the others are nobody's (§12.1).
        let is_of_no_class = matches!(code >> 5, 1 | 3 | 6 | 7);
        if bytes.len() > MAX_DATAGRAM_LEN || is_empty_and_more || is_of_no_class {
            return Err(malformed);
        }
        Self::read_any(bytes, malformed)
    }

    /// Reads a message of any length and class.
    pub(crate) fn read_any(bytes: &[u8], malformed: Malformed) -> Result<Self, Malformed> {
        let [first, code, high, low, ref rest @ ..] = *bytes else { return Err(malformed) };
        let id = u16::from_be_bytes([high, low]);
        let kind = match first >> 4 & 0b11 {
            0 => Kind::Confirmable,
            1 => Kind::NonConfirmable,
            2 => Kind::Acknowledgement,
            _ => Kind::Reset,
        };
        let (token, rest) = rest.split_at_checked(usize::from(first & 0x0f)).ok_or(malformed)?;
        let token = Token::new(token).ok_or(malformed)?;
        let (options, payload) = options::read(rest).map_err(|_| malformed)?;
        Ok(Self { kind, id, token, code, options, payload })
    }

    /// Writes the message.
    pub fn write(&self) -> Vec<u8> {
        let kind = match self.kind {
            Kind::Confirmable => 0,
            Kind::NonConfirmable => 1,
            Kind::Acknowledgement => 2,
            Kind::Reset => 3,
        };
        let token = self.token.as_bytes();
        let mut bytes = Vec::with_capacity(64 + self.payload.len());
        // Version 1; a token has at most 8 bytes.
        bytes.extend_from_slice(&[1 << 6 | kind << 4 | token.len() as u8, self.code]);
        bytes.extend_from_slice(&self.id.to_be_bytes());
        bytes.extend_from_slice(token);
        options::write(&self.options, &self.payload, &mut bytes);
        bytes
    }

    /// The first value of an option.
    pub fn option(&self, number: u16) -> Option<&[u8]> {
        self.options_of(number).next()
    }

    /// All values of an option.
    pub fn options_of(&self, number: u16) -> impl Iterator<Item = &[u8]> {
        let of_number = self.options.iter().filter(move |(found, _)| *found == number);
        of_number.map(|(_, value)| &value[..])
    }

    /// The value of an option that is a number, if it has one of at most four bytes.
    pub fn number(&self, number: u16) -> Option<u32> {
        number_of(self.option(number)?)
    }

    /// Adds an option.
    pub fn push(&mut self, number: u16, value: impl Into<Vec<u8>>) {
        self.options.push((number, value.into()));
    }

    /// Adds an option that is a number, in as few bytes as it takes (§3.2).
    pub fn push_number(&mut self, number: u16, value: u32) {
        let bytes = value.to_be_bytes();
        self.push(number, &bytes[value.leading_zeros() as usize / 8..]);
    }
}

/// The number that an option's value is (§3.2).
pub fn number_of(value: &[u8]) -> Option<u32> {
    (value.len() <= 4).then(|| value.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
}
