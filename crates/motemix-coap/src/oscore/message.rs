//! What OSCORE sees of a CoAP message: code, options and payload. Type, message id and token belong
//! to whatever carries it (RFC 8613, section 4.2).

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

const PAYLOAD_MARKER: u8 = 0xff;

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
        let mut before = 0;
        for (number, value) in &self.options {
            let (delta, delta_more) = nibble(usize::from(number - before));
            let (len, len_more) = nibble(value.len());
            bytes.push(delta << 4 | len);
            bytes.extend(delta_more.into_iter().chain(len_more));
            bytes.extend(value);
            before = *number;
        }
        if !self.payload.is_empty() {
            bytes.push(PAYLOAD_MARKER);
            bytes.extend(&self.payload);
        }
        bytes
    }

    /// What [`Message::to_bytes`] wrote. No memory is taken beyond a few words for each byte.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        let (&code, mut rest) = bytes.split_first().ok_or(Malformed)?;
        let mut message = Self::new(code);
        let mut number = 0_u16;
        while let Some((&first, more)) = rest.split_first() {
            if first == PAYLOAD_MARKER {
                // A marker with nothing behind it is an error (RFC 7252, section 3).
                if more.is_empty() {
                    return Err(Malformed);
                }
                message.payload = more.to_vec();
                return Ok(message);
            }
            rest = more;
            let delta = u16::try_from(extended(first >> 4, &mut rest)?).map_err(|_| Malformed)?;
            let len = extended(first & 0x0f, &mut rest)?;
            number = number.checked_add(delta).ok_or(Malformed)?;
            let (value, more) = rest.split_at_checked(len).ok_or(Malformed)?;
            message.options.push((number, value.to_vec()));
            rest = more;
        }
        Ok(message)
    }
}

/// A delta or a length: four bits, and bytes behind them.
fn nibble(value: usize) -> (u8, Vec<u8>) {
    match value {
        0..=12 => (value as u8, vec![]),
        13..=268 => (13, vec![(value - 13) as u8]),
        _ => (14, ((value - 269) as u16).to_be_bytes().to_vec()),
    }
}

fn extended(nibble: u8, rest: &mut &[u8]) -> Result<usize, Malformed> {
    let len = match nibble {
        0..=12 => return Ok(nibble.into()),
        13 => 1,
        14 => 2,
        _ => return Err(Malformed),
    };
    let (more, after) = rest.split_at_checked(len).ok_or(Malformed)?;
    *rest = after;
    let base = if len == 1 { 13 } else { 269 };
    Ok(more.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)) + base)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_message_is_refused() {
        for wrong in [
            &[][..],
            // Nothing behind the marker.
            &[1, 0xff],
            // A delta and a length of 15.
            &[1, 0xf0],
            &[1, 0x0f],
            // A value, and the bytes of a length, that are not there.
            &[1, 0x02, 1],
            &[1, 0xd0],
            &[1, 0xe0, 1],
            // Numbers above 65,535.
            &[1, 0xe0, 0xff, 0xff],
            &[1, 0xe0, 0xfe, 0xf2, 0x10],
        ] {
            assert_eq!(Message::from_bytes(wrong), Err(Malformed), "{wrong:02x?}");
        }
    }

    proptest! {
        #[test]
        fn messages_are_read_as_they_were_written(
            code: u8,
            options in prop::collection::vec((any::<u16>(), prop::collection::vec(any::<u8>(), 0..300)), 0..6),
            payload in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut message = Message::new(code);
            for (number, value) in options {
                message.add(number, value);
            }
            message.payload = payload;
            prop_assert_eq!(Message::from_bytes(&message.to_bytes()), Ok(message));
        }
    }
}
