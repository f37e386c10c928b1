//! What tests of programs share: a run of one and what it said, its manual as a user reads it,
//! the programs beside it, and ports that no other test has.
#![expect(missing_docs, reason = "tests use it, and nobody reads it without them")]

mod manual;
mod ports;
mod programs;
mod run;

pub use manual::Manual;
pub use ports::Ports;
pub use programs::among_programs;
pub use run::{Run, wait_until};
