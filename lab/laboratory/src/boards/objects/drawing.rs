//! Charts: milliseconds of a signature, and flash.

use super::library::{OnBoard, Operation};
use super::published::{FLASH, SIGNATURES};
use super::report::Report;
use crate::chart::{self, Bar, Bars};
use crate::failure::Failure;
use std::path::Path;

/// Colours of the boards, and of what the RFC has.
const PUBLISHED: usize = 6;

/// Writes `objects-sign.svg` and `objects-flash.svg`.
pub fn draw(report: &Report, dir: &Path) -> Result<(), Failure> {
    chart::write(&dir.join("objects-sign.svg"), signatures(&report.boards).draw())?;
    chart::write(&dir.join("objects-flash.svg"), flash(&report.boards).draw())?;
    Ok(())
}

fn bar(name: String, colour: usize, value: f64) -> Bar {
    Bar { name, colour, value, half: None, measured: None }
}

fn signatures(boards: &[OnBoard]) -> Bars {
    let published = SIGNATURES.iter().filter(|row| row.table != Some(1)).map(|row| {
        let table = row.table.map_or_else(|| "text".to_owned(), |table| format!("table {table}"));
        bar(format!("{table}: {}, {}", row.library, row.curve), PUBLISHED, row.milliseconds.into())
    });
    let mut bars: Vec<_> = published.collect();
    for (colour, board) in boards.iter().enumerate() {
        for library in &board.libraries {
            for it in library.operations.iter().filter(|it| it.operation == Operation::Sign) {
                let Ok(figure) = it.figure else { continue };
                let name = format!("{}: {}, {}", board.board, library.library.name, it.curve);
                bars.push(bar(name, colour, board.milliseconds(figure)));
            }
        }
    }
    Bars {
        title: "Milliseconds of a signature; grey is RFC 8387".into(),
        unit: "milliseconds; RSA-2048 of its table 1, 1 587 567 ms, is not shown".into(),
        bars,
    }
}

fn flash(boards: &[OnBoard]) -> Bars {
    let published =
        FLASH.iter().map(|row| bar(format!("table 9: {}", row.library), PUBLISHED, row.kilobytes[1]));
    let mut bars: Vec<_> = published.collect();
    for (colour, board) in boards.iter().enumerate() {
        for library in &board.libraries {
            let Some(memory) = library.memory else { continue };
            let name = format!("{}: {}", board.board, library.library.name);
            bars.push(bar(name, colour, f64::from(memory.flash) / 1000.0));
        }
    }
    Bars {
        title: "Flash of libraries; grey is RFC 8387".into(),
        unit: "kilobytes more than a program without the library; of a range, the most".into(),
        bars,
    }
}
