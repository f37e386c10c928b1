//! The ladder and both fields on intervals: a vector is the least and the most that a lane may
//! hold. Each operation panics where its instruction would lose a bit for some value in there. So
//! one run speaks for all scalars and all points.

extern crate std;

use core::cell::Cell;

use super::MOST;
use super::five_limbs::field_of_five_limbs;
use super::ladder::ladder;
use super::nine_limbs::field_of_nine_limbs;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Vector {
    least: u64,
    most: u64,
}

type Mask = ();

const LANES: usize = 2;
const GROUPS: usize = MOST / LANES;
const ANY: Vector = Vector { least: 0, most: u64::MAX };

std::thread_local! {
    /// The most that was ever added up, and the most that was ever multiplied.
    static MOST_SEEN: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

fn up_to(most: u64) -> Vector {
    Vector { least: 0, most }
}

fn seen(sum: u64, factor: u64) {
    MOST_SEEN.with(|seen| seen.set((seen.get().0.max(sum), seen.get().1.max(factor))));
}

fn splat(value: u64) -> Vector {
    Vector { least: value, most: value }
}

fn load(_: &[u64; LANES]) -> Vector {
    ANY
}

fn store(a: Vector) -> [u64; LANES] {
    [a.most; LANES]
}

fn add(a: Vector, b: Vector) -> Vector {
    let most = a.most.checked_add(b.most).expect("a sum of 64 bits");
    seen(most, 0);
    Vector { least: a.least + b.least, most }
}

fn subtract(a: Vector, b: Vector) -> Vector {
    let least = a.least.checked_sub(b.most).expect("nothing below zero");
    Vector { least, most: a.most - b.least }
}

fn and(a: Vector, mask: Vector) -> Vector {
    assert!(mask.least == mask.most && (mask.most + 1).is_power_of_two());
    if a.most <= mask.most { a } else { up_to(mask.most) }
}

fn or(a: Vector, b: Vector) -> Vector {
    up_to((a.most | b.most).checked_add(1).map_or(u64::MAX, |more| more.next_power_of_two() - 1))
}

/// Bits may leave at the top, where the value is then any.
fn shift_left<const BITS: u32>(a: Vector) -> Vector {
    if a.most.leading_zeros() < BITS { ANY } else { Vector { least: a.least << BITS, most: a.most << BITS } }
}

fn shift_right<const BITS: u32>(a: Vector) -> Vector {
    Vector { least: a.least >> BITS, most: a.most >> BITS }
}

fn none() -> Mask {}

fn bit_is_set(_: Vector, bit: usize) -> Mask {
    assert!(bit < 64);
}

fn is_zero(_: Vector) -> Mask {}

fn differs((): Mask, (): Mask) -> Mask {}

fn choose((): Mask, a: Vector, b: Vector) -> Vector {
    Vector { least: a.least.min(b.least), most: a.most.max(b.most) }
}

fn multiplied(a: Vector, b: Vector, bits: u32) -> Vector {
    assert!(a.most.max(b.most) >> bits == 0, "{a:?} and {b:?} fit the multiplier");
    seen(0, a.most.max(b.most));
    let most = a.most.checked_mul(b.most).expect("a product of 64 bits");
    Vector { least: a.least * b.least, most }
}

mod nine {
    use super::*;

    field_of_nine_limbs!(#[allow(dead_code)]);
    ladder!(#[allow(dead_code)]);

    fn multiply(a: Vector, b: Vector) -> Vector {
        multiplied(a, b, 32)
    }

    /// Makes what `rows.rs` makes for the vectors of a processor.
    macro_rules! rows {
        ($($name:ident($count:literal);)+) => { $(
            fn $name(sums: &mut [Vector; 17], from: usize, a: Vector, b: &[Vector; $count]) {
                for (sum, b) in sums[from..].iter_mut().zip(b) {
                    *sum = add(*sum, multiply(a, *b));
                }
            }
        )+ };
    }

    rows! {
        add_row_of_2(2);
        add_row_of_3(3);
        add_row_of_4(4);
        add_row_of_5(5);
        add_row_of_6(6);
        add_row_of_8(8);
    }

    /// Limbs that hold so many times what they may, and `more` each.
    fn limbs(times: u64, more: u64) -> [Vector; 9] {
        core::array::from_fn(|i| up_to((times << if i == 8 { 23 } else { 29 }) + more))
    }

    #[test]
    fn limbs_are_as_long_as_the_text_says() {
        let (sum, mut difference) = (Factor(limbs(2, 1 << 18)), Factor(limbs(3, 1 << 17)));
        difference.0[7] = up_to((1 << 29) - 1);
        for product in [sum.times(&difference), sum.squared(), difference.squared()] {
            for (limb, most) in product.0.iter().zip(limbs(1, 1 << 17)) {
                assert!(limb.most < most.most, "a limb of a product: {product:?}");
            }
            let made = product.sum_and_difference(&product);
            for (factor, of_text) in [(made.0, sum), (made.1, difference)] {
                for (limb, most) in factor.0.iter().zip(of_text.0) {
                    assert!(limb.most <= most.most, "a limb of a factor: {factor:?}");
                }
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "a whole ladder takes half an hour and more, and nothing of it is unsafe")]
    fn nine_limbs_never_lose_a_bit() {
        multiply_each(&[[[0; LANES]; 4]; GROUPS], &mut [[[0; LANES]; 4]; GROUPS]);
        let (sum, factor) = MOST_SEEN.get();
        assert_eq!((sum.ilog2(), factor.ilog2()), (63, 31), "as the text says");
    }
}

mod five {
    use super::*;

    field_of_five_limbs!(#[allow(dead_code)]);
    ladder!(#[allow(dead_code)]);

    fn multiply_low(a: Vector, b: Vector) -> Vector {
        multiplied(a, b, 63)
    }

    fn product(a: Vector, b: Vector) -> u128 {
        assert!(a.most.max(b.most) < 1 << 52, "{a:?} and {b:?} fit the multiplier");
        u128::from(a.most) * u128::from(b.most)
    }

    fn add_low_product(sum: Vector, a: Vector, b: Vector) -> Vector {
        let most = product(a, b).min((1 << 52) - 1) as u64;
        add(sum, up_to(most))
    }

    fn add_high_product(sum: Vector, a: Vector, b: Vector) -> Vector {
        add(sum, up_to((product(a, b) >> 52) as u64))
    }

    #[test]
    fn limbs_are_as_long_as_the_text_says() {
        let factor = Factor([up_to((1 << 52) - 1); 5]);
        for product in [factor.times(&factor), factor.squared()] {
            assert!(product.0.iter().all(|limb| limb.most < 1 << 61), "{product:?}");
            let (sum, difference) = product.sum_and_difference(&product);
            for factor in [product.to_factor(), sum, difference] {
                let most = (1 << 51) + (1 << 15);
                assert!(factor.0.iter().all(|limb| limb.most < most), "{factor:?}");
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "a whole ladder takes half an hour and more, and nothing of it is unsafe")]
    fn five_limbs_never_lose_a_bit() {
        multiply_each(&[[[0; LANES]; 4]; GROUPS], &mut [[[0; LANES]; 4]; GROUPS]);
        let (sum, factor) = MOST_SEEN.get();
        assert_eq!((sum.ilog2(), factor.ilog2()), (61, 54), "as the text says");
    }
}

#[test]
#[should_panic = "nothing below zero"]
fn a_difference_that_may_be_negative_is_noticed() {
    subtract(splat(5), up_to(6));
}

#[test]
#[should_panic = "fit the multiplier"]
fn a_factor_that_is_too_long_is_noticed() {
    multiplied(up_to(1 << 32), splat(1), 32);
}
