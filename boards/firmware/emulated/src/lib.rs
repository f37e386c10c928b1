//! The application of a mote on emulated boards. What differs between them is a [`Machine`].
//!
//! Each board has one serial line for its radio and its console (`motemix_link::serial`);
//! `motemix-lab air` is at the other end. Flash is a file of the host, and so is the generator
//! where the board has none: QEMU gives these boards neither. The flash is the file `flash.bin` in
//! the folder in which QEMU was started.

#![no_std]

#[cfg(target_arch = "arm")]
use motemix_multiply as _;

pub mod boards;
mod flash;
mod line;
mod panic;
mod random;
mod registers;
mod run;

pub use flash::HostFlash;
pub use line::{Line, Uart};
pub use random::HostRandom;
pub use run::{Emulated, Machine, line};
