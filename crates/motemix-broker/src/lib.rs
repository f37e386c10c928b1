//! The broker and resource directory.
//!
//! ```text
//! request (motemix-coap) ─ Broker::handle: policy, directory | topics, check of signatures ─ Changes
//!    ─ Store::commit ─ Broker::stored ─ answers, notices for observers, feed for page and bridges
//! ```
//!
//! [`State`] is in memory and changes at once. Nobody hears of it before the store has committed. If
//! the store refuses, the changes are taken back, and who asked is told.

#![forbid(unsafe_code)]

mod moment;
pub mod page;
pub mod state;

pub use moment::Moment;
pub use state::{Change, State};

/// The snippets of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
