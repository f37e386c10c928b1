//! `motemix-lab boards build`: images for boards.

use super::{image, programs_for};
use crate::boards::budgets::{self, Budgets, Measured};
use crate::boards::report::grouped;
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
    /// Bytes of code and of what it begins with.
    flash: u32,
    /// Bytes of static memory, without the stack.
    ram: u32,
}

impl Measured for Built {
    /// Budgets name the program: a board has several.
    fn budgeted(&self) -> &str {
        self.program.bin
    }

    fn figure(&self, name: &str) -> Option<u64> {
        match name {
            "flash" => Some(self.flash.into()),
            "ram" => Some(self.ram.into()),
            _ => None,
        }
    }
}

pub fn build(args: &Args) -> Result<(), Failure> {
    let programs = programs_for(&args.purposes)?;
    let budgets = args.budgets.as_deref().map(Budgets::load).transpose()?;
    let workspace = Origin::workspace(args.firmware.as_deref())?;
    let mut images = firmware::build(&workspace, &programs)?;
    if let Some(out) = &args.out {
        images = firmware::fill(out, &programs, &images)?;
    }
    let built = programs.into_iter().zip(images).map(|(program, path)| {
        let found = image(&path)?;
        Ok(Built { program, image: path, flash: found.flash_len(), ram: found.ram_len() })
    });
    let built = built.collect::<Result<Vec<_>, Failure>>()?;
    let verdicts = budgets.map(|budgets| budgets.compare(&built)).transpose()?.unwrap_or_default();
    if args.json {
        report::print_json(&built)?;
    } else {
        let mut table = Table::new(["board", "program", "flash", "RAM", "image"]);
        for Built { program, image, flash, ram } in &built {
            let [flash, ram] = [flash, ram].map(|bytes| grouped((*bytes).into()));
            let (board, program) = (program.board.to_owned(), program.bin.to_owned());
            table.row([board, program, flash, ram, image.display().to_string()]);
        }
        table.print()?;
        budgets::print(&verdicts)?;
    }
    budgets::judge(&verdicts)
}
