//! EDHOC (RFC 9528): authenticated keys in three messages of a hundred bytes together.
//!
//! ```text
//! Initiator                                        Responder
//!   begin ──────────── message_1 ──────────────────▶ Message1::parse
//!     │                                                 │ ephemeral, agree, authenticate
//!   AwaitingMessage2 ◀─ message_2 ───────────────── AwaitingMessage3
//!     │ read_message_2 → ReceivedMessage2               │
//!     │ verify_peer → VerifiedResponder                 │
//!     │ message_3 ───── message_3 ────────────────────▶ read_message_3 → ReceivedMessage3
//!   Completed                                           │ verify_peer
//!     │ read_message_4 ◀ message_4, if wanted ─────── Completed
//!   Session                                          Session
//! ```
//!
//! Each step is a value that only the step before it gives. A step computes one scalar
//! multiplication, or makes or checks one signature, and no more, so a board is never busy for
//! longer than that. What waits for a message lends itself to reading: a wrong message changes
//! nothing, and the right one may still come.
//!
//! | module | what | RFC 9528 |
//! |---|---|---|
//! | [`initiator`], [`responder`] | the two chains of steps | section 5 |
//! | [`session`] | what both share at the end: exporter, update, connection identifiers | 4.2 |
//! | [`cipher_suite`] | suites 0 and 2 as types behind a trait | 3.6 |
//! | [`credential`], [`ccs`] | whose key it is, and CWT Claims Sets | 3.5 |
//! | [`ead`], [`error`] | data of applications; error messages | 3.8, 6 |
//!
//! Methods 0 (both sign) and 3 (both have static Diffie-Hellman keys) are there, 1 and 2 are not.
//! Which parts of the RFC are left out is in `docs/spec/link/edhoc.md`.

mod authentication;
mod cbor;
pub mod ccs;
pub mod cipher_suite;
pub mod credential;
pub mod ead;
pub mod error;
pub mod initiator;
mod message;
pub mod responder;
mod schedule;
pub mod session;
#[cfg(test)]
mod traces;

use core::fmt;

pub use ccs::{Ccs, CoseKey, Y};
pub use cipher_suite::{CipherSuite, Suite0, Suite2, WithoutSignatures};
pub use credential::{Credential, CredentialId, OwnCredential, OwnKey, PeerCredential, PeerKey};
pub use ead::{Ead, EadItem};
pub use error::{ErrorMessage, Suites};
pub(crate) use message::Proof;
pub use message::{ConnectionId, MAX_CONNECTION_ID_LEN, MAX_PLAINTEXT_LEN};
pub(crate) use schedule::Prk;
pub use session::{Role, Session};

/// How the two authenticate (RFC 9528, 3.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Method {
    /// Method 0: both sign.
    Signatures = 0,
    /// Method 3: both have static Diffie-Hellman keys. The messages are shorter by 115 bytes.
    StaticKeys = 3,
}

impl Method {
    const fn of_number(number: i32) -> Option<Self> {
        match number {
            0 => Some(Self::Signatures),
            3 => Some(Self::StaticKeys),
            _ => None,
        }
    }
}

/// Why a message or a caller's wish is refused. A peer learns at most what an
/// [error message](ErrorMessage) says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Refused {
    /// The bytes are not this message, or not in the one form that it has.
    Malformed,
    /// The message, or what it would hold, is too long.
    Length,
    /// The method is not offered here.
    Method,
    /// The suite is not spoken here, or a better one is that both speak.
    Suite,
    /// An ephemeral or static public key is no point of the curve, or one of small order.
    PublicKey,
    /// A connection identifier is longer than [`MAX_CONNECTION_ID_LEN`].
    ConnectionId,
    /// An item of external authorization data is critical, and nobody here understands it.
    CriticalEad,
    /// message_3 or message_4 was altered, or belongs to another handshake.
    Ciphertext,
    /// The peer's MAC is wrong: altered, or not by whom it says, or not about this handshake.
    Mac,
    /// The peer's signature is wrong, for one of the same reasons.
    Signature,
    /// The key does not fit the method or the suite.
    Key,
    /// The credential is not one item of CBOR, or has no key that is known here.
    Credential,
    /// The caller's memory is too small for the message.
    Room,
    /// The accelerator failed, or what it gave is wrong: see [`crate::Refused::Engine`].
    Engine,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the message is malformed",
            Self::Length => "the message is too long",
            Self::Method => "the method is not offered",
            Self::Suite => "another cipher suite is to be selected",
            Self::PublicKey => "a public key is no point of the curve, or one of small order",
            Self::ConnectionId => "the connection identifier is too long",
            Self::CriticalEad => "critical authorization data is not understood",
            Self::Ciphertext => "the ciphertext was altered, or its key is another",
            Self::Mac => "the MAC is wrong",
            Self::Signature => "the signature is wrong",
            Self::Key => "the key does not fit method and suite",
            Self::Credential => "the credential holds no key that is known here",
            Self::Room => "there is no room for the message",
            Self::Engine => "the accelerator failed; try again",
        })
    }
}

impl core::error::Error for Refused {}

impl From<crate::Refused> for Refused {
    fn from(refused: crate::Refused) -> Self {
        match refused {
            crate::Refused::PublicKey => Self::PublicKey,
            crate::Refused::PrivateKey => Self::Key,
            crate::Refused::Signature => Self::Signature,
            crate::Refused::Ciphertext => Self::Ciphertext,
            crate::Refused::Engine => Self::Engine,
            _ => Self::Length,
        }
    }
}
