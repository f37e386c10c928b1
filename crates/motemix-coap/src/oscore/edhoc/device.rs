//! Who proved itself.

use motemix_neighbour::PublicKey;
use motemix_neighbour::edhoc::{Ccs, CoseKey, Y};

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
