//! `motemix-lab boards list`: the table of programs for boards.

use super::programs_for;
use crate::cli::BoardsList as Args;
use crate::failure::Failure;
use crate::report::{self, Table};
use clap::ValueEnum as _;

pub fn list(args: &Args) -> Result<(), Failure> {
    let programs = programs_for(&args.purposes)?;
    if args.json {
        report::print_json(&programs)?;
        return Ok(());
    }
    let mut table = Table::new(["purpose", "board", "package", "program", "target", "profile", "machine"]);
    for program in programs {
        let purpose = program.purpose.to_possible_value();
        table.row([
            purpose.map(|purpose| purpose.get_name().to_owned()).unwrap_or_default(),
            program.board.to_owned(),
            program.package.to_owned(),
            program.bin.to_owned(),
            program.target.to_owned(),
            program.profile.to_owned(),
            program.machine.unwrap_or("-").to_owned(),
        ]);
    }
    Ok(table.print()?)
}
