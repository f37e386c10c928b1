//! Secret numbers below n, the order of the group, in constant time.

use core::fmt;

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use super::order::ORDER_BYTES;
use crate::Secret;

/// Bytes of a scalar, big-endian.
pub const SCALAR_LEN: usize = 32;

/// A secret from 1 to n − 1. It wipes itself, and has no `Clone`: a copy is made with
/// [`Scalar::duplicate`].
pub struct Scalar(Secret<SCALAR_LEN>);

impl Scalar {
    /// From big-endian bytes. `None` if they are zero, or n or more: in constant time but for that
    /// answer.
    pub fn from_be_bytes(bytes: &Secret<SCALAR_LEN>) -> Option<Self> {
        let (_, is_below) = difference(bytes.expose(), &ORDER_BYTES);
        let is_zero = bytes.expose().as_slice().ct_eq([0; SCALAR_LEN].as_slice());
        // Disclosed: whether the bytes are a scalar. Whoever made them chooses others if they are
        // not.
        if bool::from(is_below & !is_zero) { Some(Self(bytes.duplicate())) } else { None }
    }

    /// A second copy, which wipes itself as well.
    #[must_use]
    pub const fn duplicate(&self) -> Self {
        Self(self.0.duplicate())
    }

    /// 32 bytes, big-endian.
    pub const fn expose(&self) -> &[u8; SCALAR_LEN] {
        self.0.expose()
    }

    /// The number or its negative, whichever is odd.
    pub(super) fn odd(&self) -> Odd {
        let (mut negative, _) = difference(&ORDER_BYTES, self.expose());
        let is_negative = Choice::from(!self.expose()[SCALAR_LEN - 1] & 1);
        let mut odd = Odd { bytes: Secret::zero(), is_negative };
        for ((byte, own), negative) in
            odd.bytes.expose_mut().iter_mut().rev().zip(self.expose()).zip(&mut negative)
        {
            *byte = u8::conditional_select(own, negative, is_negative);
            *negative = 0;
        }
        odd
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scalar(..)")
    }
}

/// A number from 1 to n − 1 that everybody may know, as those of a signature: functions that take
/// it take a time that depends on it. No secret becomes one.
pub struct PublicScalar(Scalar);

impl PublicScalar {
    /// From big-endian bytes. `None` if they are zero, or n or more.
    pub fn from_be_bytes(bytes: &[u8; SCALAR_LEN]) -> Option<Self> {
        Scalar::from_be_bytes(&Secret::new(*bytes)).map(Self)
    }

    /// 32 bytes, big-endian.
    pub const fn as_bytes(&self) -> &[u8; SCALAR_LEN] {
        self.0.expose()
    }

    /// The number or its negative, whichever is odd.
    pub fn odd(&self) -> Odd {
        self.0.odd()
    }
}

/// An odd number from 1 to n − 1: a scalar or its negative.
pub struct Odd {
    // Little-endian.
    bytes: Secret<SCALAR_LEN>,
    is_negative: Choice,
}

impl Odd {
    /// Whether it is the negative.
    pub const fn is_negative(&self) -> Choice {
        self.is_negative
    }

    /// Five bits from there on, which is a multiple of four.
    pub fn bits(&self, from: usize) -> u8 {
        let byte = |at: usize| self.bytes.expose().get(at).copied().unwrap_or(0);
        let (low, high) = (byte(from / 8), byte(from / 8 + 1));
        let bits = if from.is_multiple_of(8) { low } else { low >> 4 | high << 4 };
        bits & 0x1f
    }

    /// Whether 2^`at` is added or taken off, 1 or 0, if the number is made of all of them up to
    /// 2²⁵⁵.
    pub fn sign(&self, at: usize) -> u8 {
        match self.bytes.expose().get((at + 1) / 8) {
            Some(byte) => byte >> ((at + 1) % 8) & 1,
            None => 1,
        }
    }
}

/// a − b, and whether that went below zero; big-endian.
pub fn difference(a: &[u8; SCALAR_LEN], b: &[u8; SCALAR_LEN]) -> ([u8; SCALAR_LEN], Choice) {
    let mut difference = [0; SCALAR_LEN];
    let mut borrow = 0;
    for ((out, a), b) in difference.iter_mut().zip(a).zip(b).rev() {
        let step = u16::from(*a).wrapping_sub(u16::from(*b)).wrapping_sub(borrow);
        *out = step as u8;
        borrow = step >> 8 & 1;
    }
    (difference, Choice::from(borrow as u8))
}
