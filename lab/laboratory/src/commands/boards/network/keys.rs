//! The keys between two boards, for whoever reads a capture.
//!
//! Hosts write the keys of their links down, boards do not. So they are looked for in the memory of
//! the boards' emulators, and what opens a frame is its key.

use crate::commands::link_keys::LinkKeys;
use crate::failure::Failure;
use anyhow::Context;
use motemix_crypto::Secret;
use motemix_crypto::aes_ccm::{self, NONCE_LEN, TAG_LEN};
use motemix_link::protection::KEY_LEN;
use motemix_link::serial::{CHECK, ExtendedAddress};
use pcap_parser::PcapCapture;
use std::collections::BTreeMap;
use std::fs;

/// How far from a neighbour's address its key may lie in a board's memory: both are in one
/// `KeySlot`.
const NEAR: usize = 64;

/// A board, and what was in its memory in the end.
pub struct Memory<'m> {
    pub station: ExtendedAddress,
    pub bytes: &'m [u8],
}

/// For how many frames between boards there is a key, of how many.
#[derive(Debug, PartialEq)]
pub struct Opened {
    pub with_key: usize,
    pub all: usize,
}

/// Adds the keys between boards. The capture is whole, and the boards stand still.
pub fn add_of_boards(keys: &mut LinkKeys, boards: &[Memory<'_>]) -> Result<Opened, Failure> {
    let capture = keys.capture().display().to_string();
    let written = fs::read(keys.capture()).with_context(|| format!("cannot read {capture}"))?;
    let frames = protected_frames(&written).with_context(|| format!("{capture} is no capture"))?;
    let mut links: BTreeMap<[[u8; 8]; 2], Vec<(ExtendedAddress, ProtectedFrame<'_>)>> = BTreeMap::new();
    for frame in frames {
        let station = |short| boards.iter().map(|board| board.station).find(|it| it.short() == short);
        if let (Some(sender), Some(receiver)) = (station(frame.sender), station(frame.receiver)) {
            let mut link = [sender.0, receiver.0];
            link.sort_unstable();
            links.entry(link).or_default().push((sender, frame));
        }
    }
    let mut opened = Opened { with_key: 0, all: 0 };
    for (link, mut frames) in links {
        let link = link.map(ExtendedAddress);
        opened.all += frames.len();
        // Keys change: each is looked for in what no other one has opened.
        for key in boards.iter().flat_map(|board| near_addresses(board, link)) {
            let before = frames.len();
            frames.retain(|(sender, frame)| !frame.is_opened_by(&key, *sender));
            if frames.len() < before {
                opened.with_key += before - frames.len();
                keys.add(link, &key)?;
            }
        }
    }
    Ok(opened)
}

/// A protected frame as it was on the air (docs/spec/link/frames.md).
struct ProtectedFrame<'f> {
    sender: [u8; 2],
    receiver: [u8; 2],
    header: &'f [u8],
    counter: [u8; 4],
    level: u8,
    ciphertext: &'f [u8],
    tag: &'f [u8; TAG_LEN],
}

impl<'f> ProtectedFrame<'f> {
    /// `None` if it is none, or one that goes to an extended address.
    fn parse(frame: &'f [u8]) -> Option<Self> {
        let (header, carried) = frame.split_at_checked(14)?;
        let [kind, 0x98, _, _, _, r0, r1, s0, s1, level, c0, c1, c2, c3] = *header else { return None };
        let is_secured = kind & !0x20 == 0x49;
        let (ciphertext, tag) = carried.split_last_chunk()?;
        is_secured.then_some(Self {
            sender: [s0, s1],
            receiver: [r0, r1],
            header,
            counter: [c3, c2, c1, c0],
            level,
            ciphertext,
            tag,
        })
    }

    fn is_opened_by(&self, key: &Secret<KEY_LEN>, ExtendedAddress(mut sender): ExtendedAddress) -> bool {
        sender.reverse();
        let mut nonce = [0; NONCE_LEN];
        let parts = sender.into_iter().chain(self.counter).chain([self.level]);
        nonce.iter_mut().zip(parts).for_each(|(byte, part)| *byte = part);
        let mut text = self.ciphertext.to_vec();
        aes_ccm::open(key, &nonce, self.header, &mut text, self.tag).is_ok()
    }
}

/// The protected frames of a capture that did not collide.
fn protected_frames(capture: &[u8]) -> Option<Vec<ProtectedFrame<'_>>> {
    let blocks = PcapCapture::from_file(capture).ok()?.blocks;
    let frames = blocks.into_iter().filter_map(|block| {
        let (frame, check) = block.data.split_last_chunk::<2>()?;
        let is_whole = CHECK.checksum(frame).to_le_bytes() == *check;
        is_whole.then(|| ProtectedFrame::parse(frame)).flatten()
    });
    Some(frames.collect())
}

/// What may be a key of a link in the memory of a board at one of its ends.
fn near_addresses(board: &Memory<'_>, link: [ExtendedAddress; 2]) -> Vec<Secret<KEY_LEN>> {
    let Some(peer) = (0..2).find(|&at| link[at] == board.station).map(|at| link[1 - at]) else {
        return Vec::new();
    };
    let places = board.bytes.windows(peer.0.len()).enumerate().filter(|(_, bytes)| *bytes == peer.0);
    let near = places.flat_map(|(place, _)| place.saturating_sub(NEAR)..place + NEAR);
    near.filter_map(|at| board.bytes.get(at..)?.first_chunk().copied().map(Secret::new)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use motemix_air::capture::Capture;
    use motemix_host::link::key_log::FILES;

    const STATIONS: [ExtendedAddress; 2] =
        [ExtendedAddress([0x31, 0x12, 3, 4, 5, 6, 7, 2]), ExtendedAddress([0x32, 0x12, 3, 4, 5, 6, 7, 2])];

    /// A frame from the first to the second.
    fn sealed(key: u8, counter: u8) -> Vec<u8> {
        let mut frame =
            vec![0x69, 0x98, 0, 0x23, 0, 0x32, 0x12, 0x31, 0x12, 6, counter, 0, 0, 0, b't', b'e', b'x', b't'];
        let nonce = [2, 7, 6, 5, 4, 3, 0x12, 0x31, 0, 0, 0, counter, 6];
        let (header, text) = frame.split_at_mut(14);
        let tag = aes_ccm::seal(&Secret::new([key; KEY_LEN]), &nonce, header, text).unwrap();
        frame.extend(tag);
        frame
    }

    #[test]
    fn a_key_in_the_memory_of_a_board_is_written_down_if_it_opens_a_frame() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("air.pcap");
        let mut capture = Capture::new(Vec::new()).unwrap().into_inner();
        for frame in [sealed(1, 0), sealed(2, 0), sealed(2, 1), sealed(3, 0)] {
            let check = CHECK.checksum(&frame);
            // Once as it is, and once as one that collided.
            for check in [check, !check] {
                let len = (frame.len() as u32 + 2).to_le_bytes();
                capture.extend([&[0; 8], &len[..], &len, &frame, &check.to_le_bytes()].concat());
            }
        }
        fs::write(&path, capture).unwrap();
        // The last key before the address, one after it, and one far away.
        let memory = [&[9; 100][..], &[2; KEY_LEN], &STATIONS[1].0, &[7; 4], &[1; KEY_LEN], &[0; 100]];
        let memory = [&memory.concat()[..], &[3; KEY_LEN]].concat();
        let boards = [(0, &memory[..]), (1, &[])].map(|(at, bytes)| Memory { station: STATIONS[at], bytes });
        let mut keys = LinkKeys::beside(&path).unwrap();
        assert!(keys.usage().is_none());
        assert_eq!(add_of_boards(&mut keys, &boards).unwrap(), Opened { with_key: 3, all: 4 });
        let written = fs::read_to_string(folder.path().join("air.pcap.keys").join(FILES[0])).unwrap();
        let key = |byte: &str| format!("\"{}\",\"0\",\"No hash\"\n", byte.repeat(KEY_LEN));
        assert_eq!(written, ["02", "01"].map(key).concat());
        assert!(keys.usage().unwrap().contains("air.pcap.keys tshark -d "));
        // The next run begins anew.
        LinkKeys::beside(&path).unwrap();
        assert!(!folder.path().join("air.pcap.keys").join(FILES[0]).exists());
    }
}
