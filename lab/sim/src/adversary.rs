//! A global passive adversary: hears every frame, and says who it thinks sent each message.
//!
//! ```text
//! frames ─ sniffer ─ transfers ┬ pool: which packet is which ─ trace: chains of transfers ─ evidence: each message by itself
//!                              │  knowledge, dwell: what is public                           learn: all messages together
//!                              │                              Anonymity ─ score, measure ─ deliveries (truth) ┘
//!                              └ links: how many on each link, while messages are sent and afterwards ─ Counted
//! ```
//!
//! It reads no contents but fragment headers, and never what the simulation knows. The truth comes
//! in at the end, to score it, and says which transfers brought messages to receivers: as if
//! receivers worked for the observer.
//!
//! Memory is linear in the transfers of the run, of which the channel carries some fifty a second
//! at most, times the packets that may be inside a node when one leaves. A message is traced in
//! time that grows with the latter to the power of the hops of both ways;
//! [`Adversary::sample`](crate::scenario::Adversary::sample) traces fewer. Where mixes hold many
//! packets, `flow` adds up chains in place of `trace`: in time that grows with the transfers times
//! the packets inside, and in the memory of what is under way.

mod corrupt;
mod dwell;
mod evidence;
mod findings;
mod flow;
mod inside;
mod knowledge;
mod learn;
mod links;
mod measure;
pub(crate) mod partners;
mod pool;
mod score;
mod sniffer;
mod trace;

pub(crate) use corrupt::Confessions;
pub use findings::{Findings, NotPosteriors, POSTERIORS, judge_posteriors};
pub use links::Counted;
pub use measure::{Guesses, Reliability};
pub use score::{Anonymity, Beside, Learned};
pub(crate) use sniffer::{Cut, Sniffer, fingerprint};

use crate::board::Traits;
use crate::scenario::{Adversary, Board, Group, Scenario, Spread, Time};
use dwell::{Dwell, Parts};
use evidence::Evidence;
use flow::Flow;
use knowledge::{Known, Network};
use motemix_air::Instant;
pub(crate) use sniffer::Transfer;
use std::rc::Rc;
use std::time::Duration;
use trace::Traffic;

/// The truth: a message arrived for the first time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Delivery {
    pub receiver: u16,
    pub sender: u16,
    /// The packet that brought it.
    pub packet: TakenIn,
}

/// A packet that a node took in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TakenIn {
    /// The neighbour that it came from.
    pub from: u16,
    /// When its node turned to it.
    pub at: Instant,
    pub fingerprint: u64,
}

/// Where a mix holds more packets than this on average, chains of transfers are added up and not
/// gone through.
const MANY_HELD: f64 = 24.0;
/// Waiting for the channel, on average.
const CHANNEL: Duration = Duration::from_millis(10);
/// Share of the packets that vanish in a node.
const VANISH: f64 = 0.01;
/// Share of the packets that wait for others.
const STALLED: f64 = 0.15;

/// What is public about a scenario's network.
pub(crate) fn network(scenario: &Scenario, members: &[&Group]) -> Network {
    let rate = |mean: Option<Duration>| mean.map_or(0.0, |mean| 1.0 / mean.as_secs_f64().max(1e-6));
    let motes = &scenario.motes;
    let messages = rate(Some(scenario.load.interval.0));
    let ticks = rate(motes.payload_mean.and_then(Time::unless_zero));
    let mut dwells: Vec<(Board, Rc<Dwell>)> = Vec::new();
    let nodes = members.iter().map(|group| {
        let known = dwells.iter().find(|(board, _)| *board == group.board);
        let dwell = known.map_or_else(
            || Rc::new(dwell_of(Traits::of(group.board), motes.mean_delay.0)),
            |(_, dwell)| Rc::clone(dwell),
        );
        if known.is_none() {
            dwells.push((group.board, Rc::clone(&dwell)));
        }
        let trips = if group.sends { messages } else { 0.0 };
        let drops = rate(motes.drop_mean.and_then(Time::unless_zero));
        // Half of the ticks turn packets of others round; what the others do not begin is loops.
        let filler = (ticks / 2.0 - trips).max(0.0);
        let begins = [trips, drops, rate(motes.loop_mean.and_then(Time::unless_zero)) + filler];
        Known { sends: group.sends, forwards: group.forwards, receives: group.receives, begins, dwell }
    });
    Network { nodes: nodes.collect(), hops: usize::from(motes.hops), vanish: VANISH }
}

/// A packet costs two multiplications before it can leave.
fn dwell_of(board: Traits, delay: Duration) -> Dwell {
    let multiplication = u64::from(board.multiplication);
    let least = board.time(2 * multiplication + u64::from(board.packet));
    // Behind another packet, it waits for that one's multiplications and one of the node's own.
    let stalled = (STALLED, board.time(5 * multiplication));
    Dwell::new(Parts { least, busy: CHANNEL, delay, stalled })
}

/// Draws the observer's conclusions from what it heard and was told by corrupt motes, and scores
/// them.
pub(crate) fn conclude(
    adversary: &Adversary,
    scenario: &Scenario,
    network: &Network,
    (transfers, confessions): (&[Transfer], &Confessions),
    deliveries: &[Delivery],
    findings: Option<&mut Findings>,
) -> Anonymity {
    let sample = usize::try_from(adversary.sample.get()).unwrap_or(usize::MAX);
    let delivered = evidence::delivered(transfers, deliveries, sample);
    // Phases, and the joint inference, ask for the transfers with which messages began.
    let by_ends = network.hops == flow::HOPS
        && network.packets_held() > MANY_HELD
        && scenario.load.spread != Spread::Fixed
        && adversary.matching_sweeps == 0;
    let mut flow = by_ends
        .then(|| Flow::new(network, transfers, delivered.iter().filter_map(|(transfer, _)| *transfer)));
    let origins = match &mut flow {
        Some(flow) => pool::follow(network, transfers, confessions, flow),
        None => pool::origins(network, transfers, confessions),
    };
    let traffic = Traffic::new(network, transfers, &origins);
    let evidence = match flow {
        Some(flow) => Evidence::of_ends(&flow.into_ends(), &delivered),
        None => Evidence::of(&traffic, &delivered),
    };
    let mut anonymity = score::score(&traffic, &evidence, scenario, adversary.matching_sweeps, findings);
    anonymity.counted = links::count(scenario, transfers);
    anonymity
}

#[cfg(test)]
#[allow(clippy::cast_precision_loss, clippy::cast_sign_loss, reason = "small numbers")]
mod tests;
