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
mod lossy;
mod plan;
mod ports;
mod presence;
mod process;
mod renew;
mod rows;
mod stop;

pub use capacity::Capacity;
pub use deliver::{Outcome, deliver};
pub use folder::{check_empty, check_name, check_sockets, make, make_whole, no_nodes};
pub use init::{Blueprint, hops, init};
pub use launch::{Launched, Lifetime, ask, log_file, status, unexpected};
pub use layout::{NetworkDir, NodeDir};
pub use lossy::Layers;
pub use plan::{
    Duty, PlannedNode, RECEIVER, bind, bind_below, check_paths, consecutive, loopback, metrics_addresses,
    plan, port_is_taken, without_cover,
};
pub use ports::{tcp_taken, udp_taken};
pub use presence::{Presence, presence, process_of};
pub use process::Process;
pub use renew::{Early, renew, renew_early};
pub use rows::{DownRows, How};
pub use stop::{Stopped, stop, terminate};
