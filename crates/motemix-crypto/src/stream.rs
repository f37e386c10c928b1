//! `ChaCha20` (RFC 8439 §2.4) with a label as its nonce: one key makes unrelated streams for its uses.

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};

/// Twelve ASCII bytes that name what a stream is for.
pub type Label = [u8; 12];

/// Xors the stream of `key` and `label` over `data`, from block counter 0.
pub fn xor(key: &[u8; 32], label: &Label, data: &mut [u8]) {
    ChaCha20::new(key.into(), label.into()).apply_keystream(data);
}

/// Overwrites `out` with the stream itself.
pub fn fill(key: &[u8; 32], label: &Label, out: &mut [u8]) {
    out.fill(0);
    xor(key, label, out);
}
