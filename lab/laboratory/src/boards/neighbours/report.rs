//! What was measured, as tables for people and as JSON for programs.

use super::conversation::{Conversation, TEXT};
use super::function::Measured;
use super::handshake::{Cost, Handshake};
use super::memory::Applications;
use super::published::{EXTENDED, FUNCTIONS, NATIVE, PaperApplication, PaperFunction};
use crate::boards::board::Board;
use crate::boards::budgets;
use crate::boards::report::{grouped, or_dash, time};
use crate::report::{Table, rounded};
use motemix_mcu::FlashTiming;
use serde::Serialize;
use std::collections::BTreeMap;

/// Digits of energies: currents are known to two or three.
pub const DIGITS: usize = 4;

/// Everything on one board.
#[derive(Debug)]
pub struct BoardReport {
    pub board: &'static Board,
    pub flash: FlashTiming,
    pub functions: Vec<Measured>,
    pub memory: Applications,
    pub costs: Vec<Cost>,
}

/// Everything.
#[derive(Debug)]
pub struct Report {
    pub boards: Vec<BoardReport>,
    pub handshakes: Vec<Handshake>,
}

impl BoardReport {
    /// Tables 1 and 3.
    pub fn functions(&self) -> Table {
        let mut table = Table::new([
            "function",
            "least",
            "median",
            "most",
            "time",
            "mJ",
            "at 60 mW",
            "paper",
            "mJ",
            "times faster",
        ]);
        for measured in &self.functions {
            let (runs, paper) = (measured.runs, measured.function.paper);
            let seconds = measured.seconds(self.board);
            table.row([
                measured.function.label.to_owned(),
                grouped(runs.least),
                grouped(runs.median),
                grouped(runs.most),
                time(seconds),
                format!("{:.3}", self.board.millijoules(runs.median)),
                format!("{:.3}", measured.millijoules_of_paper(self.board)),
                format!("{} ticks, {} s", paper.ticks, paper.seconds),
                paper.millijoules.to_string(),
                format!("{:.1}", paper.seconds / seconds),
            ]);
        }
        table
    }

    /// What handshakes cost here.
    pub fn costs(&self) -> Table {
        let mut table = Table::new([
            "handshake",
            "initiator",
            "responder",
            "time of both",
            "mJ computing",
            "mJ radio",
            "mJ",
        ]);
        for cost in &self.costs {
            let side = |index: usize| or_dash(cost.cycles.map(|cycles| grouped(cycles[index])));
            let both = cost.cycles.map(|[initiator, responder]| self.board.time(initiator + responder));
            let millijoules = cost.computing_millijoules;
            table.row([
                cost.handshake.to_owned(),
                side(0),
                side(1),
                or_dash(both.map(|both| time(both.as_secs_f64()))),
                or_dash(millijoules.map(|millijoules| format!("{millijoules:.3}"))),
                format!("{:.3}", cost.radio_millijoules),
                or_dash(
                    millijoules.map(|millijoules| format!("{:.3}", millijoules + cost.radio_millijoules)),
                ),
            ]);
        }
        table
    }
}

impl budgets::Measured for BoardReport {
    fn budgeted(&self) -> &str {
        self.board.name
    }

    fn figure(&self, name: &str) -> Option<u64> {
        match name {
            "library_flash" => Some(u64::from(self.memory.extended.flash - self.memory.plain.flash)),
            "library_ram" => Some(u64::from(self.memory.extended.ram - self.memory.plain.ram)),
            "application_stack" => Some(self.memory.extended.stack.into()),
            _ => {
                let is_it = |measured: &&Measured| measured.function.name == name;
                self.functions.iter().find(is_it).map(|measured| measured.runs.most)
            }
        }
    }
}

impl Report {
    /// Table 2.
    pub fn memory(&self) -> Table {
        let mut table = Table::new([
            "board",
            "flash without",
            "with",
            "more",
            "RAM without",
            "with",
            "more",
            "stack without",
            "with",
        ]);
        let more = |with: u32, without: u32| grouped(with.saturating_sub(without).into());
        for BoardReport { board, memory: Applications { plain, extended }, .. } in &self.boards {
            table.row([
                board.name.to_owned(),
                grouped(plain.flash.into()),
                grouped(extended.flash.into()),
                more(extended.flash, plain.flash),
                grouped(plain.ram.into()),
                grouped(extended.ram.into()),
                more(extended.ram, plain.ram),
                grouped(plain.stack.into()),
                grouped(extended.stack.into()),
            ]);
        }
        table.row([
            "paper, Contiki-NG and its stack included".to_owned(),
            grouped(NATIVE.rom.into()),
            grouped(EXTENDED.rom.into()),
            more(EXTENDED.rom, NATIVE.rom),
            grouped(NATIVE.ram.into()),
            grouped(EXTENDED.ram.into()),
            more(EXTENDED.ram, NATIVE.ram),
            "-".to_owned(),
            "-".to_owned(),
        ]);
        table
    }

    /// How handshakes talk.
    pub fn handshakes(&self) -> Table {
        let mut table = Table::new([
            "handshake",
            "messages",
            "bytes",
            "frames",
            "on air",
            "round trips",
            "a text of 12",
            "frames",
        ]);
        for Handshake { name, conversation, .. } in &self.handshakes {
            let each: Vec<_> =
                conversation.messages.iter().map(|message| message.bytes.to_string()).collect();
            let text = conversation.text.as_ref();
            table.row([
                (*name).to_owned(),
                each.join(" + "),
                conversation.bytes().to_string(),
                conversation.frames().to_string(),
                conversation.bytes_on_air().to_string(),
                conversation.round_trips().to_string(),
                or_dash(text.map(|text| (text.air.bytes + text.air.acknowledgement_bytes).to_string())),
                or_dash(text.map(|text| text.air.frames.to_string())),
            ]);
        }
        table
    }

    /// The same for programs.
    pub fn json(&self) -> impl Serialize {
        Json {
            text_bytes: TEXT.len(),
            paper: JsonPaper { functions: &FUNCTIONS, native: NATIVE, extended: EXTENDED },
            boards: self.boards.iter().map(JsonBoard::of).collect(),
            handshakes: self.handshakes.iter().map(JsonHandshake::of).collect(),
        }
    }
}

#[derive(Serialize)]
struct Json<'r> {
    text_bytes: usize,
    paper: JsonPaper,
    boards: Vec<JsonBoard<'r>>,
    handshakes: Vec<JsonHandshake<'r>>,
}

#[derive(Serialize)]
struct JsonPaper {
    functions: &'static [PaperFunction],
    native: PaperApplication,
    extended: PaperApplication,
}

#[derive(Serialize)]
struct JsonBoard<'r> {
    board: &'static str,
    core: String,
    clock_hz: u32,
    flash_line_bytes: u32,
    /// Cycles that the next line takes, and another one.
    flash_wait: [u32; 2],
    milliwatts: f64,
    functions: BTreeMap<&'static str, JsonFunction>,
    memory: Applications,
    handshakes: &'r [Cost],
}

#[derive(Serialize)]
struct JsonFunction {
    /// Its name in the paper.
    paper: &'static str,
    runs: u32,
    least: u64,
    median: u64,
    most: u64,
    stack: u32,
    /// The time of the median, in whole nanoseconds: cycles are counted, and a clock is exact.
    seconds: f64,
    millijoules: f64,
    millijoules_at_60_mw: f64,
}

#[derive(Serialize)]
struct JsonHandshake<'r> {
    #[serde(flatten)]
    handshake: &'r Handshake,
    bytes: usize,
    frames: usize,
    bytes_on_air: usize,
    round_trips: usize,
}

impl<'r> JsonBoard<'r> {
    fn of(report: &'r BoardReport) -> Self {
        let BoardReport { board, flash, functions, memory, costs } = report;
        let function = |measured: &Measured| {
            let runs = measured.runs;
            let function = JsonFunction {
                paper: measured.function.paper.name,
                runs: runs.count,
                least: runs.least,
                median: runs.median,
                most: runs.most,
                stack: runs.stack,
                seconds: measured.seconds(board),
                millijoules: rounded(board.millijoules(runs.median), DIGITS),
                millijoules_at_60_mw: rounded(measured.millijoules_of_paper(board), DIGITS),
            };
            (measured.function.name, function)
        };
        Self {
            board: board.name,
            core: board.core.to_string(),
            clock_hz: board.clock_hz,
            flash_line_bytes: flash.line_bytes,
            flash_wait: [flash.sequential, flash.jump].map(u32::from),
            milliwatts: rounded(board.supply.milliamperes * board.supply.volts, DIGITS),
            functions: functions.iter().map(function).collect(),
            memory: *memory,
            handshakes: costs,
        }
    }
}

impl<'r> JsonHandshake<'r> {
    fn of(handshake: &'r Handshake) -> Self {
        let conversation: &Conversation = &handshake.conversation;
        Self {
            handshake,
            bytes: conversation.bytes(),
            frames: conversation.frames(),
            bytes_on_air: conversation.bytes_on_air(),
            round_trips: conversation.round_trips(),
        }
    }
}
