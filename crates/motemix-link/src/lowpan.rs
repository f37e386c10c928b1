//! 6LoWPAN: what is inside of a frame (RFC 4944, RFC 6282, RFC 8931).

pub(crate) mod fragment;
pub(crate) mod header;
pub(crate) mod neighbour;
pub(crate) mod recover;

use fragment::{Frag1, FragN};
use recover::{Acknowledgement, Recoverable};

/// What a frame carries, by its first bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Inside<'f> {
    /// A message with its headers.
    Whole(&'f [u8]),
    /// The beginning of a datagram, with its headers.
    Frag1(Frag1<'f>),
    /// Another fragment of it.
    FragN(FragN<'f>),
    /// A fragment that can be asked for again.
    Recoverable(Recoverable<'f>),
    /// Which of those came.
    Acknowledgement(Acknowledgement),
}

impl<'f> Inside<'f> {
    pub(crate) fn read(bytes: &'f [u8]) -> Option<Self> {
        let dispatch = *bytes.first()?;
        match dispatch {
            0x41 | 0x60..=0x7f => Some(Self::Whole(bytes)),
            0xc0..=0xc7 => Frag1::read(bytes).map(Self::Frag1),
            0xe0..=0xe7 => FragN::read(bytes).map(Self::FragN),
            0xe8..=0xe9 => Recoverable::read(bytes).map(Self::Recoverable),
            0xea..=0xeb => Acknowledgement::read(bytes).map(Self::Acknowledgement),
            _ => None,
        }
    }
}
