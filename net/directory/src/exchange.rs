//! How a document goes from neighbour to neighbour, in datagrams that are as long as packets:
//! `docs/spec/document-exchange.md`.
//!
//! Nothing that is said here is believed before the whole document has been verified.

use crate::Epoch;

/// Bytes before those of the document.
const HEAD_LEN: usize = 32;
/// Where a packet has the last byte of its group element, whose upper bit is zero.
const MARK_AT: usize = HEAD_LEN - 1;
/// No packet, and of which version.
const MARK: u8 = 0x81;
const OFFER: u8 = 0;
const ASK: u8 = 1;
const PIECE: u8 = 2;

/// Which document: two have the same tag only if somebody lies, or by chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentTag {
    /// The epoch that it is about.
    pub epoch: Epoch,
    /// Its length in bytes.
    pub len: u32,
    /// A checksum of all of it.
    pub checksum: u32,
}

/// What neighbours say to each other of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentWord {
    /// I have this one.
    Offer(DocumentTag),
    /// Send me a piece of the earliest one that is about a later epoch than this.
    Ask {
        /// The epoch in which whoever asks is.
        after: Epoch,
        /// Where the piece begins.
        offset: u32,
    },
    /// A piece, in the rest of the datagram: to the document's end or to the datagram's.
    Piece {
        /// Which document it is of.
        of: DocumentTag,
        /// Where it begins.
        offset: u32,
    },
}

impl DocumentWord {
    /// Reads a datagram, and what is in it of a document; `None` if it is a packet, or anything
    /// else.
    // Not inlined, because small boards have little flash.
    #[inline(never)]
    pub fn parse(datagram: &[u8]) -> Option<(Self, &[u8])> {
        let (head, rest) = datagram.split_first_chunk::<HEAD_LEN>()?;
        let [kind, numbers @ .., mark] = head;
        let (numbers, zeros) = numbers.split_first_chunk::<16>()?;
        let [epoch, len, checksum, offset] = *numbers.as_chunks::<4>().0.first_chunk()?;
        if zeros.iter().any(|byte| *byte != 0) {
            return None;
        }
        let [epoch, len, checksum, offset] = [epoch, len, checksum, offset].map(u32::from_be_bytes);
        let tag = DocumentTag { epoch: Epoch(epoch), len, checksum };
        match (*mark, *kind) {
            (MARK, OFFER) => Some((Self::Offer(tag), &[])),
            (MARK, ASK) => Some((Self::Ask { after: tag.epoch, offset }, &[])),
            (MARK, PIECE) => {
                let left = usize::try_from(len.checked_sub(offset)?).ok()?.min(rest.len());
                Some((Self::Piece { of: tag, offset }, rest.get(..left)?))
            }
            _ => None,
        }
    }

    /// Writes the head of a datagram, and returns the rest of it, for a piece or for zeros.
    #[inline(never)]
    pub fn write(self, datagram: &mut [u8]) -> &mut [u8] {
        let Some((head, rest)) = datagram.split_first_chunk_mut::<HEAD_LEN>() else { return &mut [] };
        let (kind, epoch, len, checksum, offset) = match self {
            Self::Offer(DocumentTag { epoch, len, checksum }) => (OFFER, epoch, len, checksum, 0),
            Self::Ask { after, offset } => (ASK, after, 0, 0, offset),
            Self::Piece { of: DocumentTag { epoch, len, checksum }, offset } => {
                (PIECE, epoch, len, checksum, offset)
            }
        };
        *head = [0; HEAD_LEN];
        (head[0], head[MARK_AT]) = (kind, MARK);
        let numbers = head[1..].as_chunks_mut::<4>().0;
        for (place, number) in numbers.iter_mut().zip([epoch.0, len, checksum, offset]) {
            *place = number.to_be_bytes();
        }
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: DocumentTag = DocumentTag { epoch: Epoch(0x0102_0304), len: 300, checksum: 0x0506_0708 };

    #[test]
    fn what_was_written_is_read() {
        for (word, len) in [
            (DocumentWord::Offer(TAG), 0),
            (DocumentWord::Ask { after: Epoch(9), offset: 248 }, 0),
            (DocumentWord::Piece { of: TAG, offset: 0 }, 248),
            (DocumentWord::Piece { of: TAG, offset: 248 }, 52),
            (DocumentWord::Piece { of: TAG, offset: 300 }, 0),
        ] {
            let mut datagram = [0x55; 280];
            word.write(&mut datagram).fill(7);
            assert_eq!(DocumentWord::parse(&datagram), Some((word, &[7; 248][..len])));
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_specification() {
        let mut datagram = [0; 34];
        DocumentWord::Piece { of: TAG, offset: 0x0a }.write(&mut datagram).fill(0xee);
        let mut expected = [0; 34];
        expected[..17].copy_from_slice(&[2, 1, 2, 3, 4, 0, 0, 1, 44, 5, 6, 7, 8, 0, 0, 0, 0x0a]);
        expected[31..].copy_from_slice(&[0x81, 0xee, 0xee]);
        assert_eq!(datagram, expected);
    }

    #[test]
    fn what_says_nothing_is_passed_over() {
        let mut datagram = [0; 280];
        assert_eq!(DocumentWord::parse(&datagram), None);
        DocumentWord::Piece { of: TAG, offset: 301 }.write(&mut datagram);
        assert_eq!(DocumentWord::parse(&datagram), None);
        DocumentWord::Offer(TAG).write(&mut datagram);
        for (at, byte) in [(0, 3), (17, 1), (30, 1), (31, 0x82), (31, 0x01)] {
            let mut other = datagram;
            other[at] = byte;
            assert_eq!(DocumentWord::parse(&other), None);
        }
        assert_eq!(DocumentWord::parse(&[0x81; 31]), None);
    }
}
