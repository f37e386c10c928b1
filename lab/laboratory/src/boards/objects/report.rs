//! What was measured beside the RFC's tables, as tables for people and as JSON for programs.

use super::library::{Measured, Memory, OfLibrary, OnBoard, Operation};
use super::published::{FLASH, NO_RSA, Published, PublishedFlash, SIGNATURES};
use crate::boards::report::{grouped, or_dash};
use crate::report::{Table, rounded};
use serde::Serialize;

/// What a curve of 256 bits is comparable to, by NIST SP 800-57 part 1, table 2; the RFC says 2048
/// for secp256r1.
const COMPARABLE_RSA: &str = "3072";

/// Everything.
#[derive(Debug)]
pub struct Report {
    pub boards: Vec<OnBoard>,
}

impl Report {
    /// Each library's operations on each board of one kind.
    fn rows(&self, operation: Operation) -> impl Iterator<Item = (&OnBoard, &OfLibrary, &Measured)> {
        self.boards.iter().flat_map(move |board| {
            board.libraries.iter().flat_map(move |library| {
                let is_it = move |it: &&Measured| it.operation == operation;
                library.operations.iter().filter(is_it).map(move |it| (board, library, it))
            })
        })
    }

    /// Tables 1 to 8 of the RFC, and below them the same of today.
    pub fn signatures(&self) -> Table {
        let mut table =
            Table::new(["RFC", "board", "library", "curve", "ms", "memory", "cycles", "comparable RSA"]);
        for row in &SIGNATURES {
            table.row([
                row.table.map_or_else(|| "text".to_owned(), |table| table.to_string()),
                row.board.to_owned(),
                row.library.to_owned(),
                row.curve.to_owned(),
                grouped(row.milliseconds.into()),
                or_dash(row.memory.map(|memory| grouped(memory.into()))),
                "-".to_owned(),
                or_dash(row.comparable_rsa.map(|bits| bits.to_string())),
            ]);
        }
        self.add_rows(&mut table, Operation::Sign);
        table
    }

    /// What the RFC has no table of: checks and key agreement.
    pub fn others(&self) -> Table {
        let mut table =
            Table::new(["", "board", "library", "curve", "ms", "memory", "cycles", "comparable RSA"]);
        self.add_rows(&mut table, Operation::Verify);
        self.add_rows(&mut table, Operation::Agree);
        table
    }

    fn add_rows(&self, table: &mut Table, operation: Operation) {
        for (board, library, measured) in self.rows(operation) {
            let clock = format!("{}, {} MHz", board.board, board.clock_hz / 1_000_000);
            let [time, memory, cycles] = match &measured.figure {
                Ok(figure) => {
                    let ram = library.memory.map_or(0, |memory| memory.ram);
                    [
                        format!("{:.1}", board.milliseconds(*figure)),
                        format!("{} + {}", grouped(figure.stack.into()), grouped(ram.into())),
                        grouped(figure.cycles),
                    ]
                }
                Err(reason) => [format!("not measured: {reason}"), "-".into(), "-".into()],
            };
            table.row([
                operation.name().to_owned(),
                clock,
                library.library.name.to_owned(),
                measured.curve.to_owned(),
                time,
                memory,
                cycles,
                COMPARABLE_RSA.to_owned(),
            ]);
        }
    }

    /// Table 9, and the same of today.
    pub fn flash(&self) -> Table {
        let mut table = Table::new(["board", "library", "flash", "static RAM"]);
        for PublishedFlash { library, kilobytes: [from, to] } in &FLASH {
            let kilobytes = if to - from < 0.1 { format!("{from} kB") } else { format!("{from} to {to} kB") };
            table.row(["RFC, table 9".to_owned(), (*library).to_owned(), kilobytes, "-".to_owned()]);
        }
        for board in &self.boards {
            for OfLibrary { library, memory, .. } in &board.libraries {
                table.row([
                    board.board.to_owned(),
                    library.name.to_owned(),
                    or_dash(memory.map(|memory| grouped(memory.flash.into()))),
                    or_dash(memory.map(|memory| grouped(memory.ram.into()))),
                ]);
            }
        }
        table
    }

    /// The same for programs.
    pub fn json(&self) -> impl Serialize {
        Json {
            rfc8387: JsonRfc { signatures: &SIGNATURES, flash: &FLASH },
            rsa: NO_RSA,
            boards: self.boards.iter().map(JsonBoard::of).collect(),
        }
    }
}

#[derive(Serialize)]
struct Json {
    rfc8387: JsonRfc,
    rsa: &'static str,
    boards: Vec<JsonBoard>,
}

#[derive(Serialize)]
struct JsonRfc {
    signatures: &'static [Published],
    flash: &'static [PublishedFlash],
}

#[derive(Serialize)]
struct JsonBoard {
    board: &'static str,
    core: String,
    clock_hz: u32,
    libraries: Vec<JsonLibrary>,
}

#[derive(Serialize)]
struct JsonLibrary {
    library: &'static str,
    /// More than a program without it, bytes.
    memory: Option<Memory>,
    operations: Vec<JsonOperation>,
}

#[derive(Serialize)]
struct JsonOperation {
    operation: Operation,
    curve: &'static str,
    cycles: Option<u64>,
    milliseconds: Option<f64>,
    stack: Option<u32>,
    not_measured: Option<String>,
}

impl JsonBoard {
    fn of(board: &OnBoard) -> Self {
        let operation = |measured: &Measured| {
            let figure = measured.figure.as_ref().ok().copied();
            JsonOperation {
                operation: measured.operation,
                curve: measured.curve,
                cycles: figure.map(|figure| figure.cycles),
                milliseconds: figure.map(|figure| rounded(board.milliseconds(figure), 6)),
                stack: figure.map(|figure| figure.stack),
                not_measured: measured.figure.as_ref().err().cloned(),
            }
        };
        let library = |it: &OfLibrary| JsonLibrary {
            library: it.library.name,
            memory: it.memory,
            operations: it.operations.iter().map(operation).collect(),
        };
        Self {
            board: board.board,
            core: board.core.clone(),
            clock_hz: board.clock_hz,
            libraries: board.libraries.iter().map(library).collect(),
        }
    }
}
