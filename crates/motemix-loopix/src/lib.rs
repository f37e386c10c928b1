//! Loopix, byte for byte as the Python nodes of 2017 and 2018 speak it, and a hardened profile.
//!
//! | module | what |
//! |---|---|
//! | [`pack`] | msgpack as petlib writes it: points, big integers, text |
//! | [`packet`] | the sphinxmix packet: create, process, reply |
//! | [`ultrix`] | a packet without header MACs, which the same package has; nothing here sends it |
//! | [`vectors`] | known answers of the Python programs, and whether this crate gives them |
//!
//! The wire format is in `docs/spec/loopix.md`, the hardened profile in `docs/spec/loopix-hardened.md`.

#![forbid(unsafe_code)]

pub mod pack;
pub mod packet;
pub mod ultrix;
pub mod vectors;
