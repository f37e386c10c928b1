//! Checks the known answers of `vectors/` on an emulated board, with the protocol crates that every
//! node runs.
//!
//! Each vector that does not hold is named. The last line is "N passed, N failed", and the emulator
//! ends with 0 if nothing failed and with 1 otherwise.

#![no_std]
#![no_main]

mod datagrams;
mod packets;
mod panic;
mod pieces;
mod tables;

use cortex_m_rt::entry;
#[cfg(target_arch = "arm")]
use motemix_multiply as _;
use semihosting::println;

/// What was found: nothing, or what is not as in the vectors.
type Checked = Result<(), &'static str>;

/// `Err(what)` unless it holds.
fn sure(what: &'static str, holds: bool) -> Checked {
    if holds { Ok(()) } else { Err(what) }
}

/// What was counted.
#[derive(Default)]
struct Tally {
    passed: u32,
    failed: u32,
}

impl Tally {
    fn count(&mut self, kind: &str, name: &dyn core::fmt::Display, checked: Checked) {
        match checked {
            Ok(()) => self.passed += 1,
            Err(what) => {
                self.failed += 1;
                println!("FAILED {kind} {name}: {what}");
            }
        }
    }
}

#[entry]
fn main() -> ! {
    cortex_m::interrupt::disable();
    let mut tally = Tally::default();
    for case in tables::PACKETS {
        tally.count("packet", &case.way.name, packets::check_packet(case));
    }
    for case in tables::SURBS {
        tally.count("SURB", &case.way.name, packets::check_surb(case));
    }
    for case in tables::REFUSED {
        tally.count("datagram", &case.name, datagrams::check_refused(case));
    }
    for case in tables::SAME_TAG {
        tally.count("datagrams", &case.name, datagrams::check_same_tag(case));
    }
    for (number, case) in tables::WIDE_BLOCKS.iter().enumerate() {
        tally.count("wide block", &number, pieces::check_wide_block(case));
    }
    for (number, case) in tables::DELAYS.iter().enumerate() {
        tally.count("delay", &number, pieces::check_delay(case));
    }
    let Tally { passed, failed } = tally;
    println!("{passed} passed, {failed} failed");
    semihosting::process::exit(i32::from(failed > 0))
}
