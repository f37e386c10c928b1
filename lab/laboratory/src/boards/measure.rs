//! Runs operations on the stopwatch.

use super::board::Board;
use super::operation::{Figure, Figures, Operation};
use crate::failure::Failure;
use motemix_mcu::{FlashTiming, Image, Machine, Run};

/// Instructions after which an operation counts as stuck: some minutes on the slowest board.
const MOST_INSTRUCTIONS: u64 = 40_000_000_000;

/// All operations that the file has. Each runs on a machine of its own: `prepare_`, `bench_`,
/// `check_`.
pub fn operations(
    board: &Board,
    image: &Image,
    flash: FlashTiming,
    done: impl Fn(Operation),
) -> Result<Figures, Failure> {
    let mut figures = Figures::default();
    for operation in Operation::ALL {
        let name = operation.name();
        if image.function(&format!("bench_{name}")).is_none() {
            continue;
        }
        let mut machine = Machine::new(image, board.core, flash);
        machine.limit(MOST_INSTRUCTIONS);
        if image.function(&format!("prepare_{name}")).is_some() {
            good(board, image, &mut machine, &format!("prepare_{name}"), 0)?;
        }
        let run = good(board, image, &mut machine, &format!("bench_{name}"), 0)?;
        if image.function(&format!("check_{name}")).is_some() {
            good(board, image, &mut machine, &format!("check_{name}"), 0)?;
        }
        figures.push(operation, Figure { cycles: run.cycles, stack: run.stack });
        done(operation);
    }
    if figures.iter().next().is_none() {
        return Err(Failure::broken("the ELF file has no function whose name begins with bench_"));
    }
    Ok(figures)
}

/// Calls a function that has to return zero.
pub fn good(
    board: &Board,
    image: &Image,
    machine: &mut Machine,
    name: &str,
    argument: u32,
) -> Result<Run, Failure> {
    let run = call(board, image, machine, name, [argument, 0, 0, 0])?;
    match run.result {
        0 => Ok(run),
        other => {
            Err(Failure::failed(format!("{}: {name} did not do its work: it returned {other}", board.name)))
        }
    }
}

/// Calls a function of a file.
pub fn call(
    board: &Board,
    image: &Image,
    machine: &mut Machine,
    name: &str,
    arguments: [u32; 4],
) -> Result<Run, Failure> {
    let function = image
        .function(name)
        .ok_or_else(|| Failure::broken(format!("the ELF file has no function {name}; build it anew")))?;
    machine
        .call(function, arguments)
        .map_err(|fault| Failure::failed(format!("{}: {name}: {fault}", board.name)))
}
