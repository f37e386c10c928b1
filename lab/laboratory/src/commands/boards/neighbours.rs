//! `motemix-lab boards neighbours`: the evaluation of IoT-CryptoDiet, on boards that are not there.

use super::{at_once, images_of};
use crate::boards::board::{BOARDS, Board, CC2538};
use crate::boards::budgets::{self, Budgets};
use crate::boards::neighbours::drawing;
use crate::boards::neighbours::function;
use crate::boards::neighbours::handshake::{self, Cost, Handshake};
use crate::boards::neighbours::memory;
use crate::boards::neighbours::published::SOURCE;
use crate::boards::neighbours::report::{BoardReport, Report};
use crate::cli::BoardsNeighbours as Args;
use crate::failure::Failure;
use crate::firmware::Purpose;
use crate::report::{self, Progress};
use motemix_mcu::{FlashTiming, Image};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// What is run on each board.
const PURPOSES: [Purpose; 6] = [
    Purpose::Diet,
    Purpose::DietSteps,
    Purpose::DietPlain,
    Purpose::DietExtended,
    Purpose::Edhoc,
    Purpose::EdhocSigned,
];

pub fn neighbours(args: &Args) -> Result<(), Failure> {
    let boards = super::chosen(CC2538.iter().chain(&BOARDS), &args.board)?;
    let budgets = args.budgets.as_deref().map(Budgets::load).transpose()?;
    let handshakes = handshake::all()?;
    let images = images_of(&args.firmware, &boards, &PURPOSES)?;
    let reports = run(args, &boards, &handshakes, &images)?;
    let verdicts = budgets.map(|budgets| budgets.compare(&reports)).transpose()?.unwrap_or_default();
    let report = Report { boards: reports, handshakes };
    if let Some(dir) = &args.svg {
        drawing::draw(&report, dir)?;
    }
    if args.json {
        report::print_json(&report.json())?;
    } else {
        print(&report, args)?;
        budgets::print(&verdicts)?;
    }
    budgets::judge(&verdicts)
}

/// Images by whose they are and what for.
type Images = BTreeMap<(&'static str, &'static str), Image>;

fn run(
    args: &Args,
    boards: &[&'static Board],
    handshakes: &[Handshake],
    images: &Images,
) -> Result<Vec<BoardReport>, Failure> {
    let steps = boards.len() * (function::ALL.len() + handshakes.len() + 1);
    let progress = Mutex::new((0, Progress::new(steps as u64)));
    let done = |board: &Board, what: &str| {
        if let Ok(mut progress) = progress.lock() {
            progress.0 += 1;
            let at = progress.0;
            progress.1.at(at, &format!("{}: {what}", board.name));
        }
    };
    let reports = at_once(boards.to_vec(), |board| {
        let flash = if args.zero_wait { FlashTiming::ZERO_WAIT } else { board.flash };
        let image = |purpose: Purpose| {
            let missing = || Failure::failed(format!("{}: there is no image for {purpose:?}", board.name));
            images.get(&(board.images, purpose.name())).ok_or_else(missing)
        };
        let memory =
            memory::measure(board, image(Purpose::DietPlain)?, image(Purpose::DietExtended)?, flash)?;
        done(board, "an application with the library and without");
        let functions = function::measure(board, image(Purpose::Diet)?, flash, args.runs, |function| {
            done(board, function);
        })?;
        let cost = |handshake: &Handshake| {
            let image = handshake.steps.map(|steps| image(steps.purpose)).transpose()?;
            let cost = Cost::measure(handshake, board, image, flash)?;
            done(board, handshake.name);
            Ok(cost)
        };
        let costs = handshakes.iter().map(cost).collect::<Result<_, Failure>>()?;
        Ok(BoardReport { board, flash, functions, memory, costs })
    });
    if let Ok((_, progress)) = progress.into_inner() {
        progress.finish();
    }
    reports
}

fn print(report: &Report, args: &Args) -> Result<(), Failure> {
    for board in &report.boards {
        let [heading, radio] = [board.board.heading(args.zero_wait), board.board.radio_heading()];
        report::print(format!("{heading}\n{radio}\n\n").as_bytes())?;
        board.functions().print()?;
        report::print(b"\n")?;
        board.costs().print()?;
        report::print(b"\n")?;
    }
    report::print(b"An application with the library and without, bytes; the stack is not in the RAM\n\n")?;
    report.memory().print()?;
    let heading =
        "\nHandshakes: bytes of messages, frames of 127 bytes, bytes on the air with acknowledgements\n\n";
    report::print(heading.as_bytes())?;
    report.handshakes().print()?;
    report::print(format!("\nDTLS 1.3: {SOURCE}\n").as_bytes())?;
    Ok(())
}
