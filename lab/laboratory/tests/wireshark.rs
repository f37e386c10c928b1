//! Frames on the air as Wireshark reads them, which has the standard's protection from elsewhere.

mod dissected;

use std::collections::VecDeque;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use chacha20::ChaCha20Rng;
use dissected::{Read, to_port};
use motemix_air::Instant;
use motemix_air::capture::Capture;
use motemix_air::channel::{Channel, Event, Settings};
use motemix_crypto::{BoardCurve, Curve as _, Secret};
use motemix_host::link::KeyLog;
use motemix_link::meeting::{Admitted, Meeting, Neighbourhood, admitted};
use motemix_link::protection::{KEY_LEN, KeySlot};
use motemix_link::radio::{Radio, Transceiver};
use motemix_link::serial::{CHECK, ExtendedAddress, MAX_FRAME, Outcome};
use motemix_link::settings::{LinkSettings, Recovery};
use motemix_link::stack::{HANDSHAKE_PORT, PORT, Stack, StackMemory, link_local};
use motemix_link::watched_keys::WatchedKeys;
use rand_core::SeedableRng as _;

const PACKET: usize = 280;
const EPOCH: u32 = 7;
/// Frames of a packet.
const FRAMES: usize = 3;
/// Where a protected frame has its counter.
const COUNTER: usize = 10;

/// The radio of one station.
#[derive(Default)]
struct Line {
    heard: VecDeque<Vec<u8>>,
    leaving: Option<Vec<u8>>,
    outcome: Option<Outcome>,
}

impl Transceiver for Line {
    fn receive(&mut self, out: &mut [u8; MAX_FRAME]) -> Option<usize> {
        let frame = self.heard.pop_front()?;
        out[..frame.len()].copy_from_slice(&frame);
        Some(frame.len())
    }

    fn transmit(&mut self, frame: &[u8]) {
        self.leaving = Some(frame.to_vec());
    }

    fn poll_outcome(&mut self) -> Option<Outcome> {
        self.outcome.take()
    }
}

/// Both stations know both.
struct Both([Admitted; 2]);

impl Neighbourhood for Both {
    fn admitted(&self, station: ExtendedAddress) -> Option<Admitted> {
        (0..2).find(|&index| address(index) == station).map(|index| self.0[index])
    }

    fn station_with(&self, short: [u8; 2]) -> Option<ExtendedAddress> {
        (0..2).map(address).find(|station| station.short() == short)
    }

    fn shares_short(&self, _: ExtendedAddress) -> bool {
        false
    }
}

fn address(index: usize) -> ExtendedAddress {
    ExtendedAddress([0x31 + index as u8, 0x92, 3, 4, 5, 6, 7, 0x02])
}

fn packet(number: u8) -> Vec<u8> {
    (0..PACKET).map(|at| (at as u8).wrapping_mul(31) ^ number.wrapping_mul(73)).collect()
}

/// What was on the air while two stations met and exchanged packets, as a PCAP file, and the key
/// that they made.
struct Recorded {
    pcap: Vec<u8>,
    key: [u8; KEY_LEN],
    packets: Vec<Vec<u8>>,
}

fn record(recovery: Recovery) -> Recorded {
    // Nothing is lost, so nobody is asked: Wireshark 4.0 calls each RFRAG-ACK malformed.
    let settings = LinkSettings { recovery, when_in_doubt: true, ..LinkSettings::new() };
    let mut channel = Channel::new(Settings { report_air: true, ..Settings::default() }, 1);
    let mut capture = Capture::new(Vec::new()).expect("memory takes all");
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let secrets = [[1; 32], [2; 32]];
    let both = Both(secrets.map(|secret| admitted(BoardCurve::public_key(&Secret::new(secret)).0, EPOCH)));
    let mut memory = [const { StackMemory::<PACKET, 2, 2>::new() }; 2];
    let mut slots = [[const { KeySlot::FREE }; 1], [KeySlot::FREE]];
    let mut stations = Vec::new();
    for (index, (memory, slots)) in memory.iter_mut().zip(&mut slots).enumerate() {
        let mut stack = Stack::new(address(index), index as u64, &settings, memory.lend());
        stack.protect(slots);
        let mut meeting = Meeting::<BoardCurve>::new(address(index), &mut rng);
        meeting.set_identity(Some((Secret::new(secrets[index]), both.0[index])));
        let member = channel.join(Instant::default(), address(index)).expect("there is room");
        stations.push((Radio::new(Line::default()), stack, meeting, member));
    }
    let packets: Vec<_> = (0..4).map(packet).collect();
    let (mut key, mut arrived) = (None, Vec::new());
    for milli in 0..6_000 {
        let now = Instant::from_micros(1_000_000 + milli * 1_000);
        // One station calls the other; then packets go both ways.
        if let Some(packet) = packets.get(milli as usize / 1_000).filter(|_| milli % 1_000 == 0) {
            let from = milli as usize / 1_000 % 2;
            stations[from].1.send(link_local(address(1 - from)), packet).expect("there is room");
        }
        for (radio, stack, meeting, member) in &mut stations {
            stack.poll(now, radio);
            let keys = stack.keys().expect("it protects frames");
            let watch = |_, set: &Secret<KEY_LEN>| key = Some(*set.expose());
            meeting.poll(now, &mut WatchedKeys { keys, watch }, &both, &mut rng);
            stack.poll(now, radio);
            let mut buffer = [0; PACKET];
            while let Some(received) = stack.receive(&mut buffer) {
                arrived.push(buffer[..received.len].to_vec());
            }
            if let Some(frame) = radio.transceiver_mut().leaving.take() {
                channel.transmit(now, *member, 0, &frame);
            }
        }
        channel.handle_timeout(now);
        while let Some(event) = channel.poll_event() {
            match event {
                Event::OnAir { begin, collided, frame, .. } => {
                    let at = Duration::from_micros(begin.as_micros());
                    capture.frame(at, &frame, collided).expect("memory takes all");
                }
                Event::Delivered { to, frame, .. } => {
                    let to = stations.iter_mut().find(|(.., member)| *member == to).expect("it is there");
                    to.0.transceiver_mut().heard.push_back(frame.bytes().to_vec());
                }
                Event::Done { station, outcome, .. } => {
                    let of = stations.iter_mut().find(|(.., member)| *member == station);
                    of.expect("it is there").0.transceiver_mut().outcome = Some(outcome);
                }
            }
        }
    }
    assert_eq!(arrived, packets, "the stations understand each other");
    Recorded { pcap: capture.into_inner(), key: key.expect("there is one"), packets }
}

/// Where the frames of a capture are, without their check sequences.
fn frames(pcap: &[u8]) -> Vec<Range<usize>> {
    let (mut at, mut frames) = (24, Vec::new());
    while let Some(header) = pcap.get(at..at + 16) {
        let len = u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize;
        frames.push(at + 16..at + 16 + len - 2);
        at += 16 + len;
    }
    frames
}

/// A frame's record in a capture with one byte of the frame changed, and its check sequence right.
fn altered(pcap: &[u8], frame: &Range<usize>, at: usize) -> Vec<u8> {
    let mut record = pcap[frame.start - 16..frame.end].to_vec();
    record[16 + at] ^= 1;
    let check = CHECK.checksum(&record[16..]).to_le_bytes();
    [record, check.to_vec()].concat()
}

/// Has a capture read with these keys, as a host writes them down, and by no other settings.
fn wireshark(folder: &Path, pcap: &[u8], keys: &[[u8; KEY_LEN]]) -> Vec<Read> {
    let file = folder.join("air.pcap");
    fs::write(&file, pcap).expect("a file");
    let mut log = KeyLog::open(folder).expect("the folder is there");
    for key in keys {
        log.key([0, 1].map(address), &Secret::new(*key)).expect("there is room");
    }
    dissected::read(&file, folder)
}

#[test]
fn with_the_key_wireshark_reads_what_neighbours_send_and_finds_no_fault() {
    for recovery in [Recovery::None, Recovery::Selective] {
        let (recorded, folder) = (record(recovery), tempfile::tempdir().expect("a folder"));
        // Keys of other links and other times are among them.
        let read = wireshark(folder.path(), &recorded.pcap, &[[1; 16], recorded.key, [2; 16]]);
        assert_eq!(to_port(&read, PORT), recorded.packets, "{recovery:?}");
        assert_eq!(read.iter().filter(|read| read.is_protected).count(), FRAMES * recorded.packets.len());
        let faults: Vec<_> = read.iter().filter(|read| !read.complaints.is_empty()).collect();
        assert!(faults.is_empty(), "{recovery:?}: {faults:?}");
    }
}

#[test]
fn messages_of_handshakes_are_datagrams_in_the_clear() {
    let (recorded, folder) = (record(Recovery::None), tempfile::tempdir().expect("a folder"));
    // No key is needed for them.
    let read = wireshark(folder.path(), &recorded.pcap, &[]);
    let messages = to_port(&read, HANDSHAKE_PORT);
    let kinds: Vec<_> = messages.iter().map(|message| (message[0], message.len())).collect();
    assert_eq!(kinds, [(1, 1), (2, 9), (3, 46), (4, 48), (5, 20), (6, 10)]);
    let of_handshakes: Vec<_> = read.iter().filter(|read| read.datagram.is_some()).collect();
    assert_eq!(of_handshakes.len(), messages.len());
    assert!(of_handshakes.iter().all(|read| !read.is_protected && read.complaints.is_empty()));
}

#[test]
fn without_the_right_key_wireshark_reads_nothing_and_says_so() {
    let (recorded, folder) = (record(Recovery::None), tempfile::tempdir().expect("a folder"));
    let mut key = recorded.key;
    key[KEY_LEN - 1] ^= 1;
    let read = wireshark(folder.path(), &recorded.pcap, &[key]);
    assert!(to_port(&read, PORT).is_empty());
    let protected: Vec<_> = read.iter().filter(|read| read.is_protected).collect();
    assert_eq!(protected.len(), FRAMES * recorded.packets.len());
    assert!(protected.iter().all(|read| !read.complaints.is_empty()), "{protected:?}");
}

#[test]
fn wireshark_finds_each_byte_that_was_altered() {
    let (recorded, folder) = (record(Recovery::None), tempfile::tempdir().expect("a folder"));
    let pcap = &recorded.pcap;
    let is_protected = |frame: &Range<usize>| pcap[frame.start] & 1 << 3 != 0;
    let frame = frames(pcap).into_iter().find(is_protected).expect("there are some");
    // The sequence number, the counter, what is carried, and the MIC.
    let places: Vec<_> = [2].into_iter().chain(COUNTER..frame.len()).collect();
    let mut capture = pcap[..24].to_vec();
    capture.extend(places.iter().flat_map(|at| altered(pcap, &frame, *at)));
    capture.extend(&pcap[frame.start - 16..frame.end + 2]);
    let read = wireshark(folder.path(), &capture, &[recorded.key]);
    let (genuine, forged) = read.split_last().expect("the genuine one");
    assert_eq!(genuine.complaints, "");
    assert_eq!(forged.len(), places.len());
    let passed: Vec<_> = places.iter().zip(forged).filter(|(_, read)| read.complaints.is_empty()).collect();
    assert!(passed.is_empty(), "{passed:?}");
}
