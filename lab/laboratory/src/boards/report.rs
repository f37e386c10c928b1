//! What was measured, as tables for people and as JSON for programs.

use super::board::Board;
use super::budgets::Measured;
use super::operation::{Figures, Operation};
use super::radio::Hop;
use super::session::Needs;
use crate::report::Table;
use motemix_sphinx::{MOTE, MOTE5};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// Bytes of the thesis' packet.
const THESIS_PACKET_LEN: usize = 544;
/// Three hops there, three back.
const HOPS: usize = 6;

/// One board.
pub struct BoardReport {
    pub board: &'static Board,
    /// Whether the wait states of its flash were left out.
    pub zero_wait: bool,
    pub mote: Figures,
    /// What a whole mote in little memory needs.
    pub needs: Needs,
    pub baseline: Option<Baseline>,
}

/// The thesis' operations on TweetNaCl.
pub struct Baseline {
    pub figures: Figures,
    pub flash: u32,
    pub ram: u32,
}

impl BoardReport {
    fn baseline_cycles(&self, operation: Operation) -> Option<u64> {
        self.baseline.as_ref()?.figures.cycles(operation)
    }

    /// Operation by operation: ours, the baseline, the thesis.
    pub fn operations(&self) -> Table {
        let mut table = Table::new([
            "operation",
            "cycles",
            "time",
            "mJ",
            "stack",
            "TweetNaCl",
            "times faster",
            "thesis",
            "model/thesis",
        ]);
        for (operation, figure) in self.mote.iter() {
            let seconds = |cycles| self.board.time(cycles).as_secs_f64();
            let baseline = self.baseline_cycles(operation);
            let thesis = self.board.thesis.as_ref().and_then(|thesis| operation.thesis_s(thesis));
            let ratio = baseline.map(|cycles| seconds(cycles) / seconds(figure.cycles));
            // The path lengths are random in the thesis' own figure, and the board's flash is
            // modelled.
            let model = baseline.zip(thesis).map(|(cycles, thesis)| seconds(cycles) / thesis);
            table.row([
                operation.label().to_owned(),
                grouped(figure.cycles),
                time(seconds(figure.cycles)),
                format!("{:.3}", self.board.millijoules(figure.cycles)),
                figure.stack.to_string(),
                or_dash(baseline.map(|cycles| time(seconds(cycles)))),
                or_dash(ratio.map(|ratio| format!("{ratio:.1}"))),
                or_dash(thesis.map(time)),
                or_dash(model.map(|model| format!("{model:.2}"))),
            ]);
        }
        table
    }

    /// What the whole mote takes.
    pub fn memory(&self) -> Table {
        let mut table = Table::without_heading();
        table.figure(
            "a whole mote without radio and network stack: flash",
            &grouped(self.needs.flash.into()),
            "bytes",
        );
        table.figure("  static memory", &grouped(self.needs.ram.into()), "bytes");
        table.figure("  deepest stack", &grouped(self.needs.stack.into()), "bytes");
        if let Some(baseline) = &self.baseline {
            table.figure("the baseline's operations alone: flash", &grouped(baseline.flash.into()), "bytes");
            let stack = baseline.figures.deepest_stack();
            table.figure("  deepest stack", &grouped(stack.into()), "bytes");
        }
        table
    }
}

/// What a message and its acknowledgement cost on the air.
pub fn radio() -> Table {
    let mut table = Table::new([
        "packet",
        "bytes",
        "frames a hop",
        "on air a hop",
        "ms a hop",
        "frames a message",
        "on air a message",
    ]);
    let packets = [("mote", MOTE.packet_len()), ("mote5", MOTE5.packet_len()), ("thesis", THESIS_PACKET_LEN)];
    for (name, len) in packets {
        let hop = Hop::of(len);
        table.row([
            name.to_owned(),
            len.to_string(),
            hop.frames.to_string(),
            (hop.bytes + hop.ack_bytes).to_string(),
            format!("{:.1}", f64::from(hop.air_us as u32) / 1000.0),
            (HOPS * hop.frames).to_string(),
            grouped((HOPS * (hop.bytes + hop.ack_bytes)) as u64),
        ]);
    }
    table
}

impl Measured for BoardReport {
    fn budgeted(&self) -> &str {
        self.board.name
    }

    fn figure(&self, name: &str) -> Option<u64> {
        match name {
            "flash" => Some(self.needs.flash.into()),
            "ram" => Some(self.needs.ram.into()),
            "stack" => Some(self.needs.stack.into()),
            _ => Operation::ALL
                .into_iter()
                .find(|operation| operation.name() == name)
                .and_then(|operation| self.mote.cycles(operation)),
        }
    }
}

pub fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

pub fn time(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.2} ms", seconds * 1000.0) } else { format!("{seconds:.2} s") }
}

/// 1234567 as 1 234 567.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let (head, tail) = digits.split_at(first);
    let groups = tail.as_bytes().chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    let head = Some(head.to_owned()).filter(|head| !head.is_empty());
    head.into_iter().chain(groups).collect::<Vec<_>>().join(" ")
}

impl Serialize for BoardReport {
    /// Cycles by operation, then bytes of flash, memory and stack; the same of the baseline.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("board", self.board.name)?;
        map.serialize_entry("core", &self.board.core.to_string())?;
        map.serialize_entry("clock_hz", &self.board.clock_hz)?;
        map.serialize_entry("wait_states", &!self.zero_wait)?;
        for (operation, figure) in self.mote.iter() {
            map.serialize_entry(operation.name(), &figure.cycles)?;
        }
        map.serialize_entry("flash", &self.needs.flash)?;
        map.serialize_entry("ram", &self.needs.ram)?;
        map.serialize_entry("stack", &self.needs.stack)?;
        map.serialize_entry("stacks", &Stacks(&self.mote))?;
        map.serialize_entry("tweetnacl", &self.baseline)?;
        map.end()
    }
}

impl Serialize for Baseline {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (operation, figure) in self.figures.iter() {
            map.serialize_entry(operation.name(), &figure.cycles)?;
        }
        map.serialize_entry("flash", &self.flash)?;
        map.serialize_entry("ram", &self.ram)?;
        map.serialize_entry("stack", &self.figures.deepest_stack())?;
        map.end()
    }
}

/// Bytes of stack by operation.
struct Stacks<'a>(&'a Figures);

impl Serialize for Stacks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.map(serializer, |figure| figure.stack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three_digits() {
        assert_eq!(
            [0, 12, 123, 1234, 123_456, 1_234_567].map(grouped),
            ["0", "12", "123", "1 234", "123 456", "1 234 567"]
        );
    }
}
