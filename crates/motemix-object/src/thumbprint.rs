//! The thumbprint of a key (RFC 9679): the same for everybody who has the key, whatever they keep
//! beside it.

use sha2::{Digest, Sha256};

use crate::key::PublicKey;

/// SHA-256 over the required members of the key as a COSE key, in deterministic CBOR (RFC 9679, 3).
pub fn thumbprint(key: &PublicKey) -> [u8; 32] {
    let mut hash = Sha256::new();
    if let Some((x, y)) = key.coordinates() {
        // {1: 2, -1: 1, -2: x, -3: y}
        hash.update(b"\xa4\x01\x02\x20\x01\x21\x58\x20");
        hash.update(x);
        hash.update(b"\x22\x58\x20");
        hash.update(y);
    } else {
        // {1: 1, -1: 6, -2: x}
        hash.update(b"\xa3\x01\x01\x20\x06\x21\x58\x20");
        hash.update(key.as_bytes());
    }
    hash.finalize().into()
}
