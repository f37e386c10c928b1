//! Signatures made (RFC 8032 §5.1.5 and §5.1.6), in constant time.

use core::fmt;

use super::multiply::base_times;
use super::{SIGNATURE_LEN, hash};
use crate::Secret;
use crate::curve::half_words::scalar::Scalar;
use crate::secret::wiped;

/// More than a signature and what it calls keep on the stack: 1,888 bytes on a Cortex-M3 or M4.
const STACK_LEN: usize = if cfg!(target_pointer_width = "32") { 2048 } else { 4096 };

/// A seed with what follows from it: the secret scalar, the prefix of nonces and the public key.
/// The seed itself is not kept. Secrets wipe themselves, and there is no `Clone`.
///
/// Signatures are deterministic. They are always of the public key that is kept here: whoever gets
/// two signatures of one message that were made for different public keys computes the scalar
/// (S. Grierson and others, arXiv 2308.15009).
///
/// Constant time is against who measures time. A fault while a signature is made, as by a glitch of
/// the supply, may disclose the scalar as well: neither is a signature checked after it was made,
/// nor is its nonce random.
pub struct SigningKey {
    /// Clamped, little-endian, and not reduced.
    scalar: Secret<32>,
    prefix: Secret<32>,
    public: [u8; 32],
}

impl SigningKey {
    /// From 32 bytes that nobody else knows. Costs one multiplication of the base point, about as
    /// much as a signature.
    pub fn from_seed(seed: &Secret<32>) -> Self {
        let (mut scalar, mut prefix) = (Secret::zero(), Secret::zero());
        let public = wiped::<STACK_LEN, _>(|| derive(seed, &mut scalar, &mut prefix));
        // Moved, they would leave copies here that nobody wipes.
        Self { scalar: scalar.duplicate(), prefix: prefix.duplicate(), public }
    }

    /// The compressed point that signatures are checked with.
    pub const fn public_key(&self) -> &[u8; 32] {
        &self.public
    }

    /// Signs the concatenated parts.
    pub fn sign(&self, parts: &[&[u8]]) -> [u8; SIGNATURE_LEN] {
        let mut signature = [0; SIGNATURE_LEN];
        self.sign_into(parts, &mut signature);
        signature
    }

    /// The same, to where the signature is to be.
    pub fn sign_into(&self, parts: &[&[u8]], signature: &mut [u8; SIGNATURE_LEN]) {
        wiped::<STACK_LEN, _>(|| self.write_signature(parts, signature));
    }

    fn write_signature(&self, parts: &[&[u8]], signature: &mut [u8; SIGNATURE_LEN]) {
        let nonce = Scalar::from_wide_bytes(&hash(self.prefix.expose(), &[], parts));
        let r = multiple(&nonce);
        // S = r + k·a
        let mut s = Scalar::from_wide_bytes(&hash(&r, &self.public, parts));
        s *= &Scalar::from_bytes_mod_order(*self.scalar.expose());
        s += &nonce;
        let (first, second) = signature.split_at_mut(32);
        first.copy_from_slice(&r);
        second.copy_from_slice(&s.to_bytes());
    }
}

/// The clamped scalar and the prefix of a seed, in their places. Returns the public key.
fn derive(seed: &Secret<32>, scalar: &mut Secret<32>, prefix: &mut Secret<32>) -> [u8; 32] {
    let digest = Secret::new(hash(seed.expose(), &[], &[]));
    let (lower, upper) = digest.expose().split_at(32);
    scalar.expose_mut().copy_from_slice(lower);
    prefix.expose_mut().copy_from_slice(upper);
    let [low, .., high] = scalar.expose_mut();
    *low &= 0xf8;
    *high = *high & 0x7f | 0x40;
    multiple(&Scalar::from_bytes_mod_order(*scalar.expose()))
}

/// A multiple of the base point.
fn multiple(of: &Scalar) -> [u8; 32] {
    base_times(&Secret::new(of.to_bytes()))
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(..)")
    }
}
