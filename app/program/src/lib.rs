//! What the programs of motemix share: the words of the command line, networks of processes on one
//! machine, readings that are typed or measured, tables and errors.
//!
//! ```text
//! words (cli) ─ what they name (options, input) ─ who may write there (owner) ─ network ─ report, failure
//! ```
//!
//! This is no library for other programs: it changes without notice. To build on motemix, use
//! `motemix-node` (the protocol without input and output) or `motemix-host` (a node with sockets
//! and files).
#![expect(missing_docs, reason = "the programs use it, and nobody reads it without them")]

pub mod cli;
pub mod failure;
pub mod foreground;
pub mod input;
pub mod network;
pub mod options;
pub mod owner;
pub mod program;
pub mod reading;
pub mod report;
