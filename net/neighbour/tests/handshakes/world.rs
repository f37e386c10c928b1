//! Neighbours that call each other, and the air between them, which loses, delays and repeats.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

use chacha20::ChaCha20Rng;
use motemix_crypto::{AsReceived, BoardCurve, Curve, PublicKey, Secret, SharedSecret};
use motemix_neighbour::edhoc::{CoseKey, Suite0, WithoutSignatures};
use motemix_neighbour::handshakes::{
    Admission, Admitted, Event, Failure, HandshakeDrop, Handshakes, Identity, Peer,
};
use motemix_time::Instant;
use proptest::prelude::*;
use rand_core::SeedableRng as _;

thread_local! {
    pub static MULTIPLICATIONS: Cell<u32> = const { Cell::new(0) };
}

/// X25519 that counts how often it multiplies.
pub struct Counting;

impl Curve for Counting {
    type Point = AsReceived<Self>;

    fn public_key(secret: &Secret<32>) -> PublicKey {
        MULTIPLICATIONS.set(MULTIPLICATIONS.get() + 1);
        BoardCurve::public_key(secret)
    }

    fn diffie_hellman(secret: &Secret<32>, point: &PublicKey) -> Option<SharedSecret> {
        MULTIPLICATIONS.set(MULTIPLICATIONS.get() + 1);
        BoardCurve::diffie_hellman(secret, point)
    }
}

pub type Suite = WithoutSignatures<Suite0<Counting>>;

#[derive(Clone, Default)]
pub struct List(pub BTreeMap<Peer, Admitted>);

impl Admission for List {
    fn admitted(&self, peer: Peer) -> Option<Admitted> {
        self.0.get(&peer).copied()
    }
}

pub struct Node {
    pub me: Peer,
    pub secret: [u8; 32],
    pub handshakes: Handshakes<Suite>,
    pub list: List,
    pub rng: ChaCha20Rng,
    pub events: Vec<Event>,
    /// The most multiplications in one call of any kind.
    pub most: u32,
}

pub fn peer(number: u8) -> Peer {
    Peer([number; 8])
}

pub fn admitted(secret: [u8; 32], kid: u8) -> Admitted {
    Admitted { key: CoseKey::X25519(BoardCurve::public_key(&Secret::new(secret)).0), kid }
}

impl Node {
    pub fn new(number: u8, seed: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed * 1000 + u64::from(number));
        let mut secret = [0; 32];
        rng.fill_bytes(&mut secret);
        let suite = WithoutSignatures(Suite0::new());
        let mut handshakes = Handshakes::new(suite, peer(number), &mut rng);
        handshakes.set_identity(Some(Identity::new(Secret::new(secret), admitted(secret, 3))));
        Self { me: peer(number), secret, handshakes, list: List::default(), rng, events: Vec::new(), most: 0 }
    }

    /// The key that a handshake ended with.
    pub fn key(&self, with: Peer) -> Option<[u8; 16]> {
        self.events.iter().rev().find_map(|event| match event {
            Event::Key { peer, key, .. } if *peer == with => Some(*key.expose()),
            _ => None,
        })
    }

    /// The key that is left: who is told of a failure forgets the one that it had.
    pub fn last_key(&self) -> Option<[u8; 16]> {
        match self.events.last()? {
            Event::Key { key, .. } => Some(*key.expose()),
            Event::Failed { .. } => None,
        }
    }

    pub fn failure(&self) -> Option<Failure> {
        self.events.iter().rev().find_map(|event| match event {
            Event::Failed { reason, .. } => Some(*reason),
            Event::Key { .. } => None,
        })
    }

    pub fn dropped(&self) -> Vec<(HandshakeDrop, u32)> {
        let counters = self.handshakes.counters();
        let all = HandshakeDrop::ALL.iter().map(|reason| (*reason, counters.dropped(*reason)));
        all.filter(|(_, count)| *count > 0).collect()
    }
}

/// A message on its way.
#[derive(Clone, Debug)]
pub struct Sent {
    pub at: Instant,
    pub from: Peer,
    pub to: Peer,
    pub bytes: Vec<u8>,
}

/// How often a message arrives, and after how many milliseconds each time.
pub type Fate = Box<dyn FnMut(&Sent) -> Vec<u64>>;

pub struct World {
    pub now: Instant,
    pub nodes: Vec<Node>,
    pub under_way: Vec<Sent>,
    pub sent: Vec<Sent>,
    pub fate: Fate,
}

impl World {
    /// Nodes that all admit each other.
    pub fn new(count: u8, seed: u64) -> Self {
        let mut nodes: Vec<_> = (1..=count).map(|number| Node::new(number, seed)).collect();
        let list = List(nodes.iter().map(|node| (node.me, admitted(node.secret, 3))).collect());
        for node in &mut nodes {
            node.list = list.clone();
        }
        Self {
            now: Instant::from_micros(50_000_000),
            nodes,
            under_way: Vec::new(),
            sent: Vec::new(),
            fate: Box::new(|_| vec![3]),
        }
    }

    pub fn call(&mut self, from: usize, to: usize) {
        let to = self.nodes[to].me;
        let node = &mut self.nodes[from];
        node.handshakes.call(self.now, to, &node.list);
    }

    pub fn run(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            self.settle();
            let timeouts = self.nodes.iter().filter_map(|node| node.handshakes.poll_timeout());
            let next = timeouts.chain(self.under_way.iter().map(|sent| sent.at)).min();
            let Some(next) = next.filter(|next| *next <= until) else { break };
            assert!(next > self.now, "what is due now was done: {next:?} {:?}", self.now);
            self.now = next;
        }
        self.now = until;
        self.settle();
    }

    pub fn settle(&mut self) {
        for _ in 0..10_000 {
            let mut moved = false;
            let due: Vec<_> = self.under_way.extract_if(.., |sent| sent.at <= self.now).collect();
            for sent in due {
                if let Some(node) = self.nodes.iter_mut().find(|node| node.me == sent.to) {
                    let _ = node.handshakes.handle(self.now, sent.from, &sent.bytes, &node.list);
                    moved = true;
                }
            }
            for node in &mut self.nodes {
                MULTIPLICATIONS.set(0);
                node.handshakes.handle_timeout(self.now);
                moved |= node.handshakes.work(self.now, &node.list, &mut node.rng);
                node.most = node.most.max(MULTIPLICATIONS.get());
                while let Some(event) = node.handshakes.poll_event() {
                    node.events.push(event);
                    moved = true;
                }
                while let Some(transmit) = node.handshakes.poll_transmit(self.now) {
                    let bytes = transmit.as_bytes().to_vec();
                    let sent = Sent { at: self.now, from: node.me, to: transmit.to, bytes };
                    for after in (self.fate)(&sent) {
                        let at = self.now + Duration::from_millis(after);
                        self.under_way.push(Sent { at, ..sent.clone() });
                    }
                    self.sent.push(sent);
                    moved = true;
                }
            }
            if !moved {
                return;
            }
        }
        panic!("the nodes do not come to rest");
    }

    pub fn keys(&self) -> [Option<[u8; 16]>; 2] {
        [self.nodes[0].key(self.nodes[1].me), self.nodes[1].key(self.nodes[0].me)]
    }
}
