//! Which packet that left a node is which that came.
//!
//! For each node the observer keeps the packets that may be inside. One that came is, so far as it
//! can tell, over (its path ended here, or it was lost), gone, or inside. One that leaves is each
//! of those inside with a probability in proportion to the hazard of its dwell time, or began here
//! in proportion to the rate with which packets do. With exponential delays alone all hazards are
//! the same, and this is the pool of Serjantov and Danezis, "Towards an Information Theoretic
//! Metric for Anonymity", PET 2002, as Piotrowska et al. use it in "The Loopix Anonymity System",
//! USENIX Security 2017, section 4.1.3. Without delays the hazards follow the time that a board
//! computes.
//!
//! Path lengths are public, so with each transfer goes a distribution over the stages it may be at.

use super::corrupt::{self, Confessions};
use super::dwell::Dwell;
use super::inside::Inside;
use super::knowledge::{Network, PURPOSES, Stage};
use super::sniffer::Transfer;
use libm::log;
use motemix_air::Instant;

/// A packet that is hardly there is not looked at any more.
const FORGOTTEN: f64 = 1e-5;

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

/// Packets that may be inside a node.
#[derive(Default)]
struct Pool {
    guests: Vec<Guest>,
    inside: Inside,
    /// When that was true.
    at: Instant,
}

struct Guest {
    transfer: u32,
    arrived: Instant,
}

/// Finds the origins of all transfers, which come in the order of their begins.
pub(crate) fn origins(network: &Network, transfers: &[Transfer], confessions: &Confessions) -> Vec<Origin> {
    let confessed = confessions.of(transfers);
    let mut pools: Vec<Pool> = network.nodes.iter().map(|_| Pool::default()).collect();
    let mut origins: Vec<Origin> = vec![Origin::default(); transfers.len()];
    for Step { at, number, arrives } in schedule(transfers) {
        let index = number as usize;
        let Some(transfer) = transfers.get(index) else { continue };
        let node = if arrives { transfer.to } else { transfer.from };
        let (Some(pool), Some(known)) =
            (pools.get_mut(usize::from(node)), network.nodes.get(usize::from(node)))
        else {
            continue;
        };
        pool.age(at, &known.dwell);
        if arrives {
            pool.guests.push(Guest { transfer: number, arrived: at });
            pool.inside.join((1.0 - network.vanish) * (1.0 - ended(network, &origins[index].stages)));
        } else {
            let rates = pool.hazards(at, &known.dwell);
            origins[index] = match confessed.get(index).copied().flatten() {
                Some(told) => corrupt::origin(network, told, transfer, &origins),
                None => leave(network, pool, transfer, &rates, &origins),
            };
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

/// How probably these are the last stage of a path.
fn ended(network: &Network, stages: &[f64]) -> f64 {
    let last = PURPOSES.map(|purpose| Stage { purpose, hop: network.last_hop(purpose) });
    last.iter().filter_map(|stage| stages.get(network.place(*stage))).sum()
}

fn leave(
    network: &Network,
    pool: &mut Pool,
    transfer: &Transfer,
    hazards: &[f64],
    origins: &[Origin],
) -> Origin {
    let mut origin = Origin { stages: vec![0.0; network.stage_count()], ..Origin::default() };
    let Some(known) = network.nodes.get(usize::from(transfer.from)) else { return origin };
    let mut total = 0.0;
    for purpose in PURPOSES {
        if network.may_lead_to(transfer.to, Stage { purpose, hop: 1 }) {
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
    // Of those that are inside, how fast they leave for there.
    let goes_on = |guest: &Guest| 1.0 - ended(network, &origins[guest.transfer as usize].stages);
    let fitting = |guest: &Guest| {
        let before = &origins[guest.transfer as usize].stages;
        steps.iter().map(|(place, _)| before[*place]).sum::<f64>()
    };
    let rates: Vec<f64> = pool
        .guests
        .iter()
        .zip(hazards)
        .map(
            |(guest, hazard)| {
                if goes_on(guest) > 0.0 { hazard * fitting(guest) / goes_on(guest) } else { 0.0 }
            },
        )
        .collect();
    total += pool.inside.probabilities().iter().zip(&rates).map(|(inside, rate)| inside * rate).sum::<f64>();
    if total <= 0.0 {
        return origin;
    }

    for purpose in PURPOSES {
        origin.begun[purpose as usize] /= total;
        origin.stages[network.place(Stage { purpose, hop: 1 })] = origin.begun[purpose as usize];
    }
    for ((guest, rate), (inside, hazard)) in
        pool.guests.iter().zip(&rates).zip(pool.inside.probabilities().iter().zip(hazards))
    {
        if rate * inside > 0.0 {
            let before = &origins[guest.transfer as usize].stages;
            let factor = inside * hazard / goes_on(guest) / total;
            for (place, next) in &steps {
                origin.stages[*next] += factor * before[*place];
            }
            origin.causes.push(Cause { transfer: guest.transfer, factor });
        }
    }
    pool.inside.leave(&rates, total);
    origin
}

impl Pool {
    /// Time passes in which nothing leaves. Who cannot be inside any more is forgotten.
    fn age(&mut self, now: Instant, dwell: &Dwell) {
        let before = self.at;
        let risks: Vec<f64> = self
            .guests
            .iter()
            .map(|guest| {
                let [then, now] = [before, now].map(|at| dwell.at(at - guest.arrived));
                then.zip(now).map_or(f64::MAX, |(then, now)| log(then.survival / now.survival))
            })
            .collect();
        self.inside.stay(&risks);
        self.at = now;
        let inside = self.inside.probabilities().iter().zip(&risks);
        let keep: Vec<bool> = inside.map(|(inside, risk)| *inside > FORGOTTEN && *risk < f64::MAX).collect();
        self.inside.retain(&keep);
        let mut keep = keep.iter();
        self.guests.retain(|_| keep.next().copied().unwrap_or(true));
    }

    fn hazards(&self, now: Instant, dwell: &Dwell) -> Vec<f64> {
        let of = |guest: &Guest| dwell.at(now - guest.arrived).map_or(0.0, |bin| bin.hazard);
        self.guests.iter().map(of).collect()
    }
}
