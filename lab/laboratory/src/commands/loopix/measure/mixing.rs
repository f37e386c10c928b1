//! `motemix-lab loopix measure mixing`: what running mixes hide, computed from the times at which
//! packets come to them and leave them.
//!
//! ```text
//! this program ─ mix ─ tap ─ mix ─ tap ─ mix ─ tap        a tap notes the time, and sends on
//! ```
//!
//! Mixes send only to nodes of their directory. So each tap is in the place of a provider that does
//! not run, and packets name it as the next node; what it gets is meant for the mix behind it.

use super::Common;
use super::load::address;
use super::rows::{Point, Row};
use super::session::Session;
use super::testbed::{Plan, Running, Testbed};
use crate::cli::LoopixMixing as Args;
use crate::commands::loopix::rows::linkability;
use crate::failure::Failure;
use crate::report::{self, Table};
use anyhow::{Context, Result, bail};
use motemix_lab::loopix::study::anonymity::network::Network;
use motemix_lab::loopix::study::anonymity::record::{Event, Record};
use motemix_lab::loopix::study::anonymity::{entropy, entropy_of_layers};
use motemix_lab::loopix::study::chance::{Chance, Purpose};
use motemix_lab::loopix::study::estimate::Gathered;
use motemix_loopix::files::{NodeEntry, Role};
use motemix_loopix::packet::{Format, Hop, create, forward};
use motemix_loopix::wire::command::{Command, Next, Text};
use motemix_loopix_program::network::Size;
use motemix_os::rng::HostRng;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use serde::Serialize;
use socket2::SockRef;
use std::net::{SocketAddr, UdpSocket};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Mix processes, in every network.
const MIXES: u16 = 6;
/// So rarely do mixes send loops that none falls into the measurement.
const RATE_OF_LOOPS: f64 = 0.000_1;
const START: Duration = Duration::from_mins(3);
/// Mean delays for each layer after which the mixes are as full as they get, and after which as
/// good as none of a packet is inside.
const BEFORE: f64 = 8.0;
const AFTER: f64 = 25.0;
/// Neighbouring packets share their mixes; means of so many parts of a measurement do not.
const PARTS: usize = 20;
/// So many times as long as they ask for may packets stay in a mix. Beyond that, delays are the
/// machine's and no longer exponential, and the closed form says nothing about them.
const LONGEST_STAY: f64 = 1.5;
/// Targets of the simulation.
const TRIALS: u32 = 4000;
const USERS: u32 = 100;
const RECEIVE_BUFFER: usize = 4 << 20;
/// What is to be done where packets are lost or late.
const TOO_BUSY: &str = "the machine may be too busy for this rate: try a longer --delay";

/// Mixes side by side or in layers.
#[derive(Clone, Copy)]
struct Shape {
    name: &'static str,
    layers: u32,
    pool: f64,
}

/// Six mixes side by side are one mix, six times.
const SHAPES: [Shape; 2] =
    [Shape { name: "one mix", layers: 1, pool: 4.0 }, Shape { name: "three layers", layers: 3, pool: 8.0 }];

impl Shape {
    fn width(self) -> u32 {
        u32::from(MIXES) / self.layers
    }

    fn network(self, pool: f64) -> Network {
        Network::honest(self.layers, self.width(), pool, USERS)
    }

    /// Packets a second that keep the mixes so full.
    fn rate(self, delay: Duration) -> f64 {
        self.pool * f64::from(self.width()) / delay.as_secs_f64()
    }

    fn closed(self, pool: f64) -> f64 {
        if self.layers == 1 { entropy(pool) } else { entropy_of_layers(pool, self.width(), self.layers) }
    }
}

/// A network in closed form, simulated, and running.
#[derive(Serialize)]
struct Compared {
    nodes: String,
    network: &'static str,
    layers: u32,
    width: u32,
    /// λ/μ as planned, and as it was: packets in a mix, averaged over time. A busy machine keeps
    /// packets longer than they ask for, and up to [`LONGEST_STAY`] times as long.
    planned_pool: f64,
    pool: f64,
    /// For the λ/μ that there was.
    closed_bits: f64,
    simulated_bits: f64,
    simulated_half: f64,
    measured_bits: f64,
    measured_half: f64,
    packets: f64,
}

/// A packet on its way through the mixes.
struct Planned {
    /// When it is sent.
    at: Duration,
    first: usize,
    bytes: Vec<u8>,
}

/// Seen by this program: when, at which tap, from where.
struct Seen {
    at: Instant,
    from: SocketAddr,
    tap: usize,
}

pub fn mixing(args: &Args) -> Result<(), Failure> {
    let common = Common::new(&args.measuring, Duration::from_secs(120), 1)?;
    let least = Duration::from_millis(1);
    if !(least..=Duration::from_secs(3600)).contains(&args.delay) {
        return Err(Failure::broken("--delay: from 1ms to 1h, please"));
    }
    let needed = args.delay.mul_f64((BEFORE + AFTER) * 3.0);
    if common.length <= needed {
        return Err(Failure::broken(format!(
            "--seconds: more than {:.0}, please, for a mean delay of {}",
            needed.as_secs_f64().ceil(),
            humantime::format_duration(args.delay)
        )));
    }
    let mut points = Vec::new();
    for nodes in common.nodes() {
        for shape in SHAPES {
            points.extend((1..=common.repetitions).map(|repetition| Point {
                measurement: "mixing".into(),
                nodes: nodes.into(),
                network: shape.name.into(),
                clients: 0,
                rate: shape.rate(args.delay),
                repetition,
                seconds: common.length.as_secs_f64(),
            }));
        }
    }
    let mut session = Session::open(&common.out, "mixing", points.len())?;
    session.each(&points, |session, point| run(session, point, args, &common))?;
    let campaign = session.finish();
    let mut compared = Vec::new();
    for nodes in common.nodes() {
        for shape in SHAPES {
            let of = |point: &&Point| point.nodes == nodes && point.network == shape.name;
            let of: Vec<_> = points.iter().filter(of).cloned().collect();
            let rows = campaign.about(&of, "entropy");
            let count = rows.len() as f64;
            let mean = rows.iter().map(|row| row.mean).sum::<f64>() / count;
            let squares = rows.iter().map(|row| row.sd * row.sd / row.samples as f64).sum::<f64>();
            let pools = campaign.about(&of, "packets in a mix");
            let pool = pools.iter().map(|row| row.mean).sum::<f64>() / count;
            let simulated = linkability(shape.network(pool), TRIALS, args.seed).packet_bits;
            compared.push(Compared {
                nodes: nodes.into(),
                network: shape.name,
                layers: shape.layers,
                width: shape.width(),
                planned_pool: shape.pool,
                pool,
                closed_bits: shape.closed(pool),
                simulated_bits: simulated.mean,
                simulated_half: simulated.half,
                measured_bits: mean,
                measured_half: 1.96 * squares.sqrt() / count,
                packets: campaign.about(&of, "packets").iter().map(|row| row.mean).sum(),
            });
        }
    }
    if args.measuring.json {
        return Ok(report::print_json(&compared)?);
    }
    let mut table =
        Table::new(["nodes", "", "λ/μ planned", "λ/μ", "closed form", "simulated", "processes", "packets"]);
    for row in &compared {
        table.row([
            row.nodes.clone(),
            row.network.to_owned(),
            row.planned_pool.to_string(),
            format!("{:.2}", row.pool),
            format!("{:.3}", row.closed_bits),
            format!("{:.3} ± {:.3}", row.simulated_bits, row.simulated_half),
            format!("{:.3} ± {:.3}", row.measured_bits, row.measured_half),
            row.packets.to_string(),
        ]);
    }
    table.print()?;
    let file = common.out.join("mixing.csv");
    Ok(report::print(format!("\nRows: {}\n", file.display()).as_bytes())?)
}

fn run(session: &mut Session, point: &Point, args: &Args, common: &Common) -> Result<Vec<Row>, Failure> {
    let shape = SHAPES.into_iter().find(|shape| shape.name == point.network);
    let shape = shape.context("a network of another name")?;
    // A tap for each mix, and one behind the last.
    let size = Size { mixes: MIXES, layers: 3, providers: MIXES + 1, clients: 1 };
    let peer = common.peer.clone().filter(|_| point.nodes == "python");
    let plan = Plan::new(size, RATE_OF_LOOPS, args.delay, peer);
    let (folder, members) = Testbed::make(&plan)?;
    let of = |role| members.iter().filter(move |(_, entry)| entry.role() == role).cloned();
    let taps: Vec<NodeEntry> = of(Role::Provider).map(|(_, entry)| entry).collect();
    let mixes: Vec<NodeEntry> = of(Role::Mix).map(|(_, entry)| entry).collect();
    let mut running = Vec::new();
    for (node, entry) in of(Role::Mix) {
        running.push(Running::start(node, entry, &plan)?);
    }
    for mix in &mut running {
        mix.wait_until_ready(Instant::now() + START, &mut |what| session.tell(what))?;
    }
    session.tell("makes packets")?;
    let seed = args.seed.wrapping_add(point.repetition.into());
    let course = Course { shape, mixes, taps, delay: args.delay };
    let packets = course.packets(common.length, seed)?;
    session.tell("sends them, and notes when they pass")?;
    let (record, times) = course.drive(&packets, &session.stopped)?;
    drop((running, folder));
    session.tell("follows each packet")?;
    let is_last = |mix| mix >= (shape.layers - 1) * shape.width();
    // Packets that came when the mixes were full, and that have left.
    let per_delay = 2.0 * f64::from(shape.layers) * shape.pool * f64::from(shape.width());
    let layers = f64::from(shape.layers);
    let first = (BEFORE * layers * per_delay) as usize;
    let last = record.events.len().saturating_sub((AFTER * layers * per_delay) as usize);
    let bits: Vec<f64> = record.entropies(first..last, is_last).into_iter().flatten().collect();
    if bits.len() < 2 * PARTS {
        return Err(Failure::broken("--seconds: too few packets came through"));
    }
    let parts = bits.chunks(bits.len().div_ceil(PARTS));
    let means: Vec<f64> =
        parts.map(|part| part.iter().copied().collect::<Gathered>().estimate().mean).collect();
    let inside = packets_inside(&record, &times, first..last);
    // By Little's law, at the planned rate.
    let stay = inside / shape.pool;
    if stay > LONGEST_STAY {
        return Err(Failure::failed(format!(
            "packets stayed {stay:.1} times as long as they asked for; {TOO_BUSY}"
        )));
    }
    Ok(vec![
        point.row("entropy", "bits", &means),
        point.row("packets", "1", &[bits.len() as f64]),
        point.row("packets in a mix", "1", &[inside]),
    ])
}

/// Mixes, and taps behind them.
struct Course {
    shape: Shape,
    mixes: Vec<NodeEntry>,
    /// The tap in front of each mix, by the mix's number, and the one behind the last.
    taps: Vec<NodeEntry>,
    delay: Duration,
}

impl Course {
    /// Packets as from many clients: a Poisson process, random mixes, exponential delays.
    fn packets(&self, length: Duration, seed: u64) -> Result<Vec<Planned>> {
        let mut chance = Chance::of(seed, Purpose::Traffic);
        let (rate, width) = (self.shape.rate(self.delay), self.shape.width());
        let mut drafts = Vec::new();
        let mut at = chance.exponential(1.0 / rate);
        while at < length.as_secs_f64() {
            let hops = (0..self.shape.layers).map(|layer| {
                let mix = (layer * width + chance.below(width)) as usize;
                (mix, Duration::from_secs_f64(chance.exponential(self.delay.as_secs_f64())))
            });
            drafts.push((Duration::from_secs_f64(at), hops.collect::<Vec<_>>()));
            at += chance.exponential(1.0 / rate);
        }
        let make = |(at, hops): &(Duration, Vec<(usize, Duration)>)| {
            Ok(Planned { at: *at, first: hops[0].0, bytes: self.packet(hops)? })
        };
        drafts.par_iter().map(make).collect()
    }

    fn packet(&self, hops: &[(usize, Duration)]) -> Result<Vec<u8>> {
        let mut rng = HostRng::new().context("the system has no random numbers")?;
        let behind = self.mixes.len();
        let next = hops.iter().skip(1).map(|(mix, _)| *mix).chain([behind]);
        let routings: Vec<_> = hops
            .iter()
            .zip(next)
            .map(|((_, delay), next)| {
                let tap = &self.taps[next];
                let (host, port, name) = (tap.host().to_owned(), tap.port(), tap.name().to_owned());
                let next = Next::Named { host, port, name };
                let command = Command { next, delay: *delay, drop: false }.value(Text::Bin, Text::Bin);
                forward::relay(&Format::LOOPIX, command)
            })
            .collect();
        let keys = hops.iter().map(|(mix, _)| *self.mixes[*mix].public_key());
        let keys = keys.chain([*self.taps[behind].public_key()]);
        // A hop's routing is what sends a packet to it. Nobody reads that of the first.
        let routings = routings.iter().take(1).chain(&routings);
        let path: Vec<_> =
            keys.zip(routings).map(|(key, routing)| Hop { key, routing, associated: &[] }).collect();
        let payload = forward::payload("sink".into(), b"mixing");
        create(&Format::LOOPIX, &path, &payload, &mut rng).context("the names do not fit")
    }

    /// Sends all, and notes what passes.
    fn drive(&self, packets: &[Planned], stopped: &AtomicBool) -> Result<(Record, Vec<Instant>)> {
        let mixes: Vec<_> = self.mixes.iter().map(address).collect::<Result<_>>()?;
        let mut taps = Vec::new();
        for tap in &self.taps {
            let socket = UdpSocket::bind(address(tap)?).context("cannot take a provider's place")?;
            SockRef::from(&socket).set_recv_buffer_size(RECEIVE_BUFFER).context("cannot set a buffer")?;
            socket.set_read_timeout(Some(Duration::from_millis(20))).context("cannot set a timeout")?;
            taps.push(socket);
        }
        let is_over = AtomicBool::new(false);
        let (sent, seen) = thread::scope(|scope| {
            let watching: Vec<_> = taps
                .iter()
                .enumerate()
                .map(|(number, tap)| {
                    let (onwards, is_over) = (mixes.get(number).copied(), &is_over);
                    scope.spawn(move || watch(number, tap, onwards, is_over))
                })
                .collect();
            let sent = send(&taps[self.mixes.len()], &mixes, packets, stopped);
            // Until nothing is inside any more.
            if sent.is_ok() {
                thread::sleep(self.delay.mul_f64(AFTER * f64::from(self.shape.layers)));
            }
            is_over.store(true, Ordering::Relaxed);
            let seen = watching.into_iter().map(thread::ScopedJoinHandle::join);
            let seen: Vec<_> =
                seen.map(|seen| seen.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect();
            (sent, seen)
        });
        ordered(&mixes, packets, sent?, seen.into_iter().flatten().collect())
    }
}

/// All that was seen, in the order of its time, and when it was.
fn ordered(
    mixes: &[SocketAddr],
    packets: &[Planned],
    sent: Vec<Instant>,
    seen: Vec<Seen>,
) -> Result<(Record, Vec<Instant>)> {
    let through = seen.iter().filter(|seen| seen.tap == mixes.len()).count();
    if through != packets.len() {
        bail!("{through} of {} packets came through; {TOO_BUSY}", packets.len());
    }
    let entered = sent.into_iter().zip(packets).map(|(at, packet)| (at, None, Some(packet.first)));
    let mut passed = Vec::new();
    for seen in seen {
        let from = mixes.iter().position(|mix| *mix == seen.from);
        let from = from.with_context(|| format!("a packet from {}, which is no mix", seen.from))?;
        passed.push((seen.at, Some(from), Some(seen.tap).filter(|tap| *tap < mixes.len())));
    }
    let mut all: Vec<_> = entered.chain(passed).collect();
    all.sort_by_key(|(at, ..)| *at);
    let mut times = Vec::new();
    let mut record = Record { corrupt: vec![false; mixes.len()], ..Record::default() };
    for (at, from, to) in all {
        let link = record.links;
        record.links += 1;
        let number = |mix| u32::try_from(mix).unwrap_or(u32::MAX);
        let left = from.map(|mix| Event::Left { mix: number(mix), link, was: u32::MAX });
        record.events.extend(left);
        record.events.extend(to.map(|mix| Event::Came { mix: number(mix), link }));
        times.resize(record.events.len(), at);
    }
    Ok((record, times))
}

/// Packets in a mix, averaged over the time between two of the events and over the mixes.
fn packets_inside(record: &Record, times: &[Instant], between: Range<usize>) -> f64 {
    let (mut inside, mut sum) = (0.0, 0.0);
    for (at, event) in record.events.iter().enumerate() {
        inside += if matches!(event, Event::Came { .. }) { 1.0 } else { -1.0 };
        if between.contains(&at) && between.contains(&(at + 1)) {
            sum += inside * times[at + 1].duration_since(times[at]).as_secs_f64();
        }
    }
    let whole = times[between.end - 1].duration_since(times[between.start]).as_secs_f64();
    sum / whole / record.corrupt.len() as f64
}

/// Sends each packet at its time, and says when that was.
fn send(
    socket: &UdpSocket,
    mixes: &[SocketAddr],
    packets: &[Planned],
    stopped: &AtomicBool,
) -> Result<Vec<Instant>> {
    let begin = Instant::now();
    let mut sent = Vec::with_capacity(packets.len());
    for packet in packets {
        while let Some(early) = packet.at.checked_sub(begin.elapsed())
            && !early.is_zero()
        {
            thread::sleep(early);
        }
        if stopped.load(Ordering::Relaxed) {
            bail!("interrupted; the same command goes on with what is left");
        }
        sent.push(Instant::now());
        socket.send_to(&packet.bytes, mixes[packet.first]).context("cannot send to a mix")?;
    }
    Ok(sent)
}

/// Notes what comes to a tap, and sends it on to the mix behind.
fn watch(number: usize, tap: &UdpSocket, onwards: Option<SocketAddr>, is_over: &AtomicBool) -> Vec<Seen> {
    let (mut buffer, mut seen) = (vec![0; Format::LOOPIX.datagram_len() + 1], Vec::new());
    while !is_over.load(Ordering::Relaxed) {
        // A timeout is no error here, and after any other nothing comes.
        let Ok((len, from)) = tap.recv_from(&mut buffer) else { continue };
        seen.push(Seen { at: Instant::now(), from, tap: number });
        if let Some(mix) = onwards {
            // What is lost is missed at the end.
            let _ = tap.send_to(&buffer[..len], mix);
        }
    }
    seen
}
