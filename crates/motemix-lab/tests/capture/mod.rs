//! What was on the air, from the file that Wireshark reads: IEEE 802.15.4 frames and the fragments
//! in them (RFC 4944, section 5.3).

use motemix_link::serial::CHECK;
use pcap_parser::{Linktype, PcapCapture};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// IEEE 802.15.4 with check sequence.
const LINKTYPE: Linktype = Linktype(195);
/// Control field of a data frame between extended addresses within one network, but for pending
/// data and the acknowledgement asked for.
const DATA: u16 = 0xcc41;
const OF_NO_MATTER: u16 = 0x3030;
/// A packet of 280 bytes with its headers written out: 40 bytes of IPv6, 8 of UDP.
const DATAGRAM: u16 = 280 + 48;
/// Where its three fragments begin.
const BEGINNINGS: [u16; 3] = [0, 48 + 88, 48 + 88 + 96];

/// Sender, receiver and number of a datagram.
type Key = ([u8; 8], [u8; 8], u16);

/// What was on the air.
pub struct Capture {
    frames: usize,
    /// Beginnings of the fragments of each datagram.
    datagrams: BTreeMap<Key, BTreeSet<u16>>,
}

impl Capture {
    /// Reads the file, and checks that nothing is in it but what these networks send.
    pub fn read(path: &Path) -> Self {
        let bytes = fs::read(path).expect("a capture");
        let file = PcapCapture::from_file(&bytes).expect("a PCAP file");
        assert_eq!(file.header.network, LINKTYPE);
        let mut capture = Self { frames: 0, datagrams: BTreeMap::new() };
        for block in &file.blocks {
            assert_eq!(block.caplen, block.origlen, "frames are kept whole");
            capture.frames += 1;
            let (frame, check) = block.data.split_last_chunk::<2>().expect("a check sequence");
            // Others collided.
            if CHECK.checksum(frame).to_le_bytes() == *check {
                capture.frame(frame);
            }
        }
        capture
    }

    /// Everything on the air, acknowledgements and collisions included.
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// Packets of 280 bytes that were on the air whole, each in three frames. Custody of a packet
    /// ends with its last frame, so that one given up halfway shows as fewer.
    pub fn datagrams(&self) -> u64 {
        self.datagrams.values().filter(|begins| begins.iter().eq(&BEGINNINGS)).count() as u64
    }

    fn frame(&mut self, frame: &[u8]) {
        let (control, rest) = frame.split_first_chunk::<2>().expect("a control field");
        if u16::from_le_bytes(*control) & !OF_NO_MATTER != DATA {
            return;
        }
        // Sequence number and network, then receiver and sender.
        let (_, rest) = rest.split_first_chunk::<3>().expect("a header");
        let (receiver, rest) = rest.split_first_chunk::<8>().expect("a receiver");
        let (sender, rest) = rest.split_first_chunk::<8>().expect("a sender");
        let (size, rest) = rest.split_first_chunk::<2>().expect("a dispatch");
        let size = u16::from_be_bytes(*size);
        let dispatch = size >> 11;
        let size = size & 0x7ff;
        if !matches!(dispatch, 0b11000 | 0b11100) {
            // Answers to neighbours are no fragments.
            return;
        }
        assert_eq!(size, DATAGRAM, "all packets have one length");
        let (tag, rest) = rest.split_first_chunk::<2>().expect("a tag");
        let begin = match (dispatch, rest) {
            (0b11000, _) => 0,
            (_, [begin, data @ ..]) => {
                assert_eq!(data.len(), 96);
                u16::from(*begin) * 8
            }
            _ => panic!("a fragment without its beginning"),
        };
        assert!(BEGINNINGS.contains(&begin), "a fragment begins at {begin}");
        let key = (*sender, *receiver, u16::from_be_bytes(*tag));
        self.datagrams.entry(key).or_default().insert(begin);
    }
}
