//! LIONESS (Anderson and Biham, "Two Practical and Provably Secure Block Ciphers: BEAR and LION",
//! FSE 1996): a block cipher as wide as the payload, so that one changed bit changes every bit.

use crate::hash::SIDE_BY_SIDE;
use crate::{Secret, WideHash, stream};

/// Bytes of the left half: one hash output.
const LEFT_LEN: usize = 32;
/// Bytes of the four round keys.
pub const KEYS_LEN: usize = 4 * LEFT_LEN;

const FIRST_STREAM: &stream::Label = b"motemix/wb-1";
const SECOND_STREAM: &stream::Label = b"motemix/wb-3";

/// The four round keys, 32 bytes each.
#[derive(Debug)]
pub struct WideBlockKeys(Secret<KEYS_LEN>);

impl WideBlockKeys {
    /// Derives the keys as the stream of `key` under `label`.
    pub fn derive(key: &[u8; 32], label: &stream::Label) -> Self {
        let mut keys = Secret::zero();
        stream::fill(key, label, keys.expose_mut());
        Self(keys)
    }

    /// Takes over keys that were derived elsewhere.
    pub const fn new(keys: Secret<KEYS_LEN>) -> Self {
        Self(keys)
    }

    /// Encrypts `block` in place.
    ///
    /// # Panics
    /// If `block` has fewer than 32 bytes: geometry never makes such a payload.
    pub fn encrypt<H: WideHash>(&self, block: &mut [u8]) {
        let (left, right) = halves(block);
        xor_stream(left, self.round(0), FIRST_STREAM, right);
        xor_hash::<H>(left, self.round(1), right);
        xor_stream(left, self.round(2), SECOND_STREAM, right);
        xor_hash::<H>(left, self.round(3), right);
    }

    /// Decrypts `block` in place.
    ///
    /// # Panics
    /// If `block` has fewer than 32 bytes: geometry never makes such a payload.
    pub fn decrypt<H: WideHash>(&self, block: &mut [u8]) {
        let (left, right) = halves(block);
        xor_hash::<H>(left, self.round(3), right);
        xor_stream(left, self.round(2), SECOND_STREAM, right);
        xor_hash::<H>(left, self.round(1), right);
        xor_stream(left, self.round(0), FIRST_STREAM, right);
    }

    /// Decrypts blocks of one length in place, each with its keys: hashes are made side by side.
    ///
    /// # Panics
    /// If there is another number of keys, or if a block has fewer than 32 bytes.
    pub fn decrypt_each<H: WideHash>(keys: &[Self], blocks: &mut [&mut [u8]]) {
        assert_eq!(keys.len(), blocks.len(), "keys for each block");
        let (keys_together, keys_alone) = keys.as_chunks::<SIDE_BY_SIDE>();
        let (together, alone) = blocks.as_chunks_mut::<SIDE_BY_SIDE>();
        for (keys, blocks) in keys_together.iter().zip(together) {
            for (hash_round, stream_round, label) in [(3, 2, SECOND_STREAM), (1, 0, FIRST_STREAM)] {
                let halves = blocks.each_ref().map(|block| block.split_at(LEFT_LEN));
                let round_keys = keys.each_ref().map(|keys| keys.round(hash_round));
                let digests = H::digests(round_keys, halves.map(|(_, right)| right));
                for ((keys, block), digest) in keys.iter().zip(&mut *blocks).zip(&digests) {
                    let (left, right) = self::halves(block);
                    xor_into(left, digest.expose());
                    xor_stream(left, keys.round(stream_round), label, right);
                }
            }
        }
        for (keys, block) in keys_alone.iter().zip(alone) {
            keys.decrypt::<H>(block);
        }
    }

    fn round(&self, round: usize) -> &[u8; 32] {
        let (keys, _) = self.0.expose().as_chunks::<32>();
        &keys[round]
    }
}

fn halves(block: &mut [u8]) -> (&mut [u8; LEFT_LEN], &mut [u8]) {
    block.split_first_chunk_mut().expect("a wide block has at least 32 bytes")
}

fn xor_stream(left: &[u8; LEFT_LEN], round_key: &[u8; 32], label: &stream::Label, right: &mut [u8]) {
    let mut key = Secret::new(*left);
    xor_into(key.expose_mut(), round_key);
    stream::xor(key.expose(), label, right);
}

fn xor_hash<H: WideHash>(left: &mut [u8; LEFT_LEN], round_key: &[u8; 32], right: &[u8]) {
    xor_into(left, H::digest(round_key, right).expose());
}

fn xor_into(to: &mut [u8; 32], from: &[u8; 32]) {
    for (a, b) in to.iter_mut().zip(from) {
        *a ^= b;
    }
}
