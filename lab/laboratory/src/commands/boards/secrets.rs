//! `motemix-lab boards secrets`: does an operation do the same for every secret?

use super::{Loaded, at_once};
use crate::boards::report::grouped;
use crate::boards::secrets::{COUNT, Spread, names, spreads};
use crate::cli::BoardsSecrets as Args;
use crate::failure::Failure;
use crate::firmware::Purpose;
use crate::report::{self, Progress, Table};
use serde::Serialize;
use std::sync::Mutex;

/// One program on one board, as `--json` prints it.
#[derive(Serialize)]
struct BoardSpreads {
    board: &'static str,
    /// `secrets`: our own programs for boards. `secrets-small`: the C library.
    program: Purpose,
    core: String,
    operations: Vec<Spread>,
}

pub fn secrets(args: &Args) -> Result<(), Failure> {
    let works = args.files.images(&[Purpose::Secrets, Purpose::SecretsSmall])?;
    let progress = Mutex::new((0, Progress::new((COUNT * works.len()) as u64)));
    let found = at_once(works, |Loaded { board, purpose, image }| {
        let secrets = match purpose {
            // Most of what it has is what the other program has.
            Purpose::SecretsSmall => (args.secrets / 4).max(2),
            _ => args.secrets,
        };
        let operations = spreads(board, &image, secrets as usize, |operation| {
            if let Ok(mut progress) = progress.lock() {
                progress.0 += 1;
                let at = progress.0;
                progress.1.at(at, &format!("{}: {operation}", board.name));
            }
        })?;
        Ok(BoardSpreads { board: board.name, program: purpose, core: board.core.to_string(), operations })
    });
    if let Ok((_, progress)) = progress.into_inner() {
        progress.finish();
    }
    let found = found?;
    if args.json {
        report::print_json(&found)?;
    } else {
        table(&found).print()?;
    }
    judge(&found)
}

fn table(found: &[BoardSpreads]) -> Table {
    let head =
        ["board", "core", "program", "operation", "secrets", "cycles", "spread", "paths", "accesses", ""];
    let mut table = Table::new(head);
    for (board, spread) in
        found.iter().flat_map(|board| board.operations.iter().map(move |spread| (board, spread)))
    {
        table.row([
            board.board.to_owned(),
            board.core.clone(),
            name(board.program).to_owned(),
            spread.operation.to_owned(),
            spread.secrets.to_string(),
            grouped(spread.least),
            grouped(spread.most - spread.least),
            spread.paths.to_string(),
            spread.accesses.to_string(),
            match (spread.is_control(), spread.fault().is_some()) {
                (false, false) => "always the same".to_owned(),
                (false, true) => format!("SHOWN IN {}", names(&spread.shows)),
                (true, false) => format!("leaks on purpose: {}", names(&spread.shows)),
                (true, true) => "LEAKS ON PURPOSE, AND IS NOT NOTICED".to_owned(),
            },
        ]);
    }
    table
}

fn name(program: Purpose) -> &'static str {
    if program == Purpose::SecretsSmall { "C library" } else { "our own" }
}

fn judge(found: &[BoardSpreads]) -> Result<(), Failure> {
    let faults: Vec<_> = found
        .iter()
        .flat_map(|board| board.operations.iter().map(move |spread| (board, spread)))
        .filter_map(|(board, spread)| {
            let fault = spread.fault()?;
            Some(format!("{} ({}): {fault}", board.board, name(board.program)))
        })
        .collect();
    if faults.is_empty() {
        return Ok(());
    }
    Err(Failure::failed(format!("what is done depends on secrets: {}", faults.join("; "))))
}
