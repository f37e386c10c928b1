//! The broker and resource directory.
//!
//! ```text
//! request (motemix-coap) ─ Broker::handle: policy, directory | topics, signatures ─ Changes
//!    ─ Store::commit ─ Broker::stored ─ answers, notices for observers, feed for page and bridges
//! ```
//!
//! [`State`] is in memory and changes at once. Nobody hears of it before the store has committed.
//! If the store refuses, the changes are taken back, and who asked is told.

#![forbid(unsafe_code)]

pub mod bridge;
mod broker;
mod browser;
mod caller;
mod clock;
mod context;
pub mod directory;
mod moment;
pub mod page;
pub mod policy;
pub mod serve;
mod signed;
pub mod state;
pub mod store;
mod topics;

pub use broker::{Answer, Broker, Counters, Notice, PendingFetch, Refused, Settled, Unpublished};
pub use caller::Caller;
pub use moment::Moment;
pub use motemix_broker_client::property;
pub use policy::Policy;
pub use state::{Change, State};
pub use store::Store;

/// The snippets of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
