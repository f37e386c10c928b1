//! The stream of the crate `chacha20`.

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};

use super::Label;
use crate::Secret;

/// Bytes of a block of the stream.
const BLOCK_LEN: u64 = 64;
/// Vector units make the stream so many bytes at a time. A shorter rest costs several times as much
/// when it is made block by block.
const LANES_LEN: usize = 256;
const HAS_LANES: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// Xors the stream over `data`, from block `first` on.
pub(super) fn xor_from(key: &[u8; 32], label: &Label, first: u32, data: &mut [u8]) {
    let mut cipher = ChaCha20::new(key.into(), label.into());
    cipher.seek(u64::from(first) * BLOCK_LEN);
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
