//! Who proved itself.

use motemix_neighbour::PublicKey;
use motemix_neighbour::edhoc::{Ccs, CoseKey, CredentialId, Y};

/// A raw public key, and what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeviceKey {
    /// A key of signatures.
    Ed25519([u8; 32]),
    /// A point of P-256, compressed (SEC 1): for signatures and for Diffie-Hellman.
    P256([u8; 33]),
    /// A key of Diffie-Hellman alone.
    X25519([u8; 32]),
}

impl DeviceKey {
    /// The key in a credential, in its one form. Nothing if it is no point of P-256.
    pub fn of(key: &CoseKey) -> Option<Self> {
        Some(match key {
            CoseKey::Ed25519(key) => Self::Ed25519(*key),
            CoseKey::X25519(key) => Self::X25519(*key),
            CoseKey::P256 { x, y: Y::Coordinate(y) } => {
                let mut coordinates = [0; 64];
                coordinates[..32].copy_from_slice(x);
                coordinates[32..].copy_from_slice(y);
                Self::P256(*PublicKey::from_coordinates(&coordinates).ok()?.as_bytes())
            }
            CoseKey::P256 { x, y: Y::IsOdd(is_odd) } => {
                let mut point = [if *is_odd { 3 } else { 2 }; 33];
                point[1..].copy_from_slice(x);
                Self::P256(*PublicKey::new(point).ok()?.as_bytes())
            }
        })
    }
}

/// A device that has proved, in this handshake, that it has the private key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its public key.
    pub key: DeviceKey,
    /// The credential that the handshake covers: a CWT Claims Set.
    pub ccs: Box<[u8]>,
}

impl Device {
    pub(super) fn of(ccs: &[u8]) -> Option<Self> {
        Some(Self { key: DeviceKey::of(&Ccs::parse(ccs).ok()?.key)?, ccs: ccs.into() })
    }
}

/// A credential that may be a peer's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The CWT Claims Set that the name stands for.
    pub ccs: Vec<u8>,
    /// Whether the application knows this device: then its context may take a stranger's place.
    pub is_known: bool,
}

/// Which credentials may be a peer's. The application says so before anything is proved.
pub trait Policy {
    /// The credential under this name; nothing if it may not be a peer's. A name with a credential
    /// in it is whatever the peer sent.
    fn credential(&mut self, id: &CredentialId<'_>) -> Option<Accepted>;
}

/// Whoever brings its credential is taken as whoever has its key: the application decides by the
/// key what it may do.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnyByValue;

impl Policy for AnyByValue {
    fn credential(&mut self, id: &CredentialId<'_>) -> Option<Accepted> {
        match id {
            CredentialId::Ccs(ccs) => Some(Accepted { ccs: ccs.to_vec(), is_known: false }),
            CredentialId::Kid(_) | CredentialId::Header(_) => None,
        }
    }
}
