//! The parts of the command-line program `motemix` that the laboratory `motemix-lab` shares.
//!
//! This is no library for other programs: it changes without notice. To build on motemix, use
//! `motemix-node` (the protocol without input and output) or `motemix-host` (a node with sockets
//! and files).
#![expect(missing_docs, reason = "two programs use it, and nobody reads it without them")]

pub mod cli;
mod commands;
pub mod failure;
pub mod network;
pub mod program;
pub mod reading;
pub mod report;

pub use commands::run;
