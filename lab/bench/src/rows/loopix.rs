//! Loopix beside the Python nodes in `scripts/loopix`: one packet at one hop, making one, a mix
//! process under load, and how long a message takes through a network of processes. The Python side
//! is started from `.venv-loopix`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use motemix_crypto::p224::{Point, Scalar};
use motemix_loopix::files::keys;
use motemix_loopix::packet::{Format, Hop, Layer, Packet, create, forward};
use motemix_loopix::wire::command::{self, Next, Text};
use motemix_os::rng::HostRng;
use motemix_sphinx::{ReplayError, ReplayFilter, ReplayTag};
use serde::Deserialize;

use crate::machine::{self, Machine};
use crate::report::Row;
use crate::turns::{Effort, Times, take_turns};

const HOPS: u16 = 6;
/// Packets offered to a mix in a second. The Python mix is past its best at the fourth.
const RATES: &str = "250,500,750,1000,2000,3000,4000,5000,6000,8000,10000";
const QUICK_RATES: &str = "250,1000,4000";

/// The share of what is offered that has to be out when the load ends.
const KEPT_UP: f64 = 0.98;

/// What `python -m peer cost` prints: microseconds.
#[derive(Deserialize)]
struct Cost {
    hop: Taken,
    create: Taken,
}

#[derive(Deserialize)]
struct Taken {
    minimum: f64,
    median: f64,
}

/// A row of `motemix-lab loopix measure … --json`.
#[derive(Deserialize)]
struct Measured {
    nodes: String,
    rate: f64,
    quantity: String,
    mean: f64,
    min: f64,
    median: f64,
}

/// The Python nodes, or why there are none.
struct Peer {
    project: PathBuf,
    is_there: bool,
}

impl Peer {
    fn name(&self) -> &'static str {
        if self.is_there {
            "sphinxmix 0.0.7, petlib (Python)"
        } else {
            "no .venv-loopix: run scripts/setup loopix_peer"
        }
    }

    fn cost(&self, time: Duration) -> Result<Option<Cost>> {
        if !self.is_there {
            return Ok(None);
        }
        let mut command = Command::new(self.project.join(".venv-loopix/bin/python"));
        command.current_dir(self.project.join("scripts/loopix")).args(["-m", "peer", "cost", "--seconds"]);
        let output = command.arg(time.as_secs_f64().to_string()).output().context("starting Python")?;
        ensure!(output.status.success(), "peer cost: {}", String::from_utf8_lossy(&output.stderr));
        Ok(Some(serde_json::from_slice(&output.stdout)?))
    }
}

/// The rows, and lines with what else there is to say.
///
/// # Errors
/// The program, or the Python nodes that are there, do not run.
pub fn rows(
    machine: &Machine,
    effort: Effort,
    quick: bool,
    program: &Path,
    project: &Path,
) -> Result<(Vec<Row>, Vec<String>)> {
    // Where Python is started elsewhere, a relative path would be another.
    let project = std::path::absolute(project)?;
    let is_there = project.join(".venv-loopix/bin/python").exists();
    let peer = Peer { project, is_there };
    let mut rows = Vec::from(packet_rows(effort, &peer)?);
    // A mix under load is kept on one core by the program, and a whole network needs all of them.
    machine::spread(machine)?;
    let (mix, mut lines) = mix_row(quick, program, &peer)?;
    rows.push(mix);
    let (latency, line) = latency_row(quick, program, &peer)?;
    rows.push(latency);
    lines.push(line);
    machine::pin(machine.measured_core())?;
    Ok((rows, lines))
}

/// Admits everything: the peer has no filter.
struct AdmitAll;

impl ReplayFilter for AdmitAll {
    fn admit(&mut self, _: &ReplayTag) -> Result<(), ReplayError> {
        Ok(())
    }
}

fn packet_rows(effort: Effort, peer: &Peer) -> Result<[Row; 2]> {
    let mut rng = HostRng::new().context("the system has no random numbers")?;
    let secrets: Vec<_> = (0..HOPS).map(|_| keys::generate(&mut rng)).collect();
    let routing: Vec<_> = (0..HOPS).map(routing).collect();
    let hop = |(secret, routing)| Hop { key: Point::mul_generator(secret), routing, associated: &[] };
    let path: Vec<_> = secrets.iter().zip(routing.iter().map(Vec::as_slice)).map(hop).collect();
    let payload = forward::payload("client".into(), &[0x6d; 500]);
    let packet = create(&Format::LOOPIX, &path, &payload, &mut rng).context("the path is too long")?;
    ensure!(process(&mut packet.clone(), &secrets[0]).is_some(), "our packet is not forwarded");

    // The peer is another process: it has its turn before and after ours, and its better one
    // counts.
    let before = peer.cost(effort.time / 2)?;
    let (hop, create) = take_turns(
        effort,
        (|| packet.clone(), |mut packet: Vec<u8>| (process(&mut packet, &secrets[0]), packet)),
        (|| (), |()| create(&Format::LOOPIX, &path, &payload, &mut rng)),
    );
    let after = peer.cost(effort.time / 2)?;
    let theirs = |of: fn(&Cost) -> &Taken| {
        let both = [&before, &after].into_iter().flatten().map(of);
        let none = Times { minimum: f64::NAN, median: f64::NAN };
        both.fold(none, |best, taken| Times {
            minimum: best.minimum.min(taken.minimum),
            median: best.median.min(taken.median),
        })
    };
    Ok([
        Row::times("loopix-hop", (hop, theirs(|cost| &cost.hop)), peer.name()),
        Row::times("loopix-create-6", (create, theirs(|cost| &cost.create)), peer.name()),
    ])
}

/// Decodes a datagram, takes a layer off, reads what the hop is told; the datagram is the next
/// hop's then.
fn process(datagram: &mut [u8], secret: &Scalar) -> Option<command::Command> {
    let packet = Packet::parse(&Format::LOOPIX, datagram).ok()?.authenticate(secret, &[]).ok()?;
    let Layer::Relay(relay) = packet.admit(&mut AdmitAll).ok()?.read().ok()? else { return None };
    let command = command::Command::parse_named(&relay.command, Duration::from_secs(60))?;
    relay.forward().ok()?;
    Some(command)
}

fn routing(number: u16) -> Vec<u8> {
    let next = Next::Named { host: "127.0.0.1".into(), port: 10_000 + number, name: format!("Node{number}") };
    let command = command::Command { next, delay: Duration::ZERO, drop: false };
    forward::relay(&Format::LOOPIX, command.value(Text::Bin, Text::Bin))
}

/// Packets a second that a mix process on one core forwards without losing any.
fn mix_row(quick: bool, program: &Path, peer: &Peer) -> Result<(Row, Vec<String>)> {
    let rates = if quick { QUICK_RATES } else { RATES };
    let seconds = if quick { "1" } else { "5" };
    let measured = measure(
        program,
        peer,
        &["mix-throughput", "--saturation", "--rates", rates, "--seconds", seconds, "--repetitions", "1"],
    )?;
    let of = |nodes: &'static str, quantity: &'static str| {
        measured.iter().filter(move |row| row.nodes == nodes && row.quantity == quantity)
    };
    let without_loss = |nodes| {
        let complete = of(nodes, "lost").filter(|row| row.mean == 0.0).map(|row| row.rate);
        let out = |rate: f64| of(nodes, "out").find(|row| row.rate.total_cmp(&rate).is_eq());
        // The Python mix queues without bound, nearly: what comes out after the load has ended is
        // no rate either.
        let kept_up = complete.filter_map(out).filter(|row| row.mean >= KEPT_UP * row.rate);
        kept_up.map(|row| row.rate).fold(f64::NAN, f64::max)
    };
    let most = |nodes, quantity| of(nodes, quantity).map(|row| row.mean).fold(f64::NAN, f64::max);
    let row = Row::more(
        "loopix-mix-udp",
        without_loss("motemix"),
        peer.name(),
        without_loss("python"),
        "packets/s without loss",
    );
    let line = |nodes| {
        format!(
            "- `loopix-mix-udp`, {nodes}: at most {:.0} packets/s out of one process, {:.0} for each second of its processor time",
            most(nodes, "out"),
            most(nodes, "out per cpu second"),
        )
    };
    let sides = if peer.is_there { &["motemix", "python"][..] } else { &["motemix"] };
    let lines = sides.iter().map(|nodes| line(nodes)).collect();
    Ok((row.ours_at_least(4000.0), lines))
}

/// Milliseconds from sending to receiving, three layers, no delay, push.
fn latency_row(quick: bool, program: &Path, peer: &Peer) -> Result<(Row, String)> {
    let seconds = if quick { "5" } else { "60" };
    let measured = measure(
        program,
        peer,
        &[
            "latency",
            "--clients",
            "2",
            "--rates",
            "3",
            "--providers",
            "2",
            "--seconds",
            seconds,
            "--repetitions",
            "1",
        ],
    )?;
    let of = |nodes| measured.iter().find(|row| row.nodes == nodes && row.quantity == "latency");
    let figure = |nodes, of_row: fn(&Measured) -> f64| of(nodes).map_or(f64::NAN, of_row);
    let (ours, theirs) = (figure("motemix", |row| row.median), figure("python", |row| row.median));
    let row = Row::less("loopix-latency", ours, peer.name(), theirs, "ms, median").below(4.0);
    let line = format!(
        "- `loopix-latency`: at least {:.2} ms, {:.2} ms theirs",
        figure("motemix", |row| row.min),
        figure("python", |row| row.min),
    );
    Ok((row, line))
}

fn measure(program: &Path, peer: &Peer, words: &[&str]) -> Result<Vec<Measured>> {
    let out = tempfile::tempdir().context("making a temporary folder")?;
    let mut command = Command::new(program);
    command.args(["loopix", "measure"]).args(words).arg("--json").arg("--out").arg(out.path());
    if peer.is_there {
        command.arg("--python").arg(&peer.project);
    }
    let output = command.output().with_context(|| format!("starting {}", program.display()))?;
    ensure!(
        output.status.success(),
        "motemix-lab loopix measure: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}
