//! `motemix-lab sim run`.

use super::observed::{self, Output};
use super::{Clock, Interrupt};
use crate::cli::SimRun as Args;
use crate::commands::link_keys::LinkKeys;
use crate::failure::Failure;
use crate::report::{self, Table};
use motemix_air::capture::Capture;
use motemix_crypto::Secret;
use motemix_sim::scenario::Protocol;
use motemix_sim::{Findings, News, Observers, Outcome, Readings, Sight, Witness, Years, run_with};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::time::Duration;

pub fn run(args: &Args) -> Result<(), Failure> {
    let scenario = match args.run {
        Some(id) => {
            let plan = args.scenario.plan()?;
            let runs = plan.runs().len();
            let run = plan.run(id);
            let run =
                run.ok_or_else(|| Failure::broken(format!("--run {id}: the sweep has {runs} runs, from 0")))?;
            plan.scenario(run).map_err(Failure::broken)?
        }
        None => args.scenario.scenario(args.seed)?,
    };
    let output = Output { posteriors: args.posteriors.as_deref(), transfers: args.transfers.as_deref() };
    let observed = scenario.adversary.is_some() && scenario.protocol == Protocol::Motes;
    if output.is_wanted() && !observed {
        let (file, remedy) =
            (args.scenario.file.display(), "add a section [adversary] to a scenario of motes");
        return Err(Failure::broken(format!("{file}: nobody observes; {remedy}")));
    }
    let mut findings = output.is_wanted().then(Findings::default);
    let interrupt = Interrupt::listen()?;
    let mut recorder = args.pcap.as_deref().map(Recorder::create).transpose()?;
    let mut clock = Clock::of(&scenario);
    let mut progress = |now| {
        clock.at(now);
        interrupt.flow()
    };
    let witness = recorder.as_mut().map(|recorder| recorder as &mut dyn Witness);
    let observers = Observers { progress: Some(&mut progress), witness, findings: findings.as_mut() };
    let ended = run_with(&scenario, observers);
    clock.progress.finish();
    // What was on the air until an interrupt is worth as much.
    let mut usage = None;
    if let (Some(recorder), Some(path)) = (recorder, &args.pcap) {
        usage = recorder.finish(path)?.usage();
    }
    let outcome = ended.map_err(|error| args.scenario.no_outcome(&error))?;
    if let Some(findings) = &findings {
        output.write(findings)?;
    }
    if args.json {
        report::print_json(&outcome)?;
        eprint!("{}", usage.unwrap_or_default());
    } else {
        table(&outcome).print()?;
        report::print(usage.unwrap_or_default().as_bytes())?;
    }
    Ok(())
}

pub(super) fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::failed(format!("cannot write {}: {error}", path.display()))
}

/// Writes what is on the air, and the keys of links.
struct Recorder {
    capture: Capture<BufWriter<File>>,
    keys: LinkKeys,
    /// The first failures; nothing is written after them.
    frames: io::Result<()>,
    keyed: Result<(), Failure>,
}

impl Recorder {
    fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path).map_err(|error| cannot_write(path, &error))?;
        let capture = Capture::new(BufWriter::new(file)).map_err(|error| cannot_write(path, &error))?;
        Ok(Self { capture, keys: LinkKeys::beside(path)?, frames: Ok(()), keyed: Ok(()) })
    }

    fn finish(mut self, path: &Path) -> Result<LinkKeys, Failure> {
        let written = self.frames.and_then(|()| self.capture.flush());
        written.map_err(|error| cannot_write(path, &error))?;
        self.keyed.map(|()| self.keys)
    }
}

impl Witness for Recorder {
    fn see(&mut self, _: Duration, sight: &Sight<'_>) {
        match *sight {
            Sight::OnAir { begin, collided, frame, .. } if self.frames.is_ok() => {
                self.frames = self.capture.frame(begin, frame, collided);
            }
            Sight::Told { news: News::Key { stations, key }, .. } if self.keyed.is_ok() => {
                self.keyed = self.keys.add(stations, &Secret::new(key));
            }
            _ => {}
        }
    }
}

fn table(outcome: &Outcome) -> Table {
    let mut table = Table::without_heading();
    let percent = |count: u64, percent: f64| format!("{count} ({percent:.1} %)");
    table.figure("nodes", &outcome.nodes, "");
    table.figure("virtual time", &format!("{:.1}", outcome.virtual_s / 60.0), "minutes");
    table.figure("sent", &outcome.sent, "messages");
    for (name, count, share, unit) in [
        ("acknowledged", outcome.acknowledged, outcome.acknowledged_percent, "messages"),
        ("retransmitted", outcome.retransmitted, outcome.retransmitted_percent, "packets"),
        ("discarded", outcome.discarded, outcome.discarded_percent, "messages"),
    ] {
        table.figure(name, &percent(count, share), unit);
    }
    table.figure("undecided at the end", &outcome.undecided, "messages");
    table.figure("refused, the sender being full", &outcome.refused, "messages");
    if let Some(Readings { measured, believed }) = outcome.readings {
        table.figure("measured and signed", &measured, "readings");
        table.figure("arrived, and believed by their receivers", &believed, "readings");
    }
    table.figure("round trip p50", &format!("{:.2}", outcome.rtt_s.p50), "s");
    table.figure("round trip p99", &format!("{:.2}", outcome.rtt_s.p99), "s");
    table.figure("airtime per acknowledged message", &format!("{:.3}", outcome.airtime_s_per_ack), "s");
    table.figure("energy per acknowledged message", &format!("{:.0}", outcome.energy_mj_per_ack), "mJ");
    table.figure("  without listening", &format!("{:.1}", outcome.active_energy_mj_per_ack), "mJ");
    if let Some(known) = &outcome.anonymity {
        observed::rows(&mut table, known);
    }
    let handshakes = &outcome.handshakes;
    if handshakes.called > 0 {
        table.figure("handshakes begun", &handshakes.called, "");
        table.figure("  answered", &handshakes.answered, "");
        table.figure("  failed", &handshakes.failed, "");
        table.figure("keys of neighbours, both sides", &handshakes.keys, "");
    }
    for (reason, count) in &outcome.drops {
        table.figure(&format!("dropped, {reason}"), count, "");
    }
    if let Some(epochs) = outcome.epochs {
        table.figure("epochs that every mote was in", &epochs, "");
    }
    if let Some(flash) = &outcome.flash {
        table.figure("written to flash, each mote", &format!("{:.0}", flash.written_bytes), "bytes");
        table.figure("erased, each mote", &format!("{:.1}", flash.erases), "pages");
        let Years { record, settings, tags, messages, readings } = flash.years;
        for (region, years) in [
            ("record", record),
            ("settings", settings),
            ("replay tags", tags),
            ("messages", messages),
            ("readings", readings),
        ] {
            if let Some(years) = years {
                table.figure(&format!("flash would last, {region}"), &format!("{years:.1}"), "years");
            }
        }
    }
    for (board, tables) in &outcome.limits {
        for (name, length, unit) in [
            ("nodes", tables.nodes, ""),
            ("network document", tables.document, "bytes"),
            ("packets", tables.packets, ""),
            ("replay filter", tables.replay_bytes, "bytes"),
            ("messages in flight", tables.messages, ""),
            ("headers made ahead", tables.headers, ""),
            ("received messages, each of two tables", tables.window, "places"),
        ] {
            table.figure(&format!("room on {board}, {name}"), &length, unit);
        }
    }
    table
}
