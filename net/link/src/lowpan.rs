//! 6LoWPAN: what a frame carries (RFC 4944, RFC 6282, RFC 8931).

pub(crate) mod frag;
pub(crate) mod iphc;
pub(crate) mod neighbour;
pub(crate) mod rfrag;

use frag::{Frag1, FragN};
use rfrag::{Rfrag, RfragAck};

/// What a frame carries, by its dispatch byte (RFC 4944, 5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dispatch<'f> {
    /// A message in one frame, with its headers.
    Unfragmented(&'f [u8]),
    /// The first fragment of a datagram, with its headers.
    Frag1(Frag1<'f>),
    /// A subsequent fragment.
    FragN(FragN<'f>),
    /// A fragment that can be sent again.
    Rfrag(Rfrag<'f>),
    /// Which of those arrived.
    RfragAck(RfragAck),
}

impl<'f> Dispatch<'f> {
    pub(crate) fn read(bytes: &'f [u8]) -> Option<Self> {
        match *bytes.first()? {
            0x41 | 0x60..=0x7f => Some(Self::Unfragmented(bytes)),
            0xc0..=0xc7 => Frag1::read(bytes).map(Self::Frag1),
            0xe0..=0xe7 => FragN::read(bytes).map(Self::FragN),
            0xe8..=0xe9 => Rfrag::read(bytes).map(Self::Rfrag),
            0xea..=0xeb => RfragAck::read(bytes).map(Self::RfragAck),
            _ => None,
        }
    }
}
