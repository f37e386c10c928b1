//! Libraries on the stopwatch.

use super::library::{Figure, LIBRARIES, Library, Measured, Memory, NOTHING, OfLibrary, OnBoard};
use crate::boards::board::Board;
use crate::boards::measure::good;
use crate::failure::Failure;
use motemix_mcu::{FlashTiming, Image, Machine};

/// Runs each operation of each library, on a machine that was just switched on. `image` gives the
/// image of a program by the end of its name.
pub fn measure<'i>(
    board: &'static Board,
    image: impl Fn(&str) -> Result<&'i Image, Failure>,
    done: impl Fn(&Library),
) -> Result<OnBoard, Failure> {
    let nothing = memory(image(NOTHING)?);
    let of_library = |library: &'static Library| {
        let image = image(library.program)?;
        let mut operations = Vec::new();
        for it in library.uses {
            let mut machine = Machine::new(image, board.core, FlashTiming { ..board.flash });
            let name = it.operation.name();
            good(board, image, &mut machine, &format!("prepare_{name}"), 0)?;
            let run = good(board, image, &mut machine, &format!("bench_{name}"), 0)?;
            let figure = Ok(Figure { cycles: run.cycles, stack: run.stack });
            operations.push(Measured { operation: it.operation, curve: it.curve, figure });
        }
        done(library);
        Ok(OfLibrary { library, memory: Some(memory(image).more_than(nothing)), operations })
    };
    Ok(OnBoard {
        board: board.name,
        core: board.core.to_string(),
        clock_hz: board.clock_hz,
        libraries: LIBRARIES.iter().map(of_library).collect::<Result<_, Failure>>()?,
    })
}

fn memory(image: &Image) -> Memory {
    Memory { flash: image.flash_len(), ram: image.ram_len() }
}
