//! What this side proves itself with, and the suites that its keys are for.

use std::fmt;

use motemix_crypto::{Curve as _, Portable, Secret};
use motemix_neighbour::edhoc::cipher_suite::Ed25519Key;
use motemix_neighbour::edhoc::{
    Ccs, CipherSuite, CoseKey, Credential, CredentialId, Method, OwnCredential, OwnKey, Refused, Suite0,
    Suite2,
};
use motemix_neighbour::suite::P256;
use motemix_neighbour::{PrivateKey, Suite as _};

use super::device::DeviceKey;

/// X25519 and Ed25519, by the same code as everywhere else.
pub(super) type Zero = Suite0<Portable>;
/// P-256.
pub(super) type Two = Suite2<P256>;

/// A private key. Wiped when it is dropped.
#[derive(Debug)]
pub enum OwnSecret {
    /// Signs in suite 0 (method 0).
    Ed25519(Ed25519Key),
    /// Agrees in suite 0 (method 3).
    X25519(Secret<32>),
    /// Signs or agrees in suite 2 (methods 0 and 3).
    P256(PrivateKey),
}

/// A credential of this side: a CWT Claims Set with a raw public key, and the private key to it.
pub struct Own {
    pub(super) secret: OwnSecret,
    pub(super) key: DeviceKey,
    ccs: Vec<u8>,
    kid: Option<Vec<u8>>,
}

impl Own {
    /// With a Claims Set made for the key. Messages say the set itself, or, if it has a `kid`, that
    /// name alone: the peer must know the set then.
    pub fn new(secret: OwnSecret, subject: Option<&str>, kid: Option<&[u8]>) -> Result<Self, Refused> {
        let key = match &secret {
            OwnSecret::Ed25519(key) => CoseKey::Ed25519(key.verifying_key()),
            OwnSecret::X25519(key) => CoseKey::X25519(Portable::public_key(key).0),
            OwnSecret::P256(key) => CoseKey::p256(&P256.public_key(key)?),
        };
        let mut room = [0; 512];
        let ccs = Ccs { subject, kid, key }.emit(&mut room)?.to_vec();
        Ok(Self { secret, key: DeviceKey::of(&key).ok_or(Refused::Key)?, ccs, kid: kid.map(<[u8]>::to_vec) })
    }

    /// The same, and messages say the Claims Set although it has a `kid`.
    #[must_use]
    pub fn by_value(self) -> Self {
        Self { kid: None, ..self }
    }

    /// The Claims Set.
    pub fn ccs(&self) -> &[u8] {
        &self.ccs
    }

    /// Its public key.
    pub const fn key(&self) -> &DeviceKey {
        &self.key
    }

    /// The suite that its key is for.
    pub const fn suite(&self) -> i16 {
        match self.secret {
            OwnSecret::Ed25519(_) | OwnSecret::X25519(_) => Zero::NUMBER,
            OwnSecret::P256(_) => Two::NUMBER,
        }
    }

    /// Whether the key is one for this method.
    pub const fn fits(&self, method: Method) -> bool {
        match (&self.secret, method) {
            (OwnSecret::Ed25519(_), Method::Signatures)
            | (OwnSecret::X25519(_), Method::StaticKeys)
            | (OwnSecret::P256(_), _) => true,
            (OwnSecret::Ed25519(_), Method::StaticKeys) | (OwnSecret::X25519(_), Method::Signatures) => false,
        }
    }

    /// As a handshake of this suite takes it.
    pub(super) fn credential<S: Keyed>(&self, method: Method) -> Result<OwnCredential<'_, S>, Refused> {
        Ok(OwnCredential {
            id: self.kid.as_deref().map_or(CredentialId::Ccs(&self.ccs), CredentialId::Kid),
            credential: Credential::ccs(&self.ccs)?,
            key: S::own_key(&self.secret, method).ok_or(Refused::Key)?,
        })
    }
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Own").field("key", &self.key).finish_non_exhaustive()
    }
}

/// A suite that takes keys of [`OwnSecret`].
pub(super) trait Keyed: CipherSuite + Default {
    fn own_key(secret: &OwnSecret, method: Method) -> Option<OwnKey<'_, Self>>;
}

impl Keyed for Zero {
    fn own_key(secret: &OwnSecret, method: Method) -> Option<OwnKey<'_, Self>> {
        match (secret, method) {
            (OwnSecret::Ed25519(key), Method::Signatures) => Some(OwnKey::Signing(key)),
            (OwnSecret::X25519(key), Method::StaticKeys) => Some(OwnKey::Static(key)),
            _ => None,
        }
    }
}

impl Keyed for Two {
    fn own_key(secret: &OwnSecret, method: Method) -> Option<OwnKey<'_, Self>> {
        match (secret, method) {
            (OwnSecret::P256(key), Method::Signatures) => Some(OwnKey::Signing(key)),
            (OwnSecret::P256(key), Method::StaticKeys) => Some(OwnKey::Static(key)),
            _ => None,
        }
    }
}
