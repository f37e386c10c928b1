//! `motemix boards`.

use clap::{Args, Subcommand};
use motemix_mcu::Core;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum Boards {
    Cycles(BoardsCycles),
}

/// Counts the cycles of functions of an image for a board.
///
/// Runs every function `bench_NAME` of an ELF file on a model of the core that charges each instruction what the
/// core's manual says. A function `prepare_NAME`, if there is one, runs before it and is not counted. Each begins with
/// the memory that a board has when `main` begins. A bench returns 0 when it did its work.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Boards with flash slower than their core:
  STM32F103, 72 MHz (M3)     --flash-line 8 --flash-wait 2,2
  nRF52840, 64 MHz (M4)      --flash-line 16 --flash-wait 1,1
  SAMR21, 48 MHz (M0+)       --flash-line 8 --flash-wait 1,1

Examples:
  motemix boards cycles firmware.elf --core m0p
  motemix boards cycles firmware.elf --core m3 --flash-wait 2,2 --only create --profile
  motemix boards cycles firmware.elf --core m4 --json | jq '.benches[] | {name, cycles}'")]
pub struct BoardsCycles {
    /// A linked image with its symbols.
    #[arg(value_name = "ELF")]
    pub image: PathBuf,
    /// The core: m0p (Cortex-M0+), m3 or m4.
    #[arg(long, value_name = "CORE")]
    pub core: Core,
    /// Bytes that the flash delivers at once.
    #[arg(long, value_name = "BYTES", default_value_t = 8, value_parser = line)]
    pub flash_line: u32,
    /// Cycles that the core waits for the next line of flash, and for any other.
    #[arg(long, value_name = "NEXT,OTHER", default_value = "0,0", value_parser = waits)]
    pub flash_wait: (u32, u32),
    /// Runs only this bench; NAME of bench_NAME.
    #[arg(long, value_name = "NAME")]
    pub only: Option<String>,
    /// Shows where the cycles went, function by function.
    #[arg(long)]
    pub profile: bool,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

fn line(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(bytes @ (4 | 8 | 16 | 32 | 64 | 128 | 256)) => Ok(bytes),
        _ => Err("a line is a power of two from 4 to 256 bytes, for example 8".into()),
    }
}

fn waits(text: &str) -> Result<(u32, u32), String> {
    let cycles = |text: &str| text.parse().ok().filter(|cycles| *cycles <= 255);
    text.split_once(',')
        .and_then(|(next, other)| Some((cycles(next)?, cycles(other)?)))
        .ok_or_else(|| "two numbers of cycles from 0 to 255, for example 2,2".into())
}
