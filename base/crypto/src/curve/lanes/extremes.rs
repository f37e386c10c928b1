//! What the vectors of this machine make of limbs that are as long as they may be, against numbers
//! of another make.
#![allow(unsafe_code)] // calls of code for a processor that was found

extern crate std;

use crypto_bigint::{NonZero, U1024};
use std::vec::Vec;

use super::Lanes;
use super::{avx2, ifma};

/// Makes `operations`, of whole limbs, for the field of the module.
macro_rules! operations {
    (#[$features:meta], $limbs:literal) => {
        /// The product, the square, what is made with the curve's constant, the sum, the difference
        /// and the canonical words of `a`.
        #[cfg(test)]
        #[$features]
        pub(super) fn operations(
            a: &[[u64; LANES]; $limbs],
            b: &[[u64; LANES]; $limbs],
        ) -> ([[[u64; LANES]; $limbs]; 5], [[u64; LANES]; 4]) {
            let (mut x, mut y) = ([splat(0); $limbs], [splat(0); $limbs]);
            for i in 0..$limbs {
                (x[i], y[i]) = (load(&a[i]), load(&b[i]));
            }
            let (factor, product) = (Factor(x), Product(y));
            let (sum, difference) = Product(x).sum_and_difference(&product);
            let made = [
                factor.times(&Factor(y)).0,
                factor.squared().0,
                factor.times_curve_constant_plus(&product).0,
                sum.0,
                difference.0,
            ];
            let mut limbs = [[[0; LANES]; $limbs]; 5];
            for i in 0..5 {
                for j in 0..$limbs {
                    limbs[i][j] = store(made[i][j]);
                }
            }
            (limbs, stored(&canonical_words(factor.to_limbs())))
        }
    };
}
pub(super) use operations;

fn modulus() -> NonZero<U1024> {
    NonZero::new(U1024::ONE.shl_vartime(255).wrapping_sub(&U1024::from_u64(19))).expect("p")
}

/// The sum of the limbs, each at its place.
fn sum(limbs: impl Iterator<Item = (u64, u32)>) -> U1024 {
    limbs.fold(U1024::ZERO, |sum, (limb, place)| sum.wrapping_add(&U1024::from_u64(limb).shl_vartime(place)))
}

/// The number modulo p that the limbs are.
fn number(limbs: impl Iterator<Item = (u64, u32)>) -> U1024 {
    sum(limbs).rem_vartime(&modulus())
}

/// What the operations of two numbers are, modulo p.
fn expected(a: U1024, b: U1024) -> [U1024; 5] {
    let p = modulus();
    [
        a.wrapping_mul(&b),
        a.wrapping_mul(&a),
        a.wrapping_mul(&U1024::from_u64(121_666)).wrapping_add(&b),
        a.wrapping_add(&b),
        a.wrapping_add(&p).wrapping_sub(&b),
    ]
    .map(|number| number.rem_vartime(&p))
}

/// Which limbs are at their most: all sets for few limbs, and some for many.
fn sets(limbs: u32) -> impl Iterator<Item = u32> + Clone {
    let step = if cfg!(miri) { 97 } else { 1 };
    (0..1 << limbs).rev().step_by(step)
}

/// The limbs of the one number are at most the former, those of the other the latter.
fn check<const LANES: usize, const LIMBS: usize>(
    most: [[u64; LIMBS]; 2],
    places: [u32; LIMBS],
    differences: bool,
    operations: impl Fn(
        &[[u64; LANES]; LIMBS],
        &[[u64; LANES]; LIMBS],
    ) -> ([[[u64; LANES]; LIMBS]; 5], [[u64; LANES]; 4]),
) {
    let limbs_of = |set: u32, less: u64| -> [u64; LIMBS] {
        let most = most[usize::from(less > 0)];
        core::array::from_fn(|i| if set >> i & 1 == 1 { most[i] - less } else { less })
    };
    let pairs: Vec<_> = sets(LIMBS as u32)
        .flat_map(|a| [a, !a, 0, u32::MAX, 0x155, a.rotate_left(3)].map(|b| (limbs_of(a, 0), limbs_of(b, 1))))
        .collect();
    for pairs in pairs.chunks_exact(LANES) {
        let a: [[u64; LANES]; LIMBS] =
            core::array::from_fn(|i| core::array::from_fn(|lane| pairs[lane].0[i]));
        let b: [[u64; LANES]; LIMBS] =
            core::array::from_fn(|i| core::array::from_fn(|lane| pairs[lane].1[i]));
        let (made, words) = operations(&a, &b);
        for (lane, (a, b)) in pairs.iter().enumerate() {
            let value = |limbs: &[u64; LIMBS]| number(limbs.iter().copied().zip(places));
            let expected = expected(value(a), value(b));
            // The difference is the last one.
            let checked = if differences { 5 } else { 4 };
            for (number, (made, expected)) in made.iter().zip(expected).take(checked).enumerate() {
                let made = number_of_lane(made, lane, places);
                assert_eq!(made, expected, "operation {number} of {a:x?} and {b:x?}");
            }
            let canonical = (0..4).fold(U1024::ZERO, |sum, i| {
                sum.wrapping_add(&U1024::from_u64(words[i][lane]).shl_vartime(64 * i as u32))
            });
            assert_eq!(canonical, value(a), "the canonical words of {a:x?}");
        }
    }
}

fn number_of_lane<const LANES: usize, const LIMBS: usize>(
    limbs: &[[u64; LANES]; LIMBS],
    lane: usize,
    places: [u32; LIMBS],
) -> U1024 {
    number(limbs.iter().map(|limb| limb[lane]).zip(places))
}

const PLACES_OF_NINE: [u32; 9] = [0, 29, 58, 87, 116, 145, 174, 203, 232];
const PLACES_OF_FIVE: [u32; 5] = [0, 51, 102, 153, 204];

#[test]
fn nine_limbs_agree_with_large_numbers() {
    if Lanes::four().is_none() {
        std::eprintln!("NOT RUN: this processor has no AVX2");
        return;
    }
    // SAFETY: the processor has AVX2.
    let operations = |a: &_, b: &_| unsafe { avx2::operations(a, b) };
    let whole = |times: u64| core::array::from_fn(|i| times * ((1 << if i == 8 { 23 } else { 29 }) - 1));
    // A difference and a sum, two products, and what is all ones but for the bits that are carried.
    let longer = |times: u64| whole(times).map(|limb: u64| limb + (1 << 17) - 1);
    let mut difference = longer(3);
    difference[7] = (1 << 29) - 1;
    check([difference, longer(2)], PLACES_OF_NINE, false, operations);
    check([longer(2), longer(2)], PLACES_OF_NINE, false, operations);
    check([longer(1), whole(1)], PLACES_OF_NINE, true, operations);
    check([whole(1), whole(1)], PLACES_OF_NINE, true, operations);
}

#[test]
fn five_limbs_agree_with_large_numbers() {
    if Lanes::eight().is_none() {
        std::eprintln!("NOT RUN: this processor has no AVX-512 with IFMA");
        return;
    }
    // SAFETY: the processor has AVX-512 with IFMA.
    let operations = |a: &_, b: &_| unsafe { ifma::operations(a, b) };
    for most in [(1 << 52) - 1, (1 << 51) + (1 << 15), (1 << 51) - 1] {
        check([[most; 5]; 2], PLACES_OF_FIVE, true, operations);
    }
}

/// p and 2·p, and what is around them and around 2^255, are where a reduction may go wrong.
#[test]
fn words_are_canonical_near_multiples_of_p() {
    let near: Vec<[u64; 5]> = (0..80)
        .flat_map(|low: u64| {
            let ones = (1 << 51) - 1;
            // p − 61 + low, 2^255 + low and 2·p − 99 + low.
            [
                [ones - 79 + low, ones, ones, ones, ones],
                [low, 0, 0, 0, 1 << 51],
                [(1 << 52) - 118 + low, 2 * ones, 2 * ones, 2 * ones, 2 * ones],
            ]
        })
        .collect();
    for limbs in near.chunks_exact(8) {
        let value = |lane: usize| number(limbs[lane].into_iter().zip(PLACES_OF_FIVE));
        let words_of = |words: &[u64; 4]| number_words(words);
        if Lanes::eight().is_some() {
            let a: [[u64; 8]; 5] = core::array::from_fn(|i| core::array::from_fn(|lane| limbs[lane][i]));
            // SAFETY: the processor has AVX-512 with IFMA.
            let (_, words) = unsafe { ifma::operations(&a, &[[0; 8]; 5]) };
            for lane in 0..8 {
                assert_eq!(words_of(&words.map(|word| word[lane])), value(lane), "{:x?}", limbs[lane]);
            }
        }
        if Lanes::four().is_some() {
            for half in [0, 4] {
                let a: [[u64; 4]; 9] = core::array::from_fn(|i| {
                    core::array::from_fn(|lane| {
                        let limbs = limbs[half + lane].into_iter().zip(PLACES_OF_FIVE);
                        let from_limb_on = sum(limbs).shr_vartime(PLACES_OF_NINE[i]).as_words()[0];
                        // All that there is, in the last one.
                        if i == 8 { from_limb_on } else { from_limb_on & ((1 << 29) - 1) }
                    })
                });
                // SAFETY: the processor has AVX2.
                let (_, words) = unsafe { avx2::operations(&a, &[[0; 4]; 9]) };
                for lane in 0..4 {
                    let words = words.map(|word| word[lane]);
                    assert_eq!(words_of(&words), value(half + lane), "{:x?}", limbs[half + lane]);
                }
            }
        }
    }
}

/// Not reduced: canonical words are below p as they are.
fn number_words(words: &[u64; 4]) -> U1024 {
    words
        .iter()
        .rev()
        .fold(U1024::ZERO, |sum, word| sum.shl_vartime(64).wrapping_add(&U1024::from_u64(*word)))
}
