//! Networks of Loopix nodes on one machine, and the commands of the program `motemix-loopix`.
//!
//! This is no library for other programs but the laboratory: it changes without notice. To build on
//! Loopix, use `motemix-loopix`.
#![expect(missing_docs, reason = "two programs use it, and nobody reads it without them")]

pub mod chosen;
pub mod commands;
pub mod network;
pub mod words;
