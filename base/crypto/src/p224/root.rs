//! Square roots, in variable time, which has a bound: nobody's x costs more than another.
//!
//! p − 1 is 2⁹⁶ q with an odd q, so a^q is a root of unity, γ^−e, where γ is of order 2⁹⁶. If e is
//! even, a has the root a^((q + 1) / 2) γ^(e / 2). The exponent e is found six bits at a time, from
//! powers of γ that are known beforehand (D. Bernstein, "Faster square roots in annoying finite
//! fields", 2001): in 16 windows, with at most 120 multiplications to remove the bits that were
//! found before, and 16 more for the root.

use super::field::Element;

/// Bits of the exponent that are found at once.
const WINDOW: usize = 6;
const WINDOWS: usize = 96 / WINDOW;
const POWERS: usize = 1 << WINDOW;
const HASHES: usize = 512;

/// γ^(j · 64^i) in row i, column j: 32 kB. Windows of eight bits would save 58 multiplications for
/// three times as much.
static ROOTS_OF_UNITY: [[Element; POWERS]; WINDOWS] = roots_of_unity();

/// For the hash of a 64th root of unity, where the last row has its inverse.
static LOGARITHMS: [u8; HASHES] = logarithms();

/// A root of an element; `None` if it has none.
pub fn square_root(square: &Element) -> Option<Element> {
    let half = square.half_odd_power();
    let root = half.times(square);
    let unity = root.times(&half);
    if unity.is(&Element::ZERO) {
        return Some(Element::ZERO);
    }
    let exponent = exponent(&unity);
    if exponent & 1 == 1 {
        return None;
    }
    Some(with_power(&root, exponent / 2, 0))
}

/// e, where γ^−e is given.
fn exponent(unity: &Element) -> u128 {
    let mut raised = [*unity; WINDOWS];
    for at in 1..WINDOWS {
        raised[at] = raised[at - 1].squared_times(WINDOW);
    }
    let mut exponent = 0;
    for (found, raised) in raised.iter().rev().enumerate() {
        // To the power 64^(15 − found), the bits above vanish; those below are removed.
        let window = with_power(raised, exponent, WINDOWS - 1 - found);
        exponent |= u128::from(LOGARITHMS[hashed(&window)]) << (found * WINDOW);
    }
    exponent
}

/// Times γ^(exponent · 64^row).
fn with_power(element: &Element, mut exponent: u128, row: usize) -> Element {
    let mut product = *element;
    for row in &ROOTS_OF_UNITY[row..] {
        if exponent == 0 {
            break;
        }
        product = product.times(&row[exponent as usize % POWERS]);
        exponent >>= WINDOW;
    }
    product
}

/// Nine bits of the limbs that differ for all 64th roots of unity, or this does not compile.
const fn hashed(element: &Element) -> usize {
    (element.canonical().limbs()[3].cast_unsigned() >> 3) as usize % HASHES
}

#[allow(clippy::large_stack_arrays)] // the compiler's stack
const fn roots_of_unity() -> [[Element; POWERS]; WINDOWS] {
    // 11 is not a square, so its power is of order 2⁹⁶ and not less.
    let eleven = Element::ONE.small_multiple(11);
    let mut generator = eleven.half_odd_power().squared().times(&eleven);
    let mut rows = [[Element::ONE; POWERS]; WINDOWS];
    let mut row = 0;
    while row < WINDOWS {
        let mut at = 1;
        while at < POWERS {
            rows[row][at] = rows[row][at - 1].times(&generator);
            at += 1;
        }
        generator = rows[row][POWERS - 1].times(&generator);
        row += 1;
    }
    rows
}

const fn logarithms() -> [u8; HASHES] {
    const NONE: u8 = 0xff;
    let mut logarithms = [NONE; HASHES];
    let mut at = 0;
    while at < POWERS {
        let hashed = hashed(&ROOTS_OF_UNITY[WINDOWS - 1][at]);
        assert!(logarithms[hashed] == NONE, "two roots of unity have the same hash");
        logarithms[hashed] = ((POWERS - at) % POWERS) as u8;
        at += 1;
    }
    logarithms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_have_roots_and_others_have_none() {
        // 11 is not a square; −1 is one, and so is 2.
        let others = [11, 22, -11, 99].map(|number| Element::ONE.small_multiple(number));
        for other in others {
            assert!(square_root(&other).is_none());
        }
        for number in -20..20 {
            let square = Element::ONE.small_multiple(number).squared();
            let root = square_root(&square).expect("a square has a root");
            assert!(root.squared().is(&square), "{number}");
        }
    }

    #[test]
    fn roots_of_unity_of_every_order_have_the_right_exponent() {
        for exponent in (0..96).map(|bit| 1 << bit).chain([0, (1 << 96) - 1, (1 << 95) - 1]) {
            let unity = with_power(&Element::ONE, (1 << 96) - exponent, 0);
            assert_eq!(super::exponent(&unity), exponent);
        }
    }
}
