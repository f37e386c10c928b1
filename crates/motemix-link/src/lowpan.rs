//! 6LoWPAN: what is inside of a frame (RFC 4944, RFC 6282, RFC 8931).

pub(crate) mod fragment;
pub(crate) mod header;
pub(crate) mod neighbour;
pub(crate) mod recover;

use fragment::{First, Later};
use recover::{Acknowledgement, Recoverable};

/// What a frame carries, by its first bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Inside<'f> {
    /// A message with its headers.
    Whole(&'f [u8]),
    /// The beginning of a datagram, with its headers.
    First(First<'f>),
    /// Another piece of it.
    Later(Later<'f>),
    /// A piece that can be asked for again.
    Recoverable(Recoverable<'f>),
    /// Which of those came.
    Acknowledgement(Acknowledgement),
}

impl<'f> Inside<'f> {
    pub(crate) fn read(bytes: &'f [u8]) -> Option<Self> {
        let dispatch = *bytes.first()?;
        match dispatch {
            0x41 | 0x60..=0x7f => Some(Self::Whole(bytes)),
            0xc0..=0xc7 => First::read(bytes).map(Self::First),
            0xe0..=0xe7 => Later::read(bytes).map(Self::Later),
            0xe8..=0xe9 => Recoverable::read(bytes).map(Self::Recoverable),
            0xea..=0xeb => Acknowledgement::read(bytes).map(Self::Acknowledgement),
            _ => None,
        }
    }
}
