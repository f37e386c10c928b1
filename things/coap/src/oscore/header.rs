//! The value of the OSCORE option (RFC 8613, section 6.1).

use super::keys::PartialIv;

/// Bits of the first byte.
const PARTIAL_IV_LEN: u8 = 0x07;
const HAS_KID: u8 = 0x08;
const HAS_KID_CONTEXT: u8 = 0x10;
const RESERVED: u8 = 0xe0;

/// What an OSCORE option says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Header<'a> {
    /// The number that the sender chose.
    pub partial_iv: Option<u64>,
    /// The ID Context.
    pub kid_context: Option<&'a [u8]>,
    /// The sender's identifier.
    pub kid: Option<&'a [u8]>,
}

impl<'a> Header<'a> {
    /// Nothing if a bit is set that is reserved, if bytes are missing or too many, or if a number
    /// has another form than its shortest.
    pub fn parse(value: &'a [u8]) -> Option<Self> {
        let Some((&flags, mut rest)) = value.split_first() else { return Some(Self::default()) };
        // Without any flag the option is empty.
        if flags == 0 || flags & RESERVED != 0 {
            return None;
        }
        let mut take = |len: usize| {
            let (taken, after) = rest.split_at_checked(len)?;
            rest = after;
            Some(taken)
        };
        let partial_iv = match flags & PARTIAL_IV_LEN {
            0 => None,
            len => Some(PartialIv::parse(take(len.into())?)?),
        };
        let kid_context = if flags & HAS_KID_CONTEXT != 0 {
            let len = take(1)?[0];
            Some(take(len.into())?)
        } else {
            None
        };
        let kid = (flags & HAS_KID != 0).then_some(rest);
        if kid.is_none() && !rest.is_empty() {
            return None;
        }
        Some(Self { partial_iv, kid_context, kid })
    }

    /// The option's value. An ID Context has at most 255 bytes: a context's has.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut flags = 0;
        let mut bytes = vec![0];
        if let Some(number) = self.partial_iv {
            let partial_iv = PartialIv::new(number);
            flags |= partial_iv.as_slice().len() as u8;
            bytes.extend(partial_iv.as_slice());
        }
        if let Some(kid_context) = self.kid_context {
            flags |= HAS_KID_CONTEXT;
            bytes.push(kid_context.len() as u8);
            bytes.extend(kid_context);
        }
        if let Some(kid) = self.kid {
            flags |= HAS_KID;
            bytes.extend(kid);
        }
        bytes[0] = flags;
        if flags == 0 { vec![] } else { bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 8613, section 6.3, and the edges.
    #[test]
    fn an_option_is_read_as_it_was_written_and_has_one_form() {
        for (value, header) in [
            (&[][..], Header::default()),
            (&[0x09, 5, 0x25], Header { partial_iv: Some(5), kid: Some(&[0x25]), kid_context: None }),
            (&[0x09, 0], Header { partial_iv: Some(0), kid: Some(&[]), kid_context: None }),
            (
                &[0x19, 5, 8, 0x44, 0x61, 0x6c, 0x65, 0x6b, 0x20, 0x76, 0x20],
                Header { partial_iv: Some(5), kid: Some(&[]), kid_context: Some(b"Dalek v ") },
            ),
            (&[0x01, 7], Header { partial_iv: Some(7), ..Header::default() }),
            (
                &[0x05, 0xff, 0xff, 0xff, 0xff, 0xff],
                Header { partial_iv: Some((1 << 40) - 1), ..Header::default() },
            ),
        ] {
            assert_eq!(Header::parse(value), Some(header), "{value:02x?}");
            assert_eq!(header.to_bytes(), value);
        }
        for wrong in [
            // No flag; each reserved bit; reserved lengths of a Partial IV.
            &[0x00][..],
            &[0x29, 5, 1],
            &[0x49, 5, 1],
            &[0x89, 5, 1],
            &[0x0e, 1, 1, 1, 1, 1, 1, 1],
            &[0x0f, 1, 1, 1, 1, 1, 1, 1],
            // Bytes that are missing, or too many.
            &[0x0a, 1],
            &[0x18],
            &[0x18, 2, 1],
            &[0x01, 1, 1],
            // Zeros in front of a number.
            &[0x0a, 0, 1],
        ] {
            assert_eq!(Header::parse(wrong), None, "{wrong:02x?}");
        }
    }
}
