//! Nodes with their sessions, what is between them, and the time: no sockets and no clock.

use std::net::SocketAddr;
use std::time::Duration;

use motemix_crypto::{Curve as _, PublicKey, Secret};
use motemix_directory::Epoch;
use motemix_host::link::{Outbox, Outgoing, PAYLOAD_OVERHEAD, Sessions, SocketNetwork, SocketNode};
use motemix_link::Instant;
use motemix_link::counters::LinkDrop;
use motemix_os::curve::HostCurve;
use motemix_os::rng::HostRng;

pub const PACKET: usize = 280;
pub const DATAGRAM: usize = PACKET + PAYLOAD_OVERHEAD;
pub const TWO: [&str; 2] = ["10.0.0.1:4000", "10.0.0.2:4000"];

/// A node with its sessions.
pub struct Node {
    pub address: SocketAddr,
    pub secret: [u8; 32],
    pub sessions: Sessions,
    pub received: Vec<Vec<u8>>,
}

/// Nodes, what is between them, and the time.
pub struct World {
    pub nodes: Vec<Node>,
    pub now: Instant,
    pub epoch: u32,
    /// Datagrams under way: from where, to where.
    pub wire: Vec<(SocketAddr, SocketAddr, Vec<u8>)>,
}

pub fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

impl World {
    pub fn new(addresses: &[&str]) -> Self {
        let node = |(number, text): (usize, &&str)| Node {
            address: address(text),
            secret: [number as u8 + 1; 32],
            sessions: Sessions::new(PACKET, HostRng::new().expect("entropy")),
            received: Vec::new(),
        };
        let nodes = addresses.iter().enumerate().map(node).collect();
        let mut world = Self { nodes, now: Instant::default(), epoch: 6, wire: Vec::new() };
        world.next_epoch();
        world
    }

    /// All follow a document in which everybody is.
    pub fn next_epoch(&mut self) {
        self.epoch += 1;
        for place in 0..self.nodes.len() {
            self.follow(place, &(0..self.nodes.len()).collect::<Vec<_>>());
        }
    }

    /// One follows a document in which these are.
    pub fn follow(&mut self, place: usize, named: &[usize]) {
        let public = |secret: &[u8; 32]| HostCurve::public_key(&Secret::new(*secret));
        let nodes = named.iter().map(|other| {
            let Node { address, secret, .. } = &self.nodes[*other];
            let (addresses, mix_key) = (vec![*address], public(secret));
            SocketNode { name: other.to_string(), addresses, route: Some(*address), mix_key }
        });
        let nodes = nodes.collect();
        let secret = self.nodes[place].secret;
        let own_key: (Box<Secret<32>>, PublicKey) = (Box::new(Secret::new(secret)), public(&secret));
        let network = SocketNetwork { nodes, epoch: Epoch(self.epoch), own_key };
        self.nodes[place].sessions.follow(network);
    }

    pub fn restart(&mut self, place: usize) {
        self.nodes[place].sessions = Sessions::new(PACKET, HostRng::new().expect("entropy"));
        self.follow(place, &(0..self.nodes.len()).collect::<Vec<_>>());
    }

    pub fn send(&mut self, from: usize, to: usize, byte: u8) {
        self.send_packet(from, to, &[byte; PACKET]);
    }

    pub fn send_packet(&mut self, from: usize, to: usize, packet: &[u8; PACKET]) {
        let to = self.nodes[to].address;
        let Node { address, sessions, .. } = &mut self.nodes[from];
        let mut sealed = Outbox::new(DATAGRAM);
        sessions.seal(self.now, std::iter::once(Outgoing { to, bytes: packet }), &mut sealed);
        let datagrams = sealed.datagrams().map(|datagram| (*address, datagram.to, datagram.bytes.to_vec()));
        self.wire.extend(datagrams);
    }

    pub fn hand_in(&mut self, place: usize, from: SocketAddr, mut bytes: Vec<u8>) {
        let Node { sessions, received, .. } = &mut self.nodes[place];
        if let Some((len, _)) = sessions.open(self.now, Some(from), &mut bytes) {
            received.push(bytes[..len].to_vec());
        }
    }

    /// Everything arrives that `passes` lets through, for a second: a handshake takes less.
    pub fn settle(&mut self, passes: impl FnMut(&[u8]) -> bool) {
        self.pass(1, passes);
    }

    pub fn pass(&mut self, seconds: u64, mut passes: impl FnMut(&[u8]) -> bool) {
        for _ in 0..100 * seconds {
            self.now = self.now + Duration::from_millis(10);
            self.collect();
            self.deliver(&mut passes);
        }
    }

    pub fn collect(&mut self) {
        for Node { address, sessions, .. } in &mut self.nodes {
            sessions.poll(self.now);
            let leaving = sessions.leaving().map(|it| (*address, it.to, it.bytes.to_vec()));
            self.wire.extend(leaving);
            sessions.has_left();
        }
    }

    pub fn deliver(&mut self, mut passes: impl FnMut(&[u8]) -> bool) {
        for (from, to, bytes) in std::mem::take(&mut self.wire) {
            let place = self.nodes.iter().position(|node| node.address == to).expect("a node");
            if passes(&bytes) {
                self.hand_in(place, from, bytes);
            }
        }
    }

    pub fn received(&mut self, place: usize) -> Vec<u8> {
        self.nodes[place].received.drain(..).map(|packet| packet[0]).collect()
    }

    pub fn dropped(&self, place: usize, reason: LinkDrop) -> u64 {
        self.nodes[place].sessions.counters().dropped(reason)
    }
}
