//! What stands on a label and in its QR code: an identity, in full or short.

use core::fmt;

use crate::identity::Identity;

/// What the text of a QR code begins with. Digits, capital letters and colons are two of them in 11
/// bits there (ISO/IEC 18004, alphanumeric mode).
const SCHEME: &str = "MOTEMIX:ID:";

/// An identity as people and cameras read it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IdentityLabel {
    /// All of it.
    Full(Identity),
    /// Its first bytes. For 2⁶⁴ work somebody can make two keys for one.
    Short([u8; Identity::SHORT_LEN]),
}

/// The text is no identity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadLabel;

impl fmt::Display for BadLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an identity has 64 or 32 hex digits; its QR code has `{SCHEME}` before them")
    }
}

impl core::error::Error for BadLabel {}

impl IdentityLabel {
    /// Reads digits, or the text of a QR code. Blanks are skipped, and small letters are capital
    /// ones: people type labels.
    ///
    /// # Errors
    /// The text is no identity.
    pub fn parse(text: &str) -> Result<Self, BadLabel> {
        let text = text.trim_ascii();
        let digits = match text.split_at_checked(SCHEME.len()) {
            Some((scheme, digits)) if scheme.eq_ignore_ascii_case(SCHEME) => digits,
            _ => text,
        };
        let mut bytes = [0; Identity::LEN];
        let mut halves = 0_usize;
        for digit in digits.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
            let value = char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
            let byte = bytes.get_mut(halves / 2).ok_or(BadLabel)?;
            *byte = *byte << 4 | value.ok_or(BadLabel)?;
            halves += 1;
        }
        match halves {
            64 => Ok(Self::Full(Identity::from_bytes(bytes))),
            32 => Ok(Self::Short(Identity::from_bytes(bytes).short())),
            _ => Err(BadLabel),
        }
    }

    /// Whether this is on the label of `identity`.
    pub fn names(&self, identity: &Identity) -> bool {
        match self {
            Self::Full(full) => full == identity,
            Self::Short(short) => *short == identity.short(),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Full(full) => full.as_bytes(),
            Self::Short(short) => short,
        }
    }
}

impl fmt::Display for IdentityLabel {
    /// The text of the QR code.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SCHEME)?;
        self.bytes().iter().try_for_each(|byte| write!(f, "{byte:02X}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::string::ToString as _;

    #[test]
    fn what_a_camera_or_a_person_reads_is_the_same_identity() {
        let identity = Identity::from_bytes(core::array::from_fn(|at| at as u8 * 7));
        for label in [IdentityLabel::Full(identity), IdentityLabel::Short(identity.short())] {
            let text = label.to_string();
            let digits = &text[SCHEME.len()..];
            let grouped: std::string::String = digits
                .to_lowercase()
                .chars()
                .enumerate()
                .flat_map(|(at, digit)| [(at % 4 == 0).then_some(' '), Some(digit)].into_iter().flatten())
                .collect();
            for text in [text.as_str(), digits, &text.to_lowercase(), &grouped, &std::format!(" {digits}\n")]
            {
                let read = IdentityLabel::parse(text);
                assert_eq!(read, Ok(label), "{text}");
                assert!(read.unwrap().names(&identity));
                assert!(!read.unwrap().names(&Identity::from_bytes([1; 32])));
            }
        }
    }

    #[test]
    fn what_is_no_identity_is_refused() {
        let digits = "0".repeat(64);
        for text in [
            "",
            SCHEME,
            &digits[1..],
            &digits[..33],
            &(digits.clone() + "0"),
            &digits.replacen('0', "g", 1),
            &std::format!("MOTEMIX:XX:{digits}"),
            &std::format!("{SCHEME}{SCHEME}{digits}"),
            &"é".repeat(40),
        ] {
            assert_eq!(IdentityLabel::parse(text), Err(BadLabel), "{text}");
        }
    }
}
