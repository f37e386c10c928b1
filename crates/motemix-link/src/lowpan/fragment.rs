//! Fragments of RFC 4944, 5.3: if one is lost, the datagram is. Sizes and offsets are those of the datagram with
//! uncompressed headers, offsets in units of eight bytes.
//!
//! ```text
//! FRAG1  11000 size:11   tag:16            compressed headers, payload
//! FRAGN  11100 size:11   tag:16  offset:8  payload
//! ```

use super::header::UNCOMPRESSED;
use crate::frame::{Frame, ROOM};

const FRAG1: u16 = 0b11000 << 11;
const FRAGN: u16 = 0b11100 << 11;
const SIZE: u16 = (1 << 11) - 1;
/// What offsets count in.
pub(crate) const UNIT: usize = 8;
/// Payload of a first fragment whose headers take [`COMPRESSED`](super::header::COMPRESSED) bytes: with
/// uncompressed headers, a whole number of units.
pub(crate) const IN_FRAG1: usize =
    (ROOM - 4 - super::header::COMPRESSED + UNCOMPRESSED) / UNIT * UNIT - UNCOMPRESSED;
/// Payload of each subsequent fragment but the last.
pub(crate) const IN_FRAGN: usize = (ROOM - 5) / UNIT * UNIT;

/// The first fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Frag1<'f> {
    /// Bytes of the whole datagram, its headers uncompressed.
    pub(crate) size: u16,
    pub(crate) tag: u16,
    pub(crate) rest: &'f [u8],
}

/// A subsequent fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FragN<'f> {
    /// Bytes of the whole datagram, its headers uncompressed.
    pub(crate) size: u16,
    pub(crate) tag: u16,
    /// Bytes of the datagram before this fragment, its headers uncompressed.
    pub(crate) offset: usize,
    pub(crate) rest: &'f [u8],
}

impl<'f> Frag1<'f> {
    pub(crate) fn read(bytes: &'f [u8]) -> Option<Self> {
        let (&[high, low, tag @ ..], rest) = bytes.split_first_chunk::<4>()?;
        let size = u16::from_be_bytes([high, low]) & SIZE;
        Some(Self { size, tag: u16::from_be_bytes(tag), rest })
    }

    pub(crate) fn write(&self, frame: &mut Frame) {
        frame.push(&(FRAG1 | self.size & SIZE).to_be_bytes());
        frame.push(&self.tag.to_be_bytes());
        frame.push(self.rest);
    }
}

impl<'f> FragN<'f> {
    pub(crate) fn read(bytes: &'f [u8]) -> Option<Self> {
        let (&[high, low, t1, t0, offset], rest) = bytes.split_first_chunk::<5>()?;
        let size = u16::from_be_bytes([high, low]) & SIZE;
        Some(Self { size, tag: u16::from_be_bytes([t1, t0]), offset: usize::from(offset) * UNIT, rest })
    }

    pub(crate) fn write(&self, frame: &mut Frame) {
        frame.push(&(FRAGN | self.size & SIZE).to_be_bytes());
        frame.push(&self.tag.to_be_bytes());
        frame.push(&[(self.offset / UNIT) as u8]);
        frame.push(self.rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::LinkAddress;
    use crate::serial::ExtendedAddress;

    /// 328 bytes, tag 0xbeef; the second fragment begins after 136 of them.
    #[test]
    fn a_datagram_of_280_bytes() {
        let me = ExtendedAddress([0; 8]);
        let mut frame = Frame::new(me, LinkAddress::Extended(me), 0);
        Frag1 { size: 328, tag: 0xbeef, rest: &[7; 94] }.write(&mut frame);
        let (header, rest) = frame.as_bytes()[21..].split_at(4);
        assert_eq!(header, [0xc1, 0x48, 0xbe, 0xef]);
        assert_eq!(rest, [7; 94]);
        assert_eq!(
            Frag1::read(&frame.as_bytes()[21..]),
            Some(Frag1 { size: 328, tag: 0xbeef, rest: &[7; 94] })
        );

        let mut frame = Frame::new(me, LinkAddress::Extended(me), 0);
        let second = FragN { size: 328, tag: 0xbeef, offset: 136, rest: &[8; 96] };
        second.write(&mut frame);
        assert_eq!(frame.as_bytes()[21..26], [0xe1, 0x48, 0xbe, 0xef, 17]);
        assert_eq!(FragN::read(&frame.as_bytes()[21..]), Some(second));
        assert_eq!((IN_FRAG1, IN_FRAGN), (88, 96));
    }

    #[test]
    fn one_that_is_cut_in_its_header_is_not_read() {
        for len in 0..4 {
            assert_eq!(Frag1::read(&[0xc1, 0x48, 0xbe, 0xef][..len]), None);
        }
        for len in 0..5 {
            assert_eq!(FragN::read(&[0xe1, 0x48, 0xbe, 0xef, 17][..len]), None);
        }
    }
}
