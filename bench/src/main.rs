//! `motemix-bench`: prints one table and writes `target/bench.json`.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use lexopt::prelude::*;
use motemix_bench::load::forwarder::{self, Format};
use motemix_bench::machine::{self, Machine};
use motemix_bench::report;
use motemix_bench::rows::forward::Load;
use motemix_bench::rows::{HOST_DATA, create, forward, hop, x25519};
use motemix_bench::turns::Effort;

const HELP: &str = "\
Compares motemix with its peers, both in turns on one core, and prints one table.
A ratio above 1 means that motemix is better. Times are the minima of many turns.

Usage: motemix-bench [--quick] [--json FILE]
       motemix-bench forward <motemix|sphinx-packet> <NEXT-HOP>

      --quick       a few turns only: shows that everything runs, not how fast
      --json FILE   where the rows go (default: target/bench.json of the project)
  forward           the forwarding process that the benchmark starts for itself

Example: make bench";

enum Task {
    Bench { quick: bool, json: PathBuf },
    Forward(Format, SocketAddr),
    Help,
}

fn main() -> Result<()> {
    match task()? {
        Task::Bench { quick, json } => bench(quick, &json),
        Task::Forward(format, next) => forwarder::run(format, next),
        Task::Help => {
            println!("{HELP}");
            Ok(())
        }
    }
}

fn task() -> Result<Task> {
    let mut parser = lexopt::Parser::from_env();
    let (mut quick, mut json) = (false, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("quick") => quick = true,
            Long("json") => json = Some(parser.value()?.into()),
            Long("help") | Short('h') => return Ok(Task::Help),
            Value(word) if word == "forward" => {
                return Ok(Task::Forward(parser.value()?.parse()?, parser.value()?.parse()?));
            }
            Value(word) => bail!("there is no command {}; see --help", word.display()),
            other => return Err(other.unexpected().into()),
        }
    }
    let json = match json {
        Some(file) => file,
        None => project()?.join("target/bench.json"),
    };
    Ok(Task::Bench { quick, json })
}

/// Cargo says where this package is; its parent is the project.
fn project() -> Result<PathBuf> {
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .context("without cargo, say where the rows go: --json FILE")?;
    Ok(PathBuf::from(package).parent().context("this package has no parent folder")?.to_owned())
}

fn bench(quick: bool, json: &std::path::Path) -> Result<()> {
    let (effort, load) = if quick { (Effort::QUICK, Load::QUICK) } else { (Effort::FULL, Load::FULL) };
    let machine = Machine::read()?;
    machine::pin(machine.measured_core())?;

    let [variable, fixed] = x25519::rows(effort);
    let (mut rows, lengths) = hop::rows(effort, &variable)?;
    rows.extend(create::rows(effort)?);
    rows.extend([variable, fixed]);
    let (forwarding, forwarding_lengths) = forward::loop_row(&machine, load)?;
    rows.push(forwarding);

    println!("Machine: {}", machine.line());
    println!(
        "Packets of the host rows: {} bytes of data, {} bytes ours, {} bytes theirs",
        HOST_DATA.len(),
        lengths.ours,
        lengths.theirs
    );
    println!("{forwarding_lengths}");
    println!("{}", report::table(&rows));
    report::write(&rows, json)?;
    println!("Rows: {}", json.display());
    Ok(())
}
