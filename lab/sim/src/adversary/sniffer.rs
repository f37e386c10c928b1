//! From frames on the air to transfers: who passed a datagram to whom, and when.
//!
//! The sniffer reads what is in clear in a frame on every link: addresses, sequence number, and the
//! fragment's header (RFC 4944, 5.3; RFC 8931, 5). A fragment has arrived when its acknowledgement
//! is on the air. A fragment that is sent again has its tag and offset again, so it is no second
//! transfer. Datagrams in one frame are no packets, and left out. Where frames are protected, their
//! lengths say which fragment is which (`lengths`).

mod lengths;

pub(crate) use lengths::Cut;

use crate::world::Watch;
use lengths::Lengths;
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
    /// A fingerprint of its contents, where they can be seen: to score the observer by, nothing
    /// else.
    pub fingerprint: Option<u64>,
}

/// What tells one datagram's contents from another's: its last eight bytes.
pub(crate) fn fingerprint(datagram: &[u8]) -> u64 {
    datagram.last_chunk().map_or(0, |tail| u64::from_le_bytes(*tail))
}

/// Listens.
pub(crate) struct Sniffer {
    nodes: BTreeMap<ExtendedAddress, u16>,
    /// By short address; none for one that several have.
    short: BTreeMap<[u8; 2], Option<u16>>,
    lengths: Lengths,
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
    /// The number that the observer gives to a datagram whose tag it cannot read.
    Unread(u32),
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
    /// The datagram's size, if the fragment says it.
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
    /// One who knows whose address is whose, and how packets are cut.
    pub fn new(nodes: BTreeMap<ExtendedAddress, u16>, cut: Cut) -> Self {
        let mut short = BTreeMap::new();
        for (address, node) in &nodes {
            short.entry(address.short()).and_modify(|known| *known = None).or_insert(Some(*node));
        }
        Self {
            nodes,
            short,
            lengths: Lengths::new(cut),
            transfers: Vec::new(),
            open: BTreeMap::new(),
            opened: 0,
            unacknowledged: Vec::new(),
        }
    }

    /// Transfers, in the order of their begins.
    pub fn into_transfers(self) -> Vec<Transfer> {
        self.transfers
    }

    fn heard(&mut self, begin: Instant, end: Instant, bytes: &[u8]) -> Option<()> {
        const TYPE: u16 = 0b111;
        const DATA: u16 = 1;
        const ACKNOWLEDGEMENT: u16 = 2;
        const SECURED: u16 = 1 << 3;
        const WANTS_ACKNOWLEDGEMENT: u16 = 1 << 5;
        const ONE_PAN: u16 = 1 << 6;
        let (&[low, high, sequence], rest) = bytes.split_first_chunk()?;
        let control = u16::from_le_bytes([low, high]);
        if control & TYPE == ACKNOWLEDGEMENT {
            self.acknowledged(begin, sequence);
            return Some(());
        }
        if control & TYPE != DATA || control & ONE_PAN == 0 {
            return None;
        }
        let (_pan, rest) = rest.split_first_chunk::<2>()?;
        let (to, rest) = self.node(control >> 10, rest)?;
        let (from, inside) = self.node(control >> 14, rest)?;
        let (piece, contents) = if control & SECURED == 0 {
            (Piece::read(inside)?, Some(inside))
        } else {
            (self.lengths.piece((from, to), sequence, begin, inside.len())?, None)
        };
        let key = (from, to, piece.tag);
        self.begin(key, begin, end, &piece, contents);
        if control & WANTS_ACKNOWLEDGEMENT == 0 {
            self.arrived(key, end, &piece);
        } else {
            self.unacknowledged.retain(|heard| heard.end + TURNAROUND >= begin);
            self.unacknowledged.push(Heard { key, sequence, end, piece });
        }
        Some(())
    }

    /// Reads an address in one of the modes of IEEE 802.15.4-2020, 7.2.2.9.
    fn node<'b>(&self, mode: u16, bytes: &'b [u8]) -> Option<(u16, &'b [u8])> {
        match mode & 0b11 {
            0b10 => {
                let (address, rest) = bytes.split_first_chunk()?;
                Some(((*self.short.get(address)?)?, rest))
            }
            0b11 => {
                let (address, rest) = bytes.split_first_chunk()?;
                Some((*self.nodes.get(&ExtendedAddress(*address))?, rest))
            }
            _ => None,
        }
    }

    /// A frame shows a datagram, perhaps a new one.
    fn begin(
        &mut self,
        key: (u16, u16, Tag),
        begin: Instant,
        end: Instant,
        piece: &Piece,
        contents: Option<&[u8]>,
    ) {
        let is_known = self.open.get(&key).is_some_and(|known| known.last + TAG_LIFETIME > begin);
        if !is_known {
            self.opened += 1;
            if self.opened.is_multiple_of(TIDY_AFTER) {
                self.open.retain(|_, known| known.last + TAG_LIFETIME > begin);
            }
            let transfer = self.transfers.len();
            self.transfers.push(Transfer { from: key.0, to: key.1, begin, end: None, fingerprint: None });
            let pieces = BTreeMap::new();
            self.open.insert(key, Assembly { transfer, last: end, size: None, pieces, end_offset: 0 });
        }
        let Some(assembly) = self.open.get_mut(&key) else { return };
        assembly.last = end;
        if piece.offset >= assembly.end_offset
            && let Some(transfer) = self.transfers.get_mut(assembly.transfer)
        {
            assembly.end_offset = piece.offset;
            transfer.fingerprint = contents.map(fingerprint);
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

#[cfg(test)]
mod tests {
    use super::*;

    const PAYLOAD: [u8; 90] = [0x5a; 90];
    const GAP: u64 = 10_000;
    const PACKET: usize = 280;

    fn address(id: u16) -> ExtendedAddress {
        ExtendedAddress([id as u8, 0, 0, 0, 0, 0, 0, 2])
    }

    fn sniffer() -> Sniffer {
        Sniffer::new((0..4).map(|id| (address(id), id)).collect(), Cut { packet: PACKET, recovery: false })
    }

    fn frame(sequence: u8, (from, to): (u16, u16), header: &[u8], payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x61, 0xdc, sequence, 0x23, 0];
        bytes.extend(address(to).0);
        bytes.extend(address(from).0);
        bytes.extend(header);
        bytes.extend(payload);
        bytes
    }

    /// Frames that begin [`GAP`] apart; those whose acknowledgement comes say so.
    fn listen(frames: &[(bool, Vec<u8>)]) -> Vec<Transfer> {
        let mut sniffer = sniffer();
        for (at, (acknowledged, bytes)) in (1..).zip(frames) {
            let begin = Instant::from_micros(at * GAP);
            let end = begin + Duration::from_micros(4000);
            sniffer.heard(begin, end, bytes);
            if *acknowledged {
                let begin = end + TURNAROUND;
                sniffer.heard(begin, begin + Duration::from_micros(352), &[0x02, 0, bytes[2]]);
            }
        }
        sniffer.into_transfers()
    }

    /// RFC 4944: 280 bytes behind 48 of headers, in three fragments.
    fn plain(way: (u16, u16), tag: u8, payload: &[u8]) -> [Vec<u8>; 3] {
        let first: Vec<u8> = [&[0x7e; 10], &payload[..88]].concat();
        let later = |offset: u8| [0xe1, 0x48, 0, tag, offset];
        [
            frame(1, way, &[0xc1, 0x48, 0, tag], &first),
            frame(2, way, &later(17), &[payload, payload].concat()[..96]),
            frame(3, way, &later(29), &[payload, payload].concat()[..96]),
        ]
    }

    /// RFC 8931: 290 bytes, compressed headers and all.
    fn recoverable(way: (u16, u16), tag: u8) -> [Vec<u8>; 3] {
        let header = |sequence: u8, len: u8, offset: u16| {
            let [high, low] = offset.to_be_bytes();
            [0xe8, tag, sequence << 2, len, high, low]
        };
        let piece = [0x3c; 100];
        [
            frame(1, way, &header(0, 100, 290), &piece),
            frame(2, way, &header(1, 100, 100), &piece),
            frame(3, way, &header(2, 90, 200), &piece[..90]),
        ]
    }

    fn all(frames: impl IntoIterator<Item = Vec<u8>>) -> Vec<(bool, Vec<u8>)> {
        frames.into_iter().map(|frame| (true, frame)).collect()
    }

    fn end_of_frame(number: u64) -> Instant {
        Instant::from_micros(number * GAP + 4000)
    }

    #[test]
    fn a_datagram_is_one_transfer_when_its_last_fragment_is_there() {
        for frames in [plain((1, 2), 7, &PAYLOAD), recoverable((1, 2), 7)] {
            let transfers = listen(&all(frames));
            assert_eq!(transfers.len(), 1);
            let transfer = transfers[0];
            assert_eq!((transfer.from, transfer.to, transfer.begin), (1, 2, Instant::from_micros(GAP)));
            assert_eq!(transfer.end, Some(end_of_frame(3)));
        }
    }

    #[test]
    fn fragments_that_were_sent_again_are_no_second_transfer() {
        for [a, b, c] in [plain((1, 2), 7, &PAYLOAD), recoverable((1, 2), 7)] {
            // The first is lost, the second's acknowledgement is, and one comes again with another
            // sequence number.
            let mut again = b.clone();
            again[2] = 99;
            let frames =
                [(false, a.clone()), (true, b), (true, again), (true, c.clone()), (true, a), (true, c)];
            let transfers = listen(&frames);
            assert_eq!(transfers.len(), 1);
            assert_eq!(
                (transfers[0].begin, transfers[0].end),
                (Instant::from_micros(GAP), Some(end_of_frame(5)))
            );
        }
    }

    #[test]
    fn what_never_was_complete_has_no_end() {
        for frames in [plain((1, 2), 7, &PAYLOAD), recoverable((1, 2), 7)] {
            for missing in 0..3 {
                let mut heard = all(frames.clone());
                heard[missing].0 = false;
                let transfers = listen(&heard);
                assert_eq!((transfers.len(), transfers[0].end), (1, None), "without {missing}");
            }
        }
    }

    #[test]
    fn two_datagrams_at_once_are_told_apart() {
        let datagrams = [plain((1, 2), 7, &PAYLOAD), plain((3, 2), 7, &PAYLOAD), recoverable((1, 2), 7)];
        let interleaved = (0..3).flat_map(|piece| datagrams.each_ref().map(|pieces| pieces[piece].clone()));
        let transfers = listen(&all(interleaved));
        assert_eq!(transfers.iter().map(|transfer| transfer.from).collect::<Vec<_>>(), [1, 3, 1]);
        let ends: Vec<_> = transfers.iter().map(|transfer| transfer.end).collect();
        assert_eq!(ends, [7, 8, 9].map(|number| Some(end_of_frame(number))));
    }

    #[test]
    fn contents_change_nothing_but_the_fingerprint() {
        let [one, other] = [[0x5a; 90], [0xa5; 90]].map(|payload| listen(&all(plain((1, 2), 7, &payload))));
        assert_ne!(one[0].fingerprint, other[0].fingerprint);
        assert_eq!(one[0], Transfer { fingerprint: one[0].fingerprint, ..other[0] });
        assert_eq!(one[0].fingerprint, Some(fingerprint(&[0x5a; 280])));
    }

    /// A protected frame between short addresses, which carries so many bytes.
    fn protected(sequence: u8, (from, to): (u16, u16), carried: usize) -> Vec<u8> {
        let mut bytes = vec![0x69, 0x98, sequence, 0x23, 0];
        bytes.extend(address(to).short());
        bytes.extend(address(from).short());
        bytes.extend([6, sequence, 0, 0, 0]);
        bytes.extend(vec![sequence; carried]);
        bytes.extend([0xee; 8]);
        bytes
    }

    /// The fragments of a packet of 280 bytes, from a sequence number on.
    fn sealed(way: (u16, u16), first: u8) -> [Vec<u8>; 3] {
        [(0, 96), (1, 101), (2, 101)].map(|(at, carried)| protected(first + at, way, carried))
    }

    #[test]
    fn protected_frames_are_joined_by_their_lengths() {
        let mut frames = all(sealed((1, 2), 7));
        // Of the second packet a frame comes twice, and of the third the last never does.
        let [a, b, c] = sealed((1, 2), 20);
        frames.extend([(true, a), (false, b.clone()), (true, b), (true, c)]);
        frames.extend(all(sealed((1, 2), 30)).into_iter().take(2));
        frames.extend(all(sealed((1, 2), 40)));
        let transfers = listen(&frames);
        let ends: Vec<_> = transfers.iter().map(|transfer| transfer.end).collect();
        let [first, second, fourth] = [3, 7, 12].map(|number| Some(end_of_frame(number)));
        assert_eq!(ends, [first, second, None, fourth]);
        assert!(transfers.iter().all(|transfer| (transfer.from, transfer.to) == (1, 2)));
        assert!(transfers.iter().all(|transfer| transfer.fingerprint.is_none()));
    }

    #[test]
    fn protected_frames_of_two_links_are_told_apart() {
        let ways = [((1, 2), 7), ((3, 2), 7), ((2, 1), 50)].map(|(way, first)| sealed(way, first));
        let interleaved = (0..3).flat_map(|piece| ways.each_ref().map(|pieces| pieces[piece].clone()));
        let ends: Vec<_> =
            listen(&all(interleaved)).iter().map(|transfer| (transfer.from, transfer.end)).collect();
        assert_eq!(ends, [(1, 7), (3, 8), (2, 9)].map(|(from, number)| (from, Some(end_of_frame(number)))));
    }

    #[test]
    fn protected_frames_of_no_packet_are_not_heard() {
        let answer = protected(1, (1, 2), 6);
        let [_, later, _] = sealed((1, 2), 3);
        let mut cut = protected(9, (1, 2), 0);
        cut.truncate(16);
        let mut unknown = protected(2, (1, 2), 96);
        unknown[5] = 9;
        assert_eq!(listen(&all([answer, later, cut, unknown])), []);
    }

    #[test]
    fn what_is_no_fragment_between_nodes_is_not_heard() {
        let mut stranger = frame(1, (1, 2), &[0xe8, 7, 0, 90, 0, 90], &PAYLOAD);
        stranger[5] = 9;
        let whole = frame(1, (1, 2), &[0x7e, 0x33, 0xf0, 0x22], &PAYLOAD[..40]);
        let gives_up = frame(1, (1, 2), &[0xe8, 7, 0, 0, 0, 0], &[]);
        let says_what_came = frame(1, (1, 2), &[0xea, 7, 0xff, 0xff, 0xff, 0xff], &[]);
        let cut = frame(1, (1, 2), &[0xe8, 7], &[]);
        assert_eq!(listen(&all([stranger, whole, gives_up, says_what_came, cut])), []);
        let nothing = sniffer().heard(Instant::default(), Instant::default(), &[0x61]);
        assert_eq!(nothing, None);
    }
}
