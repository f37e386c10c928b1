//! Fragments that are asked for again (RFC 8931, 5). Sizes and offsets are those of the compressed datagram, in
//! bytes. The first fragment's offset field has the size of all of it; zero there says that the sender gives up.
//!
//! ```text
//! fragment         1110100 E  tag:8  X sequence:5 size:10  offset:16  piece of the compressed datagram
//! acknowledgement  1110101 E  tag:8  bitmap:32
//! ```
//!
//! X asks for an acknowledgement. The bitmap's most significant bit is the fragment with sequence 0. All ones:
//! the datagram is there. All zeros: its receiver does not want it. E, congestion on the way, has no meaning
//! between neighbours.

use super::header::COMPRESSED;
use crate::frame::{Frame, ROOM};

const FRAGMENT: u8 = 0b111_0100 << 1;
const ACKNOWLEDGEMENT: u8 = 0b111_0101 << 1;
const ASKS: u16 = 1 << 15;
const SIZE: u16 = (1 << 10) - 1;
/// The compressed datagram's bytes in each fragment but the last.
pub(crate) const IN_FRAGMENT: usize = ROOM - 6;
/// The payload's bytes in the first.
pub(crate) const IN_FIRST: usize = IN_FRAGMENT - COMPRESSED;
/// The datagram is there.
pub(crate) const FULL: u32 = u32::MAX;
/// It is not wanted.
pub(crate) const NULL: u32 = 0;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Recoverable<'f> {
    pub(crate) tag: u8,
    /// Whether its receiver is to say what it has.
    pub(crate) asks: bool,
    /// 0–31.
    pub(crate) sequence: u8,
    /// Of the first fragment, the compressed datagram's size; of the others, where they begin.
    pub(crate) offset: u16,
    pub(crate) rest: &'f [u8],
}

impl<'f> Recoverable<'f> {
    pub(crate) fn read(bytes: &'f [u8]) -> Option<Self> {
        let (&[_, tag, s1, s0, o1, o0], rest) = bytes.split_first_chunk::<6>()?;
        let sizes = u16::from_be_bytes([s1, s0]);
        let rest = rest.get(..usize::from(sizes & SIZE))?;
        Some(Self {
            tag,
            asks: sizes & ASKS != 0,
            sequence: (s1 >> 2) & 0b1_1111,
            offset: u16::from_be_bytes([o1, o0]),
            rest,
        })
    }

    /// Whether it only says that its sender gives up.
    pub(crate) const fn is_abort(&self) -> bool {
        self.offset == 0
    }

    /// Writes its header, for a piece of so many bytes that follows.
    pub(crate) fn write(&self, frame: &mut Frame, size: usize) {
        let asks = if self.asks { ASKS } else { 0 };
        let sizes = asks | u16::from(self.sequence & 0b1_1111) << 10 | size as u16 & SIZE;
        frame.push(&[FRAGMENT, self.tag]);
        frame.push(&sizes.to_be_bytes());
        frame.push(&self.offset.to_be_bytes());
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Acknowledgement {
    pub(crate) tag: u8,
    pub(crate) bitmap: u32,
}

impl Acknowledgement {
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (&[_, tag, bitmap @ ..], _) = bytes.split_first_chunk::<6>()?;
        Some(Self { tag, bitmap: u32::from_be_bytes(bitmap) })
    }

    pub(crate) fn write(self, frame: &mut Frame) {
        frame.push(&[ACKNOWLEDGEMENT, self.tag]);
        frame.push(&self.bitmap.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::LinkAddress;
    use crate::serial::ExtendedAddress;

    fn frame() -> Frame {
        let me = ExtendedAddress([0; 8]);
        Frame::new(me, LinkAddress::Extended(me), 0)
    }

    /// 286 compressed bytes in pieces of 98.
    #[test]
    fn a_datagram_of_280_bytes() {
        for (asks, sequence, offset, size, header) in [
            (false, 0, 286, 98, [0xe8, 0x5a, 0x00, 0x62, 0x01, 0x1e]),
            (false, 1, 98, 98, [0xe8, 0x5a, 0x04, 0x62, 0x00, 0x62]),
            (true, 2, 196, 90, [0xe8, 0x5a, 0x88, 0x5a, 0x00, 0xc4]),
        ] {
            let fragment = Recoverable { tag: 0x5a, asks, sequence, offset, rest: &[7; 98][..size] };
            let mut frame = frame();
            fragment.write(&mut frame, size);
            assert_eq!(frame.as_bytes()[21..], header);
            frame.push(fragment.rest);
            assert_eq!(Recoverable::read(&frame.as_bytes()[21..]), Some(fragment));
            assert!(!fragment.is_abort());
        }
        assert_eq!((IN_FRAGMENT, IN_FIRST), (98, 92));
    }

    #[test]
    fn the_bitmap_begins_with_the_first_fragment() {
        let acknowledgement = Acknowledgement { tag: 0x5a, bitmap: 0b101 << 29 };
        let mut frame = frame();
        acknowledgement.write(&mut frame);
        assert_eq!(frame.as_bytes()[21..], [0xea, 0x5a, 0xa0, 0, 0, 0]);
        assert_eq!(Acknowledgement::read(&frame.as_bytes()[21..]), Some(acknowledgement));
    }

    #[test]
    fn a_fragment_of_nothing_is_the_end() {
        let abort = Recoverable::read(&[0xe8, 0x5a, 0, 0, 0, 0]).expect("a fragment");
        assert!(abort.is_abort());
    }

    #[test]
    fn one_that_is_shorter_than_it_says_is_not_read() {
        let whole = [0xe8, 0x5a, 0x04, 0x02, 0x00, 0x62, 1, 2];
        assert!(Recoverable::read(&whole).is_some());
        for len in 0..whole.len() {
            assert_eq!(Recoverable::read(&whole[..len]), None, "{len}");
        }
        for len in 0..6 {
            assert_eq!(Acknowledgement::read(&[0xea, 0x5a, 0xff, 0xff, 0xff, 0xff][..len]), None);
        }
    }
}
