//! `motemix-lab boards objects`: the experiences of RFC 8387, with the libraries of today.

use super::{at_once, image};
use crate::boards::board::{BOARDS, Board};
use crate::boards::objects::library::{LIBRARIES, OnBoard};
use crate::boards::objects::published::NO_RSA;
use crate::boards::objects::report::Report;
use crate::boards::objects::{avr, drawing, measure};
use crate::cli::BoardsObjects as Args;
use crate::failure::Failure;
use crate::firmware::{Origin, Purpose, programs};
use crate::report::{self, Progress};
use motemix_mcu::Image;
use std::collections::BTreeMap;
use std::sync::Mutex;

pub fn objects(args: &Args) -> Result<(), Failure> {
    let has_avr = args.board.is_empty() || args.board.iter().any(|name| name == avr::BOARD);
    let on_stopwatch: Vec<_> = args.board.iter().filter(|name| *name != avr::BOARD).cloned().collect();
    let is_known = |name: &&String| BOARDS.iter().any(|board| board.name == **name);
    if let Some(unknown) = on_stopwatch.iter().find(|name| !is_known(name)) {
        let known: Vec<_> = BOARDS.iter().map(|board| board.name).chain([avr::BOARD]).collect();
        let known = known.join(", ");
        return Err(Failure::broken(format!("there is no board {unknown}; the boards are {known}")));
    }
    let boards = if args.board.is_empty() || !on_stopwatch.is_empty() {
        super::chosen(BOARDS.iter(), &on_stopwatch)?
    } else {
        Vec::new()
    };
    let images = images(args, &boards)?;
    let steps = (boards.len() + usize::from(has_avr)) * LIBRARIES.len();
    let progress = Mutex::new((0, Progress::new(steps as u64)));
    let done = |board: &str, what: &str| {
        if let Ok(mut progress) = progress.lock() {
            progress.0 += 1;
            let at = progress.0;
            progress.1.at(at, &format!("{board}: {what}"));
        }
    };
    let mut measured = at_once(boards, |board| of_board(board, &images, &done))?;
    if has_avr {
        let workspace = Origin::workspace(args.firmware.firmware.as_deref())?;
        measured.push(avr::measure(&workspace, &args.avr_program, |what| done(avr::BOARD, what))?);
    }
    if let Ok((_, progress)) = progress.into_inner() {
        progress.finish();
    }
    let report = Report { boards: measured };
    if let Some(dir) = &args.svg {
        drawing::draw(&report, dir)?;
    }
    if args.json { report::print_json(&report.json()).map_err(Into::into) } else { print(&report) }
}

/// Images by the board's name and the program's.
type Images = BTreeMap<(&'static str, &'static str), Image>;

fn images(args: &Args, boards: &[&'static Board]) -> Result<Images, Failure> {
    if boards.is_empty() {
        return Ok(Images::new());
    }
    let mut wanted = programs()?;
    wanted.retain(|it| it.purpose == Purpose::Objects && boards.iter().any(|board| board.images == it.board));
    let files = args.firmware.origin()?.images(&wanted)?;
    wanted
        .iter()
        .zip(files)
        .map(|(program, file)| Ok(((program.board, program.bin), image(&file)?)))
        .collect()
}

fn of_board(board: &'static Board, images: &Images, done: &impl Fn(&str, &str)) -> Result<OnBoard, Failure> {
    let of_program = |program: &str| {
        let bin = format!("objects_{program}");
        let is_it =
            |((of_board, of_bin), _): &(&(&str, &str), &Image)| *of_board == board.images && *of_bin == bin;
        let found = images.iter().find(is_it).map(|(_, image)| image);
        found.ok_or_else(|| Failure::failed(format!("{}: there is no image of {bin}", board.name)))
    };
    measure::measure(board, of_program, |library| done(board.name, library.name))
}

fn print(report: &Report) -> Result<(), Failure> {
    report::print(
        b"Signatures: RFC 8387, tables 1 to 8, then today's libraries. Memory is the stack below the call and static\nRAM, bytes.\n\n",
    )?;
    report.signatures().print()?;
    report::print(
        format!("\nRSA today: {NO_RSA}\n\nChecks and key agreement, which the RFC has no table of\n\n")
            .as_bytes(),
    )?;
    report.others().print()?;
    report::print(b"\nTable 9: flash; today's are bytes more than a program without the library\n\n")?;
    report.flash().print()?;
    Ok(())
}
