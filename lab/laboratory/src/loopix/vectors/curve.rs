//! The constants of the curve, worked out from its points: p from a point and its negative, a and b
//! from the equation that points satisfy. Public numbers, without regard to time.

use motemix_crypto::Secret;
use motemix_crypto::p224::{Point, SCALAR_LEN, Scalar};

/// Big-endian, with room for a sum.
type Number = [u8; SCALAR_LEN + 1];

/// What follows from the points of the curve.
pub struct Constants {
    prime: Number,
    /// Two points, each as x and y.
    points: [(Number, Number); 2],
}

impl Constants {
    /// Works with G, 2G and −G.
    ///
    /// `None` if the group has another order than `order`.
    pub fn of_group(order: &[u8; SCALAR_LEN]) -> Option<Self> {
        let mut below = *order;
        *below.last_mut()? = below.last()?.checked_sub(1)?;
        let (below, two) = (scalar(&below)?, scalar(&small(2))?);
        if scalar(order).is_some() {
            return None;
        }
        let (x, y) = coordinates(&Point::GENERATOR);
        let (negative_x, negative_y) = coordinates(&Point::mul_generator(&below));
        let constants =
            Self { prime: add(&y, &negative_y), points: [(x, y), coordinates(&Point::mul_generator(&two))] };
        (negative_x == x).then_some(constants)
    }

    /// p.
    pub fn prime(&self) -> &[u8] {
        &self.prime[1..]
    }

    /// b = y² − x³ − ax, with a = −3.
    pub fn b(&self) -> Vec<u8> {
        let [(x, y), _] = &self.points;
        let three_x = self.sum(&self.sum(x, x), x);
        self.sum(&self.rest(x, y), &three_x)[1..].to_vec()
    }

    /// Whether a (x₁ − x₂) = (y₁² − x₁³) − (y₂² − x₂³).
    pub fn fits_a(&self, a: &[u8; SCALAR_LEN]) -> bool {
        let mut wide = [0; SCALAR_LEN + 1];
        wide[1..].copy_from_slice(a);
        let [(x1, y1), (x2, y2)] = &self.points;
        let left = self.product(&wide, &self.sum(x1, &self.negative(x2)));
        wide < self.prime && left == self.sum(&self.rest(x1, y1), &self.negative(&self.rest(x2, y2)))
    }

    /// y² − x³.
    fn rest(&self, x: &Number, y: &Number) -> Number {
        let cube = self.product(&self.product(x, x), x);
        self.sum(&self.product(y, y), &self.negative(&cube))
    }

    fn negative(&self, number: &Number) -> Number {
        if *number == [0; SCALAR_LEN + 1] { *number } else { subtract(&self.prime, number) }
    }

    fn sum(&self, one: &Number, other: &Number) -> Number {
        let sum = add(one, other);
        if sum < self.prime { sum } else { subtract(&sum, &self.prime) }
    }

    fn product(&self, one: &Number, other: &Number) -> Number {
        let bits = other.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1));
        bits.fold([0; SCALAR_LEN + 1], |product, bit| {
            let doubled = self.sum(&product, &product);
            if bit { self.sum(&doubled, one) } else { doubled }
        })
    }
}

fn scalar(bytes: &[u8; SCALAR_LEN]) -> Option<Scalar> {
    Scalar::from_be_bytes(&Secret::new(*bytes))
}

fn small(number: u8) -> [u8; SCALAR_LEN] {
    let mut bytes = [0; SCALAR_LEN];
    bytes[SCALAR_LEN - 1] = number;
    bytes
}

fn coordinates(point: &Point) -> (Number, Number) {
    let bytes = point.to_uncompressed();
    let half = |from: usize| {
        let mut number = [0; SCALAR_LEN + 1];
        number[1..].copy_from_slice(&bytes[from..from + SCALAR_LEN]);
        number
    };
    (half(1), half(1 + SCALAR_LEN))
}

fn add(one: &Number, other: &Number) -> Number {
    let mut sum = *one;
    let mut carry = 0;
    for (digit, other) in sum.iter_mut().zip(other).rev() {
        let total = u16::from(*digit) + u16::from(*other) + carry;
        *digit = total as u8;
        carry = total >> 8;
    }
    sum
}

/// `other` is not the greater one.
fn subtract(one: &Number, other: &Number) -> Number {
    let mut difference = *one;
    let mut borrow = false;
    for (digit, other) in difference.iter_mut().zip(other).rev() {
        let (rest, is_below) = digit.overflowing_sub(*other);
        let (rest, is_below_again) = rest.overflowing_sub(u8::from(borrow));
        *digit = rest;
        borrow = is_below || is_below_again;
    }
    difference
}
