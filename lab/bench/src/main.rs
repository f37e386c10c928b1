//! `motemix-bench`: prints one table and writes `target/bench.json`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use lexopt::prelude::*;
use motemix_bench::load::forwarder::{self, Format};
use motemix_bench::load::process;
use motemix_bench::machine::{self, InstructionSet, Machine};
use motemix_bench::ours::HostCurve;
use motemix_bench::report::{self, Row};
use motemix_bench::rows::forward::Load;
use motemix_bench::rows::{HOST_DATA, broker, create, forward, hop, link, loopix, p224, replay, sim, x25519};
use motemix_bench::turns::Effort;

const HELP: &str = "\
Compares motemix with its peers, both in turns on one core, and prints one table.
A ratio above 1 means that motemix is better. Times are the minima of many turns.

Usage: motemix-bench [--quick] [--only GROUP] [--json FILE] [--programs DIR]

      --quick          a few turns only: shows that everything runs, not how fast
      --only GROUP     the rows of one group: packet, curve, link, loopix, forward,
                       broker, sim or replay
      --json FILE      where the rows go (default: target/bench.json of the project, or
                       target/bench-quick.json with --quick)
      --programs DIR   where motemix (for nodes that forward) and motemix-lab are
                       (default: target/release of the project)

The benchmark starts these for itself:
  forward <motemix|sphinx-packet> <NEXT-HOP>   the plainest forwarding process
  start <PROGRAM> [ARGUMENT...]                a program that ends with the benchmark

Example: make bench";

enum Task {
    Bench { quick: bool, only: Option<Group>, json: Option<PathBuf>, programs: Option<PathBuf> },
    Forward(Format, SocketAddr),
    Start(OsString, Vec<OsString>),
    Help,
}

fn main() -> Result<()> {
    match task()? {
        Task::Bench { quick, only, json, programs } => {
            // What shows no speed does not take the place of what does.
            let json = or_in_target(json, if quick { "bench-quick.json" } else { "bench.json" })?;
            bench(quick, only, &json, &or_in_target(programs, "release")?)
        }
        Task::Forward(format, next) => forwarder::run(format, next),
        Task::Start(program, arguments) => process::become_program(&program, &arguments),
        Task::Help => {
            println!("{HELP}");
            Ok(())
        }
    }
}

fn task() -> Result<Task> {
    let mut parser = lexopt::Parser::from_env();
    let (mut quick, mut only, mut json, mut programs) = (false, None, None, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("quick") => quick = true,
            Long("only") => only = Some(parser.value()?.parse()?),
            Long("json") => json = Some(parser.value()?.into()),
            Long("programs") => programs = Some(parser.value()?.into()),
            Long("help") | Short('h') => return Ok(Task::Help),
            Value(word) if word == "forward" => {
                return Ok(Task::Forward(parser.value()?.parse()?, parser.value()?.parse()?));
            }
            Value(word) if word == "start" => {
                return Ok(Task::Start(parser.value()?, parser.raw_args()?.collect()));
            }
            Value(word) => bail!("there is no command {}; see --help", word.display()),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Task::Bench { quick, only, json, programs })
}

/// A file that was named, or one in the project's target folder. Cargo says where this package is;
/// its parent is the project.
fn or_in_target(named: Option<PathBuf>, file: &str) -> Result<PathBuf> {
    if let Some(named) = named {
        return Ok(named);
    }
    Ok(project()?.join("target").join(file))
}

fn project() -> Result<PathBuf> {
    let package =
        std::env::var_os("CARGO_MANIFEST_DIR").context("start this with `make bench`, or with cargo run")?;
    Ok(Path::new(&package).parent().context("this package has no parent folder")?.to_owned())
}

/// Rows that are measured together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    Packet,
    Curve,
    Link,
    Loopix,
    Forward,
    Broker,
    Sim,
    Replay,
}

const GROUPS: [(&str, Group); 8] = [
    ("packet", Group::Packet),
    ("curve", Group::Curve),
    ("link", Group::Link),
    ("loopix", Group::Loopix),
    ("forward", Group::Forward),
    ("broker", Group::Broker),
    ("sim", Group::Sim),
    ("replay", Group::Replay),
];

impl FromStr for Group {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let group = GROUPS.iter().find(|(name, _)| *name == text).map(|(_, group)| *group);
        group.with_context(|| {
            format!("there is no group {text}; choose one of {}", GROUPS.map(|(name, _)| name).join(", "))
        })
    }
}

fn bench(quick: bool, only: Option<Group>, json: &Path, programs: &Path) -> Result<()> {
    let (effort, load) = if quick { (Effort::QUICK, Load::QUICK) } else { (Effort::FULL, Load::FULL) };
    let (program, laboratory) = (programs.join("motemix"), programs.join("motemix-lab"));
    let machine = Machine::read()?;
    machine::pin(machine.measured_core())?;

    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    for (_, group) in GROUPS.iter().filter(|(_, group)| only.is_none_or(|only| only == *group)) {
        let (measured, more) = match group {
            Group::Packet => packet_rows(effort)?,
            Group::Curve => (curve_rows(effort)?, Vec::new()),
            Group::Link => (link::rows(effort)?, Vec::new()),
            Group::Loopix => loopix::rows(&machine, effort, quick, &laboratory, &project()?)?,
            Group::Forward => forward::rows(&machine, load, &program)?,
            Group::Broker => broker::rows(&machine, quick, &program, &project()?)?,
            Group::Sim => sim::rows(&laboratory, &project()?.join("scenarios"), if quick { 1 } else { 3 })?,
            Group::Replay => replay::rows(quick)?,
        };
        rows.extend(measured);
        lines.extend(more);
    }
    println!(
        "Machine: {}; instruction set: {}; curve: {}",
        machine.line(),
        InstructionSet::of_machine(),
        HostCurve::backend()
    );
    show(&rows, &lines, json)
}

/// A hop without its multiplications is found by taking them off.
fn packet_rows(effort: Effort) -> Result<(Vec<Row>, Vec<String>)> {
    let [multiplication, _] = x25519::rows(effort);
    let (mut rows, lengths) = hop::rows(effort, &multiplication)?;
    rows.extend(create::rows(effort)?);
    let line = format!(
        "host-…: {} bytes of data, {} bytes ours, {} bytes theirs; host-hop-1k: batches of {}, each done in {:.0} µs",
        HOST_DATA.len(),
        lengths.ours,
        lengths.theirs,
        lengths.batch,
        lengths.batch_takes,
    );
    Ok((rows, vec![line]))
}

fn curve_rows(effort: Effort) -> Result<Vec<Row>> {
    let mut rows = Vec::from(x25519::rows(effort));
    rows.extend(x25519::batch_rows(effort));
    rows.extend(p224::rows(effort)?);
    Ok(rows)
}

fn show(rows: &[Row], lines: &[String], json: &Path) -> Result<()> {
    lines.iter().for_each(|line| println!("{line}"));
    println!("{}", report::table(rows));
    report::write(rows, json)?;
    println!("Rows: {}", json.display());
    Ok(())
}
