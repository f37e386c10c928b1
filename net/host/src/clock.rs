//! Two witnesses for the epochs of a node, and what the next run has to know of them.

mod memory;
mod witnesses;

pub use memory::ClockMemory;
pub use witnesses::{ClockVerdict, Reading, Timekeeper};
