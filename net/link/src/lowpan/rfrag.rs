//! RFRAG and RFRAG-ACK: fragments of which the lost ones are sent again (RFC 8931, 5). Sizes and
//! offsets are those of the compressed datagram, in bytes. The first fragment has the datagram's
//! size in the place of its offset; zero there aborts the datagram.
//!
//! ```text
//! RFRAG      1110100 E  datagram_tag:8  X sequence:5 fragment_size:10  fragment_offset:16  piece
//! RFRAG-ACK  1110101 E  datagram_tag:8  RFRAG bitmap:32
//! ```
//!
//! X is the Ack-Request flag. The bitmap's most significant bit is the fragment with sequence 0.
//! All ones, FULL: the datagram is there. All zeros, NULL: its receiver does not want it. E,
//! explicit congestion notification, has no meaning between neighbours.

use crate::mac::Frame;

const RFRAG: u8 = 0b111_0100 << 1;
const RFRAG_ACK: u8 = 0b111_0101 << 1;
const ACK_REQUEST: u16 = 1 << 15;
const SIZE: u16 = (1 << 10) - 1;
/// The bitmap that says: the datagram is there.
pub(crate) const FULL: u32 = u32::MAX;
/// The bitmap that says: the datagram is not wanted.
pub(crate) const NULL: u32 = 0;

/// The compressed datagram's bytes in each fragment but the last, in frames that carry so many.
pub(crate) const fn in_rfrag(room: usize) -> usize {
    room - 6
}

/// The payload's bytes in the first, behind headers of so many.
pub(crate) const fn in_first_rfrag(room: usize, headers: usize) -> usize {
    in_rfrag(room) - headers
}

/// A fragment that can be sent again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rfrag<'f> {
    pub(crate) datagram_tag: u8,
    /// Whether its receiver is to say which fragments it has.
    pub(crate) ack_request: bool,
    /// 0–31.
    pub(crate) sequence: u8,
    /// The compressed datagram's size in the first fragment; in the others, where they begin in it.
    pub(crate) fragment_offset: u16,
    pub(crate) rest: &'f [u8],
}

impl<'f> Rfrag<'f> {
    pub(crate) fn read(bytes: &'f [u8]) -> Option<Self> {
        let (&[_, tag, s1, s0, o1, o0], rest) = bytes.split_first_chunk::<6>()?;
        let sizes = u16::from_be_bytes([s1, s0]);
        let rest = rest.get(..usize::from(sizes & SIZE))?;
        Some(Self {
            datagram_tag: tag,
            ack_request: sizes & ACK_REQUEST != 0,
            sequence: (s1 >> 2) & 0b1_1111,
            fragment_offset: u16::from_be_bytes([o1, o0]),
            rest,
        })
    }

    /// Whether it only says that its sender aborts the datagram.
    pub(crate) const fn is_abort(&self) -> bool {
        self.fragment_offset == 0
    }

    /// Writes its header; `size` bytes of the datagram are to follow.
    pub(crate) fn write(&self, frame: &mut Frame, size: usize) {
        let ack_request = if self.ack_request { ACK_REQUEST } else { 0 };
        let sizes = ack_request | u16::from(self.sequence & 0b1_1111) << 10 | size as u16 & SIZE;
        frame.push(&[RFRAG, self.datagram_tag]);
        frame.push(&sizes.to_be_bytes());
        frame.push(&self.fragment_offset.to_be_bytes());
    }
}

/// Which fragments of a datagram its receiver has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RfragAck {
    pub(crate) datagram_tag: u8,
    pub(crate) bitmap: u32,
}

impl RfragAck {
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (&[_, tag, bitmap @ ..], _) = bytes.split_first_chunk::<6>()?;
        Some(Self { datagram_tag: tag, bitmap: u32::from_be_bytes(bitmap) })
    }

    pub(crate) fn write(self, frame: &mut Frame) {
        frame.push(&[RFRAG_ACK, self.datagram_tag]);
        frame.push(&self.bitmap.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::LinkAddress;
    use crate::serial::ExtendedAddress;

    fn frame() -> Frame {
        let me = ExtendedAddress([0; 8]);
        Frame::new(me, LinkAddress::Extended(me), 0)
    }

    /// 286 compressed bytes in pieces of 98.
    #[test]
    fn a_datagram_of_280_bytes() {
        for (ack_request, sequence, fragment_offset, size, header) in [
            (false, 0, 286, 98, [0xe8, 0x5a, 0x00, 0x62, 0x01, 0x1e]),
            (false, 1, 98, 98, [0xe8, 0x5a, 0x04, 0x62, 0x00, 0x62]),
            (true, 2, 196, 90, [0xe8, 0x5a, 0x88, 0x5a, 0x00, 0xc4]),
        ] {
            let fragment =
                Rfrag { datagram_tag: 0x5a, ack_request, sequence, fragment_offset, rest: &[7; 98][..size] };
            let mut frame = frame();
            fragment.write(&mut frame, size);
            assert_eq!(frame.as_bytes()[21..], header);
            frame.push(fragment.rest);
            assert_eq!(Rfrag::read(&frame.as_bytes()[21..]), Some(fragment));
            assert!(!fragment.is_abort());
        }
        assert_eq!((in_rfrag(104), in_first_rfrag(104, 6)), (98, 92));
    }

    #[test]
    fn the_bitmap_begins_with_the_first_fragment() {
        let acknowledgement = RfragAck { datagram_tag: 0x5a, bitmap: 0b101 << 29 };
        let mut frame = frame();
        acknowledgement.write(&mut frame);
        assert_eq!(frame.as_bytes()[21..], [0xea, 0x5a, 0xa0, 0, 0, 0]);
        assert_eq!(RfragAck::read(&frame.as_bytes()[21..]), Some(acknowledgement));
    }

    #[test]
    fn a_fragment_of_nothing_is_the_end() {
        let abort = Rfrag::read(&[0xe8, 0x5a, 0, 0, 0, 0]).expect("a fragment");
        assert!(abort.is_abort());
    }

    #[test]
    fn one_that_is_shorter_than_it_says_is_not_read() {
        let whole = [0xe8, 0x5a, 0x04, 0x02, 0x00, 0x62, 1, 2];
        assert!(Rfrag::read(&whole).is_some());
        for len in 0..whole.len() {
            assert_eq!(Rfrag::read(&whole[..len]), None, "{len}");
        }
        for len in 0..6 {
            assert_eq!(RfragAck::read(&[0xea, 0x5a, 0xff, 0xff, 0xff, 0xff][..len]), None);
        }
    }
}
