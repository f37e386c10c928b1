//! What came of the boards' demonstration.

use super::enrolment::Enrolled;
use super::traffic::Traffic;
use crate::commands::boards::emulated::Board;
use crate::failure::Failure;
use crate::report::shortfall;
use crate::report::{self, Table};
use anyhow::Result;
use motemix_object::{Audience, Policy, SealedReading};
use motemix_os::store::Inbox;
use motemix_readings::{Accepted, Devices, Verifier};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The figures, as `--json` prints them.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Signed readings of the boards: sent, acknowledged, and believed by the receiver.
    readings: Readings,
    /// Messages of the boards.
    sent: u64,
    /// Those of them that are in the receiver's inbox, each once.
    delivered: u64,
    acknowledged: u64,
    discarded: u64,
    /// Messages whose outcome was not known in the end.
    under_way: u64,
    /// Messages that a board did not take, having too many under way.
    turned_away: u64,
    retransmitted: u64,
    /// Messages of the boards that are in the inbox more than once.
    duplicates: u64,
    rtt_ms: RoundTrip,
    /// What boards complained of by themselves.
    warnings: BTreeSet<String>,
    /// Messages of the host that sends.
    host: BTreeMap<&'static str, u64>,
    boards: BTreeMap<String, BTreeMap<String, u64>>,
    /// Bytes of each board's memory that its stack never reached.
    unused_ram: BTreeMap<String, u64>,
    air: Value,
}

/// What the boards are asked in the end.
pub struct Boards {
    pub counts: BTreeMap<String, BTreeMap<String, u64>>,
    pub unused_ram: BTreeMap<String, u64>,
    /// The memory that each board's stack may take.
    pub memory: BTreeMap<String, Vec<u8>>,
}

impl Boards {
    /// Asks them. They stand still from now on.
    pub fn ask(boards: &mut [Board]) -> Result<Self> {
        let mut asked =
            Self { counts: BTreeMap::new(), unused_ram: BTreeMap::new(), memory: BTreeMap::new() };
        for board in boards {
            asked.counts.insert(board.name.clone(), board.status()?);
            let (memory, unused) = board.memory()?;
            asked.unused_ram.insert(board.name.clone(), unused);
            asked.memory.insert(board.name.clone(), memory);
        }
        Ok(asked)
    }
}

/// What became of signed readings.
#[derive(Debug, Default, Serialize)]
struct Readings {
    sent: u64,
    acknowledged: u64,
    believed: u64,
    /// Signed ones that are not believed, with the reason.
    refused: BTreeSet<String>,
    /// What each board says, by its name.
    said: BTreeMap<String, String>,
    /// What a board says of a reading that another one sent to it: whether it is genuine.
    checked_by_board: Option<String>,
}

#[derive(Debug, Serialize)]
struct RoundTrip {
    p50: Option<u64>,
    max: Option<u64>,
}

impl Summary {
    pub fn new(traffic: &Traffic, boards: Boards, network: &Enrolled, air: Value) -> Result<Self, Failure> {
        let inbox = inbox(network)?;
        let found = |text: &String| inbox.iter().filter(|have| *have == text).count() as u64;
        let found: Vec<_> = traffic.texts.iter().map(found).collect();
        let mut round_trips = traffic.round_trips.clone();
        round_trips.sort_unstable();
        let readings = Readings {
            sent: traffic.readings_sent,
            acknowledged: traffic.readings_acknowledged,
            checked_by_board: traffic.checked_by_board.clone(),
            ..readings(network)?
        };
        Ok(Self {
            readings,
            sent: traffic.sent,
            delivered: found.iter().filter(|count| **count > 0).count() as u64,
            acknowledged: traffic.acknowledged,
            discarded: traffic.discarded,
            under_way: traffic.under_way(),
            turned_away: traffic.turned_away,
            retransmitted: boards.counts.values().filter_map(|counts| counts.get("retransmitted")).sum(),
            duplicates: found.iter().map(|count| count.saturating_sub(1)).sum(),
            rtt_ms: RoundTrip {
                p50: round_trips.get(round_trips.len() / 2).copied(),
                max: round_trips.last().copied(),
            },
            warnings: traffic.warnings.clone(),
            host: traffic.host.clone(),
            boards: boards.counts,
            unused_ram: boards.unused_ram,
            air,
        })
    }

    pub fn print(&self, json: bool) -> Result<()> {
        if json { report::print_json(self) } else { self.print_tables() }
    }

    /// What did not end well, in words; the host's messages count as the boards' do.
    pub fn shortfall(&self) -> Option<String> {
        let host = |name: &str| self.host.get(name).copied().unwrap_or_default();
        let open = host("sent").saturating_sub(host("acknowledged") + host("discarded"));
        let missing = self.readings.sent - self.readings.believed.min(self.readings.sent);
        let missing =
            (missing > 0).then(|| format!("the receiver does not believe {missing} readings of boards"));
        shortfall(self.discarded + host("discarded"), self.under_way + open).or(missing)
    }

    fn print_tables(&self) -> Result<()> {
        let figures = ["sent", "acknowledged", "retransmitted", "forwarded", "headers_built"];
        let [sent, acknowledged, retransmitted, forwarded, built] = figures;
        let mut table = Table::new([
            "board",
            sent,
            acknowledged,
            retransmitted,
            forwarded,
            &built.replace('_', " "),
            "bytes of RAM left",
        ]);
        for (name, counts) in &self.boards {
            let figures = figures.iter().map(|figure| counts.get(*figure).copied().unwrap_or(0).to_string());
            let left = self.unused_ram.get(name).map(u64::to_string).unwrap_or_default();
            table.row([name.clone()].into_iter().chain(figures).chain([left]));
        }
        table.print()?;
        report::print(b"\n")?;
        let mut table = Table::without_heading();
        table.figure("signed by boards", &self.readings.sent, "readings");
        table.figure("acknowledged", &self.readings.acknowledged, "readings");
        table.figure("signature checked, believed", &self.readings.believed, "readings");
        table.figure("sent by boards", &self.sent, "messages");
        table.figure("delivered", &self.delivered, "messages");
        table.figure("acknowledged", &self.acknowledged, "messages");
        table.figure("retransmitted", &self.retransmitted, "packets");
        table.figure("discarded", &self.discarded, "messages");
        table.figure("undecided", &self.under_way, "messages");
        table.figure("turned away, the board being full", &self.turned_away, "messages");
        for (name, count) in &self.host {
            table.figure(&format!("{name} by the host"), count, "messages");
        }
        let millis = |time: Option<u64>| time.map_or_else(|| "-".to_owned(), |time| time.to_string());
        table.figure("round trip p50", &millis(self.rtt_ms.p50), "ms");
        table.figure("round trip at most", &millis(self.rtt_ms.max), "ms");
        for (name, unit) in [("frames", "frames"), ("retries", "frames"), ("channel_busy", "frames")] {
            table.figure(&format!("on the air: {}", name.replace('_', " ")), &self.on_air(name), unit);
        }
        table.print()?;
        for (board, said) in &self.readings.said {
            report::print(format!("{board}: {said}\n").as_bytes())?;
        }
        if let Some(said) = &self.readings.checked_by_board {
            report::print(format!("a board's inbox: {said}\n").as_bytes())?;
        }
        for refused in &self.readings.refused {
            report::print(format!("not believed: {refused}\n").as_bytes())?;
        }
        self.warnings.iter().try_for_each(|warning| report::print(format!("warning: {warning}\n").as_bytes()))
    }

    /// Sums over the stations of the channel.
    fn on_air(&self, name: &str) -> u64 {
        let stations = self.air.get("stations").and_then(Value::as_array).into_iter().flatten();
        stations.filter_map(|station| station.get("channel")?.get(name)?.as_u64()).sum()
    }
}

fn inbox(network: &Enrolled) -> Result<Vec<String>, Failure> {
    let Some(receiver) = network.receiver() else { return Ok(Vec::new()) };
    let inbox = Inbox::open(receiver.inbox_file()).map_err(Failure::failed)?;
    let messages = inbox.recent(u32::MAX).map_err(Failure::failed)?;
    Ok(messages.into_iter().filter_map(|message| String::from_utf8(message.data).ok()).collect())
}

/// Checks what is signed in the receiver's inbox.
fn readings(network: &Enrolled) -> Result<Readings, Failure> {
    let Some(receiver) = network.receiver() else { return Ok(Readings::default()) };
    let inbox = Inbox::open(receiver.inbox_file()).map_err(Failure::failed)?;
    let messages = inbox.recent(u32::MAX).map_err(Failure::failed)?;
    let devices = Devices::open(receiver.devices_file()).map_err(Failure::failed)?;
    let audience = Audience::new(&receiver.network).map_err(Failure::failed)?;
    let mut verifier = Verifier::new(devices, Policy::WINDOW);
    let mut found = Readings::default();
    for message in messages.iter().filter(|message| SealedReading::parse(&message.data).is_ok()) {
        match verifier.look_at(&message.data, audience, message.received_at.as_secs()) {
            Ok(Accepted::Reading { device, senml, .. }) => {
                found.believed += 1;
                found.said.insert(device.place.clone(), motemix_program::reading::in_words(&senml));
            }
            Ok(_) => {}
            Err(refusal) => {
                found.refused.insert(refusal.to_string());
            }
        }
    }
    Ok(found)
}
