//! The authorities of a network: k of n vote on who is in it, and sign one document an epoch.
//!
//! ```text
//! descriptors ─ store ─ vote ─ ceremony ─ tally ─ promise (store) ─ signature ─ archive ─ nodes
//!    of nodes              with the others: votes, what was seen, signatures
//! ```
//!
//! [`ceremony`] and [`tally`] have no input and output: tests hold rounds with liars in memory.
//! [`service`] is the rest. `docs/spec/authority.md` is normative.

#![forbid(unsafe_code)]

pub mod archive;
pub mod ceremony;
pub mod config;
pub mod evidence;
pub mod roster;
pub mod service;
pub mod store;
pub mod tally;
pub mod transcript;
pub mod vote;

pub use config::AuthorityConfig;
pub use service::{ServiceError, run};
