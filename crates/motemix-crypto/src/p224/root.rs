//! Square roots.

use super::field::Element;

/// 96: p − 1 is 2⁹⁶ times an odd number.
const TWOS: usize = 96;

/// A root of a reduced element, in variable time; `None` if it has none.
pub fn square_root(square: &Element) -> Option<Element> {
    // Tonelli and Shanks, for now.
    let half = square.half_odd_power();
    let mut root = half.times(square);
    let mut power = root.times(&half);
    let mut generator = generator();
    let mut order = TWOS;
    if square.is(&Element::ZERO) {
        return Some(Element::ZERO);
    }
    loop {
        let mut least = 0;
        let mut raised = power;
        while !raised.is(&Element::ONE) {
            raised = raised.squared();
            least += 1;
            if least == order {
                return None;
            }
        }
        if least == 0 {
            return Some(root);
        }
        let factor = generator.squared_times(order - least - 1);
        generator = factor.squared();
        order = least;
        root = root.times(&factor);
        power = power.times(&generator);
    }
}

/// Of the roots of unity: 11 is not a square.
fn generator() -> Element {
    let eleven = Element::ONE.small_multiple(11);
    eleven.half_odd_power().squared().times(&eleven)
}
