//! What OSCORE sees of a CoAP message: code, options and payload. Type, message id and token belong
//! to whatever carries it (RFC 8613, section 4.2).

use crate::options;

/// Numbers of options that are looked at here (IANA, CoAP Option Numbers).
pub mod number {
    /// Uri-Host
    pub const URI_HOST: u16 = 3;
    /// Observe, RFC 7641
    pub const OBSERVE: u16 = 6;
    /// Uri-Port
    pub const URI_PORT: u16 = 7;
    /// OSCORE, RFC 8613
    pub const OSCORE: u16 = 9;
    /// Uri-Path
    pub const URI_PATH: u16 = 11;
    /// Content-Format
    pub const CONTENT_FORMAT: u16 = 12;
    /// Max-Age
    pub const MAX_AGE: u16 = 14;
    /// Hop-Limit, RFC 8768
    pub const HOP_LIMIT: u16 = 16;
    /// EDHOC, RFC 9668
    pub const EDHOC: u16 = 21;
    /// Block1, RFC 7959
    pub const BLOCK1: u16 = 27;
    /// Proxy-Uri
    pub const PROXY_URI: u16 = 35;
    /// Proxy-Scheme
    pub const PROXY_SCHEME: u16 = 39;
    /// Echo, RFC 9175
    pub const ECHO: u16 = 252;
}

/// The bytes are not options and a payload as RFC 7252, section 3.1, has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// Code, options in the order of their numbers, and payload.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Message {
    /// The code's byte.
    pub code: u8,
    /// Numbers and values, in the order of the numbers.
    pub(crate) options: Vec<(u16, Vec<u8>)>,
    /// Empty if there is none.
    pub payload: Vec<u8>,
}

impl Message {
    /// Without options and payload.
    pub const fn new(code: u8) -> Self {
        Self { code, options: Vec::new(), payload: Vec::new() }
    }

    /// With another payload.
    #[must_use]
    pub fn with_payload(mut self, payload: impl Into<Vec<u8>>) -> Self {
        self.payload = payload.into();
        self
    }

    /// Adds an option behind those with the same number.
    pub fn add(&mut self, number: u16, value: impl Into<Vec<u8>>) {
        let at = self.options.partition_point(|(before, _)| *before <= number);
        self.options.insert(at, (number, value.into()));
    }

    /// Takes all options with this number away.
    pub fn remove(&mut self, number: u16) {
        self.options.retain(|(found, _)| *found != number);
    }

    /// The first option with this number.
    pub fn option(&self, number: u16) -> Option<&[u8]> {
        self.options().find_map(|(found, value)| (found == number).then_some(value))
    }

    /// The only option with this number: nothing if it stands there twice.
    pub fn single(&self, number: u16) -> Option<&[u8]> {
        let mut values = self.options().filter(|(found, _)| *found == number);
        values.next().filter(|_| values.next().is_none()).map(|(_, value)| value)
    }

    /// All options, in the order of their numbers.
    pub fn options(&self) -> impl Iterator<Item = (u16, &[u8])> {
        self.options.iter().map(|(number, value)| (*number, &value[..]))
    }

    /// Whether the code is a request's.
    pub const fn is_request(&self) -> bool {
        matches!(self.code, 0x01..=0x1f)
    }

    /// Whether the code is a response's.
    pub const fn is_response(&self) -> bool {
        matches!(self.code >> 5, 2 | 4 | 5)
    }

    /// Code, options and payload in bytes: the plaintext of OSCORE (RFC 8613, section 5.3), and a
    /// message of RFC 7252 behind its token.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.code];
        options::write(&self.options, &self.payload, &mut bytes);
        bytes
    }

    /// What [`Message::to_bytes`] wrote. No memory is taken beyond a few words for each byte.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        let (&code, rest) = bytes.split_first().ok_or(Malformed)?;
        let (options, payload) = options::read(rest).map_err(|_| Malformed)?;
        Ok(Self { code, options, payload })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written_and_one_without_a_code_is_none() {
        let mut message = Message::new(2).with_payload(*b"21.5");
        message.add(number::URI_PATH, *b"t");
        message.add(number::OBSERVE, []);
        assert_eq!(Message::from_bytes(&message.to_bytes()), Ok(message));
        assert_eq!(Message::from_bytes(&[]), Err(Malformed));
        assert_eq!(Message::from_bytes(&[1, 0xff]), Err(Malformed));
    }
}
