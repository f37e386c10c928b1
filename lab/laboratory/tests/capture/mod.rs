//! What was on the air, from the file that Wireshark reads: protected IEEE 802.15.4 frames with the
//! fragments of packets in them (`docs/spec/link/frames.md`), and handshakes.

use motemix_link::serial::CHECK;
use pcap_parser::{Linktype, PcapCapture};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// IEEE 802.15.4 with check sequence.
const LINKTYPE: Linktype = Linktype(195);
/// The first byte of a data frame, but for the acknowledgement asked for: within one network, and
/// protected or not.
const PLAIN: u8 = 0x41;
const PROTECTED: u8 = 0x49;
const OF_NO_MATTER: u8 = 0x30;
/// A protected frame with the first fragment of a packet of 280 bytes: 14 bytes of header, 96 of
/// 6LoWPAN, 8 of MIC.
const FIRST: usize = 14 + 4 + 4 + 88 + 8;
/// One with either of the two others.
const OTHER: usize = 14 + 5 + 96 + 8;
/// Plain frames have two extended addresses.
const PLAIN_HEADER: usize = 21;
/// Headers of a datagram between the ports of handshakes, but for the checksum (RFC 6282).
const HANDSHAKE: [u8; 4] = [0x7e, 0x33, 0xf3, 0x11];

/// Short addresses of sender and receiver.
type Way = ([u8; 2], [u8; 2]);

/// What was on the air.
pub struct Capture {
    frames: usize,
    /// Frame counters of first and of other fragments.
    fragments: BTreeMap<Way, [BTreeSet<[u8; 4]>; 2]>,
}

impl Capture {
    /// Reads the file, and checks that nothing is in it but what these networks send.
    pub fn read(path: &Path) -> Self {
        let bytes = fs::read(path).expect("a capture");
        let file = PcapCapture::from_file(&bytes).expect("a PCAP file");
        assert_eq!(file.header.network, LINKTYPE);
        let mut capture = Self { frames: 0, fragments: BTreeMap::new() };
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

    /// Packets of 280 bytes that were on the air whole, each in three frames. A frame that is sent
    /// again has another counter, so this is at least as many as left.
    pub fn datagrams(&self) -> u64 {
        let whole = self.fragments.values().map(|[first, other]| first.len().min(other.len() / 2));
        whole.sum::<usize>() as u64
    }

    fn frame(&mut self, frame: &[u8]) {
        match frame[0] & !OF_NO_MATTER & 0x7f {
            kind if kind == PLAIN & !OF_NO_MATTER => {
                assert_eq!(frame[PLAIN_HEADER..][..4], HANDSHAKE, "what is not protected is a handshake");
            }
            kind if kind == PROTECTED & !OF_NO_MATTER => self.protected(frame),
            _ => {}
        }
    }

    fn protected(&mut self, frame: &[u8]) {
        // Whoever shares its short address with nobody goes by it.
        assert_eq!(frame[1], 0x98, "both addresses are short");
        let (receiver, sender) = ([frame[5], frame[6]], [frame[7], frame[8]]);
        assert_eq!(frame[9], 6, "ENC-MIC-64");
        let counter = *frame[10..].first_chunk().expect("a frame counter");
        let which = match frame.len() {
            FIRST => 0,
            OTHER => 1,
            len => panic!("all packets have one length, and a frame of {len} bytes has a part of none"),
        };
        self.fragments.entry((sender, receiver)).or_default()[which].insert(counter);
    }
}
