//! `motemix-bench`: prints one table and writes `target/bench.json`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use lexopt::prelude::*;
use motemix_bench::load::forwarder::{self, Format};
use motemix_bench::load::process;
use motemix_bench::machine::{self, Machine};
use motemix_bench::ours::HostCurve;
use motemix_bench::report::{self, Row};
use motemix_bench::rows::forward::Load;
use motemix_bench::rows::{HOST_DATA, broker, create, forward, hop, link, loopix, p224, replay, sim, x25519};
use motemix_bench::turns::Effort;

const HELP: &str = "\
Compares motemix with its peers, both in turns on one core, and prints one table.
A ratio above 1 means that motemix is better. Times are the minima of many turns.

Usage: motemix-bench [--quick] [--broker] [--json FILE] [--programs DIR]

      --quick          a few turns only: shows that everything runs, not how fast
      --broker         the rows of the broker alone
      --json FILE      where the rows go (default: target/bench.json of the project)
      --programs DIR   where motemix (for nodes that forward) and motemix-lab are
                       (default: target/release of the project)

The benchmark starts these for itself:
  forward <motemix|sphinx-packet> <NEXT-HOP>   the plainest forwarding process
  start <PROGRAM> [ARGUMENT...]                a program that ends with the benchmark

Example: make bench";

enum Task {
    Bench { quick: bool, broker: bool, json: Option<PathBuf>, programs: Option<PathBuf> },
    Forward(Format, SocketAddr),
    Start(OsString, Vec<OsString>),
    Help,
}

fn main() -> Result<()> {
    match task()? {
        Task::Bench { quick, broker, json, programs } => {
            let json = or_in_target(json, "bench.json")?;
            bench(quick, broker, &json, &or_in_target(programs, "release")?)
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
    let (mut quick, mut broker, mut json, mut programs) = (false, false, None, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("quick") => quick = true,
            Long("broker") => broker = true,
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
    Ok(Task::Bench { quick, broker, json, programs })
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

fn bench(quick: bool, broker_alone: bool, json: &Path, programs: &Path) -> Result<()> {
    let (effort, load) = if quick { (Effort::QUICK, Load::QUICK) } else { (Effort::FULL, Load::FULL) };
    let laboratory = programs.join("motemix-lab");
    let machine = Machine::read()?;
    machine::pin(machine.measured_core())?;
    if broker_alone {
        let (rows, lines) = broker::rows(&machine, quick, &programs.join("motemix"), &project()?)?;
        println!("Machine: {}", machine.line());
        return show(&rows, &lines, json);
    }

    let [variable, fixed] = x25519::rows(effort);
    let (mut rows, lengths) = hop::rows(effort, &variable)?;
    rows.extend(create::rows(effort)?);
    rows.extend([variable, fixed]);
    rows.extend(x25519::batch_rows(effort));
    rows.extend(p224::rows(effort)?);
    rows.extend(link::rows(effort)?);
    let (of_loopix, more_lines) = loopix::rows(&machine, effort, quick, &laboratory, &project()?)?;
    rows.extend(of_loopix);
    let (forwarding, mut lines) = forward::rows(&machine, load, &programs.join("motemix"))?;
    lines.extend(more_lines);
    rows.extend(forwarding);
    let (of_broker, more) = broker::rows(&machine, quick, &programs.join("motemix"), &project()?)?;
    rows.extend(of_broker);
    lines.extend(more);
    let (simulated, more) = sim::rows(&laboratory, &project()?.join("scenarios"), if quick { 1 } else { 3 })?;
    rows.extend(simulated);
    lines.extend(more);
    let (of_filters, more) = replay::rows(quick)?;
    rows.extend(of_filters);
    lines.extend(more);

    println!("Machine: {}; curve: {}", machine.line(), HostCurve::backend());
    println!(
        "host-…: {} bytes of data, {} bytes ours, {} bytes theirs; host-hop-1k: batches of {}, each done in {:.0} µs",
        HOST_DATA.len(),
        lengths.ours,
        lengths.theirs,
        lengths.batch,
        lengths.batch_takes,
    );
    show(&rows, &lines, json)
}

fn show(rows: &[Row], lines: &[String], json: &Path) -> Result<()> {
    lines.iter().for_each(|line| println!("{line}"));
    println!("{}", report::table(rows));
    report::write(rows, json)?;
    println!("Rows: {}", json.display());
    Ok(())
}
