//! `motemix-lab boards build`: images for boards.

use super::programs_for;
use crate::cli::BoardsBuild as Args;
use crate::failure::Failure;
use crate::firmware::{self, Origin, Program};
use crate::report::{self, Table};
use serde::Serialize;
use std::path::PathBuf;

/// One image, as `--json` prints it.
#[derive(Serialize)]
struct Built {
    #[serde(flatten)]
    program: Program,
    image: PathBuf,
}

pub fn build(args: &Args) -> Result<(), Failure> {
    let programs = programs_for(&args.purposes)?;
    let workspace = Origin::workspace(args.firmware.as_deref())?;
    let mut images = firmware::build(&workspace, &programs)?;
    if let Some(out) = &args.out {
        images = firmware::fill(out, &programs, &images)?;
    }
    if args.json {
        let built = programs.into_iter().zip(images).map(|(program, image)| Built { program, image });
        report::print_json(&built.collect::<Vec<_>>())?;
        return Ok(());
    }
    let mut table = Table::new(["board", "program", "image"]);
    for (program, image) in programs.iter().zip(images) {
        table.row([program.board.to_owned(), program.bin.to_owned(), image.display().to_string()]);
    }
    Ok(table.print()?)
}
