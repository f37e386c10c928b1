//! Wires between nodes, with somebody on them. Each node has an address of its own on the loopback
//! interface, and behind it a port that only the wires know: whatever others send it passes here,
//! in both directions of each link. What comes out of the wires has the sender's address and
//! another port, as behind a translator of addresses.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread;

use rand_core::{Rng as _, SeedableRng as _};

/// A datagram that passed, between nodes told by their numbers.
#[derive(Clone)]
pub struct Seen {
    pub from: usize,
    pub to: usize,
    pub bytes: Vec<u8>,
}

pub struct Wires {
    ends: Vec<(SocketAddr, SocketAddr)>,
    channel: Arc<Mutex<Channel>>,
}

struct Channel {
    seen: Vec<Seen>,
    rng: chacha20::ChaCha20Rng,
    /// Probabilities, in units of 2^-32.
    lost: u64,
    repeated: u64,
    held_back: u64,
    held: HashMap<(usize, usize), Vec<u8>>,
    /// By sender.
    sockets: HashMap<usize, UdpSocket>,
}

fn ip(node: usize) -> IpAddr {
    Ipv4Addr::new(127, 0, 7, 1 + node as u8).into()
}

fn node_at(address: SocketAddr) -> usize {
    match address.ip() {
        IpAddr::V4(v4) => usize::from(v4.octets()[3]) - 1,
        IpAddr::V6(_) => unreachable!("the wires are of IPv4"),
    }
}

pub const SEED: u64 = 14;

impl Wires {
    pub fn new(nodes: usize) -> Self {
        let channel = Arc::new(Mutex::new(Channel {
            seen: Vec::new(),
            rng: chacha20::ChaCha20Rng::seed_from_u64(SEED),
            lost: 0,
            repeated: 0,
            held_back: 0,
            held: HashMap::new(),
            sockets: HashMap::new(),
        }));
        let ends = (0..nodes).map(|node| {
            let wire = UdpSocket::bind((ip(node), 0)).expect("a port");
            // It is free again when the node binds it.
            let behind = UdpSocket::bind((ip(node), 0)).expect("a port").local_addr().expect("bound");
            let outside = wire.local_addr().expect("bound");
            let channel = Arc::clone(&channel);
            thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok((len, from)) = wire.recv_from(&mut buffer) {
                    let mut channel = channel.lock().expect("nobody panicked");
                    channel.pass(node_at(from), node, behind, &buffer[..len]);
                }
            });
            (outside, behind)
        });
        Self { ends: ends.collect(), channel }
    }

    /// As the document has them.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.ends.iter().map(|(outside, _)| *outside).collect()
    }

    /// Where a node listens.
    pub fn behind(&self, node: usize) -> SocketAddr {
        self.ends[node].1
    }

    pub fn lose(&self, probability: f64) {
        self.lock().lost = scaled(probability);
    }

    pub fn repeat(&self, probability: f64) {
        self.lock().repeated = scaled(probability);
    }

    /// Until the next one on the same way has passed.
    pub fn hold_back(&self, probability: f64) {
        self.lock().held_back = scaled(probability);
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.lock().seen.clone()
    }

    pub fn forget(&self) {
        self.lock().seen.clear();
    }

    /// Sends a node something in the name of another.
    pub fn inject(&self, from: usize, to: usize, bytes: &[u8]) {
        self.lock().send(from, self.behind(to), bytes);
    }

    pub fn inject_from_a_stranger(&self, to: usize, bytes: &[u8]) {
        self.lock().send(99, self.behind(to), bytes);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Channel> {
        self.channel.lock().expect("nobody panicked")
    }
}

#[expect(clippy::cast_sign_loss, reason = "the product is 0 to 2^32")]
fn scaled(probability: f64) -> u64 {
    (probability * 4_294_967_296.0) as u64
}

impl Channel {
    fn pass(&mut self, from: usize, to: usize, behind: SocketAddr, bytes: &[u8]) {
        self.seen.push(Seen { from, to, bytes: bytes.to_vec() });
        if self.draw(self.lost) {
            return;
        }
        let before = self.held.remove(&(from, to));
        if before.is_none() && self.draw(self.held_back) {
            self.held.insert((from, to), bytes.to_vec());
            return;
        }
        self.send(from, behind, bytes);
        if self.draw(self.repeated) {
            self.send(from, behind, bytes);
        }
        if let Some(before) = before {
            self.send(from, behind, &before);
        }
    }

    fn draw(&mut self, threshold: u64) -> bool {
        u64::from(self.rng.next_u32()) < threshold
    }

    fn send(&mut self, from: usize, to: SocketAddr, bytes: &[u8]) {
        let socket =
            self.sockets.entry(from).or_insert_with(|| UdpSocket::bind((ip(from), 0)).expect("a port"));
        // A node that was stopped is not there.
        let _ = socket.send_to(bytes, to);
    }
}
