//! Signed updates through the broker to an observer, and many observers, beside libcoap's server
//! and aiocoap. The peers keep the newest value in memory, and check nothing.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::load::broker::{self, Kind, Server};
use crate::load::observers::Observers;
use crate::load::updates::{Device, Observer, Turn, take_turn};
use crate::machine::Machine;
use crate::report::Row;

/// Devices, each with one update under way.
const DEVICES: u16 = 256;
/// Devices of the peers: with more, their sockets overflow, and they notify less.
const DEVICES_OF_PEERS: u16 = 64;
/// Of notifications, so many may be missing: newer ones came in their place.
const MOST_MISSING: f64 = 0.01;
const LIBCOAP: &str = "libcoap 4.3 coap-server";
const AIOCOAP: &str = "aiocoap 0.4 (Python)";
const NO_LIBCOAP: &str = "no libcoap: run scripts/setup coap_peer";
const NO_AIOCOAP: &str = "no .venv-neighbour: run scripts/setup neighbour_peer";

/// One server, its devices and its observer.
struct Side {
    kind: Kind,
    server: Server,
    devices: Vec<Device>,
    observer: Observer,
    turns: Vec<Turn>,
}

impl Side {
    fn start(machine: &Machine, kind: Kind, program: &Path, project: &Path) -> Result<Self> {
        let is_ours = matches!(kind, Kind::Motemix { .. });
        let count = if is_ours { DEVICES } else { DEVICES_OF_PEERS };
        let mut devices = (0..count).map(Device::new).collect::<Result<Vec<_>>>()?;
        let server = Server::start(machine, kind, program, project, &mut devices)?;
        let observer = Observer::begin(&server)?;
        Ok(Self { kind, server, devices, observer, turns: Vec::new() })
    }

    fn take_turn(&mut self, updates: usize) -> Result<()> {
        let each = updates / self.devices.len();
        let turn = take_turn(&mut self.server, &mut self.devices, &mut self.observer, each)
            .with_context(|| format!("{:?}", self.kind))?;
        if matches!(self.kind, Kind::Motemix { .. }) {
            let missing = 1.0 - turn.notices as f64 / turn.updates as f64;
            ensure!(missing <= MOST_MISSING, "{} notifications of {} updates", turn.notices, turn.updates);
        }
        self.turns.push(turn);
        Ok(())
    }

    /// Updates that were stored and that the observer heard of.
    fn sent_on(&self) -> Vec<f64> {
        self.turns.iter().map(|turn| turn.sent_on).collect()
    }

    fn accepted(&self) -> Vec<f64> {
        self.turns.iter().map(|turn| turn.accepted).collect()
    }

    fn line(&self, name: &str) -> String {
        let best = self.turns.iter().map(|turn| turn.per_second).fold(0.0, f64::max);
        let sum = |of: fn(&Turn) -> u64| self.turns.iter().map(of).sum::<u64>();
        format!(
            "- `broker-updates`, {name}: {} updates, {} sent again, {} notifications; at most {best:.0} updates \
             for each second of the clock",
            sum(|turn| turn.updates),
            sum(|turn| turn.repeated),
            sum(|turn| turn.notices),
        )
    }
}

/// The rows, and lines with what else there is to say.
///
/// # Errors
/// A server does not run, or loses something.
pub fn rows(
    machine: &Machine,
    quick: bool,
    program: &Path,
    project: &Path,
) -> Result<(Vec<Row>, Vec<String>)> {
    let project = std::path::absolute(project)?;
    let program = std::path::absolute(program)?;
    let (turns, updates, updates_of_python) = if quick { (1, 2048, 512) } else { (7, 25_600, 512) };
    let start = |kind| Side::start(machine, kind, &program, &project);
    let mut stored = start(Kind::Motemix { verify: false })?;
    let mut verified = start(Kind::Motemix { verify: true })?;
    let mut libcoap = if broker::has_libcoap() { Some(start(Kind::Libcoap)?) } else { None };
    let has_aiocoap = broker::python(&project).exists();
    let mut aiocoap = if has_aiocoap { Some(start(Kind::Aiocoap)?) } else { None };
    // The first turns fill caches.
    for turn in 0..=turns {
        stored.take_turn(updates)?;
        verified.take_turn(updates)?;
        if let Some(libcoap) = &mut libcoap {
            libcoap.take_turn(updates)?;
        }
        if let Some(aiocoap) = &mut aiocoap {
            aiocoap.take_turn(updates_of_python)?;
        }
        if turn == 0 && !quick {
            let all = [Some(&mut stored), Some(&mut verified), libcoap.as_mut(), aiocoap.as_mut()];
            all.into_iter().flatten().for_each(|side| side.turns.clear());
        }
    }
    let of_libcoap = libcoap.as_ref().map(Side::sent_on).unwrap_or_default();
    let accepted = libcoap.as_ref().map(Side::accepted).unwrap_or_default();
    let of_aiocoap = aiocoap.as_ref().map(Side::sent_on).unwrap_or_default();
    let libcoap_name = if libcoap.is_some() { LIBCOAP } else { NO_LIBCOAP };
    let aiocoap_name = if aiocoap.is_some() { AIOCOAP } else { NO_AIOCOAP };
    let unit = "updates/s of processor";
    let mut rows = vec![
        Row::rates("broker-updates", &stored.sent_on(), libcoap_name, &of_libcoap, unit)
            .ours_at_least(15_000.0),
        Row::rates("broker-accepted", &stored.accepted(), libcoap_name, &accepted, unit),
        Row::rates("broker-updates-aiocoap", &stored.sent_on(), aiocoap_name, &of_aiocoap, unit),
        Row::rates("broker-verified", &verified.sent_on(), libcoap_name, &of_libcoap, unit)
            .ours_at_least(8_000.0),
        Row::rates("broker-verified-aiocoap", &verified.sent_on(), aiocoap_name, &of_aiocoap, unit),
    ];
    let mut lines = vec![stored.line("stored"), verified.line("stored and verified")];
    lines.extend(libcoap.as_ref().map(|side| side.line("libcoap")));
    lines.extend(aiocoap.as_ref().map(|side| side.line("aiocoap")));
    drop((stored, verified, libcoap, aiocoap));
    let (observed, more) = observers(machine, quick, &program, &project)?;
    rows.extend(observed);
    lines.extend(more);
    Ok((rows, lines))
}

/// Many observers of one topic.
fn observers(
    machine: &Machine,
    quick: bool,
    program: &Path,
    project: &Path,
) -> Result<(Vec<Row>, Vec<String>)> {
    let count = if quick { 200 } else { 10_000 };
    let ours = held(machine, Kind::Motemix { verify: true }, count, program, project)?;
    ensure!(ours.heard == count * ROUNDS, "{} of {} notifications arrived", ours.heard, count * ROUNDS);
    let mut lines = vec![ours.line("motemix", count)];
    let mut theirs = (f64::NAN, f64::NAN);
    let mut name = NO_LIBCOAP;
    if broker::has_libcoap() {
        let held = held(machine, Kind::Libcoap, count, program, project)?;
        (theirs, name) = ((held.bytes, held.micros), LIBCOAP);
        lines.push(held.line("libcoap", count));
    }
    let rows = vec![
        Row::less("broker-observer", ours.bytes, name, theirs.0, "bytes held"),
        Row::less("broker-notification", ours.micros, name, theirs.1, "µs of processor"),
    ];
    Ok((rows, lines))
}

/// Updates that all observers hear of.
const ROUNDS: usize = 3;

struct Held {
    bytes: f64,
    /// Of the processor, for each notification.
    micros: f64,
    heard: usize,
    addresses: usize,
    longest: f64,
}

impl Held {
    fn line(&self, name: &str, count: usize) -> String {
        format!(
            "- `broker-observer`, {name}: {count} observers with {} addresses, {} of {} notifications heard; \
             {:.0} bytes and {:.1} µs each, all within {:.2} s",
            self.addresses,
            self.heard,
            count * ROUNDS,
            self.bytes,
            self.micros,
            self.longest,
        )
    }
}

fn held(machine: &Machine, kind: Kind, count: usize, program: &Path, project: &Path) -> Result<Held> {
    let mut devices = vec![Device::new(0)?];
    let mut server = Server::start(machine, kind, program, project, &mut devices)?;
    let before = server.process.resident_kib()?;
    let observers = Observers::begin(&server, count)?;
    let bytes = (server.process.resident_kib()? - before) as f64 * 1024.0 / count as f64;
    let (mut heard, mut longest) = (0, 0.0_f64);
    let worked = server.process.processor_time()?;
    for _ in 0..ROUNDS {
        server.update(0, &mut devices[0])?;
        let (of_round, took) = observers.hear(&server)?;
        heard += of_round;
        longest = longest.max(took.as_secs_f64());
    }
    server.process.check()?;
    let worked = server.process.processor_time()? - worked;
    let micros = worked.as_secs_f64() * 1e6 / heard.max(1) as f64;
    Ok(Held { bytes, micros, heard, addresses: observers.addresses(), longest })
}
