//! Smart objects as RFC 8387 has them: a device makes its own identity, somebody who installs it
//! reads that off a label, and its readings are signed objects, which stay true through every
//! middlebox. `docs/spec/identity.md` and `docs/spec/reading.md` are normative for the bytes.
//!
//! ```text
//! PrivateKey ─ PublicKey P ┐
//!            serial … O ───┴ Identity = h(P|O) ─ label, list, QR code
//!
//! sensor ─ write_pack ─ Sealer::seal(number, never used before) ─ 103 bytes ─ any path
//!                            │
//!  SealedReading::parse ─ Freshness: which number ─ verify(key, identity, number) ─ Verified ─ Freshness::admit
//! ```
//!
//! | module | what | source |
//! |---|---|---|
//! | `key` | Ed25519 and ECDSA with P-256, and what signs | RFC 8032, FIPS 186-5, RFC 6979 |
//! | `identity`, `group` | I, Igrp and Idev | RFC 8387, 4.1 |
//! | `label` | what a QR code says | RFC 8387, 4.1 |
//! | `sign1` | signed objects | RFC 9052, 4.2 |
//! | `statement` | proofs, successors, registrations | RFC 8387, 4.1 and 8.2 |
//! | `pairing`, `hpke` | what a device is to obey, sealed to its key | RFC 8387, 4.1; RFC 9180 |
//! | `command` | what a device is told to do | RFC 8387, 4.1 |
//! | `signed_request` | that a device wants what a request asks for | RFC 8387, 7.3 |
//! | `reading`, `pack`, `key_id` | signed readings | RFC 8428 |
//! | `freshness` | which numbers are accepted | RFC 8387, 8.2 |
//! | `thumbprint` | a key's name for others | RFC 9679 |
//!
//! Deliberately absent: an allocator, a clock, an entropy source, floating point, storage, and any
//! decision whom to trust.

#![no_std]
#![forbid(unsafe_code)]

mod command;
mod credential;
mod external;
mod freshness;
mod group;
mod hpke;
mod identity;
mod key;
mod key_id;
mod label;
mod labelled;
mod pack;
mod pairing;
mod reading;
mod sign1;
mod signed_request;
mod statement;
mod text;
mod thumbprint;

pub use command::{Command, SENDER_LEN, UnverifiedCommand, command};
pub use credential::Credential;
pub use external::{Audience, LongAudience, MAX_AUDIENCE_LEN};
pub use freshness::{Freshness, MAX_THRESHOLD, Order, Policy, Stale, WINDOW};
pub use group::{Group, GroupError, MAX_MEMBERS};
pub use identity::{Identity, MAX_OTHER_LEN, MAX_OTHERS, Other, OtherKind, TooMuch};
pub use key::{
    Agrees, Algorithm, BadKey, Ed25519Key, MAX_PUBLIC_KEY_LEN, NeverFails, PRIVATE_KEY_LEN, PrivateKey,
    PublicKey, SIGNATURE_LEN, Signer,
};
pub use key_id::KeyId;
pub use label::{BadLabel, IdentityLabel};
pub use pack::{Decimal, Pack, Record, is_name, write_pack, write_short_pack};
pub use pairing::{MAX_TEXT_LEN, Pairing, To, claimed_algorithm, open_pairing, pair};
pub use reading::{
    OVERHEAD, Path, Reserved, SealedReading, Sealer, Twin, Verified, reading_context, senml_len,
};
pub use sign1::{MAX_KEY_ID_LEN, ObjectError, Part, Sign1, sign};
pub use signed_request::{MAX_REQUEST_PROOF_LEN, RequestDigest, RequestProof, sign_request};
pub use statement::{
    CHALLENGE_LEN, NO_CHALLENGE, Registration, UnverifiedRegistration, check_membership, check_possession,
    check_retirement, claimed_members, claimed_possessor, claimed_retired, prove_membership,
    prove_possession, register, register_short, retire,
};
pub use thumbprint::{MAX_COSE_KEY_LEN, cose_key, thumbprint};

/// The snippets of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
