//! The thumbprint of a key (RFC 9679): the same for everybody who has the key, whatever they keep
//! beside it.

use sha2::{Digest, Sha256};

use crate::key::PublicKey;

/// Bytes of the longest COSE key here.
pub const MAX_COSE_KEY_LEN: usize = 75;

/// The key as a COSE key of its required members alone, in deterministic CBOR (RFC 9679, 3), in the
/// lent memory; its length.
pub fn cose_key(key: &PublicKey, out: &mut [u8; MAX_COSE_KEY_LEN]) -> usize {
    let (mut left, mut len) = (&mut out[..], 0);
    let mut write = |bytes: &[u8]| {
        // Both forms fit, 75 and 42 bytes.
        if let Some((front, rest)) = core::mem::take(&mut left).split_at_mut_checked(bytes.len()) {
            front.copy_from_slice(bytes);
            left = rest;
            len += bytes.len();
        }
    };
    if let Some((x, y)) = key.coordinates() {
        // {1: 2, -1: 1, -2: x, -3: y}
        write(b"\xa4\x01\x02\x20\x01\x21\x58\x20");
        write(&x);
        write(b"\x22\x58\x20");
        write(&y);
    } else {
        // {1: 1, -1: 6, -2: x}
        write(b"\xa3\x01\x01\x20\x06\x21\x58\x20");
        write(key.as_bytes());
    }
    len
}

/// SHA-256 over [`cose_key`] (RFC 9679, 3).
pub fn thumbprint(key: &PublicKey) -> [u8; 32] {
    let mut bytes = [0; MAX_COSE_KEY_LEN];
    let len = cose_key(key, &mut bytes);
    Sha256::digest(bytes.get(..len).unwrap_or_default()).into()
}
