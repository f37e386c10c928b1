//! What asks a broker.
//!
//! ```text
//! request ─ client: UDP, TCP, local socket ─ broker
//! inbox of a receiver ─ handover: believed, announced, published ─ client
//! ```
//!
//! Deliberately absent: what a broker decides. It trusts nobody whom a client believes.

#![forbid(unsafe_code)]

pub mod client;
pub mod clock;
pub mod handover;
pub mod property;

/// The snippets of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
