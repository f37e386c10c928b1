//! Which packet that left a node is which that came.
//!
//! For each node the observer keeps the packets that may be inside. One that came is, so far as it can tell, over (its
//! path ended here, or it was lost), gone, or inside. One that leaves is each of those inside with a probability in
//! proportion to the hazard of its dwell time, or began here in proportion to the rate with which packets do. With
//! exponential delays alone all hazards are the same, and this is the pool of Serjantov and Danezis, "Towards an
//! Information Theoretic Metric for Anonymity", PET 2002, as Piotrowska et al. use it in "The Loopix Anonymity System",
//! USENIX Security 2017, section 4.1.3. Without delays the hazards follow the time that a board computes.
//!
//! Path lengths are public, so with each transfer goes a distribution over the stages it may be at.

use super::knowledge::{Network, PURPOSES, Stage};
use super::sniffer::Transfer;
use motemix_air::Instant;

/// Packets that vanish in a node although their path goes on.
const LOST: f64 = 0.01;
/// A packet that is hardly there is not looked at any more.
const FORGOTTEN: f64 = 1e-6;

/// Where a transfer's packet may have come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    /// Earlier transfers to its sender.
    pub causes: Vec<Cause>,
    /// Probabilities that it is a packet of its sender, by purpose.
    pub begun: [f64; 3],
    /// Probabilities of the stages, in the order of [`Network::place`].
    pub stages: Vec<f64>,
}

/// An earlier transfer that may be the same packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cause {
    pub transfer: u32,
    /// Times the earlier one's probability of a stage: the later one's of the next stage.
    pub factor: f64,
}

/// One that may be inside.
struct Guest {
    transfer: u32,
    arrived: Instant,
    /// Probabilities; what is missing to one has left already.
    over: f64,
    inside: f64,
    /// When they were last true.
    survival: f64,
}

/// Finds the origins of all transfers, which come in the order of their begins.
pub(crate) fn origins(network: &Network, transfers: &[Transfer]) -> Vec<Origin> {
    let mut pools: Vec<Vec<Guest>> = network.nodes.iter().map(|_| Vec::new()).collect();
    let mut origins: Vec<Origin> = vec![Origin::default(); transfers.len()];
    for Step { at, number, arrives } in schedule(transfers) {
        let index = number as usize;
        let Some(transfer) = transfers.get(index) else { continue };
        let node = if arrives { transfer.to } else { transfer.from };
        let Some(pool) = pools.get_mut(usize::from(node)) else { continue };
        if arrives {
            let over = LOST + (1.0 - LOST) * ended(network, &origins[index].stages);
            pool.push(Guest { transfer: number, arrived: at, over, inside: 1.0 - over, survival: 1.0 });
        } else {
            origins[index] = leave(network, pool, transfer, at, &origins);
        }
    }
    origins
}

struct Step {
    at: Instant,
    arrives: bool,
    number: u32,
}

/// Arrivals before departures of the same moment.
fn schedule(transfers: &[Transfer]) -> Vec<Step> {
    let mut steps = Vec::with_capacity(2 * transfers.len());
    for (number, transfer) in (0_u32..).zip(transfers) {
        steps.push(Step { at: transfer.begin, arrives: false, number });
        steps.extend(transfer.end.map(|at| Step { at, arrives: true, number }));
    }
    steps.sort_by_key(|step| (step.at, !step.arrives, step.number));
    steps
}

fn ended(network: &Network, stages: &[f64]) -> f64 {
    let last = PURPOSES.map(|purpose| Stage { purpose, hop: network.last_hop(purpose) });
    last.iter().filter_map(|stage| stages.get(network.place(*stage))).sum()
}

fn leave(
    network: &Network,
    pool: &mut Vec<Guest>,
    transfer: &Transfer,
    now: Instant,
    origins: &[Origin],
) -> Origin {
    let mut origin = Origin { stages: vec![0.0; network.stage_count()], ..Origin::default() };
    let Some(known) = network.nodes.get(usize::from(transfer.from)) else { return origin };
    let hazards = age(pool, now, |stayed| known.dwell.at(stayed));

    let mut total = 0.0;
    for purpose in PURPOSES {
        let first = Stage { purpose, hop: 1 };
        if network.may_lead_to(transfer.to, first) {
            origin.begun[purpose as usize] = known.begins[purpose as usize];
            total += known.begins[purpose as usize];
        }
    }
    // Which stage follows which, of those that lead where it goes.
    let steps: Vec<(usize, usize)> = network
        .stages()
        .filter_map(|stage| {
            let next = network.next(stage).filter(|next| network.may_lead_to(transfer.to, *next))?;
            Some((network.place(stage), network.place(next)))
        })
        .collect();
    let mut weights = Vec::with_capacity(pool.len());
    for (guest, hazard) in pool.iter().zip(&hazards) {
        let before = &origins[guest.transfer as usize].stages;
        let goes_on = 1.0 - ended(network, before);
        let fitting: f64 = steps.iter().map(|(place, _)| before[*place]).sum();
        let rate = guest.inside * hazard;
        let weight = if goes_on > 0.0 { rate * fitting / goes_on } else { 0.0 };
        let factor = if goes_on > 0.0 { rate / goes_on } else { 0.0 };
        total += weight;
        weights.push((weight, factor));
    }
    if total <= 0.0 {
        return origin;
    }

    for purpose in PURPOSES {
        origin.begun[purpose as usize] /= total;
        origin.stages[network.place(Stage { purpose, hop: 1 })] = origin.begun[purpose as usize];
    }
    for (guest, (weight, factor)) in pool.iter_mut().zip(weights) {
        let (share, factor) = (weight / total, factor / total);
        if share <= 0.0 {
            continue;
        }
        let before = &origins[guest.transfer as usize].stages;
        for (place, next) in &steps {
            origin.stages[*next] += factor * before[*place];
        }
        origin.causes.push(Cause { transfer: guest.transfer, factor });
        guest.may_have_left(share);
    }
    pool.retain(|guest| guest.inside > FORGOTTEN);
    origin
}

impl Guest {
    /// Something left, and it was this one with probability `share`.
    fn may_have_left(&mut self, share: f64) {
        let goes_on = 1.0 - self.over;
        // That something left speaks against its being over; not for or against its having left before, as then
        // another one that was taken for it is still inside.
        let inside = if goes_on > 0.0 { self.inside * (1.0 + self.over * share / goes_on) } else { 0.0 };
        self.over *= 1.0 - share;
        self.inside = (inside - share).max(0.0);
    }
}

/// Time passes in which nothing left. Returns the hazards, and forgets who cannot be inside any more.
fn age(
    pool: &mut Vec<Guest>,
    now: Instant,
    dwell: impl Fn(std::time::Duration) -> Option<super::dwell::Bin>,
) -> Vec<f64> {
    let mut hazards = Vec::with_capacity(pool.len());
    pool.retain_mut(|guest| {
        let Some(bin) = dwell(now - guest.arrived) else { return false };
        let still = bin.survival / guest.survival;
        let rest = guest.over + (1.0 - guest.over) * still;
        guest.inside *= still / rest;
        guest.over /= rest;
        guest.survival = bin.survival;
        hazards.push(bin.hazard);
        true
    });
    hazards
}
