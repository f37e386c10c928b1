//! Layers of mixes, simulated, under an observer of every link for whom some of the mixes work.
//!
//! The observer follows probability mass through the network, as the authors of Loopix do (section
//! 4.3 of their paper). An honest mix gives each packet that leaves the mean of the masses inside;
//! a corrupt one tells which packet is which, so each keeps its own. Three masses are followed:
//!
//! * of one packet, the target, from where it enters to all that leave the last layer: who gets it?
//! * of all packets of its sender S₀, and of all of one other user S₁, to the target where it
//!   leaves: whose is it?
//!
//! All users send alike. Time is in units of the mean delay of one mix.

use super::super::chance::{Chance, Purpose};
use super::super::estimate::{Estimate, Gathered};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A network, and who watches it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Network {
    /// Layers of mixes that a packet passes.
    pub layers: u32,
    /// Mixes in each of them.
    pub width: u32,
    /// ρ = λ/μ of each mix.
    pub pool: f64,
    /// The probability that a mix works for the observer.
    pub corrupt: f64,
    /// Users who send, two at least, and receive.
    pub users: u32,
}

/// What one target showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// Entropy of which packet is the target after the last layer, bits.
    pub packet_bits: f64,
    /// Entropy of which user gets it if the observer sees who gets which packet, bits.
    pub user_bits: f64,
    /// −log₂ of the mass of the target on the packet that it is: of the same mean as `packet_bits`
    /// if the observer is right.
    pub surprise: f64,
    /// Masses of S₀ and of S₁ on the target.
    pub masses: [f64; 2],
}

/// What many targets showed.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Linkability {
    /// Mean of [`Trial::packet_bits`].
    pub packet_bits: Estimate,
    /// Mean of [`Trial::user_bits`].
    pub user_bits: Estimate,
    /// Mean of [`Trial::surprise`].
    pub surprise: Estimate,
    /// The probability that the observer gives S₀ if it has to be S₀ or S₁: ½ is nothing, 1 is
    /// certainty.
    pub guess: Estimate,
    /// E[ε], ε = |ln(p₀/p₁)|, over the targets of which the observer is not certain.
    pub epsilon: Estimate,
    /// δ: the share of targets of which it is certain: S₁ has less than a millionth of the two
    /// masses.
    pub certain: Estimate,
}

/// Whose share is less than this is not believed to have sent a packet.
const CERTAIN: f64 = 1e-6;
/// A run ends when less of the target than this is in the network.
const NOTHING: f64 = 1e-9;
/// Mean delays for each layer before the target is sent.
const BEFORE: f64 = 8.0;
/// Billionths of the mean delay: events are ordered by whole numbers.
const TICKS: f64 = 1e9;

type Masses = [f64; 3];

/// A packet on its way.
#[derive(Clone, Copy)]
struct Packet {
    masses: Masses,
    layer: u32,
    mix: u32,
    is_target: bool,
}

/// What an honest mix has inside, as the observer knows it.
#[derive(Clone, Default)]
struct Pool {
    packets: u32,
    masses: Masses,
}

impl Network {
    /// One target.
    pub fn trial(&self, seed: u64) -> Trial {
        Run::new(self, Chance::of(seed, Purpose::Network)).finish()
    }

    /// `trials` targets, each in a network of its own.
    pub fn linkability(&self, trials: u32, seed: u64) -> Linkability {
        (0..u64::from(trials)).map(|more| self.trial(seed + more)).collect()
    }
}

impl FromIterator<Trial> for Linkability {
    fn from_iter<I: IntoIterator<Item = Trial>>(trials: I) -> Self {
        let [mut packets, mut users, mut surprise, mut guess, mut epsilon, mut certain] =
            [Gathered::default(); 6];
        for trial in trials {
            packets.add(trial.packet_bits);
            users.add(trial.user_bits);
            surprise.add(trial.surprise);
            let [one, other] = trial.masses;
            guess.add(one / (one + other));
            let is_certain = other < CERTAIN * (one + other);
            certain.add(f64::from(u8::from(is_certain)));
            if !is_certain {
                epsilon.add(libm::fabs(libm::log(one / other)));
            }
        }
        Self {
            packet_bits: packets.estimate(),
            user_bits: users.estimate(),
            surprise: surprise.estimate(),
            guess: guess.estimate(),
            epsilon: epsilon.estimate(),
            certain: certain.estimate(),
        }
    }
}

struct Run<'n> {
    network: &'n Network,
    chance: Chance,
    /// Whether each mix is corrupt, and what is in the honest ones; layer by layer.
    corrupt: Vec<bool>,
    pools: Vec<Pool>,
    packets: Vec<Packet>,
    free: Vec<usize>,
    /// When which packet leaves its mix.
    leaving: BinaryHeap<Reverse<(u64, usize)>>,
    /// Mass of the target that has left the last layer, what it was worth, and who got it.
    left: f64,
    packet_bits: f64,
    of_users: Vec<f64>,
    target: Option<(f64, [f64; 2])>,
}

impl<'n> Run<'n> {
    fn new(network: &'n Network, mut chance: Chance) -> Self {
        let mixes = (network.layers * network.width) as usize;
        let corrupt = (0..mixes).map(|_| chance.happens(network.corrupt)).collect();
        let mut run = Self {
            network,
            chance,
            corrupt,
            pools: vec![Pool::default(); mixes],
            packets: Vec::new(),
            free: Vec::new(),
            leaving: BinaryHeap::new(),
            left: 0.0,
            packet_bits: 0.0,
            of_users: vec![0.0; network.users as usize],
            target: None,
        };
        // As many as there are at any time. They are nobody's, and forgotten when the target is
        // sent.
        for layer in 0..network.layers {
            for mix in 0..network.width {
                for _ in 0..run.chance.poisson(network.pool) {
                    run.enter(0, Packet { masses: [0.0; 3], layer, mix, is_target: false });
                }
            }
        }
        run
    }

    fn finish(mut self) -> Trial {
        let rate = self.network.pool * f64::from(self.network.width);
        let sent_at = ticks(BEFORE * f64::from(self.network.layers));
        let mut comes = ticks(self.chance.exponential(1.0 / rate));
        let mut is_sent = false;
        while self.target.is_none() || self.left < 1.0 - NOTHING {
            let leaves = self.leaving.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
            let next_sent = if is_sent { u64::MAX } else { sent_at };
            if next_sent <= comes.min(leaves) {
                self.send(sent_at, [1.0, 1.0, 0.0], true);
                is_sent = true;
            } else if comes <= leaves {
                let masses = match self.chance.below(self.network.users) {
                    0 => [0.0, 1.0, 0.0],
                    1 => [0.0, 0.0, 1.0],
                    _ => [0.0; 3],
                };
                self.send(comes, masses, false);
                comes += ticks(self.chance.exponential(1.0 / rate));
            } else if let Some(Reverse((at, packet))) = self.leaving.pop() {
                self.leave(at, packet);
            }
        }
        let (of_target, masses) = self.target.unwrap_or((1.0, [1.0, 0.0]));
        Trial {
            packet_bits: self.packet_bits,
            user_bits: self.of_users.iter().copied().map(part).sum(),
            surprise: -libm::log2(of_target.max(NOTHING)),
            masses,
        }
    }

    /// A packet enters the first layer.
    fn send(&mut self, at: u64, masses: Masses, is_target: bool) {
        let mix = self.chance.below(self.network.width);
        self.enter(at, Packet { masses, layer: 0, mix, is_target });
    }

    fn enter(&mut self, at: u64, packet: Packet) {
        let pool = &mut self.pools[(packet.layer * self.network.width + packet.mix) as usize];
        pool.packets += 1;
        for (inside, mass) in pool.masses.iter_mut().zip(packet.masses) {
            *inside += mass;
        }
        let place = if let Some(place) = self.free.pop() {
            self.packets[place] = packet;
            place
        } else {
            self.packets.push(packet);
            self.packets.len() - 1
        };
        self.leaving.push(Reverse((at + ticks(self.chance.exponential(1.0)), place)));
    }

    fn leave(&mut self, at: u64, place: usize) {
        let mut packet = self.packets[place];
        self.free.push(place);
        let number = (packet.layer * self.network.width + packet.mix) as usize;
        let pool = &mut self.pools[number];
        if !self.corrupt[number] {
            packet.masses = pool.masses.map(|mass| mass / f64::from(pool.packets));
        }
        pool.packets -= 1;
        for (inside, mass) in pool.masses.iter_mut().zip(packet.masses) {
            // What remains of subtracting is not mass.
            *inside = if pool.packets == 0 { 0.0 } else { (*inside - mass).max(0.0) };
        }
        packet.layer += 1;
        if packet.layer < self.network.layers {
            packet.mix = self.chance.below(self.network.width);
            self.enter(at, packet);
        } else {
            let [mass, one, other] = packet.masses;
            self.left += mass;
            self.packet_bits += part(mass);
            let receiver = self.chance.below(self.network.users);
            self.of_users[receiver as usize] += mass;
            if packet.is_target {
                self.target = Some((mass, [one, other]));
            }
        }
    }
}

/// −p log₂ p.
fn part(probability: f64) -> f64 {
    if probability > 0.0 { -probability * libm::log2(probability) } else { 0.0 }
}

#[allow(clippy::cast_sign_loss, reason = "delays are not negative")]
fn ticks(delay: f64) -> u64 {
    libm::round(delay * TICKS) as u64
}
