//! What two neighbours do before they trust each other's bytes. They have never met, and there is
//! no server and no third party.
//!
//! | module | what | source |
//! |---|---|---|
//! | [`suite`] | the primitives behind a trait, so that an accelerator can take their place | FIPS 186-5, SP 800-56A, SP 800-38C |
//! | [`handshakes`] | who begins a handshake, who answers, what is sent again | `docs/spec/link/handshakes.md` |
//! | [`datagram`] | datagrams of one length under a handshake's key, between hosts | `docs/spec/link/hosts.md` |
//! | [`doubt`] | when a key may no longer be the neighbour's | `docs/spec/link/datagrams.md` |
//! | [`functions`] | the six functions of IoT-CryptoDiet, under its names too | IoT-CryptoDiet, section 4.1 |
//! | [`diet`] | its protocol: as the paper has it, and settled | section 5.3 and `docs/spec/link/diet.md` |
//! | [`edhoc`] | EDHOC, in steps of one multiplication each | RFC 9528 and `docs/spec/link/edhoc.md` |
//!
//! Deliberately absent: packets, addresses, sockets, a clock, an allocator, and a source of
//! randomness. Nothing here works before a caller brings a generator: it is an argument.

#![no_std]
#![forbid(unsafe_code)]

pub mod datagram;
pub mod diet;
pub mod doubt;
pub mod edhoc;
pub mod functions;
pub mod handshakes;
pub mod suite;

pub use suite::{PrivateKey, PublicKey, Refused, Signature, Suite};

/// The snippets of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
