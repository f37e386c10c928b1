//! What two sides share when a handshake has ended.

use core::fmt;

use super::schedule::{HASH_LEN, Label, Prk, Transcript};
use super::{ConnectionId, Refused};

/// Which side this is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// Sent message_1.
    Initiator,
    /// Sent message_2.
    Responder,
}

/// Shared keys, and how both name the connection. It lives in RAM alone.
pub struct Session {
    role: Role,
    initiator: ConnectionId,
    responder: ConnectionId,
    th_4: Transcript,
    out: Prk,
    exporter: Prk,
}

impl Session {
    pub(super) fn new(
        role: Role,
        [initiator, responder]: [ConnectionId; 2],
        th_4: Transcript,
        prk_4e3m: &Prk,
    ) -> Result<Self, Refused> {
        let out = prk_4e3m.derive_prk(Label::Out, &[&th_4.0])?;
        let exporter = out.derive_prk(Label::Exporter, &[])?;
        Ok(Self { role, initiator, responder, th_4, out, exporter })
    }

    /// `EDHOC_Exporter` (RFC 9528, 4.2.1): fills `out` with a key for the application. Whoever
    /// asks with another label, context or length gets an independent one. Labels 0 and 1 are
    /// OSCORE's, 32768 to 65535 anybody's. [`Refused::Length`] above 8,160 bytes.
    pub fn exporter(&self, label: u16, context: &[u8], out: &mut [u8]) -> Result<(), Refused> {
        self.exporter.expand(label, &[context], out)
    }

    /// `EDHOC_KeyUpdate` (RFC 9528, appendix H): the exporter's later keys are new, and the old
    /// ones cannot be computed from them. Both sides must use the same context.
    pub fn key_update(&mut self, context: &[u8]) -> Result<(), Refused> {
        self.out = self.out.derive_prk(Label::Update, &[context])?;
        self.exporter = self.out.derive_prk(Label::Exporter, &[])?;
        Ok(())
    }

    /// Which side this is.
    pub const fn role(&self) -> Role {
        self.role
    }

    /// The name that this side chose for the connection: what the peer puts in front of its
    /// messages.
    pub const fn own_connection(&self) -> &ConnectionId {
        match self.role {
            Role::Initiator => &self.initiator,
            Role::Responder => &self.responder,
        }
    }

    /// The name that the peer chose.
    pub const fn peer_connection(&self) -> &ConnectionId {
        match self.role {
            Role::Initiator => &self.responder,
            Role::Responder => &self.initiator,
        }
    }

    /// TH_4: a hash of all that was said, the same on both sides and in no other handshake. Not
    /// secret.
    pub const fn transcript(&self) -> &[u8; HASH_LEN] {
        &self.th_4.0
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("role", &self.role).finish_non_exhaustive()
    }
}
