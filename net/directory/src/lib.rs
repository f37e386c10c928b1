//! The signed network document of an epoch, and the paths drawn from it.
//!
//! Authorities publish one document an epoch: which nodes there are, with which mix keys, and the
//! parameters everybody must share. `docs/spec/directory.md` is normative for its bytes. Every
//! check returns the value that the next step needs, so none can be left out:
//!
//! ```text
//! bytes ─ SignedDocument::parse ─ verify(authorities) ─ admit(now, newest epoch seen) ─ NetworkDocument
//!           shape of the envelope   k of n signatures,    time and rollback                │
//!                                   then every field                                       │ fill_entries(lent slice)
//!                                                                                          ▼
//!                                                            draw_mixes, draw_node ── Topology
//! ```
//!
//! A document borrows the bytes it was read from and copies nothing. A node that cannot keep the
//! bytes keeps a [`Topology`]: 34 bytes a node, in a slice that it lends.
//!
//! Before it is signed, what is in it was said by its nodes and voted on by its authorities: a
//! [`Descriptor`] is what a node says of itself, and a [`SignedStatement`] is what authorities say
//! to each other.
//!
//! Deliberately absent: a clock and an entropy source (both are arguments), storage, transport,
//! an allocator, and any trust in a field that no authority signed.

#![no_std]
#![forbid(unsafe_code)]

mod authority;
mod builder;
mod cbor;
mod contents;
mod descriptor;
mod document;
mod envelope;
mod error;
mod exchange;
mod mix_key;
mod node;
mod parameters;
mod profile;
mod ratchet;
mod signature;
mod statement;
mod topology;
mod types;

pub use authority::{Authorities, AuthoritiesError, AuthorityKey, AuthorityKeyError, AuthoritySecret, KeyId};
pub use builder::{BuildError, DocumentBuilder, NewNode, document_len_limit};
pub use contents::{Draft, MAX_DRAFT_LEN};
pub use descriptor::{
    Capabilities, Descriptor, DescriptorError, IdentityKey, IdentitySecret, MAX_DESCRIPTOR_LEN,
    MAX_EPOCHS_AHEAD, NewDescriptor, SignedDescriptor,
};
pub use document::{AuthenticDocument, NetworkDocument, SignedDocument, VerifiedDocument};
pub use error::{DocumentError, Field, Flaw, Place};
pub use exchange::{DocumentTag, DocumentWord};
pub use motemix_time::{Epoch, UnixTime};
pub use node::{Addresses, DocumentNode, Nodes, link_address, link_number};
pub use parameters::{Parameters, WayLengths};
pub use profile::{ProfileName, UnknownProfile};
pub use ratchet::{KeyRatchet, RatchetError};
pub use signature::Label;
pub use statement::{STATEMENT_OVERHEAD, SignedStatement, sign_statement};
pub use topology::{Entry, PathError, Topology, TopologyError};
pub use types::{
    MAX_ADDRESSES, MAX_DURATION, MAX_LAYERS, MAX_NAME_LEN, MAX_NODES, MAX_SIGNATURES, Role, is_name,
};

/// The snippets of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
