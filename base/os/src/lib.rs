//! What a program asks of its host: files that outlive it, keys in files, clocks, random numbers,
//! memory that is wiped, addresses, private sockets and small HTTP services.
//!
//! | module | what it has |
//! |---|---|
//! | [`store`] | files, locks, SQLite, an inbox, and how a copy of each is told from the original |
//! | [`key_file`] | text files with a secret that only their owner may use |
//! | [`clock`], [`rng`], [`curve`] | time, entropy, and the fastest X25519 of this processor |
//! | [`memory`] | stacks that are wiped, and no dumps of what has keys |
//! | [`address`], [`control`], [`web`], [`places`] | names of hosts, private sockets, HTTP, and bounded numbers of connections |
//! | [`supervisor`] | what a service manager is told |
//!
//! Deliberately absent: nodes, packets, readings, and what any of the files is for.

#[cfg(not(unix))]
compile_error!("motemix-os needs a Unix: it relies on file modes and on Unix-domain sockets");

pub mod address;
pub mod clock;
pub mod control;
pub mod curve;
pub mod key_file;
pub mod memory;
pub mod places;
pub mod rng;
pub mod store;
pub mod supervisor;
pub mod web;

/// The snippets of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
