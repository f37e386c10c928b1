//! Keyed BLAKE2 (RFC 7693): derivation, header MAC, and the hash of the wide block.

use blake2::Blake2sMac;
use blake2::digest::{FixedOutput, KeyInit, Update, consts::U16, consts::U32};
use blake2b_simd::Params;
use blake2b_simd::many::{HashManyJob, hash_many};
use zeroize::zeroize_stack;

use crate::Secret;

/// Bytes of a MAC.
pub const MAC_LEN: usize = 16;

/// BLAKE2s with a 32-byte digest. `key` has 1 to 32 bytes.
pub fn blake2s_256(key: &[u8], data: &[u8]) -> Secret<32> {
    let mut out = Secret::zero();
    let mut state = keyed::<Blake2sMac<U32>>(key);
    state.update(data);
    state.finalize_into(out.expose_mut().into());
    out
}

/// BLAKE2s with a 16-byte digest, as a MAC. `key` has 1 to 32 bytes.
pub fn blake2s_128(key: &[u8], data: &[u8]) -> Secret<MAC_LEN> {
    let mut out = Secret::zero();
    let mut state = keyed::<Blake2sMac<U16>>(key);
    state.update(data);
    state.finalize_into(out.expose_mut().into());
    out
}

/// The hash of the wide block: 32 bytes out of 32 bytes of key and a long input.
pub trait WideHash {
    /// The keyed digest of `data`.
    fn digest(key: &[u8; 32], data: &[u8]) -> Secret<32>;

    /// The digest of each of [`SIDE_BY_SIDE`] data of one length under its own key.
    fn digests(keys: [&[u8; 32]; SIDE_BY_SIDE], data: [&[u8]; SIDE_BY_SIDE]) -> [Secret<32>; SIDE_BY_SIDE] {
        core::array::from_fn(|i| Self::digest(keys[i], data[i]))
    }
}

/// So many digests of BLAKE2b are made in the time of less than two where the processor has AVX2.
pub const SIDE_BY_SIDE: usize = 4;

/// BLAKE2s-256: 32-bit words, for motes.
pub enum WideBlake2s {}

/// BLAKE2b-256: 64-bit words, for hosts.
pub enum WideBlake2b {}

impl WideHash for WideBlake2s {
    fn digest(key: &[u8; 32], data: &[u8]) -> Secret<32> {
        blake2s_256(key, data)
    }
}

impl WideHash for WideBlake2b {
    fn digest(key: &[u8; 32], data: &[u8]) -> Secret<32> {
        let mut out = Secret::zero();
        blake2b(key, data, out.expose_mut());
        // The state does not wipe itself; it lay here.
        zeroize_stack::<BLAKE2B_STACK_LEN>();
        out
    }

    fn digests(keys: [&[u8; 32]; SIDE_BY_SIDE], data: [&[u8]; SIDE_BY_SIDE]) -> [Secret<32>; SIDE_BY_SIDE] {
        let mut out = [const { Secret::zero() }; SIDE_BY_SIDE];
        blake2b_side_by_side(keys, data, &mut out);
        zeroize_stack::<{ 2 * SIDE_BY_SIDE * BLAKE2B_STACK_LEN }>();
        out
    }
}

/// More than the state of BLAKE2b and what it calls keep on the stack.
const BLAKE2B_STACK_LEN: usize = 1024;

/// In a frame of its own, so that the frame can be wiped.
#[inline(never)]
fn blake2b_side_by_side(
    keys: [&[u8; 32]; SIDE_BY_SIDE],
    data: [&[u8]; SIDE_BY_SIDE],
    out: &mut [Secret<32>; SIDE_BY_SIDE],
) {
    let mut parameters = Params::new();
    let mut jobs: [_; SIDE_BY_SIDE] =
        core::array::from_fn(|i| HashManyJob::new(parameters.hash_length(32).key(keys[i]), data[i]));
    hash_many(&mut jobs);
    for (job, out) in jobs.iter().zip(out) {
        out.expose_mut().copy_from_slice(job.to_hash().as_bytes());
    }
}

/// In a frame of its own, so that the frame can be wiped.
#[inline(never)]
fn blake2b(key: &[u8; 32], data: &[u8], out: &mut [u8; 32]) {
    let hash = Params::new().hash_length(out.len()).key(key).hash(data);
    out.copy_from_slice(hash.as_bytes());
}

fn keyed<M: KeyInit>(key: &[u8]) -> M {
    // Every key of this project has 16 or 32 bytes, which BLAKE2 takes as it is.
    M::new_from_slice(key).expect("a BLAKE2 key has at most 32 bytes")
}
