//! Signed readings on hosts.

#![forbid(unsafe_code)]

mod base64url;
pub mod jws;
pub mod senml;

/// The snippets of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
