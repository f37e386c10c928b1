//! Two neighbours make keys while a stranger alters, repeats, delays and invents messages, and time
//! passes: neither panics, answers a stranger or has a key with one, and afterwards a call succeeds.
#![cfg_attr(fuzzing, no_main)]

use std::collections::VecDeque;
use std::time::Duration;

use arbitrary::Arbitrary;
use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use motemix_crypto::{Curve, Secret};
use motemix_fuzz::{Damage, Toy, fuzz_target};
use motemix_link::Instant;
use motemix_neighbour::edhoc::{CoseKey, Suite0, WithoutSignatures};
use motemix_neighbour::handshakes::{Admission, Admitted, Event, Handshakes, Identity, Peer};

type Suite = WithoutSignatures<Suite0<Toy>>;

#[derive(Arbitrary, Debug)]
enum Step {
    /// One calls the other.
    Call {
        from: bool,
    },
    /// The message that is oldest under way arrives, perhaps altered.
    Arrive {
        damage: Option<Damage>,
    },
    /// It arrives after all others.
    Late,
    Lose,
    /// A message of before arrives, perhaps altered, at either side.
    Again {
        to: bool,
        which: u16,
        damage: Option<Damage>,
    },
    /// The fuzzer's, in the name of the other side or of a stranger.
    Invented {
        to: bool,
        from: u8,
        message: Vec<u8>,
    },
    /// One step of one side.
    Work {
        of: bool,
    },
    Wait {
        millis: u16,
    },
    Undelivered {
        of: bool,
    },
    /// It is of another epoch from now on.
    Identity {
        of: bool,
        kid: Option<u8>,
    },
}

struct Message {
    from: usize,
    to: usize,
    bytes: Vec<u8>,
}

struct Node {
    handshakes: Handshakes<Suite>,
    rng: ChaCha20Rng,
    /// Keys that it was told, oldest first.
    keys: Vec<[u8; 16]>,
}

/// Both, each under the name that it has of itself.
struct List([Admitted; 2]);

impl Admission for List {
    fn admitted(&self, peer: Peer) -> Option<Admitted> {
        (0..2).find(|&of| self::peer(of) == peer).map(|of| self.0[of])
    }
}

struct World {
    now: Instant,
    nodes: [Node; 2],
    list: List,
    under_way: VecDeque<Message>,
    sent: Vec<Message>,
}

fuzz_target!(|steps: Vec<Step>| {
    let nodes = [0, 1].map(|of| {
        let mut rng = ChaCha20Rng::seed_from_u64(of as u64);
        let mut handshakes = Handshakes::new(WithoutSignatures(Suite0::new()), peer(of), &mut rng);
        handshakes.set_identity(Some(identity(of, 0)));
        Node { handshakes, rng, keys: Vec::new() }
    });
    let list = List([0, 1].map(|of| admitted(of, 0)));
    let now = Instant::from_micros(100_000_000);
    let mut world = World { now, nodes, list, under_way: VecDeque::new(), sent: Vec::new() };
    for step in steps {
        match step {
            Step::Call { from } => world.call(from.into()),
            Step::Arrive { damage } => {
                if let Some(message) = world.under_way.pop_front() {
                    world.arrive(message.from, message.to, message.bytes, damage);
                }
            }
            Step::Late => {
                if !world.under_way.is_empty() {
                    world.under_way.rotate_left(1);
                }
            }
            Step::Lose => drop(world.under_way.pop_front()),
            Step::Again { to, which, damage } => {
                if !world.sent.is_empty() {
                    let bytes = world.sent[usize::from(which) % world.sent.len()].bytes.clone();
                    world.arrive(usize::from(!to), to.into(), bytes, damage);
                }
            }
            Step::Invented { to, from, message } => world.arrive(from.into(), to.into(), message, None),
            Step::Work { of } => world.work(of.into()),
            Step::Wait { millis } => world.now = world.now + Duration::from_millis(millis.into()),
            Step::Undelivered { of } => {
                let of = usize::from(of);
                world.nodes[of].handshakes.undelivered(peer(1 - of));
            }
            Step::Identity { of, kid } => {
                let of = usize::from(of);
                let identity = kid.map(|kid| identity(of, kid % 24));
                if let Some(kid) = kid {
                    world.list.0[of] = admitted(of, kid % 24);
                }
                world.nodes[of].handshakes.set_identity(identity);
            }
        }
        world.transmit();
    }
    // Both are of one epoch again. What is under way ends within its time.
    for of in [0, 1] {
        world.list.0[of] = admitted(of, 5);
        world.nodes[of].handshakes.set_identity(Some(identity(of, 5)));
    }
    world.run(Duration::from_secs(40));
    for from in [0, 1] {
        let before = world.nodes.each_ref().map(|node| node.keys.len());
        world.call(from);
        world.run(Duration::from_secs(20));
        let after = world.nodes.each_ref().map(|node| node.keys.len());
        assert!(after == before.map(|keys| keys + 1), "one key each: {before:?} {after:?}");
        assert_eq!(world.nodes[0].keys.last(), world.nodes[1].keys.last());
    }
});

impl World {
    fn call(&mut self, from: usize) {
        self.nodes[from].handshakes.call(self.now, peer(1 - from), &self.list);
    }

    fn arrive(&mut self, from: usize, to: usize, mut bytes: Vec<u8>, damage: Option<Damage>) {
        if let Some(damage) = damage.filter(|_| !bytes.is_empty()) {
            damage.apply(&mut bytes);
        }
        // What is dropped is counted.
        let _ = self.nodes[to].handshakes.handle(self.now, peer(from), &bytes, &self.list);
        self.events(to);
    }

    fn work(&mut self, of: usize) {
        let Node { handshakes, rng, .. } = &mut self.nodes[of];
        handshakes.handle_timeout(self.now);
        handshakes.work(self.now, &self.list, rng);
        self.events(of);
    }

    fn events(&mut self, of: usize) {
        while let Some(event) = self.nodes[of].handshakes.poll_event() {
            if let Event::Key { peer: with, key, .. } = event {
                assert_eq!(with, peer(1 - of), "a key with a stranger");
                self.nodes[of].keys.push(*key.expose());
            }
        }
    }

    fn transmit(&mut self) {
        for from in [0, 1] {
            while let Some(transmit) = self.nodes[from].handshakes.poll_transmit(self.now) {
                assert_eq!(transmit.to, peer(1 - from), "a stranger is answered");
                let bytes = transmit.as_bytes().to_vec();
                self.sent.push(Message { from, to: 1 - from, bytes: bytes.clone() });
                self.under_way.push_back(Message { from, to: 1 - from, bytes });
            }
        }
    }

    /// For a while nobody disturbs them.
    fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            for _ in 0..20 {
                self.work(0);
                self.work(1);
                self.transmit();
                while let Some(message) = self.under_way.pop_front() {
                    self.arrive(message.from, message.to, message.bytes, None);
                }
                if !self.nodes.iter().any(|node| node.handshakes.has_work()) {
                    break;
                }
            }
            self.now = self.now + Duration::from_millis(100);
        }
    }
}

fn peer(number: usize) -> Peer {
    Peer([number as u8; 8])
}

fn secret(of: usize) -> Secret<32> {
    Secret::new([of as u8 + 1; 32])
}

fn admitted(of: usize, kid: u8) -> Admitted {
    Admitted { key: CoseKey::X25519(Toy::public_key(&secret(of)).0), kid }
}

fn identity(of: usize, kid: u8) -> Identity<Suite> {
    Identity::new(secret(of), admitted(of, kid))
}
