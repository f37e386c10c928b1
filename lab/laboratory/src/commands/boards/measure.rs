//! `motemix-lab boards measure`: the evaluation of the thesis, on boards that are not there.

use super::{Loaded, at_once};
use crate::boards::board::Board;
use crate::boards::budgets::{self, Budgets, Verdict};
use crate::boards::drawing;
use crate::boards::measure::operations;
use crate::boards::operation::{Figures, Operation};
use crate::boards::report::{Baseline, BoardReport, radio};
use crate::boards::session::{self, Needs};
use crate::cli::BoardsMeasure as Args;
use crate::failure::Failure;
use crate::firmware::Purpose;
use crate::report::{self, Progress};
use motemix_mcu::FlashTiming;
use std::sync::Mutex;

pub fn measure(args: &Args) -> Result<(), Failure> {
    let boards = args.files.boards()?;
    let budgets = args.budgets.as_deref().map(Budgets::load).transpose()?;
    let purposes = [Purpose::Bench, Purpose::Size, Purpose::Baseline];
    let works = args.files.images(&purposes[..if args.no_baseline { 2 } else { 3 }])?;
    let reports = run(args, &boards, works)?;
    if let Some(dir) = &args.svg {
        drawing::draw(&reports, dir)?;
    }
    let verdicts = budgets.map(|budgets| budgets.compare(&reports)).transpose()?.unwrap_or_default();
    if args.json {
        report::print_json(&reports)?;
    } else {
        print(&reports, &verdicts)?;
    }
    budgets::judge(&verdicts)
}

/// What one image tells.
enum Outcome {
    Mote(Figures),
    Needs(Needs),
    Baseline(Baseline),
}

fn run(args: &Args, boards: &[&'static Board], works: Vec<Loaded>) -> Result<Vec<BoardReport>, Failure> {
    let count = works.iter().filter(|work| work.purpose != Purpose::Size).count() * Operation::ALL.len();
    let progress = Mutex::new((0, Progress::new(count as u64)));
    let outcomes = at_once(works, |Loaded { board, purpose, image }| {
        let flash = if args.zero_wait { FlashTiming::ZERO_WAIT } else { board.flash };
        let done = |operation: Operation| {
            if let Ok(mut progress) = progress.lock() {
                progress.0 += 1;
                let at = progress.0;
                progress.1.at(at, &format!("{}: {}", board.name, operation.label()));
            }
        };
        let outcome = match purpose {
            Purpose::Size => Outcome::Needs(session::run(board, &image, flash)?),
            Purpose::Baseline => Outcome::Baseline(Baseline {
                figures: operations(board, &image, flash, done)?,
                flash: image.flash_len(),
                ram: image.ram_len(),
            }),
            _ => Outcome::Mote(operations(board, &image, flash, done)?),
        };
        Ok((board.name, outcome))
    });
    if let Ok((_, progress)) = progress.into_inner() {
        progress.finish();
    }
    let mut outcomes = outcomes?;
    boards.iter().map(|board| collect(board, args.zero_wait, &mut outcomes)).collect()
}

fn collect(
    board: &'static Board,
    zero_wait: bool,
    outcomes: &mut Vec<(&'static str, Outcome)>,
) -> Result<BoardReport, Failure> {
    let (mut mote, mut needs, mut baseline) = (None, None, None);
    for (_, outcome) in outcomes.extract_if(.., |(name, _)| *name == board.name) {
        match outcome {
            Outcome::Mote(figures) => mote = Some(figures),
            Outcome::Needs(found) => needs = Some(found),
            Outcome::Baseline(found) => baseline = Some(found),
        }
    }
    let missing = || Failure::failed(format!("{}: not everything was measured", board.name));
    Ok(BoardReport {
        board,
        zero_wait,
        mote: mote.ok_or_else(missing)?,
        needs: needs.ok_or_else(missing)?,
        baseline,
    })
}

fn print(reports: &[BoardReport], verdicts: &[Verdict]) -> Result<(), Failure> {
    for report in reports {
        report::print(format!("{}\n\n", report.board.heading(report.zero_wait)).as_bytes())?;
        report.operations().print()?;
        report::print(b"\n")?;
        report.memory().print()?;
        report::print(b"\n")?;
    }
    report::print(
        b"IEEE 802.15.4 and 6LoWPAN, 3 hops there and 3 back; bytes with headers and acknowledgements\n\n",
    )?;
    radio().print()?;
    budgets::print(verdicts)
}
