//! Inverses of public numbers modulo p and n. In variable time: nothing here is for a secret, whose
//! inverses are powers ([`Element::invert`](super::field::Element::invert),
//! [`Residue::inverted`](super::order::Residue::inverted)).

type Words = [u32; 8];

/// The inverse of a number below an odd modulus, by halving and subtracting (J. Stein, 1967), which
/// takes a time that depends on it. Zero stays zero. Big-endian.
#[inline(never)]
pub(super) fn inverse_vartime(number: &[u8; 32], modulus: &[u8; 32]) -> [u8; 32] {
    let modulus = words(modulus);
    // Modulo the modulus, a is s times the number, and b is t times.
    let (mut a, mut b) = (words(number), modulus);
    let (mut s, mut t) = ([0; 8], [0; 8]);
    s[0] = 1;
    while a != [0; 8] {
        while a[0] & 1 == 0 {
            let carried = if s[0] & 1 == 1 { add(&mut s, &modulus) } else { false };
            halve(&mut s, carried);
            halve(&mut a, false);
        }
        if subtract(&mut a, &b) {
            // a was the smaller.
            add(&mut b, &a);
            core::mem::swap(&mut s, &mut t);
            let mut negative = [0; 8];
            subtract(&mut negative, &a);
            a = negative;
        }
        if subtract(&mut s, &t) {
            add(&mut s, &modulus);
        }
    }
    let mut bytes = [0; 32];
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().rev().zip(t) {
        *bytes = word.to_be_bytes();
    }
    bytes
}

fn words(bytes: &[u8; 32]) -> Words {
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().rev().zip(bytes.as_chunks().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    words
}

/// Adds; whether that went beyond 2²⁵⁶.
fn add(to: &mut Words, what: &Words) -> bool {
    let mut carry = false;
    macro_rules! each {
        ($($at:literal)+) => { $( (to[$at], carry) = to[$at].carrying_add(what[$at], carry); )+ };
    }
    each!(0 1 2 3 4 5 6 7);
    carry
}

/// Subtracts; whether that went below zero.
fn subtract(from: &mut Words, what: &Words) -> bool {
    let mut borrow = false;
    macro_rules! each {
        ($($at:literal)+) => { $( (from[$at], borrow) = from[$at].borrowing_sub(what[$at], borrow); )+ };
    }
    each!(0 1 2 3 4 5 6 7);
    borrow
}

/// Halves it, of which `above` is the bit at 2²⁵⁶.
fn halve(number: &mut Words, above: bool) {
    let mut above = u32::from(above);
    for word in number.iter_mut().rev() {
        (*word, above) = (*word >> 1 | above << 31, *word & 1);
    }
}
