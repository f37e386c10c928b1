//! Messages on a connection (RFC 8323 §3.2 and §4.2): without type, number and version, and with
//! their length in front, which a WebSocket message has of its own.

use std::fmt;

use crate::Token;

/// A message of a connection, with options and payload as they stand in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The code's byte.
    pub code: u8,
    /// The token.
    pub token: Token,
    /// Options, and behind 0xff the payload.
    pub rest: Vec<u8>,
}

/// Why bytes are no message. The connection cannot go on: nobody knows where the next one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoFrame {
    /// It is longer than this side takes.
    TooLong {
        /// All of its bytes.
        len: u64,
        /// As many as the CSM says.
        most: usize,
    },
    /// A token of 9 to 15 bytes.
    TokenLength(u8),
    /// A WebSocket message that ends within its header.
    Short,
    /// A WebSocket message whose length field is not 0.
    Length(u8),
}

impl fmt::Display for NoFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { len, most } => write!(f, "a message of {len} bytes; at most {most} are taken"),
            Self::TokenLength(len) => write!(f, "a token of {len} bytes; at most 8 are possible"),
            Self::Short => f.write_str("a message that ends within its header"),
            Self::Length(len) => write!(f, "a length field of {len}; in a WebSocket message it is 0"),
        }
    }
}

impl std::error::Error for NoFrame {}

/// The longest header: length, code and token.
const MAX_HEADER_LEN: usize = 1 + 4 + 1 + Token::MAX_LEN;

/// What a length of 13, 14 and 15 in the first byte adds to the bytes that follow.
const EXTENDED: [u64; 3] = [13, 269, 65_805];

impl Frame {
    /// As it stands in a stream of bytes.
    pub fn to_stream(&self) -> Vec<u8> {
        let len = self.rest.len() as u64;
        let (nibble, extended) = match EXTENDED.iter().rposition(|&least| len >= least) {
            None => (len as u8, 0),
            Some(place) => (13 + place as u8, 1 << place),
        };
        let mut bytes = Vec::with_capacity(MAX_HEADER_LEN + self.rest.len());
        bytes.push(nibble << 4 | self.token_len());
        if extended > 0 {
            let more = (len - EXTENDED[usize::from(nibble) - 13]).to_be_bytes();
            bytes.extend_from_slice(&more[8 - extended..]);
        }
        self.write_behind_length(bytes)
    }

    /// As a WebSocket message.
    pub fn to_message(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(2 + Token::MAX_LEN + self.rest.len());
        bytes.push(self.token_len());
        self.write_behind_length(bytes)
    }

    fn token_len(&self) -> u8 {
        self.token.as_bytes().len() as u8
    }

    fn write_behind_length(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.push(self.code);
        bytes.extend_from_slice(self.token.as_bytes());
        bytes.extend_from_slice(&self.rest);
        bytes
    }

    /// The first message of a stream, and how many bytes it takes; `None`, if it is not whole yet.
    ///
    /// # Errors
    /// There is no message of at most `most` bytes, and no more bytes change that.
    pub fn of_stream(bytes: &[u8], most: usize) -> Result<Option<(Self, usize)>, NoFrame> {
        let Some(&first) = bytes.first() else { return Ok(None) };
        let (nibble, token_len) = (first >> 4, usize::from(first & 0x0f));
        if token_len > Token::MAX_LEN {
            return Err(NoFrame::TokenLength(first & 0x0f));
        }
        let extended = if nibble < 13 { 0 } else { 1 << (nibble - 13) };
        let Some(more) = bytes.get(1..=extended) else { return Ok(None) };
        let more = more.iter().fold(0, |len, &byte| len << 8 | u64::from(byte));
        let rest_len =
            if nibble < 13 { u64::from(nibble) } else { EXTENDED[usize::from(nibble) - 13] + more };
        let header_len = 1 + extended + 1 + token_len;
        let len = header_len as u64 + rest_len;
        if len > most as u64 {
            return Err(NoFrame::TooLong { len, most });
        }
        let Some(message) = bytes.get(..len as usize) else { return Ok(None) };
        Ok(Some((Self::behind_length(&message[1 + extended..], token_len), len as usize)))
    }

    /// The message that is a WebSocket message.
    ///
    /// # Errors
    /// It is none of at most `most` bytes.
    pub fn of_message(bytes: &[u8], most: usize) -> Result<Self, NoFrame> {
        if bytes.len() > most {
            return Err(NoFrame::TooLong { len: bytes.len() as u64, most });
        }
        let &first = bytes.first().ok_or(NoFrame::Short)?;
        let token_len = first & 0x0f;
        if first >> 4 != 0 {
            return Err(NoFrame::Length(first >> 4));
        }
        if usize::from(token_len) > Token::MAX_LEN {
            return Err(NoFrame::TokenLength(token_len));
        }
        if bytes.len() < 2 + usize::from(token_len) {
            return Err(NoFrame::Short);
        }
        Ok(Self::behind_length(&bytes[1..], usize::from(token_len)))
    }

    /// From the code on. The token is whole, and short enough.
    fn behind_length(bytes: &[u8], token_len: usize) -> Self {
        let (token, rest) = bytes[1..].split_at(token_len);
        Self { code: bytes[0], token: Token::new(token).unwrap_or_default(), rest: rest.to_vec() }
    }
}
