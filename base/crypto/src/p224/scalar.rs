//! Secret numbers modulo n, the order of the group, in constant time.

use core::fmt;

use subtle::{Choice, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::multiply::Words;
use crate::Secret;

/// Bytes of a scalar, big-endian.
pub const SCALAR_LEN: usize = 28;
/// Bytes of a short scalar, big-endian.
pub const SHORT_SCALAR_LEN: usize = 16;

/// n.
const ORDER: Words = [0x13dd_2945_5c5c_2a3d, 0xffff_16a2_e0b8_f03e, 0xffff_ffff_ffff_ffff, 0xffff_ffff];
/// −n⁻¹ modulo 2⁶⁴.
const FACTOR: u64 = 0xd6e2_4270_6a1f_c2eb;
/// 2⁵¹² modulo n.
const RADIX_SQUARED: Words =
    [0x2994_7a69_5f51_7d15, 0xabc8_ff59_31d6_3f4b, 0x6ad1_5f7c_d971_4856, 0xb1e9_7961];
/// 2⁷⁶⁸ modulo n.
const RADIX_CUBED: Words = [0xcb4e_8282_b95b_1c87, 0xc5a4_3bf1_f38f_7a73, 0xef86_7d62_6738_8c70, 0x6bca_cbe8];

/// A secret from 1 to n − 1. It wipes itself, and has no `Clone`: a copy is made with
/// [`Scalar::duplicate`].
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Scalar(Words);

impl Scalar {
    /// From 28 bytes, big-endian. `None` if they are zero, or n or more: in constant time but for
    /// that answer.
    pub fn from_be_bytes(bytes: &Secret<SCALAR_LEN>) -> Option<Self> {
        let mut wide = Secret::<32>::zero();
        wide.expose_mut()[4..].copy_from_slice(bytes.expose());
        let number = Self(words(wide.expose()));
        let below = subtract(&mut number.duplicate().0, &ORDER);
        let usable = below & !number.is_zero();
        // Disclosed: whether the bytes are a scalar. Whoever made them chooses others if they are
        // not.
        if usable == 0 { None } else { Some(number) }
    }

    /// A big-endian number of 64 bytes, modulo n: one that is uniform is so to 2⁻²⁸⁸. `None` if
    /// that is zero.
    pub fn reduce(wide: &Secret<64>) -> Option<Self> {
        let (upper, lower) = wide.expose().split_at(32);
        let half = |bytes: &[u8]| Self(words(bytes.first_chunk().unwrap_or(&[0; 32])));
        let (upper, lower) = (half(upper), half(lower));
        // upper · 2⁵¹² + lower · 2²⁵⁶
        let (upper, lower) =
            (Self(montgomery(&upper.0, &RADIX_CUBED)), Self(montgomery(&lower.0, &RADIX_SQUARED)));
        let sum = Self(add(&upper.0, &lower.0));
        let number = Self(montgomery(&sum.0, &[1, 0, 0, 0]));
        // Disclosed: whether the number is a multiple of n, which happens to nobody who does not
        // want it.
        if number.is_zero() == 0 { Some(number) } else { None }
    }

    /// The product modulo n.
    #[must_use]
    pub fn mul(&self, other: &Self) -> Self {
        let product = Self(montgomery(&self.0, &other.0));
        Self(montgomery(&product.0, &RADIX_SQUARED))
    }

    /// A second copy, which wipes itself as well.
    #[must_use]
    pub const fn duplicate(&self) -> Self {
        Self(self.0)
    }

    /// 28 bytes, big-endian.
    pub fn to_be_bytes(&self) -> Secret<SCALAR_LEN> {
        let mut bytes = Secret::zero();
        for (at, byte) in bytes.expose_mut().iter_mut().rev().enumerate() {
            *byte = (self.0[at / 8] >> (8 * (at % 8))) as u8;
        }
        bytes
    }

    pub(super) const fn words(&self) -> &Words {
        &self.0
    }

    /// All bits, or none.
    fn is_zero(&self) -> u64 {
        is_zero(&self.0)
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scalar(..)")
    }
}

/// A secret from 1 to 2¹²⁸ − 1: enough to blind with, and half the work of a [`Scalar`].
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct ShortScalar([u64; 2]);

impl ShortScalar {
    /// From 16 bytes, big-endian. `None` if they are zero: in constant time but for that answer.
    pub fn from_be_bytes(bytes: &Secret<SHORT_SCALAR_LEN>) -> Option<Self> {
        let value = u128::from_be_bytes(*bytes.expose());
        let number = Self([value as u64, (value >> 64) as u64]);
        // Disclosed: whether all bytes are zero. Whoever made them chooses others.
        if is_zero(&number.0) == 0 { Some(number) } else { None }
    }

    /// The same number as a [`Scalar`].
    pub fn widen(&self) -> Scalar {
        Scalar(self.words())
    }

    pub(super) const fn words(&self) -> Words {
        [self.0[0], self.0[1], 0, 0]
    }
}

impl fmt::Debug for ShortScalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShortScalar(..)")
    }
}

fn words(bytes: &[u8; 32]) -> Words {
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().rev().zip(bytes.as_chunks().0) {
        *word = u64::from_be_bytes(*bytes);
    }
    words
}

/// All bits, or none.
fn is_zero(words: &[u64]) -> u64 {
    let any = words.iter().fold(0, |any, word| any | word);
    mask(any.ct_eq(&0))
}

/// All bits, or none. The compiler does not see that there are two values, and makes no branch of
/// what is done with them.
fn mask(choice: Choice) -> u64 {
    u64::from(choice.unwrap_u8()).wrapping_neg()
}

/// Subtracts; all bits if that goes below zero, or none.
fn subtract(from: &mut Words, what: &Words) -> u64 {
    let mut borrow = false;
    for (word, what) in from.iter_mut().zip(what) {
        (*word, borrow) = word.borrowing_sub(*what, borrow);
    }
    mask(Choice::from(u8::from(borrow)))
}

/// What is below 2n, modulo n.
fn settle(mut number: Words) -> Words {
    let below = subtract(&mut number, &ORDER);
    let mut carry = false;
    for (word, order) in number.iter_mut().zip(&ORDER) {
        (*word, carry) = word.carrying_add(order & below, carry);
    }
    number
}

fn add(a: &Words, b: &Words) -> Words {
    let mut carry = false;
    let sum = core::array::from_fn(|at| {
        let (word, carried) = a[at].carrying_add(b[at], carry);
        carry = carried;
        word
    });
    settle(sum)
}

/// a · b / 2²⁵⁶ modulo n, for any a, and b below n (P. Montgomery, 1985).
fn montgomery(a: &Words, b: &Words) -> Words {
    let mut sum = [0; 5];
    for digit in a {
        let mut carry = 0;
        for (word, b) in sum.iter_mut().zip(b) {
            (*word, carry) = digit.carrying_mul_add(*b, *word, carry);
        }
        // The sum is below 2n · 2⁶⁴ here, whose bits above 2²⁵⁶ are few.
        sum[4] += carry;
        let factor = sum[0].wrapping_mul(FACTOR);
        let mut carry = 0;
        for (word, order) in sum.iter_mut().zip(&ORDER) {
            (*word, carry) = factor.carrying_mul_add(*order, *word, carry);
        }
        sum[4] += carry;
        sum = [sum[1], sum[2], sum[3], sum[4], 0];
    }
    settle([sum[0], sum[1], sum[2], sum[3]])
}
