//! What is calculated with: the numbers at which carries begin and end, and random ones.

use super::Element;
use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng as _, SeedableRng as _};
use num_bigint::BigUint;
use std::collections::BTreeSet;

/// 2^`bits`.
fn power(bits: u32) -> BigUint {
    BigUint::from(1_u32) << bits
}

fn p() -> BigUint {
    power(255) - 19_u32
}

pub(super) fn element(value: &BigUint) -> Element {
    let mut words = value.to_u32_digits();
    assert!(words.len() <= 8, "{value} has more than 256 bits");
    words.resize(8, 0);
    words.try_into().expect("eight words")
}

/// The numbers that arithmetic modulo p = 2²⁵⁵ − 19 goes wrong with, if with any: each below 2²⁵⁶,
/// each once.
pub(super) fn special() -> Vec<Element> {
    let p = p();
    let mut found = BTreeSet::new();
    let mut add = |value: BigUint| {
        if value.bits() <= 256 {
            found.insert(element(&value));
        }
    };
    // Around each multiple of p, and where the word above 2²⁵⁵ and 2²⁵⁶ comes around: 19 and 38
    // times something.
    for middle in [BigUint::ZERO, p.clone(), &p + &p, power(255), power(256)] {
        for distance in (0..=3_u32).chain(17..=20).chain(36..=39) {
            add(&middle + distance);
            if middle >= BigUint::from(distance) {
                add(&middle - distance);
            }
        }
    }
    for number in 4..=38_u32 {
        add(BigUint::from(number));
    }
    // A carry at each boundary of words and of half words.
    for bits in (16..256).step_by(16) {
        add(power(bits));
        add(power(bits) - 1_u32);
        add(power(256) - power(bits));
    }
    // Runs of words of ones; a single word is one of them. And runs of zeros between ones.
    for from in 0..8 {
        for to in from + 1..=8 {
            let run = power(32 * to) - power(32 * from);
            add(power(256) - 1_u32 - &run);
            add(run);
        }
    }
    // The same word eight times.
    for word in [1_u32, 0xffff, 0x1_0000, 0xffff_0000, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0x5555_5555] {
        add(BigUint::from_slice(&[word; 8]));
    }
    // Ones in every other word, and the topmost bit of one word alone.
    let ones = |at: u32| if at.is_multiple_of(2) { u32::MAX } else { 0 };
    add(BigUint::from_slice(&[0, 1, 2, 3, 4, 5, 6, 7].map(ones)));
    add(BigUint::from_slice(&[1, 2, 3, 4, 5, 6, 7, 8].map(ones)));
    for word in 0..8 {
        add(power(32 * word + 31));
    }
    found.into_iter().collect()
}

/// How far from zero the products of [`near_zero`] and the squares of [`roots`] are at most: what
/// is carried beyond 2²⁵⁶ comes around as 38 times 38 at most, and once more.
const NEAR: u32 = 1500;

/// Pairs whose product is nearly zero modulo p, above and below. Before it is reduced, it is nearly
/// a multiple of 2²⁵⁶: its last carries run through all words, and come around once more. No other
/// operands get there.
pub(super) fn near_zero(random: &mut Random) -> Vec<[Element; 2]> {
    let p = p();
    let mut pairs = Vec::new();
    for distance in 0..NEAR {
        let a = BigUint::from_slice(&random.element());
        let Some(inverse) = a.modinv(&p) else { continue };
        let b = inverse * distance % &p;
        for product_of in [b.clone(), &p - b] {
            // Not canonical, where that is below 2²⁵⁶.
            let more = &product_of + &p;
            let b = if more.bits() <= 256 && distance % 2 == 0 { more } else { product_of };
            pairs.push([element(&a), element(&b)]);
        }
    }
    pairs
}

/// The same whose second is a number below 2³¹: the constant of the curve, and random ones.
pub(super) fn near_zero_by_small(random: &mut Random) -> Vec<[Element; 2]> {
    let p = p();
    let mut pairs = Vec::new();
    for distance in 0..NEAR {
        let by = if distance % 3 == 0 { 121_666 } else { random.element()[7] >> 1 | 1 };
        let a = BigUint::from(by).modinv(&p).expect("p is a prime") * distance % &p;
        for a in [a.clone(), &p - &a, &p + a] {
            pairs.push([element(&a), [by, 0, 0, 0, 0, 0, 0, 0]]);
        }
    }
    pairs.retain(|[a, _]| *a != [0; 8]);
    pairs
}

/// Elements whose square is nearly zero modulo p.
pub(super) fn roots() -> Vec<Element> {
    let p = p();
    // p is 5 modulo 8.
    let root_of_minus_one = BigUint::from(2_u32).modpow(&((&p - 1_u32) / 4_u32), &p);
    let exponent = (&p + 3_u32) / 8_u32;
    let mut found = Vec::new();
    for distance in 1..NEAR {
        for square in [BigUint::from(distance), &p - distance] {
            let root = square.modpow(&exponent, &p);
            let other = &root * &root_of_minus_one % &p;
            let is_root = |root: &BigUint| root * root % &p == square;
            let Some(root) = [root, other].into_iter().find(is_root) else { continue };
            let representatives = [root.clone(), &p - &root, &p + &root, &p + &p - &root];
            found.extend(representatives.iter().filter(|root| root.bits() <= 256).map(element));
        }
    }
    found
}

/// Points that are refused or not canonical, among others: of small order, p and more, and with bit
/// 255, which is ignored.
pub(super) fn points() -> Vec<Element> {
    // Of order 8, from the multiples of p in RFC 7748's curve: Wycheproof has the same.
    let of_order_8 = [
        "325606250916557431795983626356110631294008115727848805560023387167927233504",
        "39382357235489614581723060781553021112529911719440698176882885853963445705823",
    ];
    let mut found = special();
    for text in of_order_8 {
        let point: BigUint = text.parse().expect("a number");
        found.push(element(&point));
        found.push(element(&(point + power(255))));
    }
    found
}

/// Random operands; a seed repeats them.
pub(super) struct Random(ChaCha20Rng);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(ChaCha20Rng::seed_from_u64(seed))
    }

    /// A quarter of the elements are random. In the others, each word, or each half word, is zeros,
    /// ones or random, half of them are not random; or each half word is nearly zero or 2¹⁶, so that
    /// sums of their products have words of ones.
    pub(super) fn element(&mut self) -> Element {
        let form = self.0.next_u32() & 3;
        std::array::from_fn(|_| match form {
            0 => self.0.next_u32(),
            1 => self.sparse(u32::MAX),
            2 => self.sparse(0xffff) | self.sparse(0xffff) << 16,
            _ => self.extreme() | self.extreme() << 16,
        })
    }

    fn extreme(&mut self) -> u32 {
        [0, 1, 0xfffe, 0xffff][self.0.next_u32() as usize & 3]
    }

    fn sparse(&mut self, mask: u32) -> u32 {
        match self.0.next_u32() & 3 {
            0 => 0,
            1 => mask,
            _ => self.0.next_u32() & mask,
        }
    }
}

/// `MOTEMIX_SEED`, or another one in each run.
pub(super) fn seed() -> u64 {
    let given =
        std::env::var("MOTEMIX_SEED").ok().map(|seed| seed.parse().expect("MOTEMIX_SEED is a number"));
    let seed = given.unwrap_or_else(|| u64::from(std::process::id()) << 20 | 0xF1E1D);
    println!("to repeat: MOTEMIX_SEED={seed}");
    seed
}
