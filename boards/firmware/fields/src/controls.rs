//! Operations that are wrong, or that leak, on purpose: a test that does not notice them is none.
//!
//! Each wrong one leaves out a single carry of arithmetic like that of the crate. Random operands
//! reach some of these carries once in 2²⁰⁰ times.

use crate::operations::{Element, each};
use core::hint::black_box;
use motemix_crypto::curve::words::arithmetic::Arithmetic;
use motemix_crypto::curve::words::product::Long;

/// A sum whose carry out of the topmost word is taken around once, and not the second time.
#[unsafe(no_mangle)]
extern "C" fn mote_wrong_sum(count: usize) -> u32 {
    each(count, |[a, b]| {
        let carried = add(a, b);
        add_small(a, 38 * carried);
    })
}

/// A sum without the carry into the sixth word.
#[unsafe(no_mangle)]
extern "C" fn mote_wrong_carry(count: usize) -> u32 {
    each(count, |[a, b]| {
        let mut carried = 0;
        for (at, (a, b)) in a.iter_mut().zip(b.iter()).enumerate() {
            carried = if at == 5 { 0 } else { carried } + u64::from(*a) + u64::from(*b);
            *a = carried as u32;
            carried >>= 32;
        }
        let again = add_small(a, 38 * carried as u32);
        a[0] += 38 * again;
    })
}

/// A difference that borrows once from above, and not the second time.
#[unsafe(no_mangle)]
extern "C" fn mote_wrong_difference(count: usize) -> u32 {
    each(count, |[a, b]| {
        let borrowed = subtract(a, b);
        let mut around = [0; 8];
        around[0] = 38 * borrowed;
        subtract(a, &around);
    })
}

/// A product whose upper half comes around, and what goes beyond 2²⁵⁶ then comes around once, and
/// not the second time.
#[unsafe(no_mangle)]
extern "C" fn mote_wrong_product(count: usize) -> u32 {
    each(count, |[a, b]| {
        let mut product = [0_u32; 16];
        for (at, word) in a.iter().enumerate() {
            let mut carried = 0;
            for (sum, by) in product[at..].iter_mut().zip(b.iter()) {
                carried += u64::from(*word) * u64::from(*by) + u64::from(*sum);
                *sum = carried as u32;
                carried >>= 32;
            }
            product[at + 8] = carried as u32;
        }
        let mut carried = 0;
        for (at, word) in a.iter_mut().enumerate() {
            carried += u64::from(product[at]) + 38 * u64::from(product[at + 8]);
            *word = carried as u32;
            carried >>= 32;
        }
        add_small(a, 38 * carried as u32);
    })
}

/// The bytes of an element whose bit 255 came around, without taking p off that what remains.
#[unsafe(no_mangle)]
extern "C" fn mote_wrong_bytes(count: usize) -> u32 {
    each(count, |[a, _]| {
        let above = a[7] >> 31;
        a[7] &= u32::MAX >> 1;
        add_small(a, 19 * above);
    })
}

/// Right, and ends at the first word in which both differ.
#[unsafe(no_mangle)]
extern "C" fn mote_leaking_comparison(count: usize) -> u32 {
    each(count, |[a, b]| {
        let equal = a.iter().zip(b.iter()).take_while(|(a, b)| black_box(**a) == **b).count();
        *a = [u32::from(equal == 8), 0, 0, 0, 0, 0, 0, 0];
    })
}

/// Right, with the long products that end early on a Cortex-M3.
#[unsafe(no_mangle)]
extern "C" fn mote_leaking_product(count: usize) -> u32 {
    each(count, |[a, b]| Long::multiply(a, b))
}

/// Adds; returns what is at 2²⁵⁶.
fn add(a: &mut Element, b: &Element) -> u32 {
    let mut carried = 0;
    for (a, b) in a.iter_mut().zip(b) {
        carried += u64::from(*a) + u64::from(*b);
        *a = carried as u32;
        carried >>= 32;
    }
    carried as u32
}

fn add_small(a: &mut Element, summand: u32) -> u32 {
    let mut carried = u64::from(summand);
    for a in a {
        carried += u64::from(*a);
        *a = carried as u32;
        carried >>= 32;
    }
    carried as u32
}

/// Subtracts; returns 1 if something was borrowed.
fn subtract(a: &mut Element, b: &Element) -> u32 {
    let mut borrowed = false;
    for (a, b) in a.iter_mut().zip(b) {
        let (first, below) = a.overflowing_sub(*b);
        let (second, below_too) = first.overflowing_sub(u32::from(borrowed));
        *a = second;
        borrowed = below | below_too;
    }
    u32::from(borrowed)
}
