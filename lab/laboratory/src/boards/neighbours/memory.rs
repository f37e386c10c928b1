//! An application with the library and without.

use crate::boards::board::Board;
use crate::boards::measure::good;
use crate::failure::Failure;
use motemix_mcu::{FlashTiming, Image, Machine};
use serde::Serialize;

/// What an application takes, bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Application {
    pub flash: u32,
    /// Static memory, without the stack.
    pub ram: u32,
    /// The deepest stack of all that it does.
    pub stack: u32,
}

/// Both.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Applications {
    /// UDP over 6LoWPAN, a text out and in.
    pub plain: Application,
    /// The same text after a handshake, encrypted and signed.
    pub extended: Application,
}

/// Runs what each application does, which has to work, and reads the rest from the ELF files.
pub fn measure(
    board: &Board,
    plain: &Image,
    extended: &Image,
    flash: FlashTiming,
) -> Result<Applications, Failure> {
    let application = |image: &Image, calls: &[&str]| {
        let mut machine = Machine::new(image, board.core, flash);
        let mut stack = 0;
        for call in calls {
            stack = stack.max(good(board, image, &mut machine, call, 0)?.stack);
        }
        Ok::<_, Failure>(Application { flash: image.flash_len(), ram: image.ram_len(), stack })
    };
    Ok(Applications {
        plain: application(plain, &["prepare_message", "bench_message"])?,
        extended: application(extended, &["prepare_handshake", "bench_handshake", "bench_message"])?,
    })
}
