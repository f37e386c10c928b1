//! One mix, simulated: packets that come and go, and what an observer of both sides believes.
//!
//! The observer's belief is carried along whole: for each packet that ever came, the probability
//! that it is one particular of those inside. Whoever left is known as well, and how improbable the
//! observer thought it is the *surprise*, −log₂ of its probability. If the belief is right,
//! surprise and entropy have one mean; so the simulation also tests the argument that leads
//! to the belief.

use super::super::chance::{Chance, Purpose};
use super::super::estimate::{Estimate, Gathered};

/// Probabilities below this one are zero to an observer.
const FORGOTTEN: f64 = 1e-12;
/// Mean delays that a mix runs before anything is counted. The memory of its beginning halves in
/// less than one.
const BEFORE: f64 = 12.0;

/// What an observer of one mix does not know, in bits.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Hidden {
    /// Entropy of where a packet came from that just left.
    pub entropy: Estimate,
    /// How surprised the observer is by what is true.
    pub surprise: Estimate,
}

/// A packet inside: which one, and when it goes.
struct Inside {
    number: usize,
    leaves: f64,
}

/// `runs` of a mix with ρ = `pool`, each until `departures` packets have left. Means are over runs,
/// which are independent.
pub fn simulate(pool: f64, runs: u32, departures: u32, seed: u64) -> Hidden {
    let (mut entropy, mut surprise) = (Gathered::default(), Gathered::default());
    for more in 0..u64::from(runs) {
        let (one, other) = run(pool, departures, &mut Chance::of(seed + more, Purpose::Mix));
        entropy.add(one);
        surprise.add(other);
    }
    Hidden { entropy: entropy.estimate(), surprise: surprise.estimate() }
}

/// Mean entropy and surprise of one run. The unit of time is the mean delay.
fn run(pool: f64, departures: u32, chance: &mut Chance) -> (f64, f64) {
    let mut inside: Vec<Inside> = Vec::new();
    // Probabilities that one of those inside is this packet; all inside are alike to the observer.
    let mut belief: Vec<(usize, f64)> = Vec::new();
    let (mut entropy, mut surprise) = (Gathered::default(), Gathered::default());
    let (mut comes, mut number) = (chance.exponential(1.0 / pool), 0);
    while entropy.count() < departures {
        let first = inside.iter().enumerate().min_by(|one, other| one.1.leaves.total_cmp(&other.1.leaves));
        match first.map(|(at, packet)| (at, packet.leaves)) {
            Some((at, leaves)) if leaves < comes => {
                let left = inside.swap_remove(at);
                if leaves > BEFORE {
                    entropy.add(bits(&belief));
                    let of_it = belief.iter().find(|(number, _)| *number == left.number);
                    surprise.add(-libm::log2(of_it.map_or(FORGOTTEN, |(_, probability)| *probability)));
                }
                if inside.is_empty() {
                    belief.clear();
                }
            }
            _ => {
                inside.push(Inside { number, leaves: comes + chance.exponential(1.0) });
                let share = 1.0 / f64::from(u32::try_from(inside.len()).unwrap_or(u32::MAX));
                for (_, probability) in &mut belief {
                    *probability *= 1.0 - share;
                }
                belief.retain(|(_, probability)| *probability > FORGOTTEN);
                belief.push((number, share));
                number += 1;
                comes += chance.exponential(1.0 / pool);
            }
        }
    }
    (entropy.estimate().mean, surprise.estimate().mean)
}

fn bits(belief: &[(usize, f64)]) -> f64 {
    belief.iter().map(|(_, probability)| -probability * libm::log2(*probability)).sum()
}
