//! What came of the neighbours' exchanges.

use super::host::word;
use super::neighbour::{Neighbour, Outcome};
use crate::failure::Failure;
use crate::report::{self, Table, counted};
use anyhow::Result;
use motemix_program::cli::Mode;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Instant;

/// Messages from one to another.
#[derive(Debug, Serialize)]
pub struct Exchange {
    from: String,
    to: String,
    pub sent: u64,
    /// Those that the receiver has printed, each once.
    pub heard: u64,
    acknowledged: u64,
    /// Until the sender knew, or the receiver had it: of the first message, with its handshake, and
    /// of the slowest other one.
    first_ms: Option<u64>,
    others_at_most_ms: Option<u64>,
}

impl Exchange {
    pub fn new(from: &str, to: &str) -> Self {
        let (from, to) = (from.to_owned(), to.to_owned());
        Self { from, to, sent: 0, heard: 0, acknowledged: 0, first_ms: None, others_at_most_ms: None }
    }

    /// Counts what became of a message.
    pub fn count(&mut self, outcome: Option<Outcome>, begun: Instant) {
        let time = begun.elapsed().as_millis() as u64;
        self.acknowledged += u64::from(outcome == Some(Outcome::Acknowledged));
        if self.first_ms.is_none() {
            self.first_ms = Some(time);
        } else {
            self.others_at_most_ms = self.others_at_most_ms.max(Some(time));
        }
    }
}

/// The figures, as `--json` prints them.
#[derive(Debug, Serialize)]
pub struct Summary {
    mode: String,
    exchanges: Vec<Exchange>,
    /// What each board has counted, on its own console.
    boards: BTreeMap<String, BTreeMap<String, u64>>,
    /// Bytes of each board's memory that its stack never reached.
    unused_ram: BTreeMap<String, u64>,
    air: Value,
    #[serde(skip)]
    is_acknowledged: bool,
}

/// What the boards have counted, and the bytes of memory that each left.
type Counts = (BTreeMap<String, BTreeMap<String, u64>>, BTreeMap<String, u64>);

impl Summary {
    pub fn new(mode: Mode, exchanges: Vec<Exchange>, (boards, unused_ram): Counts, air: Value) -> Self {
        let is_acknowledged = matches!(mode, Mode::Diet | Mode::Edhoc);
        Self { mode: word(mode), exchanges, boards, unused_ram, air, is_acknowledged }
    }

    /// Asks the boards. They stand still from now on.
    pub fn ask(boards: &mut [Neighbour]) -> Result<Counts, Failure> {
        let mut counts = Counts::default();
        for board in boards {
            let name = board.name().to_owned();
            counts.0.insert(name.clone(), board.status()?);
            counts.1.insert(name, board.unused_ram()?);
        }
        Ok(counts)
    }

    pub fn print(&self, json: bool) -> Result<()> {
        if json { report::print_json(self) } else { self.print_tables() }
    }

    /// What did not end well, in words.
    pub fn shortfall(&self) -> Option<String> {
        let messages = |count| counted(count, "message was", "messages were");
        if !self.is_acknowledged {
            // Whoever looks at the table alone is told.
            let lost: u64 = self.exchanges.iter().map(|exchange| exchange.sent - exchange.heard).sum();
            if lost > 0 {
                let lost = messages(lost);
                eprintln!("motemix-lab: {lost} not heard; this mode sends nothing again");
            }
            let silent = self.exchanges.iter().find(|exchange| exchange.heard == 0);
            return silent.map(|Exchange { from, to, .. }| format!("{to} heard nothing of {from}"));
        }
        let sum = |of: fn(&Exchange) -> u64| self.exchanges.iter().map(of).sum::<u64>();
        let [sent, heard, acknowledged] = [sum(|it| it.sent), sum(|it| it.heard), sum(|it| it.acknowledged)];
        if heard < sent {
            return Some(format!("{} not heard once, of {sent} that were sent", messages(sent - heard)));
        }
        (acknowledged < sent)
            .then(|| format!("{} not acknowledged, of {sent} that were sent", messages(sent - acknowledged)))
    }

    fn print_tables(&self) -> Result<()> {
        report::print(b"\n")?;
        let mut table =
            Table::new(["from", "to", "sent", "heard", "acknowledged", "first, ms", "others at most, ms"]);
        for exchange in &self.exchanges {
            let Exchange { from, to, sent, heard, acknowledged, first_ms, others_at_most_ms } = exchange;
            let acknowledged = if self.is_acknowledged { acknowledged.to_string() } else { "-".to_owned() };
            let [first, others] = [first_ms, others_at_most_ms]
                .map(|time| time.map_or_else(|| "-".to_owned(), |time| time.to_string()));
            table.row([
                from.clone(),
                to.clone(),
                sent.to_string(),
                heard.to_string(),
                acknowledged,
                first,
                others,
            ]);
        }
        table.print()?;
        report::print(b"\n")?;
        let mut table = Table::new([
            "board",
            "handshakes",
            "datagrams in",
            "out",
            "frames in",
            "out",
            "dropped",
            "bytes of RAM left",
        ]);
        for (name, counts) in &self.boards {
            let count = |name: &str| counts.get(name).copied().unwrap_or_default();
            let is_drop = |name: &&String| name.contains("dropped");
            let dropped: u64 = counts.iter().filter(|(name, _)| is_drop(name)).map(|(_, count)| count).sum();
            let figures = ["handshakes", "datagrams_in", "datagrams_out", "frames_in", "frames_out"]
                .map(|name| count(name).to_string());
            let left = self.unused_ram.get(name).map(u64::to_string).unwrap_or_default();
            table.row([name.clone()].into_iter().chain(figures).chain([dropped.to_string(), left]));
        }
        table.print()
    }
}
