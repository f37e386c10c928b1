//! A network of nodes on this machine: its folder and its processes.
//!
//! ```text
//! plan ─ init ─▶ DIR ─ launch ─▶ processes
//!                 ▲ renew          ▲ stop
//! ```

mod capacity;
mod deliver;
pub mod documents;
mod folder;
mod init;
mod launch;
mod layout;
pub mod loopix;
mod plan;
mod process;
mod renew;
mod stop;

pub use capacity::Capacity;
pub use deliver::{Outcome, deliver};
pub use init::{Blueprint, init};
pub use launch::{Launched, Lifetime, ask, log_file, status, unexpected};
pub use layout::{NetworkDir, NodeDir};
pub use plan::{Duty, PlannedNode, RECEIVER, bind, bind_below, check_paths, consecutive, plan};
pub use process::Process;
pub use renew::{renew, renew_early};
pub use stop::{Stopped, stop, terminate};
