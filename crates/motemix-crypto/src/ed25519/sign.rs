//! Signatures of a board (RFC 8032 §5.1.6), in constant time: field elements in words, a comb of four
//! teeth for the one multiplication, and scalars in limbs of 13 bits.

use core::fmt;

use sha2::{
    Sha512,
    digest::{FixedOutputReset as _, Update as _},
};
use subtle::ConstantTimeEq as _;
use zeroize::{Zeroize as _, zeroize_stack};

use super::table::{Affine, TABLE};
use super::{Field, Point, challenge};
use crate::Secret;
use crate::curve::half_words::scalar::Scalar;

/// Teeth of the comb, and how far apart they are: a number of 256 bits is 64 digits of four bits
/// each, one from under each tooth.
const TEETH: usize = 4;
const DIGITS: usize = 64;
/// More than a signature and what it calls keep on the stack; SHA-512 does the most.
const STACK_LEN: usize = if cfg!(target_pointer_width = "32") { 1536 } else { 2560 };

/// A private key with what follows from it, so that a signature costs one multiplication: 96 bytes,
/// which wipe themselves.
///
/// A signature is deterministic: no generator that is poor, and no state that was copied, gives the
/// key away. One that a fault disturbed does; a board that somebody may disturb has to check what
/// it signed before it sends it.
pub struct SigningKey {
    /// Clamped.
    scalar: Secret<32>,
    prefix: Secret<32>,
    public: [u8; 32],
}

impl SigningKey {
    /// From a seed of 32 random bytes (RFC 8032 §5.1.5). One multiplication.
    pub fn from_seed(seed: &Secret<32>) -> Self {
        let mut key = Self { scalar: Secret::zero(), prefix: Secret::zero(), public: [0; 32] };
        expand(seed, &mut key);
        key.public = multiple_of_base(&key.scalar);
        zeroize_stack::<STACK_LEN>();
        key
    }

    /// The public key.
    pub const fn public_key(&self) -> &[u8; 32] {
        &self.public
    }

    /// Signs the concatenated parts. One multiplication, and two hashes over them.
    pub fn sign(&self, parts: &[&[u8]]) -> [u8; 64] {
        let mut signature = [0; 64];
        self.sign_into(parts, &mut signature);
        signature
    }

    /// The same, to where the signature is to be.
    pub fn sign_into(&self, parts: &[&[u8]], signature: &mut [u8; 64]) {
        sign(self, parts, signature);
        // Scalars, points and the state of the hash lay here.
        zeroize_stack::<STACK_LEN>();
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(..)")
    }
}

#[inline(never)]
fn expand(seed: &Secret<32>, key: &mut SigningKey) {
    let mut digest = [0; 64];
    hash_of(seed, &[], &mut digest);
    let (scalar, prefix) = digest.split_at(32);
    key.scalar.expose_mut().copy_from_slice(scalar);
    key.prefix.expose_mut().copy_from_slice(prefix);
    let [first, .., last] = key.scalar.expose_mut();
    *first &= 0xf8;
    *last = *last & 0x7f | 0x40;
    digest.zeroize();
}

/// In a frame of its own, so that the frame can be wiped. Its parts follow one another: what one of
/// them needs on the stack does not lie beneath another.
#[inline(never)]
fn sign(key: &SigningKey, parts: &[&[u8]], signature: &mut [u8; 64]) {
    let mut nonce = Secret::zero();
    draw_nonce(&key.prefix, parts, &mut nonce);
    let (first, second) = signature.split_at_mut(32);
    first.copy_from_slice(&multiple_of_base(&nonce));
    let challenge = challenge(first, &key.public, parts);
    answer(&challenge, key, nonce, second);
}

/// The secret number of a signature, below ℓ: a hash of the key's second half and of what is signed.
#[inline(never)]
fn draw_nonce(prefix: &Secret<32>, parts: &[&[u8]], nonce: &mut Secret<32>) {
    let mut digest = [0; 64];
    hash_of(prefix, parts, &mut digest);
    reduce(&digest, nonce);
    digest.zeroize();
}

#[inline(never)]
fn reduce(digest: &[u8; 64], nonce: &mut Secret<32>) {
    *nonce.expose_mut() = Scalar::from_bytes_mod_order_wide(digest).to_bytes();
}

/// S = r + k·a
#[inline(never)]
#[expect(clippy::needless_pass_by_value, reason = "a nonce is used once")]
fn answer(challenge: &[u8; 64], key: &SigningKey, nonce: Secret<32>, out: &mut [u8]) {
    let mut answer = Scalar::from_bytes_mod_order_wide(challenge);
    answer *= &Scalar::from_bytes_mod_order(*key.scalar.expose());
    answer += &Scalar::from_bytes_mod_order(*nonce.expose());
    out.copy_from_slice(&answer.to_bytes());
}

#[inline(never)]
fn hash_of(first: &Secret<32>, parts: &[&[u8]], digest: &mut [u8; 64]) {
    let mut hash = Sha512::default();
    hash.update(first.expose());
    for part in parts {
        hash.update(part);
    }
    // In place, as in `challenge`.
    hash.finalize_into_reset(digest.into());
}

/// `scalar` · B, encoded.
#[inline(never)]
fn multiple_of_base(scalar: &Secret<32>) -> [u8; 32] {
    let mut sum = Point::ZERO;
    for at in (0..DIGITS).rev() {
        sum.double();
        sum.add_affine(&entry(digit(scalar, at)));
    }
    sum.encoded()
}

/// One bit from under each tooth.
fn digit(scalar: &Secret<32>, at: usize) -> u32 {
    (0..TEETH).rev().fold(0, |digit, tooth| {
        let bit = at + DIGITS * tooth;
        digit << 1 | u32::from(scalar.expose()[bit / 8] >> (bit % 8) & 1)
    })
}

/// An entry of the table. All are read, so that no cache and no bus tells which.
#[inline(never)]
fn entry(digit: u32) -> Affine {
    let mut found = Affine { sum: Field::ZERO, difference: Field::ZERO, product: Field::ZERO };
    for (number, entry) in (0..).zip(&TABLE) {
        let choice = digit.ct_eq(&number);
        found.sum.assign_if(&entry.sum, choice);
        found.difference.assign_if(&entry.difference, choice);
        found.product.assign_if(&entry.product, choice);
    }
    found
}

impl Point {
    /// Hisil and others, §3.2, with Z2 = 1: seven products. Complete, as for [`add`](Self::add).
    #[inline(never)]
    fn add_affine(&mut self, other: &Affine) {
        let Self { x, y, z, t } = self;
        // A = (Y1 − X1)·(y2 − x2), B = (Y1 + X1)·(y2 + x2)
        let mut a = *y;
        a.subtract(x);
        a.multiply(&other.difference);
        let mut b = *y;
        b.add(x);
        b.multiply(&other.sum);
        // C = T1·2·d·x2·y2, D = 2·Z1
        t.multiply(&other.product);
        z.double();
        // E = B − A, F = D − C, G = D + C, H = B + A
        let mut f = *z;
        f.subtract(t);
        z.add(t);
        *x = b;
        x.subtract(&a);
        b.add(&a);
        self.finish(&f, &b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ed25519::{is_key, is_signed};
    use curve25519_dalek::{EdwardsPoint, Scalar as Number, constants::ED25519_BASEPOINT_POINT as BASE};
    use ed25519_dalek::Signer as _;
    use proptest::prelude::*;

    /// RFC 8032 §7.1: seed, public key, message, signature.
    const VECTORS: [[&str; 4]; 3] = [
        [
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b\
             d25bf5f0595bbe24655141438e7a100b",
        ],
        [
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c\
             387b2eaeb4302aeeb00d291612bb0c00",
        ],
        [
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659\
             4a7c15e9716ed28dc027beceea1ec40a",
        ],
    ];

    fn key(seed: &[u8; 32]) -> SigningKey {
        SigningKey::from_seed(&Secret::new(*seed))
    }

    #[test]
    fn the_standards_signatures_are_made() {
        for [seed, public, message, signature] in
            VECTORS.map(|row| row.map(|text| hex::decode(text).unwrap()))
        {
            let key = key(seed.first_chunk().unwrap());
            assert_eq!(key.public_key().as_slice(), public);
            assert_eq!(key.sign(&[&message]).as_slice(), signature);
        }
    }

    #[test]
    fn the_table_has_the_sums_that_it_says() {
        let teeth: [EdwardsPoint; TEETH] =
            core::array::from_fn(|tooth| (0..DIGITS * tooth).fold(BASE, |point, _| point + point));
        for (number, entry) in TABLE.iter().enumerate() {
            let sum = (0..TEETH).filter(|tooth| number >> tooth & 1 == 1).map(|tooth| teeth[tooth]);
            let sum = sum.fold(EdwardsPoint::default(), |sum, point| sum + point);
            let mut ours = Point::ZERO;
            ours.add_affine(entry);
            assert_eq!(ours.encoded(), sum.compress().to_bytes(), "entry {number}");
        }
    }

    #[test]
    fn digits_have_a_bit_from_under_each_tooth() {
        let scalar = Secret::new(core::array::from_fn(|byte| if byte / 8 == 2 { 0x81 } else { 0 }));
        assert_eq!([0, 1, 7, 8, 63].map(|at| digit(&scalar, at)), [4, 0, 4, 4, 4]);
    }

    #[test]
    fn the_greatest_scalars_are_multiplied() {
        for bytes in [[0; 32], [0xff; 32], [0x80; 32]] {
            let product = EdwardsPoint::mul_base(&Number::from_bytes_mod_order(bytes));
            assert_eq!(multiple_of_base(&Secret::new(bytes)), product.compress().to_bytes());
        }
    }

    #[test]
    fn it_prints_nothing_of_itself() {
        extern crate std;
        assert_eq!(std::format!("{:?}", key(&[1; 32])), "SigningKey(..)");
    }

    proptest! {
        #[test]
        fn both_sign_alike(seed: [u8; 32], message in prop::collection::vec(any::<u8>(), 0..200), at in 0_usize..200) {
            let (ours, theirs) = (key(&seed), ed25519_dalek::SigningKey::from_bytes(&seed));
            prop_assert_eq!(*ours.public_key(), theirs.verifying_key().to_bytes());
            let (first, second) = message.split_at(at.min(message.len()));
            let signature = ours.sign(&[first, second]);
            prop_assert_eq!(signature, theirs.sign(&message).to_bytes());
            prop_assert!(is_key(ours.public_key()) && is_signed(ours.public_key(), &[&message], &signature));
        }
    }
}
