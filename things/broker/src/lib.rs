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
pub mod client;
mod clock;
mod context;
pub mod directory;
pub mod handover;
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
pub use policy::Policy;
pub use state::{Change, State};
pub use store::Store;
pub use topics::property;

/// From the platform's generator.
fn seed() -> std::io::Result<[u8; 32]> {
    let mut seed = [0; 32];
    rand_core::Rng::fill_bytes(&mut motemix_os::rng::HostRng::new()?, &mut seed);
    Ok(seed)
}

/// The snippets of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
