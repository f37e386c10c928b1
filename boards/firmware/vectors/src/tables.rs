//! The vectors, as `build.rs` writes them down from `vectors/*.json`. `vectors/README.md` explains
//! the fields.

#![allow(clippy::unreadable_literal, reason = "build.rs writes them, and nobody reads them")]

use motemix_sphinx::{ProcessError, Shape};

/// Which packets they are.
#[allow(dead_code, reason = "the micro:bit has no room for all of them")]
#[derive(Clone, Copy)]
pub enum Profile {
    Mote,
    Mote5,
    Host1k,
    Host2k,
}

/// The hash of a wide block.
pub enum Hash {
    Blake2s,
    Blake2b,
}

/// A path, what a packet looks like as it arrives at each node of it, and what is in it.
pub struct Way {
    pub name: &'static str,
    pub profile: Profile,
    pub seed: [u8; 32],
    pub header_id: [u8; 16],
    pub path: &'static [Node],
    pub wire: &'static [&'static [u8]],
    pub message_id: [u8; 4],
    pub reply_data: &'static [u8],
}

/// A node of a path, and what it learns from the packet.
pub struct Node {
    pub id: u16,
    pub secret: [u8; 32],
    pub public: [u8; 32],
    pub replay_tag: [u8; 16],
    pub exponential: u64,
}

/// A packet; `data` of a loop is its payload, sealed.
pub struct Packet {
    pub way: Way,
    pub shape: Shape,
    pub data: &'static [u8],
}

/// A single-use reply block.
pub struct Surb {
    pub way: Way,
    pub encoded: &'static [u8],
}

pub struct WideBlock {
    pub hash: Hash,
    pub keys: [u8; 128],
    pub plain: &'static [u8],
    pub cipher: &'static [u8],
}

/// A hop's delay; `mean` and `time` are microseconds.
pub struct Delay {
    pub seed: u64,
    pub mean: u64,
    pub exponential: u64,
    pub time: u64,
}

/// A datagram that its node must refuse.
pub struct Refused {
    pub name: &'static str,
    pub profile: Profile,
    pub secret: [u8; 32],
    pub datagram: &'static [u8],
    pub verdict: ProcessError,
}

/// Two datagrams of which the node must take one.
pub struct SameTag {
    pub name: &'static str,
    pub profile: Profile,
    pub secret: [u8; 32],
    pub datagrams: [&'static [u8]; 2],
    pub replay_tag: [u8; 16],
}

include!(concat!(env!("OUT_DIR"), "/tables.rs"));
