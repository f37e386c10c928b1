//! Drives a motemix node on a host.
//!
//! The node itself (`motemix-node`) is a state machine without input or output. This crate gives it
//! a socket, a clock, an entropy source, stores that outlive the process, and a way to be asked how
//! it is doing:
//!
//! ```text
//!             config ─ keys ─ documents
//!                      │
//!   link::udp ─ link::faults ─ link::sessions ─ runtime ─ store::replay_log, store::inbox
//!                      │
//!       health ─ control ─ metrics
//! ```
//!
//! Deliberately absent: decisions of the protocol (they belong to `motemix-node`), any memory of
//! the addresses from which strangers' datagrams come (addresses are read for fair shares, see
//! [`link::fair`], and to find a neighbour's key, see [`link::sessions`]), and logs above debug
//! level that name peers, keys or paths.

#[cfg(not(unix))]
compile_error!("motemix-host needs a Unix: it relies on file modes and on Unix-domain sockets");

pub mod clock;
pub mod config;
pub mod control;
pub mod descriptor;
pub mod documents;
pub mod health;
pub mod keys;
pub mod link;
pub mod metrics;
pub mod runtime;
pub mod store;

pub use config::{ConfigError, NodeConfig};
pub use keys::{AuthorityKeyFile, IdentityKeyFile, NodeKey};
pub use runtime::{Heard, Replies, RuntimeError, Setup, Source, Started, Trouble, renew_keys, run};

/// The snippets of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
