//! What signatures cover and nobody sends: what the object is for, whose it is, and for whom.

use core::fmt;

use crate::identity::Identity;

/// The longest audience, in bytes.
pub const MAX_AUDIENCE_LEN: usize = 64;

/// For whom an object is: a name that signer and verifier know, such as that of a network or of a
/// topic. An object for another audience does not verify. It may be empty.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Audience<'a>(&'a str);

/// An audience is longer than [`MAX_AUDIENCE_LEN`] bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LongAudience;

impl fmt::Display for LongAudience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an audience has at most {MAX_AUDIENCE_LEN} bytes")
    }
}

impl core::error::Error for LongAudience {}

impl<'a> Audience<'a> {
    /// # Errors
    /// It is too long.
    pub const fn new(name: &'a str) -> Result<Self, LongAudience> {
        if name.len() > MAX_AUDIENCE_LEN { Err(LongAudience) } else { Ok(Self(name)) }
    }

    /// The name.
    pub const fn as_str(self) -> &'a str {
        self.0
    }
}

/// What an object is for: its label, which has its length before it.
#[derive(Clone, Copy)]
pub(crate) struct Purpose(&'static [u8]);

impl Purpose {
    pub(crate) const READING: Self = Self(b"\x00\x11motemix/1 reading");
    pub(crate) const REGISTRATION: Self = Self(b"\x00\x16motemix/1 registration");
    pub(crate) const POSSESSION: Self = Self(b"\x00\x14motemix/1 possession");
    pub(crate) const MEMBERSHIP: Self = Self(b"\x00\x14motemix/1 membership");
    pub(crate) const SUCCESSOR: Self = Self(b"\x00\x13motemix/1 successor");
    pub(crate) const RETIREMENT: Self = Self(b"\x00\x14motemix/1 retirement");
    pub(crate) const PAIRING: Self = Self(b"\x00\x11motemix/1 pairing");
    pub(crate) const SEALED_PAIRING: Self = Self(b"\x00\x18motemix/1 sealed pairing");
    pub(crate) const COMMAND: Self = Self(b"\x00\x11motemix/1 command");
    pub(crate) const REQUEST: Self = Self(b"\x00\x18motemix/1 signed request");

    /// The label alone, with its length before it.
    pub(crate) const fn label(self) -> &'static [u8] {
        self.0
    }

    /// The external data of an object: label, identity, a number, and the audience with its length
    /// before it.
    pub(crate) fn external<'e>(
        self,
        identity: &'e Identity,
        number: &'e [u8],
        audience: Audience<'e>,
        length: &'e mut [u8; 2],
    ) -> [&'e [u8]; 5] {
        let [.., high, low] = audience.0.len().to_be_bytes();
        *length = [high, low];
        [self.0, identity.as_bytes(), number, length, audience.0.as_bytes()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_label_has_its_length_before_it() {
        let all = [
            Purpose::READING,
            Purpose::REGISTRATION,
            Purpose::POSSESSION,
            Purpose::MEMBERSHIP,
            Purpose::SUCCESSOR,
            Purpose::RETIREMENT,
            Purpose::PAIRING,
            Purpose::SEALED_PAIRING,
            Purpose::COMMAND,
            Purpose::REQUEST,
        ];
        for Purpose(label) in all {
            assert_eq!(usize::from(label[1]) + 2, label.len(), "{label:?}");
        }
    }
}
