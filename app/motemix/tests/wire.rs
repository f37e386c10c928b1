//! What somebody sees who watches every link of a running network.

mod program;
mod recorder;

use program::wait_until;
use recorder::RecordedNetwork;
use std::collections::HashSet;

const PACKET_LEN: usize = 280;
const GROUP_ELEMENT_LEN: usize = 32;
/// The kind of a protected datagram, and its number.
const NUMBERED: usize = 5;
/// Transmissions of one try: three there, three back.
const HOPS: u64 = 6;
/// Enough to tell a biased bit from a fair one.
const ENOUGH: usize = 1000;
/// A point of Curve25519 has 255 bits, so every X25519 protocol sends this one as zero.
const UNUSED_BIT: (usize, u32) = (GROUP_ELEMENT_LEN - 1, 7);

/// A network that has sent messages of all lengths, their acknowledgements, and cover of both kinds.
fn busy(more: &[&str]) -> RecordedNetwork {
    let traffic = ["--mean-delay", "10ms", "--loop-cover", "200ms", "--drop-cover", "200ms"];
    let network = RecordedNetwork::up(&[&traffic, more].concat());
    for number in 0..8 {
        // From one byte to the most that a packet carries.
        let text = "x".repeat(1 + number * 102 / 7);
        network.running.send(&format!("mote-{}", number % 4 + 1), &text).succeeds();
    }
    wait_until("cover of both kinds has passed", || {
        network.recorded() >= ENOUGH
            && network.running.total("loops_returned") > 0
            && network.running.total("drops_received") > 0
    });
    network
}

/// Every node hears what passed the recorder, and nothing else.
fn everything_is_recorded(network: &RecordedNetwork) {
    let status = network.running.status();
    let recording = network.recording();
    for row in status {
        let arrived = row["status"]["counters"]["udp_received"].as_u64().unwrap();
        let relayed = recording.iter().filter(|recorded| recorded.to == row["name"]).count() as u64;
        assert!(0 < arrived && arrived <= relayed, "{}: {arrived} arrived, {relayed} passed", row["name"]);
    }
}

#[test]
fn messages_acknowledgements_and_cover_look_alike() {
    let network = busy(&["--plain-links"]);
    let tries = network.running.total("sent") + network.running.total("retransmitted");
    everything_is_recorded(&network);
    let recording = network.recording();

    assert!(recording.iter().all(|recorded| recorded.bytes.len() == PACKET_LEN));
    assert!(recording.len() as u64 > HOPS * tries, "{} datagrams for {tries} tries", recording.len());

    let packets: Vec<&[u8]> = recording.iter().map(|recorded| recorded.bytes.as_slice()).collect();
    let distinct =
        |part: fn(&[u8]) -> &[u8]| packets.iter().map(|packet| part(packet)).collect::<HashSet<_>>();
    assert_eq!(distinct(|packet| packet).len(), packets.len());
    assert_eq!(distinct(|packet| &packet[..GROUP_ELEMENT_LEN]).len(), packets.len());
    // Nothing of a packet survives a hop, so no two share an aligned run of bytes.
    let runs: HashSet<_> = packets.iter().flat_map(|packet| packet.chunks_exact(8)).collect();
    assert_eq!(runs.len(), packets.len() * PACKET_LEN / 8);
    every_bit_is_fair(&packets, Some(UNUSED_BIT));
}

/// As networks are by default.
#[test]
fn on_protected_links_there_are_handshakes_and_numbered_datagrams_that_are_otherwise_random() {
    let network = busy(&[]);
    everything_is_recorded(&network);
    let recording = network.recording();

    assert!(recording.iter().all(|recorded| recorded.bytes.len() == NUMBERED + PACKET_LEN + 11));
    let (handshakes, protected): (Vec<_>, Vec<_>) =
        recording.iter().map(|recorded| recorded.bytes.as_slice()).partition(|bytes| bytes[0] == 1);
    assert!(protected.iter().all(|bytes| bytes[0] == 2));
    // Eleven nodes are in it, and a pair of them makes a key in six messages, or a few more. One that
    // is said again, because a machine is busy, is the same.
    let said: HashSet<_> = handshakes.iter().collect();
    assert!(!said.is_empty() && said.len() < 55 * 12, "{} of {}", said.len(), handshakes.len());
    // Under one key in each direction: numbers count up.
    assert!(protected.iter().all(|bytes| bytes[1..3] == [0, 0]));
    let random: Vec<_> = protected.iter().map(|bytes| &bytes[NUMBERED..]).collect();
    every_bit_is_fair(&random, None);
}

/// Each bit is one in half of all packets, within eight standard deviations.
fn every_bit_is_fair(packets: &[&[u8]], unused: Option<(usize, u32)>) {
    for (position, bit) in (0..packets[0].len()).flat_map(|position| (0..8).map(move |bit| (position, bit))) {
        let ones = packets.iter().filter(|packet| packet[position] >> bit & 1 == 1).count();
        if Some((position, bit)) == unused {
            assert_eq!(ones, 0);
            continue;
        }
        // A standard deviation of n fair bits is half the root of n.
        let twice_the_excess = (2 * ones).abs_diff(packets.len());
        let fair = twice_the_excess.pow(2) < 8 * 8 * packets.len();
        assert!(fair, "bit {bit} of byte {position}: {ones} ones of {}", packets.len());
    }
}
