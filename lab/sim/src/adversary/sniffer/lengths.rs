//! Which fragment a protected frame carries, by its length.
//!
//! Protection hides the fragment's header, and nothing else that the observer needs: who sends to
//! whom, when, how long, and whether it was acknowledged. All packets have one length, so the
//! lengths of their fragments are public, and a station sends its datagrams to one neighbour one
//! after the other. A frame that is sent again has its sequence number again, though not its frame
//! counter. With recovery of fragments, one that is sent again after others looks like none of the
//! next expected lengths, and is left out: its packet then has no end.

use super::{Piece, TAG_LIFETIME, Tag};
use motemix_air::Instant;
use std::collections::BTreeMap;

/// Auxiliary security header and MIC of level ENC-MIC-64 (IEEE 802.15.4-2020, 9.4).
const PROTECTION: usize = 5 + 8;
/// What such a frame has room for, behind short addresses; a destination's extended address takes
/// six bytes of it.
const ROOM: usize = 103;
const ROOM_TO_EXTENDED: usize = ROOM - 6;
/// IPv6 and UDP headers, compressed between such stations, and before (RFC 6282).
const COMPRESSED: usize = 4;
const UNCOMPRESSED: usize = 48;

/// How packets are cut into fragments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cut {
    /// Bytes of a packet.
    pub packet: usize,
    /// Whether fragments are those of RFC 8931.
    pub recovery: bool,
}

impl Cut {
    /// What the frames of a packet carry, headers of fragments included.
    fn lengths(self, room: usize) -> Vec<usize> {
        // Offsets of RFC 4944 count in units of eight bytes of what was not compressed.
        const UNIT: usize = 8;
        let (header_of_first, header, first, other) = if self.recovery {
            (6, 6, room - 6 - COMPRESSED, room - 6)
        } else {
            let first = (room - 4 - COMPRESSED + UNCOMPRESSED) / UNIT * UNIT - UNCOMPRESSED;
            (4, 5, first, (room - 5) / UNIT * UNIT)
        };
        let mut lengths = vec![header_of_first + COMPRESSED + first.min(self.packet)];
        let mut left = self.packet.saturating_sub(first);
        while left > 0 {
            let carried = left.min(other);
            lengths.push(header + carried);
            left -= carried;
        }
        lengths
    }
}

/// The datagrams that are under way on each link.
pub(super) struct Lengths {
    /// Frames to short addresses, and to extended ones.
    expected: [Vec<usize>; 2],
    under_way: BTreeMap<(u16, u16), UnderWay>,
    number: u32,
}

#[derive(Clone, Copy)]
struct UnderWay {
    number: u32,
    /// Which of its fragments was heard last, with which sequence number, and when.
    fragment: usize,
    sequence: u8,
    last: Instant,
}

impl Lengths {
    pub fn new(cut: Cut) -> Self {
        let expected = [ROOM, ROOM_TO_EXTENDED].map(|room| cut.lengths(room));
        Self { expected, under_way: BTreeMap::new(), number: 0 }
    }

    /// The fragment in a frame whose protected part, with all that protects it, is so long.
    pub fn piece(
        &mut self,
        link: (u16, u16),
        sequence: u8,
        begin: Instant,
        protected: usize,
    ) -> Option<Piece> {
        let carried = protected.checked_sub(PROTECTION)?;
        let known = self.under_way.get(&link).filter(|known| known.last + TAG_LIFETIME > begin).copied();
        let fits = |fragment: usize| self.expected.iter().find(|all| all.get(fragment) == Some(&carried));
        let (number, fragment, all) = match known {
            Some(known) if known.sequence == sequence => {
                (known.number, known.fragment, fits(known.fragment)?)
            }
            Some(known) if fits(known.fragment + 1).is_some() => {
                (known.number, known.fragment + 1, fits(known.fragment + 1)?)
            }
            _ => (self.number + 1, 0, fits(0)?),
        };
        let piece = Piece {
            tag: Tag::Unread(number),
            size: Some(all.iter().sum()),
            offset: all[..fragment].iter().sum(),
            len: carried,
        };
        self.number = self.number.max(number);
        self.under_way.insert(link, UnderWay { number, fragment, sequence, last: begin });
        Some(piece)
    }
}
