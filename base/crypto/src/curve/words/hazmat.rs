//! Steps of the curve one by one, for tests that run them on each core. Nothing is clamped, checked
//! or wiped here: nobody else should call them.

use super::arithmetic::{Arithmetic, WORDS};
use super::field::Element;

/// The inverse modulo p; zero of zero.
pub fn inverted<A: Arithmetic>(words: &[u32; WORDS]) -> [u32; WORDS] {
    Element::<A>::new(*words).inverted().words()
}

/// The representative below p, little-endian.
pub fn to_bytes<A: Arithmetic>(words: &[u32; WORDS]) -> [u8; 32] {
    Element::<A>::new(*words).to_bytes()
}
