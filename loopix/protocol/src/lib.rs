//! Loopix, byte for byte as the Python nodes of 2017 and 2018 speak it, and a hardened profile.
//!
//! | module | what |
//! |---|---|
//! | [`files`] | what a node finds in its folder: keys, directory, configuration |
//! | [`pack`] | msgpack as petlib writes it: points, big integers, text |
//! | [`packet`] | the sphinxmix packet: create, process, reply |
//! | [`role`] | mix, provider and client as state machines |
//! | [`runtime`] | those with sockets, disks and clocks |
//! | [`wire`] | what stands in packets and beside them: commands, messages, requests |
//!
//! The wire format is in `docs/spec/loopix.md`, the hardened profile in
//! `docs/spec/loopix-hardened.md`.

#![forbid(unsafe_code)]

pub mod files;
pub mod pack;
pub mod packet;
pub mod role;
pub mod runtime;
pub mod wire;

/// The snippets of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
