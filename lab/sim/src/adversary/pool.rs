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
use motemix_air::Instant;

/// A packet that is hardly there is not looked at any more.
const FORGOTTEN: f64 = 1e-5;
/// The same where hundreds are inside: of one in a thousand that was there, as much is lost as
/// vanishes in a node anyway, and two thirds as many have to be followed.
const FORGOTTEN_AMONG_MANY: f64 = 1e-3;

/// Stages of paths with three hops each way, which is the most.
const MOST_STAGES: usize = 15;

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
}

struct Guest {
    transfer: u32,
    arrived: Instant,
    /// Hazard until it was last looked at.
    risk: f64,
    /// How probably its path does not end here.
    goes_on: f64,
    /// Probabilities of its stages. Here, and not only where its origin is: whenever one leaves,
    /// all guests are asked for them.
    stages: [f64; MOST_STAGES],
}

impl Guest {
    fn new(network: &Network, transfer: u32, arrived: Instant, known: &[f64]) -> Self {
        let mut stages = [0.0; MOST_STAGES];
        for (stage, known) in stages.iter_mut().zip(known) {
            *stage = *known;
        }
        Self { transfer, arrived, risk: 0.0, goes_on: 1.0 - ended(network, known), stages }
    }
}

/// Who follows packets while their origins are found.
pub(crate) trait Follow {
    /// A transfer left its sender. What it does not need of its origin it may take away.
    fn left(&mut self, number: u32, origin: &mut Origin);
    /// Nothing that leaves from now on is this transfer's packet.
    fn forgotten(&mut self, number: u32);
}

/// Keeps all origins as they are.
struct Keep;

impl Follow for Keep {
    fn left(&mut self, _: u32, _: &mut Origin) {}
    fn forgotten(&mut self, _: u32) {}
}

/// Finds the origins of all transfers, which come in the order of their begins.
pub(crate) fn origins(network: &Network, transfers: &[Transfer], confessions: &Confessions) -> Vec<Origin> {
    follow(network, transfers, confessions, &mut Keep)
}

/// The same for somebody who follows the packets meanwhile.
pub(crate) fn follow(
    network: &Network,
    transfers: &[Transfer],
    confessions: &Confessions,
    follower: &mut impl Follow,
) -> Vec<Origin> {
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
        pool.age(at, &known.dwell, follower);
        if arrives {
            let guest = Guest::new(network, number, at, &origins[index].stages);
            pool.inside.join((1.0 - network.vanish) * guest.goes_on);
            pool.guests.push(guest);
        } else {
            let rates = pool.hazards(at, &known.dwell);
            origins[index] = match confessed.get(index).copied().flatten() {
                Some(told) => corrupt::origin(network, told, transfer, &origins),
                None => leave(network, pool, transfer, &rates),
            };
            follower.left(number, &mut origins[index]);
            if transfer.end.is_none() {
                follower.forgotten(number);
            }
        }
    }
    for guest in pools.iter().flat_map(|pool| &pool.guests) {
        follower.forgotten(guest.transfer);
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

fn leave(network: &Network, pool: &mut Pool, transfer: &Transfer, hazards: &[f64]) -> Origin {
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
    let fitting = |guest: &Guest| steps.iter().map(|(place, _)| guest.stages[*place]).sum::<f64>();
    let rates: Vec<f64> = pool
        .guests
        .iter()
        .zip(hazards)
        .map(
            |(guest, hazard)| {
                if guest.goes_on > 0.0 { hazard * fitting(guest) / guest.goes_on } else { 0.0 }
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
            let factor = inside * hazard / guest.goes_on / total;
            for (place, next) in &steps {
                origin.stages[*next] += factor * guest.stages[*place];
            }
            origin.causes.push(Cause { transfer: guest.transfer, factor });
        }
    }
    pool.inside.leave(&rates, total);
    origin
}

impl Pool {
    /// Time passes in which nothing leaves. Who cannot be inside any more is forgotten.
    fn age(&mut self, now: Instant, dwell: &Dwell, follower: &mut impl Follow) {
        let risks: Vec<f64> = self
            .guests
            .iter_mut()
            .map(|guest| {
                let before = guest.risk;
                guest.risk = dwell.at(now - guest.arrived).map_or(f64::MAX, |bin| bin.risk);
                if guest.risk < f64::MAX { guest.risk - before } else { f64::MAX }
            })
            .collect();
        self.inside.stay(&risks);
        let forgotten = if self.inside.are_many() { FORGOTTEN_AMONG_MANY } else { FORGOTTEN };
        let inside = self.inside.probabilities().iter().zip(&risks);
        let keep: Vec<bool> = inside.map(|(inside, risk)| *inside > forgotten && *risk < f64::MAX).collect();
        if keep.iter().all(|keep| *keep) {
            return;
        }
        self.inside.retain(&keep);
        let mut keep = keep.iter();
        self.guests.retain(|guest| {
            let keep = keep.next().copied().unwrap_or(true);
            if !keep {
                follower.forgotten(guest.transfer);
            }
            keep
        });
    }

    fn hazards(&self, now: Instant, dwell: &Dwell) -> Vec<f64> {
        let of = |guest: &Guest| dwell.at(now - guest.arrived).map_or(0.0, |bin| bin.hazard);
        self.guests.iter().map(of).collect()
    }
}
