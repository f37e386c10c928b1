//! A node of the document that has turned hostile: its neighbours have keys with it, and its
//! packets are sound.

use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use motemix_crypto::{Portable, PublicKey, hash};
use motemix_directory::Epoch;
use motemix_host::NodeKey;
use motemix_host::link::{Outbox, Outgoing, PAYLOAD_OVERHEAD, Sessions, SocketNetwork, SocketNode};
use motemix_os::clock::HostClock;
use motemix_os::rng::HostRng;
use motemix_sphinx::{HeaderBuilder, MessageId, MixKey, Mote, NodeId, PathHop, Shape};
use serde_json::Value;

use super::flood::Flood;
use super::{PACKET_LEN, World};

/// Packets that are ready before a flood begins. When all are sent it begins again with the first:
/// those cost the node a multiplication each, too.
const STOCK: u32 = 20_000;
/// After so many packets it looks for what the other side says about keys.
const TOGETHER: u32 = 64;

/// What its datagrams end with.
#[derive(Clone, Copy)]
pub enum Tag {
    Right,
    /// As whoever forges its address would have it.
    Wrong,
}

pub struct Hostile {
    socket: UdpSocket,
    sessions: Sessions,
    clock: HostClock,
    sealed: Outbox,
}

impl Hostile {
    /// Takes the place of a node that does not run.
    pub fn new(world: &World, name: &str) -> Self {
        let epoch = Epoch(world.epoch);
        let key = NodeKey::load(world.running.0.path(&format!("nodes/{name}/node.key"))).expect("a key");
        let secret = key.mix_secret(epoch).expect("the epoch's key");
        let public = MixKey::new(secret.duplicate()).public_key::<Portable>();
        assert_eq!(public, mix_key(world.node(name)), "the key of the epoch in force");
        let nodes = world.nodes.iter().map(|node| {
            let name = node["name"].as_str().expect("a name").to_owned();
            let at = world.address(&name);
            SocketNode { name, addresses: vec![at], route: Some(at), mix_key: mix_key(node) }
        });
        let network = SocketNetwork { nodes: nodes.collect(), epoch, own_key: (secret, public) };
        let mut sessions = Sessions::new(PACKET_LEN, HostRng::new().expect("entropy"));
        sessions.follow(network);
        let socket = UdpSocket::bind(world.address(name)).expect("the node does not run");
        socket.set_nonblocking(true).expect("a socket that does not wait");
        let sealed = Outbox::new(PACKET_LEN + PAYLOAD_OVERHEAD);
        Self { socket, sessions, clock: HostClock::start(), sealed }
    }

    /// Makes a key with a node.
    pub fn meet(&mut self, to: SocketAddr) {
        let end = Instant::now() + Duration::from_secs(60);
        while !self.send(to, &[0; PACKET_LEN], Tag::Right) {
            assert!(Instant::now() < end, "no key");
            self.talk();
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends a packet under the key, or what looks like it; `false`: there is none.
    fn send(&mut self, to: SocketAddr, packet: &[u8], tag: Tag) -> bool {
        self.sealed.clear();
        let packet = Outgoing { to, bytes: packet };
        self.sessions.seal(self.clock.now(), std::iter::once(packet), &mut self.sealed);
        let mut left = false;
        for datagram in self.sealed.datagrams() {
            let mut bytes = datagram.bytes.to_vec();
            if let (Tag::Wrong, Some(last)) = (tag, bytes.last_mut()) {
                *last ^= 1;
            }
            left |= self.socket.send_to(&bytes, datagram.to).is_ok();
        }
        left
    }

    /// Handshakes go on.
    fn talk(&mut self) {
        let mut buffer = [0; 2 * PACKET_LEN];
        while let Ok((len, from)) = self.socket.recv_from(&mut buffer) {
            let _ = self.sessions.open(self.clock.now(), Some(from), &mut buffer[..len]);
        }
        self.sessions.poll(self.clock.now());
        for outgoing in self.sessions.leaving() {
            let _ = self.socket.send_to(outgoing.bytes, outgoing.to);
        }
        self.sessions.has_left();
    }

    /// Sends these packets again and again, until the flood ends.
    pub fn flood(mut self, to: SocketAddr, stock: Vec<[u8; PACKET_LEN]>, tag: Tag) -> Flood {
        let mut next = 0;
        Flood::by(move || {
            let mut sent = 0;
            for _ in 0..TOGETHER {
                sent += u64::from(self.send(to, &stock[next], tag));
                next = (next + 1) % stock.len();
            }
            self.talk();
            sent
        })
    }
}

fn mix_key(node: &Value) -> PublicKey {
    let mut key = [0; 32];
    hex::decode_to_slice(node["mix_key"].as_str().expect("a key"), &mut key).expect("a key");
    PublicKey(key)
}

/// Packets that pass these nodes and end at the last one, all different.
pub fn stock(world: &World, hops: &[&str]) -> Vec<[u8; PACKET_LEN]> {
    let hop = |name: &&str| {
        let node = world.node(name);
        let id = NodeId::new(u16::try_from(node["id"].as_u64().expect("an id")).expect("16 bits"));
        PathHop { id: id.expect("an id"), mix_key: mix_key(node) }
    };
    let path: Vec<_> = hops.iter().map(hop).collect();
    let label = hops.join(" ");
    let packet = |number: u32| {
        let seed = hash::blake2s_256(label.as_bytes(), &number.to_be_bytes());
        let header = HeaderBuilder::<Mote>::new(&path, Shape::Drop, seed).expect("a path");
        let mut packet = [0; PACKET_LEN];
        let sealed = header.build().expect("a header").seal(MessageId([7; 4]), b"", &mut packet);
        sealed.expect("a packet");
        packet
    };
    (0..STOCK).map(packet).collect()
}
