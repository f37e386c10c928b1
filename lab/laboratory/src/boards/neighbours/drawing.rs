//! Charts: seconds of the functions, bytes and energy of the handshakes.

use super::report::{BoardReport, Report};
use crate::chart::{self, Bar, Bars};
use crate::failure::Failure;
use crate::report::counted;
use std::path::Path;

/// Below this the paper's clock says nothing, and no bar is to be seen.
const SHOWN_S: f64 = 0.01;
/// Colours of computing and of the radio.
const COMPUTING: usize = 0;
const RADIO: usize = 1;
/// Colours of what was measured, and of what others published.
const MEASURED: usize = 0;
const PUBLISHED: usize = 6;

/// Writes `neighbours-functions.svg`, `neighbours-bytes.svg`, and for each board
/// `neighbours-energy-BOARD.svg`.
pub fn draw(report: &Report, dir: &Path) -> Result<(), Failure> {
    chart::write(&dir.join("neighbours-functions.svg"), functions(report).draw())?;
    chart::write(&dir.join("neighbours-bytes.svg"), bytes(report).draw())?;
    for board in &report.boards {
        let name = format!("neighbours-energy-{}.svg", board.board.name);
        chart::write(&dir.join(name), energy(board).draw())?;
    }
    Ok(())
}

fn functions(report: &Report) -> Bars {
    let mut bars = Vec::new();
    for (at, function) in super::function::ALL.iter().enumerate() {
        if function.paper.seconds < SHOWN_S {
            continue;
        }
        for (colour, board) in report.boards.iter().enumerate() {
            let Some(measured) = board.functions.get(at) else { continue };
            // The paper's board is the one at its clock.
            let is_papers = board.board.clock_hz == crate::boards::board::CC2538[0].clock_hz;
            bars.push(Bar {
                name: format!("{}, {}", function.label, board.board.name),
                colour,
                value: measured.seconds(board.board),
                half: None,
                measured: is_papers.then_some(("paper", function.paper.seconds)),
            });
        }
    }
    Bars {
        title: "Seconds of the functions of IoT-CryptoDiet; the black marks are the paper's own".into(),
        unit: "seconds, median; a block of AES takes milliseconds and is not shown".into(),
        bars,
    }
}

fn bytes(report: &Report) -> Bars {
    let bars = report.handshakes.iter().map(|handshake| Bar {
        name: format!(
            "{} ({})",
            handshake.name,
            counted(handshake.conversation.frames() as u64, "frame", "frames")
        ),
        colour: if handshake.steps.is_some() { MEASURED } else { PUBLISHED },
        value: f64::from(handshake.conversation.bytes() as u32),
        half: None,
        measured: None,
    });
    Bars {
        title: "Bytes of a handshake; grey are published lengths".into(),
        unit: "bytes of all messages, without UDP, IP and frames".into(),
        bars: bars.collect(),
    }
}

fn energy(report: &BoardReport) -> Bars {
    let mut bars = Vec::new();
    for cost in &report.costs {
        let bar = |what: &str, colour, value| Bar {
            name: format!("{}: {what}", cost.handshake),
            colour,
            value,
            half: None,
            measured: None,
        };
        bars.extend(cost.computing_millijoules.map(|value| bar("computing", COMPUTING, value)));
        bars.push(bar("radio", RADIO, cost.radio_millijoules));
    }
    Bars {
        title: format!("Energy of a handshake on {}, both sides together", report.board.name),
        unit: "millijoules; DTLS 1.3: the radio alone".into(),
        bars,
    }
}
