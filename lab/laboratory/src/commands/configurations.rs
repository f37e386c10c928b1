//! `motemix-lab configurations`: what the two configurations do that hide whom somebody writes to.

use super::loopix::measure::messages::{
    ACCEPTED, ACKNOWLEDGED, CLIENT_BYTES, REFUSED, ROUND_TRIP, ROUND_TRIP_P99, measured,
};
use super::loopix::measure::rows::{Campaign, Point, Row};
use super::loopix::rows::{Day, targets};
use super::sim::Interrupt;
use crate::cli::Configurations as Args;
use crate::failure::Failure;
use crate::report::{self, Progress, Table};
use anyhow::Context;
use motemix_lab::loopix::study::anonymity::measures::{Known, Linkability, MOST_MESSAGES, best_guess_after};
use motemix_lab::loopix::study::anonymity::network::Network;
use motemix_lab::loopix::study::energy::traffic::{Client, Pull};
use motemix_loopix::packet::Format;
use motemix_loopix_program::network::Preset;
use motemix_sim::scenario::Draft;
use motemix_sim::sweep::{self, Journal, Plan, Work};
use serde::{Deserialize, Serialize};
use std::thread;
use std::time::Duration;

const LAYERS: u32 = 3;
const DAY: Duration = Duration::from_secs(86_400);
const SEED: u64 = 1;
/// Targets that are followed through the mixes of hosts.
const TRIALS: u32 = 400;

/// One configuration.
#[derive(Debug, Serialize)]
struct Figures {
    configuration: &'static str,
    /// Who is there.
    nodes: String,
    /// Runs that were made.
    runs: usize,
    accepted: f64,
    refused: f64,
    acknowledged: f64,
    round_trip_median_s: f64,
    round_trip_p99_s: f64,
    /// What passes, and what it costs: with units, because a channel that all share and links that
    /// each has cannot be compared.
    carries: String,
    energy: String,
    /// How often the likeliest sender of one message is the true one; and by chance.
    first_guess: f64,
    by_chance: f64,
    /// The share of senders whose receiver is named after so many messages of each.
    receivers_named: f64,
    receivers_named_after: f64,
    half_named_after: Named,
    most_named_after: Named,
}

/// Messages of a sender until receivers are named, of each run; none if more than `at_most`.
#[derive(Debug, Serialize)]
struct Named {
    runs: Vec<Option<f64>>,
    at_most: f64,
}

impl Named {
    fn text(&self) -> String {
        let known: Vec<f64> = self.runs.iter().copied().flatten().collect();
        let least = known.iter().copied().fold(f64::INFINITY, f64::min);
        let most = known.iter().copied().fold(0.0, f64::max);
        match (known.len() == self.runs.len(), known.is_empty()) {
            (_, true) => format!("more than {:.0}", self.at_most),
            (false, _) => format!("{least:.0} to more than {:.0}", self.at_most),
            (true, _) if least < most => format!("{least:.0} to {most:.0}"),
            (true, _) => format!("{most:.0}"),
        }
    }
}

pub fn configurations(args: &Args) -> Result<(), Failure> {
    // What is wrong with it is said before the hosts take half an hour.
    let plan =
        Draft::read(&args.scenario).and_then(|draft| Plan::of(&draft, &[])).map_err(Failure::broken)?;
    let both = [hosts(args)?, building(args, &plan)?];
    if args.json {
        return Ok(report::print_json(&both)?);
    }
    let [hosts, building] = &both;
    let mut table = Table::new(["", building.configuration, hosts.configuration]);
    let mut row = |name: &str, of: &dyn Fn(&Figures) -> String| {
        table.row([name.to_owned(), of(building), of(hosts)]);
    };
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    row("who", &|figures| figures.nodes.clone());
    row("acknowledged, of accepted messages", &|figures| {
        format!("{:.0} of {:.0}", figures.acknowledged, figures.accepted)
    });
    row("refused by a full sender", &|figures| format!("{:.0}", figures.refused));
    row("round trip, median and p99", &|figures| {
        format!("{:.0} s, {:.0} s", figures.round_trip_median_s, figures.round_trip_p99_s)
    });
    row("carried", &|figures| figures.carries.clone());
    row("energy", &|figures| figures.energy.clone());
    row("first guess at one message; by chance", &|figures| {
        format!("{}; {}", percent(figures.first_guess), percent(figures.by_chance))
    });
    row("receivers named after many messages", &|figures| {
        format!("{} after {:.0}", percent(figures.receivers_named), figures.receivers_named_after)
    });
    row("half of the receivers named after", &|figures| {
        format!("{} messages", figures.half_named_after.text())
    });
    row("95 % named after", &|figures| format!("{} messages", figures.most_named_after.text()));
    Ok(table.print()?)
}

/// What is read of a run's outcome.
#[derive(Deserialize)]
struct Outcome {
    nodes: u32,
    sent: f64,
    acknowledged: f64,
    refused: f64,
    airtime_s_per_ack: f64,
    active_energy_mj_per_ack: f64,
    rtt_s: Percentiles,
    anonymity: Anonymity,
}

#[derive(Deserialize)]
struct Percentiles {
    p50: f64,
    p99: f64,
}

#[derive(Deserialize)]
struct Anonymity {
    round_trip: Guesses,
    receivers_named: Option<f64>,
    beside: Option<Beside>,
    receivers_by_chance: Option<f64>,
    messages_each: Option<f64>,
    half_named_after: Option<f64>,
    most_named_after: Option<f64>,
}

/// Another observer, who compares messages of the same time.
#[derive(Deserialize)]
struct Beside {
    receivers_named: f64,
    half_named_after: Option<f64>,
    most_named_after: Option<f64>,
}

impl Anonymity {
    /// What the better of the two observers names.
    fn receivers_named(&self) -> f64 {
        let compared = self.beside.as_ref().map_or(0.0, |beside| beside.receivers_named);
        self.receivers_named.unwrap_or(0.0).max(compared)
    }

    /// After how many messages the first of the two has named half.
    fn half_named_after(&self) -> Option<f64> {
        first(self.half_named_after, self.beside.as_ref().and_then(|beside| beside.half_named_after))
    }

    /// The same for 95 %.
    fn most_named_after(&self) -> Option<f64> {
        first(self.most_named_after, self.beside.as_ref().and_then(|beside| beside.most_named_after))
    }
}

/// The lesser of two numbers of messages, of which each may not have been reached.
fn first(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::min)
}

#[derive(Deserialize)]
struct Guesses {
    first_guess: f64,
}

fn building(args: &Args, plan: &Plan) -> Result<Figures, Failure> {
    let dir = args.out.join("building");
    let mut journal = Journal::open(&dir, plan, false).map_err(Failure::broken)?;
    let interrupt = Interrupt::listen()?;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut progress = Progress::new(plan.runs().len() as u64);
    let mut tell = |stand: sweep::Stand| {
        progress.at(stand.done as u64, &format!("building: {} of {} runs", stand.done, stand.all));
    };
    let work = Work { jobs: cores, only: None, stop: interrupt.flag() };
    let ended = sweep::run(plan, &mut journal, work, &mut tell);
    progress.finish();
    ended.map_err(Failure::failed)?;
    if interrupt.is_raised() {
        return Err(Failure::failed("interrupted; the same command goes on with what is left"));
    }
    let read = |json: &str| {
        serde_json::from_str::<Outcome>(json)
            .with_context(|| format!("{}: not the outcome of an observed run", args.scenario.display()))
    };
    let outcomes = journal.outcomes().map(|(_, json)| read(json)).collect::<Result<Vec<_>, _>>()?;
    let first = outcomes.first().context("the scenario has no runs")?;
    let sum = |of: fn(&Outcome) -> f64| outcomes.iter().map(of).sum::<f64>();
    let runs = f64::from(u32::try_from(outcomes.len()).unwrap_or(u32::MAX));
    let mean = |of: fn(&Outcome) -> f64| sum(of) / runs;
    let each = mean(|outcome| outcome.anonymity.messages_each.unwrap_or(0.0));
    let named =
        |of: fn(&Outcome) -> Option<f64>| Named { runs: outcomes.iter().map(of).collect(), at_most: each };
    Ok(Figures {
        configuration: "building",
        nodes: format!("{} motes on one channel", first.nodes),
        runs: outcomes.len(),
        accepted: sum(|outcome| outcome.sent),
        refused: sum(|outcome| outcome.refused),
        acknowledged: sum(|outcome| outcome.acknowledged),
        round_trip_median_s: mean(|outcome| outcome.rtt_s.p50),
        round_trip_p99_s: mean(|outcome| outcome.rtt_s.p99),
        carries: format!("{:.2} s of air a message", mean(|outcome| outcome.airtime_s_per_ack)),
        energy: format!(
            "{:.1} mJ a message, without listening",
            mean(|outcome| outcome.active_energy_mj_per_ack)
        ),
        first_guess: mean(|outcome| outcome.anonymity.round_trip.first_guess),
        by_chance: mean(|outcome| outcome.anonymity.receivers_by_chance.unwrap_or(0.0)),
        receivers_named: mean(|outcome| outcome.anonymity.receivers_named()),
        receivers_named_after: each,
        half_named_after: named(|outcome| outcome.anonymity.half_named_after()),
        most_named_after: named(|outcome| outcome.anonymity.most_named_after()),
    })
}

fn hosts(args: &Args) -> Result<Figures, Failure> {
    let (campaign, points) = measured(&args.messages())?;
    let point = points.into_iter().next().context("nothing was measured")?;
    let rows = |quantity| row(&campaign, &point, quantity);
    let preset = Preset::patient();
    let config = &preset.config;
    let pool = point.rate * f64::from(point.clients) * config.clients.delay.as_secs_f64()
        / f64::from(u32::from(args.mixes) / LAYERS);
    let network = Network::honest(LAYERS, u32::from(args.mixes) / LAYERS, pool, point.clients);
    let mut progress = Progress::new(1);
    progress.at(0, "hosts: follows packets through the mixes");
    let trials = targets(network, TRIALS, SEED);
    let found = Linkability::of(&trials, SEED);
    // Each trial has one receiver: whoever the best guess names is named, as in the building.
    let receivers_named = best_guess_after(args.habits, &trials, SEED);
    let known = Known::likeliest_of_round_trips(&trials, MOST_MESSAGES, SEED);
    progress.finish();
    let stream = |mean: Duration| 1.0 / mean.as_secs_f64();
    let packet_len = u32::try_from(Format::HARDENED.datagram_len()).unwrap_or(u32::MAX);
    let pull = Pull {
        every: config.clients.pull,
        packets: config.providers.max_retrieve,
        subscribe_len: packet_len,
        pull_len: packet_len,
        ..Client::of_dissertation(0.0).pull
    };
    let clients = &config.clients;
    let rates = [stream(clients.payload), stream(clients.loops), stream(clients.drop)];
    let [_, lte, nr] = Day::of(Client { rates, packet_len, pull }.seeded(DAY, SEED), DAY).joules;
    let named =
        |known: Option<u32>, bound: u32| Named { runs: vec![known.map(f64::from)], at_most: bound.into() };
    Ok(Figures {
        configuration: "hosts",
        nodes: format!("{} clients of Loopix, {} mixes", point.clients, args.mixes),
        runs: 1,
        accepted: rows(ACCEPTED)?.mean,
        refused: rows(REFUSED)?.mean,
        acknowledged: rows(ACKNOWLEDGED)?.mean,
        round_trip_median_s: rows(ROUND_TRIP)?.median,
        round_trip_p99_s: rows(ROUND_TRIP_P99)?.mean,
        carries: format!("{:.1} kB/s on a client's link", rows(CLIENT_BYTES)?.mean / 1e3),
        energy: format!("{:.0} kJ a day of LTE, {:.0} kJ of 5G", lte / 1e3, nr / 1e3),
        first_guess: found.round_trip.best_guess.mean,
        by_chance: 1.0 / f64::from(point.clients),
        receivers_named: receivers_named.mean,
        receivers_named_after: args.habits.into(),
        half_named_after: named(known.half, known.bound),
        most_named_after: named(known.most, known.bound),
    })
}

fn row<'c>(campaign: &'c Campaign, point: &Point, quantity: &str) -> Result<&'c Row, Failure> {
    let rows = campaign.about(std::slice::from_ref(point), quantity);
    rows.first().copied().ok_or_else(|| {
        Failure::broken(format!("messages.csv says nothing of \"{quantity}\"; move it away to begin anew"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_in_which_nobody_was_named_are_said_to_be_such() {
        let text = |runs: &[Option<f64>]| Named { runs: runs.to_vec(), at_most: 150.4 }.text();
        assert_eq!(text(&[Some(72.0)]), "72");
        assert_eq!(text(&[Some(72.0), Some(124.0), Some(90.0)]), "72 to 124");
        assert_eq!(text(&[Some(72.0), None]), "72 to more than 150");
        assert_eq!(text(&[None, None]), "more than 150");
        assert_eq!(first(Some(90.0), Some(72.0)), Some(72.0));
        assert_eq!((first(None, Some(72.0)), first(None, None)), (Some(72.0), None));
    }
}
