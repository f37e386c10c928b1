//! Loopix, byte for byte as the Python nodes of 2017 and 2018 speak it, and a hardened profile.
//!
//! | module | what |
//! |---|---|
//! | [`pack`] | msgpack as petlib writes it: points, big integers, text |
//! | [`study`] | what it costs and what it buys: data, energy, anonymity |
//!
//! The wire format is in `docs/spec/loopix.md`, the hardened profile in `docs/spec/loopix-hardened.md`.

#![forbid(unsafe_code)]

pub mod pack;
pub mod study;
