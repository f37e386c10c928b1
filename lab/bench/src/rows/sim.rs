//! Simulated networks: how long a scenario takes the program, and how much memory.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::report::Row;

/// Between two looks at the memory of a run.
const LOOK: Duration = Duration::from_millis(5);

/// What a run tells of itself.
#[derive(Deserialize)]
struct Outcome {
    steps: u64,
    acknowledged_percent: f64,
}

/// What a run took.
struct Taken {
    seconds: f64,
    /// Resident at most, KiB.
    memory: u64,
    outcome: Outcome,
}

/// Seconds for a scenario, and lines with what else there is to say. With `turns` each is run so
/// often; the fastest counts. No peer takes turns with us: `scripts/compare-ns3` runs ns-3 beside
/// it, where that is installed.
///
/// # Errors
/// The program does not run.
pub fn rows(program: &Path, scenarios: &Path, turns: usize) -> Result<(Vec<Row>, Vec<String>)> {
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    for (name, file, settings) in [
        ("sim-thesis-64", "thesis-mesh.toml", &["nodes.mote.count=64"][..]),
        ("sim-mesh-64", "mesh-64.toml", &["run.send_for=1h", "run.cool_down=0s"]),
        ("sim-mesh-1000", "mesh-1000.toml", &[]),
    ] {
        let taken = fastest(program, &scenarios.join(file), settings, turns)?;
        lines.push(taken.line(name));
        rows.push(Row::alone(name, taken.seconds, "s"));
    }
    // With as many nodes, as many messages each: what grows is what a node needs.
    for nodes in [250, 500, 1000] {
        let settings = [format!("nodes.mote.count={nodes}"), "run.send_for=10min".into()];
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let taken = fastest(program, &scenarios.join("mesh-1000.toml"), &settings, 1)?;
        lines.push(taken.line(&format!("{nodes} nodes, ten minutes")));
    }
    Ok((rows, lines))
}

impl Taken {
    #[allow(clippy::cast_precision_loss)]
    fn line(&self, name: &str) -> String {
        let Self { seconds, memory, outcome } = self;
        format!(
            "- `{name}`: {seconds:.2} s, {:.2} million events a second, {:.1} MiB resident, {:.1} % acknowledged",
            outcome.steps as f64 / seconds / 1e6,
            *memory as f64 / 1024.0,
            outcome.acknowledged_percent,
        )
    }
}

fn fastest(program: &Path, scenario: &Path, settings: &[&str], turns: usize) -> Result<Taken> {
    let mut best = run(program, scenario, settings)?;
    for _ in 1..turns {
        let next = run(program, scenario, settings)?;
        if next.seconds < best.seconds {
            best = next;
        }
    }
    Ok(best)
}

fn run(program: &Path, scenario: &Path, settings: &[&str]) -> Result<Taken> {
    let begin = Instant::now();
    let mut command = Command::new(program);
    command.args(["sim", "run", "--json"]).arg(scenario);
    command.args(settings.iter().flat_map(|setting| ["--set", setting]));
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("starting {}", program.display()))?;
    let mut memory = 0;
    // The one object that it prints fits into the pipe.
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        memory = resident(&child).unwrap_or(memory).max(memory);
        std::thread::sleep(LOOK);
    };
    let seconds = begin.elapsed().as_secs_f64();
    ensure!(status.success(), "motemix-lab sim run {} failed", scenario.display());
    let mut text = String::new();
    child.stdout.take().context("stdout is piped")?.read_to_string(&mut text)?;
    Ok(Taken { seconds, memory, outcome: serde_json::from_str(&text)? })
}

/// The most that was resident so far, KiB.
fn resident(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
