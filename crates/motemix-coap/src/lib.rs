//! CoAP without input and output: bytes and time go in, requests and bytes come out.

#![forbid(unsafe_code)]

mod code;
pub mod format;
mod peer;
mod request;
pub mod stream;

pub use code::{Code, Method};
pub use peer::{Peer, Token};
pub use request::{ETag, Observe, Relation, Request, Response};

/// The snippets of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
