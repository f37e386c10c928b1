//! Signed readings on hosts.

#![forbid(unsafe_code)]

pub mod base64url;
pub mod counter;
pub mod devices;
pub mod jws;
pub mod keys;
pub mod senml;
pub mod servers;
pub mod signature;
pub mod verifier;

pub use counter::Counter;
pub use devices::{Device, Devices};
pub use servers::{Server, Servers, ServersError};
pub use verifier::{Accepted, Refusal, Verifier};

/// The snippets of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
