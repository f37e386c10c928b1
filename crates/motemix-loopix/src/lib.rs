//! Loopix, byte for byte as the Python nodes of 2017 and 2018 speak it, and a hardened profile.
//!
//! | module | what |
//! |---|---|
//! | [`files`] | what a node finds in its folder: keys, directory, configuration |
//! | [`pack`] | msgpack as petlib writes it: points, big integers, text |
//! | [`packet`] | the sphinxmix packet: create, process, reply |
//! | [`role`] | mix, provider and client as state machines |
//! | [`runtime`] | those with sockets, disks and clocks |
//! | [`study`] | what it costs and what it buys: data, energy, anonymity |
//! | [`ultrix`] | a packet without header MACs, which the same package has; nothing here sends it |
//! | [`vectors`] | known answers of the Python programs, and whether this crate gives them |
//! | [`wire`] | what stands in packets and beside them: commands, messages, requests |
//!
//! The wire format is in `docs/spec/loopix.md`, the hardened profile in `docs/spec/loopix-hardened.md`.

#![forbid(unsafe_code)]

pub mod files;
pub mod pack;
pub mod packet;
pub mod role;
pub mod runtime;
pub mod study;
pub mod ultrix;
pub mod vectors;
pub mod wire;
