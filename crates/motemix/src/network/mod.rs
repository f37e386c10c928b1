//! A network of nodes on this machine: its folder and its processes.

mod layout;
mod plan;
mod process;

pub use layout::{NetworkDir, NodeDir};
pub use plan::{Duty, PlannedNode, RECEIVER};
pub use process::Process;
