//! The commands of those who run a node or an authority.
//!
//! `motemixd` is they alone; `motemix` has them beside its own.
#![expect(missing_docs, reason = "two programs use it, and nobody reads it without them")]

pub mod commands;
pub mod words;
