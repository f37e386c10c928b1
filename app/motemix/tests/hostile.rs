//! What a stranger can do to a running node by sending it datagrams: nothing, and it hears nothing.

mod program;
mod recorder;

use motemix_crypto::{Portable, PublicKey, hash};
use motemix_directory::Epoch;
use motemix_host::NodeKey;
use motemix_sphinx::{HeaderBuilder, MessageId, MixKey, Mote, NodeId, PathHop, Shape};
use program::{motemix, wait_until};
use recorder::RecordedNetwork;
use serde_json::Value;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

const PACKET_LEN: usize = 280;

/// A stranger, and the node that it sends to.
struct Stranger {
    network: RecordedNetwork,
    target: String,
    to: SocketAddr,
    socket: UdpSocket,
}

impl Stranger {
    /// A quiet network that has carried one message, and a mix that the message passed.
    fn arrive(more: &[&str]) -> Self {
        let quiet = ["--mean-delay", "10ms", "--loop-cover", "0s", "--drop-cover", "0s"];
        let network = RecordedNetwork::up(&[&quiet, more].concat());
        network.running.send("mote-1", "all is well").succeeds();
        // The message, and not what neighbours say to each other when they make keys.
        let is_packet = |bytes: &[u8]| bytes.len() == PACKET_LEN || bytes[0] == 2;
        let of_mix =
            |recorded: &recorder::Recorded| recorded.to.starts_with("mix-") && is_packet(&recorded.bytes);
        let first = network.recording().into_iter().find(of_mix);
        let target = first.expect("the message passed a mix").to;
        let to = network.behind.iter().find(|(name, _)| *name == target).expect("it listens").1;
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        Self { network, target, to, socket }
    }

    /// Sends a datagram, which has to be counted under this name.
    #[track_caller]
    fn sends(&self, bytes: &[u8], counter: &str) {
        let before = self.counters();
        self.socket.send_to(bytes, self.to).unwrap();
        let count = |counters: &Value, name: &str| counters[name].as_u64().unwrap_or(0);
        let mut after = Value::Null;
        wait_until(&format!("{} bytes are counted as {counter}", bytes.len()), || {
            after = self.counters();
            count(&after, counter) > count(&before, counter)
        });
        for (name, _) in after.as_object().unwrap() {
            if name == counter || name.starts_with("dropped_") || name.starts_with("link_dropped_") {
                let more = count(&after, name) - count(&before, name);
                assert_eq!(more, u64::from(name == counter), "{name} after {counter}");
            }
        }
    }

    fn counters(&self) -> Value {
        self.network.running.status_of(&self.target)["status"]["counters"].clone()
    }

    /// A packet for the target alone, as a sender makes it who has the document of that epoch.
    fn packet(&self, document: &str, shape: Shape) -> [u8; PACKET_LEN] {
        let said = motemix(["directory", "show", document, "--json"]).succeeds();
        let document: Value = serde_json::from_str(&said).unwrap();
        let nodes = document["nodes"].as_array().unwrap();
        let node = nodes.iter().find(|node| node["name"] == self.target.as_str()).unwrap();
        let mut mix_key = [0; 32];
        hex::decode_to_slice(node["mix_key"].as_str().unwrap(), &mut mix_key).unwrap();
        self.is_the_key_of(u32::try_from(document["epoch"].as_u64().unwrap()).unwrap(), PublicKey(mix_key));

        let id = NodeId::new(u16::try_from(node["id"].as_u64().unwrap()).unwrap()).unwrap();
        let path = [PathHop { id, mix_key: PublicKey(mix_key) }];
        let seed = hash::blake2s_256(b"stranger", format!("{shape:?}").as_bytes());
        let header = HeaderBuilder::<Mote>::new(&path, shape, seed).unwrap().build().unwrap();
        let mut packet = [0; PACKET_LEN];
        header.seal(MessageId([7; 4]), b"from a stranger", &mut packet).unwrap();
        packet
    }

    fn is_the_key_of(&self, epoch: u32, public: PublicKey) {
        let file = self.network.running.0.path(&format!("nodes/{}/node.key", self.target));
        let secret = NodeKey::load(file).unwrap().mix_secret(Epoch(epoch)).unwrap();
        assert_eq!(MixKey::new(*secret).public_key::<Portable>(), public);
    }
}

#[test]
fn hostile_datagrams_are_counted_and_never_answered() {
    let stranger = Stranger::arrive(&["--plain-links"]);
    let pid = stranger.network.running.pid(&stranger.target);

    for len in [0, 1, PACKET_LEN - 1, PACKET_LEN + 1, 9000, 65_507] {
        stranger.sends(&vec![0x5a; len], "dropped_wrong_length");
    }
    stranger.sends(&[0; PACKET_LEN], "dropped_non_contributory");
    let mut random = [0; PACKET_LEN];
    for (number, chunk) in random.chunks_mut(32).enumerate() {
        chunk.copy_from_slice(&hash::blake2s_256(b"random", &[number as u8]).expose()[..chunk.len()]);
    }
    stranger.sends(&random, "dropped_bad_header_mac");

    // What the node has seen before: as it was, and with one bit of each part flipped.
    let recording = stranger.network.recording();
    let seen = recording.into_iter().find(|recorded| recorded.to == stranger.target).unwrap().bytes;
    stranger.sends(&seen, "dropped_replayed");
    for (part, counter) in [
        ("group element", "dropped_bad_header_mac"),
        ("routing info", "dropped_bad_header_mac"),
        ("header mac", "dropped_bad_header_mac"),
        ("payload", "dropped_replayed"),
    ] {
        let mut flipped = seen.clone();
        flipped[where_is(part)] ^= 1;
        stranger.sends(&flipped, counter);
    }

    // Sound packets of a stranger: one that is taken, one damaged in its payload, one of a later
    // epoch.
    let documents = stranger.network.running.0.documents();
    let document = |at: usize| documents[at].to_str().unwrap();
    stranger.sends(&stranger.packet(stranger.network.running.dir(), Shape::Drop), "drops_received");
    let mut damaged = stranger.packet(stranger.network.running.dir(), Shape::OneWay);
    damaged[PACKET_LEN - 1] ^= 1;
    stranger.sends(&damaged, "dropped_bad_payload");
    let future = stranger.packet(document(documents.len() - 1), Shape::Drop);
    stranger.sends(&future, "dropped_bad_header_mac");

    // The node still forwards: a message takes other mixes each time, so it may need several.
    let forwarded = |stranger: &Stranger| stranger.counters()["forwarded"].as_u64().unwrap();
    let before = forwarded(&stranger);
    wait_until("the node has forwarded again", || {
        stranger.network.running.send("mote-2", "still well").succeeds();
        forwarded(&stranger) > before
    });
    assert_eq!(stranger.network.running.pid(&stranger.target), pid);
    stranger.socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let heard = stranger.socket.recv(&mut [0; 2 * PACKET_LEN]).unwrap_err().kind();
    assert!(matches!(heard, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{heard:?}");
}

#[test]
fn on_protected_links_nothing_of_a_stranger_is_taken_for_a_packet() {
    let stranger = Stranger::arrive(&[]);
    let recording = stranger.network.recording();
    let protected = |recorded: &&recorder::Recorded| recorded.to == stranger.target && recorded.bytes[0] == 2;
    let seen = recording.iter().find(protected).expect("a packet passed").bytes.clone();

    for len in [0, 1, PACKET_LEN, seen.len() - 1, seen.len() + 1, 9000, 65_507] {
        stranger.sends(&vec![0x5a; len], "link_dropped_unprotected");
    }
    let packet = stranger.packet(stranger.network.running.dir(), Shape::Drop);
    stranger.sends(&packet, "link_dropped_unprotected");
    // From an address that several nodes share, so their keys are tried.
    stranger.sends(&seen, "link_dropped_repeated_frame");
    for at in [1, 4, 5, seen.len() / 2, seen.len() - 1] {
        let mut flipped = seen.clone();
        flipped[at] ^= 1;
        stranger.sends(&flipped, "link_dropped_forged");
    }
    stranger.network.running.send("mote-2", "still well").succeeds();
    stranger.socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let heard = stranger.socket.recv(&mut [0; 2 * PACKET_LEN]).unwrap_err().kind();
    assert!(matches!(heard, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{heard:?}");
}

/// A byte in the middle of a part of a packet.
fn where_is(part: &str) -> usize {
    match part {
        "group element" => 16,
        "routing info" => 32 + 54,
        "header mac" => 32 + 108 + 8,
        _ => 280 - 50,
    }
}
