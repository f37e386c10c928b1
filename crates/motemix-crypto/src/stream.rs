//! `ChaCha20` (RFC 8439 §2.4) with a label as its nonce: one key makes unrelated streams for its uses.

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};

use crate::Secret;

/// Twelve ASCII bytes that name what a stream is for.
pub type Label = [u8; 12];

/// Vector units make the stream so many bytes at a time. A shorter rest costs several times as much
/// when it is made block by block.
const LANES_LEN: usize = 256;
const HAS_LANES: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// Xors the stream of `key` and `label` over `data`, from block counter 0.
pub fn xor(key: &[u8; 32], label: &Label, data: &mut [u8]) {
    let mut cipher = ChaCha20::new(key.into(), label.into());
    if !HAS_LANES {
        cipher.apply_keystream(data);
        return;
    }
    let (whole, rest) = data.split_at_mut(data.len() / LANES_LEN * LANES_LEN);
    cipher.apply_keystream(whole);
    if !rest.is_empty() {
        let mut stream = Secret::<LANES_LEN>::zero();
        cipher.apply_keystream(stream.expose_mut());
        for (byte, key) in rest.iter_mut().zip(stream.expose()) {
            *byte ^= key;
        }
    }
}

/// Overwrites `out` with the stream itself.
pub fn fill(key: &[u8; 32], label: &Label, out: &mut [u8]) {
    out.fill(0);
    xor(key, label, out);
}
