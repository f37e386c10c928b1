//! What counting tells: packets at each mote and on each link, while messages are sent and when
//! none is left.
//!
//! With a payload stream both should be the same. The run has times for either: `run.send_for`, and
//! the second half of `run.cool_down`, when what was sent has ended. Each is cut into windows of
//! one length, and the counts of the windows are compared.

use super::sniffer::Transfer;
use crate::scenario::{Run, Scenario, Time};
use libm::sqrt;
use motemix_air::Instant;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// Windows into which the time without messages is cut.
const WINDOWS: u32 = 24;
/// Standard deviations that the difference of two means exceeds by chance once in 1,000
/// comparisons.
const BY_CHANCE: f64 = 3.5;

/// What an observer learns who counts packets; of scenarios with a payload stream.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Counted {
    /// Packets that reach a mote each second while messages are sent, mean of all motes.
    pub arrivals_busy_per_s: f64,
    /// The same when no message is left.
    pub arrivals_idle_per_s: f64,
    /// Packets that leave a mote each second while messages are sent.
    pub departures_busy_per_s: f64,
    /// The same when no message is left.
    pub departures_idle_per_s: f64,
    /// Share of the motes whose arrivals or departures tell the two apart. One in 500 does by
    /// chance.
    pub motes_told: f64,
    /// Share of the links, each from one mote to one other, that tell the two apart. One in 1,000
    /// does by chance.
    pub links_told: f64,
}

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    ArrivalsAt(u16),
    DeparturesOf(u16),
    Link(u16, u16),
}

/// `None` without a payload stream, or without time in which nobody speaks.
pub(super) fn count(scenario: &Scenario, transfers: &[Transfer]) -> Option<Counted> {
    scenario.motes.payload_mean.and_then(Time::unless_zero)?;
    let times = Times::of(&scenario.run)?;
    let mut counts: BTreeMap<Place, [Vec<f64>; 2]> = BTreeMap::new();
    let windows = times.windows();
    for transfer in transfers {
        let Some((phase, window)) = times.window(transfer.begin) else { continue };
        let Transfer { from, to, .. } = *transfer;
        for place in [Place::ArrivalsAt(to), Place::DeparturesOf(from), Place::Link(from, to)] {
            let samples = counts.entry(place).or_insert_with(|| windows.map(|windows| vec![0.0; windows]));
            if let Some(count) = samples[phase].get_mut(window) {
                *count += 1.0;
            }
        }
    }
    Some(judge(&counts, times.window.as_secs_f64()))
}

/// When somebody speaks and when nobody does, in windows.
struct Times {
    phases: [Range<Instant>; 2],
    window: Duration,
}

impl Times {
    fn of(run: &Run) -> Option<Self> {
        let (send_for, half) = (run.send_for.0, run.cool_down.0 / 2);
        let window = half / WINDOWS;
        let ends = Instant::default() + send_for;
        // The network fills in the beginning.
        let busy = Instant::default() + send_for.min(half) / 2..ends;
        let times = Self { phases: [busy, ends + half..ends + half * 2], window };
        (!window.is_zero() && times.windows().iter().all(|windows| *windows > 1)).then_some(times)
    }

    /// How many whole windows each phase has.
    fn windows(&self) -> [usize; 2] {
        self.phases.each_ref().map(|phase| self.number(phase, phase.end))
    }

    fn number(&self, phase: &Range<Instant>, at: Instant) -> usize {
        usize::try_from((at - phase.start).as_micros() / self.window.as_micros().max(1)).unwrap_or(usize::MAX)
    }

    fn window(&self, at: Instant) -> Option<(usize, usize)> {
        let phase = self.phases.iter().position(|phase| phase.contains(&at))?;
        Some((phase, self.number(&self.phases[phase], at)))
    }
}

#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn judge(counts: &BTreeMap<Place, [Vec<f64>; 2]>, window: f64) -> Counted {
    let rate = |of: fn(&Place) -> bool, phase: usize| {
        let rates = counts.iter().filter(|(place, _)| of(place)).map(|(_, samples)| mean(&samples[phase]));
        let (sum, motes) = rates.fold((0.0, 0_usize), |(sum, motes), rate| (sum + rate, motes + 1));
        sum / motes.max(1) as f64 / window
    };
    let arrivals: fn(&Place) -> bool = |place| matches!(place, Place::ArrivalsAt(_));
    let departures: fn(&Place) -> bool = |place| matches!(place, Place::DeparturesOf(_));
    let mut motes: BTreeMap<u16, bool> = BTreeMap::new();
    let (mut links, mut links_told) = (0_usize, 0_usize);
    for (place, [busy, idle]) in counts {
        let told = differ(busy, idle);
        match place {
            Place::ArrivalsAt(mote) | Place::DeparturesOf(mote) => *motes.entry(*mote).or_default() |= told,
            Place::Link(..) => {
                links += 1;
                links_told += usize::from(told);
            }
        }
    }
    let motes_told = motes.values().filter(|told| **told).count();
    Counted {
        arrivals_busy_per_s: rate(arrivals, 0),
        arrivals_idle_per_s: rate(arrivals, 1),
        departures_busy_per_s: rate(departures, 0),
        departures_idle_per_s: rate(departures, 1),
        motes_told: motes_told as f64 / motes.len().max(1) as f64,
        links_told: links_told as f64 / links.max(1) as f64,
    }
}

/// Welch's test of two means.
fn differ(a: &[f64], b: &[f64]) -> bool {
    let difference = (mean(a) - mean(b)).abs();
    difference > BY_CHANCE * sqrt(squared_error(a) + squared_error(b))
}

#[allow(clippy::cast_precision_loss, reason = "a few hundred windows")]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The square of the standard error of the mean. One packet more or less in all windows never tells
/// anything.
#[allow(clippy::cast_precision_loss, reason = "a few hundred windows")]
fn squared_error(values: &[f64]) -> f64 {
    let (count, mean) = (values.len() as f64, mean(values));
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (squares.max(1.0)) / (count * (count - 1.0))
}
