//! FRAG1 and FRAGN (RFC 4944, 5.3): if one is lost, the datagram is. Sizes and offsets are those of
//! the datagram with uncompressed headers; offsets are in units of eight bytes.
//!
//! ```text
//! FRAG1  11000 datagram_size:11  datagram_tag:16                     compressed headers, payload
//! FRAGN  11100 datagram_size:11  datagram_tag:16  datagram_offset:8  payload
//! ```

use super::iphc::UNCOMPRESSED;
use crate::mac::Frame;

const FRAG1: u16 = 0b11000 << 11;
const FRAGN: u16 = 0b11100 << 11;
const SIZE: u16 = (1 << 11) - 1;
/// Bytes in a unit of `datagram_offset`.
pub(crate) const UNIT: usize = 8;
/// Payload of a first fragment in a frame that carries so many bytes, behind headers of so many:
/// with uncompressed headers, a whole number of units.
pub(crate) const fn in_frag1(room: usize, headers: usize) -> usize {
    (room - 4 - headers + UNCOMPRESSED) / UNIT * UNIT - UNCOMPRESSED
}

/// Payload of each subsequent fragment but the last.
pub(crate) const fn in_frag_n(room: usize) -> usize {
    (room - 5) / UNIT * UNIT
}

/// The first fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Frag1<'f> {
    /// Bytes of the whole datagram, its headers uncompressed.
    pub(crate) datagram_size: u16,
    pub(crate) datagram_tag: u16,
    /// Headers and payload.
    pub(crate) rest: &'f [u8],
}

/// A subsequent fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FragN<'f> {
    /// Bytes of the whole datagram, its headers uncompressed.
    pub(crate) datagram_size: u16,
    pub(crate) datagram_tag: u16,
    /// Bytes of the datagram before this fragment, its headers uncompressed.
    pub(crate) datagram_offset: usize,
    pub(crate) rest: &'f [u8],
}

impl<'f> Frag1<'f> {
    pub(crate) fn read(bytes: &'f [u8]) -> Option<Self> {
        let (&[high, low, tag @ ..], rest) = bytes.split_first_chunk::<4>()?;
        let size = u16::from_be_bytes([high, low]) & SIZE;
        Some(Self { datagram_size: size, datagram_tag: u16::from_be_bytes(tag), rest })
    }

    pub(crate) fn write(&self, frame: &mut Frame) {
        frame.push(&(FRAG1 | self.datagram_size & SIZE).to_be_bytes());
        frame.push(&self.datagram_tag.to_be_bytes());
        frame.push(self.rest);
    }
}

impl<'f> FragN<'f> {
    pub(crate) fn read(bytes: &'f [u8]) -> Option<Self> {
        let (&[high, low, t1, t0, offset], rest) = bytes.split_first_chunk::<5>()?;
        let size = u16::from_be_bytes([high, low]) & SIZE;
        Some(Self {
            datagram_size: size,
            datagram_tag: u16::from_be_bytes([t1, t0]),
            datagram_offset: usize::from(offset) * UNIT,
            rest,
        })
    }

    pub(crate) fn write(&self, frame: &mut Frame) {
        frame.push(&(FRAGN | self.datagram_size & SIZE).to_be_bytes());
        frame.push(&self.datagram_tag.to_be_bytes());
        frame.push(&[(self.datagram_offset / UNIT) as u8]);
        frame.push(self.rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::LinkAddress;
    use crate::serial::ExtendedAddress;

    /// 328 bytes, tag 0xbeef; the second fragment begins after 136 of them.
    #[test]
    fn a_datagram_of_280_bytes() {
        let me = ExtendedAddress([0; 8]);
        let mut frame = Frame::new(me, LinkAddress::Extended(me), 0);
        Frag1 { datagram_size: 328, datagram_tag: 0xbeef, rest: &[7; 94] }.write(&mut frame);
        let (header, rest) = frame.as_bytes()[21..].split_at(4);
        assert_eq!(header, [0xc1, 0x48, 0xbe, 0xef]);
        assert_eq!(rest, [7; 94]);
        assert_eq!(
            Frag1::read(&frame.as_bytes()[21..]),
            Some(Frag1 { datagram_size: 328, datagram_tag: 0xbeef, rest: &[7; 94] })
        );

        let mut frame = Frame::new(me, LinkAddress::Extended(me), 0);
        let second = FragN { datagram_size: 328, datagram_tag: 0xbeef, datagram_offset: 136, rest: &[8; 96] };
        second.write(&mut frame);
        assert_eq!(frame.as_bytes()[21..26], [0xe1, 0x48, 0xbe, 0xef, 17]);
        assert_eq!(FragN::read(&frame.as_bytes()[21..]), Some(second));
        for (room, headers, lens) in [(104, 6, (88, 96)), (103, 4, (88, 96)), (97, 4, (88, 88))] {
            assert_eq!((in_frag1(room, headers), in_frag_n(room)), lens);
        }
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
