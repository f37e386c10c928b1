//! `ChaCha20` (RFC 8439 §2.4) with a label as its nonce: one key makes unrelated streams for its
//! uses.

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};

use crate::Secret;

/// Twelve ASCII bytes that name what a stream is for.
pub type Label = [u8; 12];

/// Bytes of a block of the stream.
const BLOCK_LEN: u64 = 64;
/// Vector units make the stream so many bytes at a time. A shorter rest costs several times as much
/// when it is made block by block.
const LANES_LEN: usize = 256;
const HAS_LANES: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// Xors the stream of `key` and `label` over `data`, from block counter 0.
pub fn xor(key: &[u8; 32], label: &Label, data: &mut [u8]) {
    apply(&mut ChaCha20::new(key.into(), label.into()), data);
}

fn apply(cipher: &mut ChaCha20, data: &mut [u8]) {
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

/// Overwrites `out` with the stream from block `first` on; a block has 64 bytes.
pub fn fill_from(key: &[u8; 32], label: &Label, first: u32, out: &mut [u8]) {
    let mut cipher = ChaCha20::new(key.into(), label.into());
    cipher.seek(u64::from(first) * BLOCK_LEN);
    out.fill(0);
    apply(&mut cipher, out);
}

/// Overwrites `out` with the stream itself.
pub fn fill(key: &[u8; 32], label: &Label, out: &mut [u8]) {
    out.fill(0);
    xor(key, label, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_from_a_block_on_is_the_end_of_the_whole_stream() {
        let (key, label) = ([7; 32], b"motemix/test");
        let mut whole = [0; 320];
        fill(&key, label, &mut whole);
        for first in 0..5 {
            let mut end = [0xff; 320];
            let end = &mut end[64 * first..];
            fill_from(&key, label, first as u32, end);
            assert_eq!(end, &whole[64 * first..]);
        }
    }
}
