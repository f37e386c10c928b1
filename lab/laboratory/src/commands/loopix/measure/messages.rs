//! `motemix-lab loopix measure messages`: what becomes of messages in a network of a preset.

use super::rows::{Campaign, Point, Row};
use super::session::Session;
use super::testbed::{Plan, Testbed};
use super::{Common, size};
use crate::cli::LoopixMessages as Args;
use crate::failure::Failure;
use crate::report::{self, Table};
use anyhow::{Context, Result};
use motemix_lab::loopix::study::advice::on_link;
use motemix_lab::loopix::study::chance::{Chance, Purpose};
use motemix_loopix::files::Role;
use motemix_loopix::packet::Format;
use motemix_loopix_program::network::Preset;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Delays of a mix after which a network is as full as it gets.
const FILLS_IN: u32 = 12;
/// Round trips after which a message that is not acknowledged is missing.
const PATIENCE: u32 = 12;

/// How long clients send, if nothing is said.
const LENGTH: Duration = Duration::from_secs(20 * 60);

/// What was measured, by quantity.
pub const ACCEPTED: &str = "accepted";
pub const REFUSED: &str = "refused";
pub const ACKNOWLEDGED: &str = "acknowledged";
pub const ROUND_TRIP: &str = "round trip";
pub const ROUND_TRIP_P99: &str = "round trip, p99";
pub const CLIENT_BYTES: &str = "client bytes";

pub fn messages(args: &Args) -> Result<(), Failure> {
    let (campaign, points) = measured(args)?;
    let rows = campaign.of(&points);
    if args.measuring.json {
        return Ok(report::print_json(&rows)?);
    }
    let mut table = Table::new(["quantity", "unit", "samples", "mean", "median", "p90"]);
    for row in rows {
        let numbers = [row.mean, row.median, row.p90].map(|value| format!("{value:.1}"));
        let [mean, median, p90] = numbers;
        table.row([row.quantity.clone(), row.unit.clone(), row.samples.to_string(), mean, median, p90]);
    }
    table.print()?;
    Common::new(&args.measuring, LENGTH, 1)?.say_where("messages")
}

/// The rows of the points that the words mean, one for each repetition, measured now or before.
pub fn measured(args: &Args) -> Result<(Campaign, Vec<Point>), Failure> {
    if args.measuring.python.is_some() {
        return Err(Failure::broken(
            "--python: the Python nodes do not speak the preset's profile; leave it out",
        ));
    }
    let common = Common::new(&args.measuring, LENGTH, 1)?;
    let preset = motemix_loopix_program::chosen::preset(args.preset);
    let clients = &preset.config.clients;
    let streams = [clients.loops, clients.drop, clients.payload];
    let point = |repetition| Point {
        // With the times: what was measured with others is another measurement.
        measurement: format!(
            "messages every {:?}, delays of {:?}, pulls of {} every {:?}",
            args.interval, clients.delay, preset.config.providers.max_retrieve, clients.pull
        ),
        nodes: "motemix".into(),
        network: format!("{}+{}", args.providers, args.mixes),
        clients: args.clients.into(),
        rate: streams.iter().map(|mean| 1.0 / mean.as_secs_f64()).sum(),
        repetition,
        seconds: common.length.as_secs_f64(),
    };
    let points: Vec<_> = (1..=common.repetitions).map(point).collect();
    let mut session = Session::open(&common.out, "messages", points.len())?;
    session.each(&points, |session, point| run(session, point, &common, &preset, args.interval))?;
    Ok((session.finish(), points))
}

/// Messages between clients, and what became of them.
#[derive(Default)]
struct Post {
    /// Those that are under way, by client and number, and when they were accepted.
    under_way: BTreeMap<(usize, u64), Instant>,
    accepted: u32,
    refused: u32,
    /// Seconds from acceptance to acknowledgement.
    round_trips: Vec<f64>,
}

impl Post {
    /// One more message of this client.
    fn send(&mut self, testbed: &mut Testbed, client: usize, to: &str) -> Result<()> {
        let node = testbed.of(Role::Client).nth(client).context("there are fewer clients")?;
        let now = Instant::now();
        match node.send(to, b"20.5 degrees")? {
            Some(number) => {
                self.under_way.insert((client, number), now);
                self.accepted += 1;
            }
            None => self.refused += 1,
        }
        Ok(())
    }

    /// Notes what was acknowledged.
    fn look(&mut self, testbed: &mut Testbed) -> Result<()> {
        for (client, node) in testbed.of(Role::Client).enumerate() {
            for event in node.events()? {
                if event["event"] == "acknowledged"
                    && let Some(number) = event["number"].as_u64()
                    && let Some(sent) = self.under_way.remove(&(client, number))
                {
                    self.round_trips.push(sent.elapsed().as_secs_f64());
                }
            }
        }
        Ok(())
    }
}

fn run(
    session: &mut Session,
    point: &Point,
    common: &Common,
    preset: &Preset,
    interval: Duration,
) -> Result<Vec<Row>, Failure> {
    let (providers, mixes) = point.network.split_once('+').context("a network is named 2+6")?;
    let size = size(providers, mixes, point.clients)?;
    let plan = Plan {
        size,
        config: preset.config.clone(),
        profile: preset.profile,
        peer: None,
        core: None,
        probe: false,
    };
    let delay = preset.config.clients.delay;
    let mut testbed = Testbed::start(&plan, &mut |what| session.tell(what))?;
    session.wait(FILLS_IN * delay, "fills")?;
    let before = datagrams(&mut testbed)?;
    let begin = Instant::now();
    let clients = usize::from(size.clients);
    let names: Vec<String> = testbed.of(Role::Client).map(|client| client.entry.name().to_owned()).collect();
    let mut chance = Chance::of(point.repetition.into(), Purpose::Messages);
    let mut pause = || Duration::from_secs_f64(chance.exponential(interval.as_secs_f64()));
    let mut next: Vec<Instant> = (0..clients).map(|_| begin + pause()).collect();
    let mut post = Post::default();
    session.watch(common.length, "sends", || {
        for (client, next) in next.iter_mut().enumerate() {
            while *next <= Instant::now() {
                // Each writes to one other, as long as it runs.
                post.send(&mut testbed, client, &names[(client + 1) % clients])?;
                *next += pause();
            }
        }
        post.look(&mut testbed)?;
        Ok(false)
    })?;
    let after = datagrams(&mut testbed)?;
    let took = begin.elapsed().as_secs_f64();
    session.watch(PATIENCE * 10 * delay, "waits for acknowledgements", || {
        post.look(&mut testbed)?;
        Ok(post.under_way.is_empty())
    })?;
    drop(testbed);
    if post.round_trips.is_empty() {
        return Err(Failure::failed("no message was acknowledged; give it more --seconds"));
    }
    let len = u32::try_from(Format::HARDENED.datagram_len()).unwrap_or(u32::MAX);
    let bytes: Vec<f64> = before
        .iter()
        .zip(&after)
        .map(|(before, after)| after.saturating_sub(*before) as f64 * on_link(len) / took)
        .collect();
    post.round_trips.sort_by(f64::total_cmp);
    let p99 = (0.99 * (post.round_trips.len() - 1) as f64).round() as usize;
    Ok(vec![
        point.row(ACCEPTED, "messages", &[post.accepted.into()]),
        point.row(REFUSED, "messages", &[post.refused.into()]),
        point.row(ACKNOWLEDGED, "messages", &[post.round_trips.len() as f64]),
        point.row(ROUND_TRIP, "s", &post.round_trips),
        point.row(ROUND_TRIP_P99, "s", &[post.round_trips[p99]]),
        point.row(CLIENT_BYTES, "B/s", &bytes),
    ])
}

/// Datagrams that each client has sent and got: in hardened networks all have one length.
fn datagrams(testbed: &mut Testbed) -> Result<Vec<u64>> {
    let count = |counters: BTreeMap<String, u64>| {
        ["sent", "received"].iter().filter_map(|name| counters.get(*name)).sum()
    };
    testbed.of(Role::Client).map(|client| Ok(count(client.counters()?))).collect()
}
