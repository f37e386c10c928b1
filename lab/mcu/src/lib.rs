//! A stopwatch for microcontrollers that are not there: an interpreter of Cortex-M code that counts
//! cycles.
//!
//! It runs functions of an ELF file on a Cortex-M0+, M3 or M4 and charges each instruction what the
//! core's Technical Reference Manual says, wait states of a flash memory included. Counts are the
//! same in every run and on every host. What is modelled, what is not and how it was checked is in
//! `docs/how-to/stopwatch.md`.
//!
//! ```no_run
//! use motemix_mcu::{Core, FlashTiming, Image, Machine};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let image = Image::parse(&std::fs::read("firmware.elf")?)?;
//! let mut machine = Machine::new(&image, Core::M4, FlashTiming::default());
//! let run = machine.call(image.function("bench_create").ok_or("no such function")?, [0; 4])?;
//! println!("{} cycles, {} bytes of stack", run.cycles, run.stack);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]
// A register is a word; the instruction says whether it has a sign.
#![allow(clippy::cast_sign_loss, clippy::cast_possible_wrap, clippy::verbose_bit_mask)]
// Registers and operands are called as the architecture manual calls them, in its order.
#![allow(clippy::many_single_char_names, clippy::similar_names, clippy::inconsistent_struct_constructor)]
// Each instruction passes through these functions; calls would cost more than they do.
#![allow(clippy::inline_always)]

mod cores;
mod decode;
mod execute;
mod fault;
mod image;
mod machine;
mod memory;
mod op;
mod profile;
mod timing;
mod trace;

pub use cores::{Core, UnknownCore};
pub use fault::{Fault, FaultKind};
pub use image::{Function, Image, ImageError};
pub use machine::{Machine, Run};
pub use profile::FunctionProfile;
pub use timing::{FlashTiming, Multiplier};
pub use trace::Trace;
