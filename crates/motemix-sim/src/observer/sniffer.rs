//! From frames on the air to transfers: who passed a datagram to whom, and when.
//!
//! Of a frame the sniffer reads what is in clear on every link: addresses, sequence number, and the fragment's header
//! (RFC 4944, 5.3; RFC 8931, 5). A fragment has arrived when its acknowledgement is on the air. A fragment that is sent
//! again has its tag and offset again, so it is no second transfer. Datagrams in one frame are no packets, and left out.

use crate::world::Watch;
use motemix_air::Instant;
use motemix_air::frame::Frame;
use motemix_link::serial::ExtendedAddress;
use std::collections::BTreeMap;
use std::time::Duration;

/// aTurnaroundTime: an acknowledgement begins so long after its frame.
const TURNAROUND: Duration = Duration::from_micros(192);
/// A tag that was silent for so long names another datagram.
const TAG_LIFETIME: Duration = Duration::from_secs(10);
/// What is remembered of datagrams is tidied after so many.
const TIDY_AFTER: usize = 1024;
/// IPv6 and UDP headers, which a first fragment of RFC 4944 may carry compressed to nothing.
const HEADERS: usize = 48;

/// A datagram went from one node to its neighbour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Transfer {
    pub from: u16,
    pub to: u16,
    /// Its first frame began.
    pub begin: Instant,
    /// Its last missing fragment was there; `None` if one never was.
    pub end: Option<Instant>,
    /// Of its contents: to score the observer by, nothing else.
    pub fingerprint: u64,
}

/// What tells one datagram's contents from another's: its last eight bytes.
pub(crate) fn fingerprint(datagram: &[u8]) -> u64 {
    datagram.last_chunk().map_or(0, |tail| u64::from_le_bytes(*tail))
}

/// Listens.
pub(crate) struct Sniffer {
    nodes: BTreeMap<ExtendedAddress, u16>,
    transfers: Vec<Transfer>,
    /// By sender, receiver and tag.
    open: BTreeMap<(u16, u16, Tag), Assembly>,
    opened: usize,
    /// Fragments whose acknowledgement may come.
    unacknowledged: Vec<Heard>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tag {
    Plain(u16),
    Recoverable(u8),
}

struct Assembly {
    transfer: usize,
    last: Instant,
    size: Option<usize>,
    /// Length by offset, of what arrived.
    pieces: BTreeMap<usize, usize>,
    end_offset: usize,
}

#[derive(Clone, Copy)]
struct Heard {
    key: (u16, u16, Tag),
    sequence: u8,
    end: Instant,
    piece: Piece,
}

/// A fragment, by its header.
#[derive(Clone, Copy)]
struct Piece {
    tag: Tag,
    /// Of the datagram, if the fragment says it.
    size: Option<usize>,
    offset: usize,
    len: usize,
}

impl Piece {
    fn read(bytes: &[u8]) -> Option<Self> {
        let size = |high: u8, low: u8| Some(usize::from(u16::from_be_bytes([high & 0b111, low])));
        match *bytes {
            [high @ 0xc0..=0xc7, low, t1, t0, ref rest @ ..] => {
                let tag = Tag::Plain(u16::from_be_bytes([t1, t0]));
                Some(Self { tag, size: size(high, low), offset: 0, len: rest.len() })
            }
            [high @ 0xe0..=0xe7, low, t1, t0, offset, ref rest @ ..] => {
                let tag = Tag::Plain(u16::from_be_bytes([t1, t0]));
                Some(Self { tag, size: size(high, low), offset: usize::from(offset) * 8, len: rest.len() })
            }
            [0xe8 | 0xe9, tag, s1, s0, o1, o0, ..] => {
                let (tag, offset) = (Tag::Recoverable(tag), usize::from(u16::from_be_bytes([o1, o0])));
                let len = usize::from(u16::from_be_bytes([s1 & 0b11, s0]));
                match (s1 >> 2 & 0b1_1111, offset) {
                    // The sender gives up.
                    (_, 0) => None,
                    (0, size) => Some(Self { tag, size: Some(size), offset: 0, len }),
                    (_, offset) => Some(Self { tag, size: None, offset, len }),
                }
            }
            _ => None,
        }
    }
}

impl Assembly {
    fn add(&mut self, piece: &Piece) {
        self.size = self.size.or(piece.size);
        self.pieces.insert(piece.offset, piece.len);
    }

    fn is_complete(&self, tag: Tag) -> bool {
        let (Some(size), Some(first)) = (self.size, self.pieces.get(&0)) else { return false };
        // What the first one's headers were compressed from is not looked at.
        let hidden = if matches!(tag, Tag::Plain(_)) { HEADERS } else { 0 };
        let mut covered = *first;
        let mut reach = covered + hidden;
        for (offset, len) in self.pieces.range(1..) {
            if *offset > reach {
                return false;
            }
            covered = offset + len;
            reach = covered;
        }
        covered >= size
    }
}

impl Sniffer {
    /// One who knows whose address is whose.
    pub fn new(nodes: BTreeMap<ExtendedAddress, u16>) -> Self {
        Self { nodes, transfers: Vec::new(), open: BTreeMap::new(), opened: 0, unacknowledged: Vec::new() }
    }

    /// Transfers, in the order of their begins.
    pub fn into_transfers(self) -> Vec<Transfer> {
        self.transfers
    }

    fn heard(&mut self, begin: Instant, end: Instant, bytes: &[u8]) -> Option<()> {
        const DATA: u16 = 1;
        const ACKNOWLEDGEMENT: u16 = 2;
        const WANTS_ACKNOWLEDGEMENT: u16 = 1 << 5;
        // One PAN, both addresses extended.
        const ADDRESSES: u16 = 1 << 6 | 0b11 << 10 | 0b11 << 14;
        let (&[low, high, sequence], rest) = bytes.split_first_chunk()?;
        let control = u16::from_le_bytes([low, high]);
        if control & 0b111 == ACKNOWLEDGEMENT {
            self.acknowledged(begin, sequence);
            return Some(());
        }
        if control & 0b111 != DATA || control & ADDRESSES != ADDRESSES {
            return None;
        }
        let (_pan, rest) = rest.split_first_chunk::<2>()?;
        let (to, rest) = rest.split_first_chunk()?;
        let (from, inside) = rest.split_first_chunk()?;
        let (from, to) = (self.node(from)?, self.node(to)?);
        let piece = Piece::read(inside)?;
        let key = (from, to, piece.tag);
        self.begin(key, begin, end, &piece, inside);
        if control & WANTS_ACKNOWLEDGEMENT == 0 {
            self.arrived(key, end, &piece);
        } else {
            self.unacknowledged.retain(|heard| heard.end + TURNAROUND >= begin);
            self.unacknowledged.push(Heard { key, sequence, end, piece });
        }
        Some(())
    }

    fn node(&self, address: &[u8; 8]) -> Option<u16> {
        self.nodes.get(&ExtendedAddress(*address)).copied()
    }

    /// A frame shows a datagram, perhaps a new one.
    fn begin(&mut self, key: (u16, u16, Tag), begin: Instant, end: Instant, piece: &Piece, inside: &[u8]) {
        let is_known = self.open.get(&key).is_some_and(|known| known.last + TAG_LIFETIME > begin);
        if !is_known {
            self.opened += 1;
            if self.opened.is_multiple_of(TIDY_AFTER) {
                self.open.retain(|_, known| known.last + TAG_LIFETIME > begin);
            }
            let transfer = self.transfers.len();
            self.transfers.push(Transfer { from: key.0, to: key.1, begin, end: None, fingerprint: 0 });
            let pieces = BTreeMap::new();
            self.open.insert(key, Assembly { transfer, last: end, size: None, pieces, end_offset: 0 });
        }
        let Some(assembly) = self.open.get_mut(&key) else { return };
        assembly.last = end;
        if piece.offset >= assembly.end_offset
            && let Some(transfer) = self.transfers.get_mut(assembly.transfer)
        {
            assembly.end_offset = piece.offset;
            transfer.fingerprint = fingerprint(inside);
        }
    }

    fn acknowledged(&mut self, begin: Instant, sequence: u8) {
        let of = |heard: &Heard| heard.sequence == sequence && heard.end + TURNAROUND == begin;
        if let Some(at) = self.unacknowledged.iter().position(of) {
            let Heard { key, end, piece, .. } = self.unacknowledged.swap_remove(at);
            self.arrived(key, end, &piece);
        }
    }

    fn arrived(&mut self, key: (u16, u16, Tag), end: Instant, piece: &Piece) {
        let Some(assembly) = self.open.get_mut(&key) else { return };
        assembly.add(piece);
        if assembly.is_complete(key.2)
            && let Some(transfer) = self.transfers.get_mut(assembly.transfer)
        {
            transfer.end = transfer.end.or(Some(end));
        }
    }
}

impl Watch for Sniffer {
    fn on_air(&mut self, begin: Instant, end: Instant, frame: &Frame) {
        // What cannot be read tells nothing.
        let _ = self.heard(begin, end, frame.bytes());
    }
}
