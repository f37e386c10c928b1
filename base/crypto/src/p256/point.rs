//! Points as they are stored and sent: SEC 1, 2.3.3 and 2.3.4.

use subtle::Choice;

use super::field::{Element, MODULUS_BYTES, Packed};
use super::multiply;
use super::scalar::{Scalar, difference};
use super::wiped;

/// Bytes of a coordinate, big-endian.
const ELEMENT_LEN: usize = 32;
/// A byte for the sign of y, and x.
pub const COMPRESSED_LEN: usize = 1 + ELEMENT_LEN;
/// x and y.
pub const COORDINATES_LEN: usize = 2 * ELEMENT_LEN;

const EVEN_Y: u8 = 2;

/// b of y² = x³ − 3x + b.
const B: Element = Element::new([
    -514, 607, 2215, -1044, -1891, 1159, 268, -1743, 93, -2440, -1189, 1062, 3063, -3835, 361, -3992, 2165,
    3826, 24, -122,
]);

/// An affine point of the curve; never infinity. It does not wipe itself.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    // Carried.
    x: Element,
    y: Element,
}

impl Point {
    /// From 02 or 03 and x. `None` for another first byte, for an x that is not below p, and for
    /// one that belongs to no point.
    pub fn decompress(bytes: &[u8; COMPRESSED_LEN]) -> Option<Self> {
        let [sign, x @ ..] = bytes;
        if *sign & !1 != EVEN_Y {
            return None;
        }
        let is_odd = sign & 1;
        let x = coordinate(x)?;
        let mut point = Self { x, y: right_side(&x) };
        point.y.set_root();
        let wrong_sign = point.y.to_be_bytes()[ELEMENT_LEN - 1] & 1 ^ is_odd;
        point.negate_if(Choice::from(wrong_sign));
        point.on_curve()
    }

    /// From x and y. `None` if they are not below p, or the point is not on the curve.
    pub fn from_coordinates(bytes: &[u8; COORDINATES_LEN]) -> Option<Self> {
        let (x, y) = bytes.split_at(ELEMENT_LEN);
        Self { x: coordinate(x.first_chunk()?)?, y: coordinate(y.first_chunk()?)? }.on_curve()
    }

    fn on_curve(self) -> Option<Self> {
        let difference = self.y.squared().minus(&right_side(&self.x));
        bool::from(difference.is_zero()).then_some(self)
    }

    /// The product of the generator and a scalar, in constant time.
    #[must_use]
    pub fn mul_generator(by: &Scalar) -> Self {
        wiped(|| multiply::fixed_base(&by.odd()))
    }

    pub(super) const fn new(x: Element, y: Element) -> Self {
        Self { x, y }
    }

    pub(super) fn unpacked(packed: &Packed) -> Self {
        let mut point = Self::new(Element::ZERO, Element::ZERO);
        point.x.unpack(&mut point.y, packed);
        point
    }

    pub(super) fn packed(&self) -> Packed {
        self.x.packed(&self.y)
    }

    /// Makes X and Y into x and y, given 1 / Z.
    pub(super) fn make_affine(&mut self, inverse: &Element) {
        let mut power = inverse.squared();
        self.x.multiply(&power);
        power.multiply(inverse);
        self.y.multiply(&power);
    }

    pub(super) const fn coordinates(&self) -> (&Element, &Element) {
        (&self.x, &self.y)
    }

    /// Becomes its negative if `choice`, in constant time.
    pub(super) fn negate_if(&mut self, choice: Choice) {
        self.y.negate_if(choice);
    }

    /// x, big-endian.
    pub(super) fn x_bytes(&self) -> [u8; ELEMENT_LEN] {
        self.x.to_be_bytes()
    }

    /// 02 if y is even or 03 if it is odd, and x. In constant time.
    pub fn compress(&self) -> [u8; COMPRESSED_LEN] {
        let mut bytes = [0; COMPRESSED_LEN];
        bytes[0] = EVEN_Y + (self.y.to_be_bytes()[ELEMENT_LEN - 1] & 1);
        bytes[1..].copy_from_slice(&self.x.to_be_bytes());
        bytes
    }

    /// x and y. In constant time.
    pub fn to_coordinates(&self) -> [u8; COORDINATES_LEN] {
        let mut bytes = [0; COORDINATES_LEN];
        let (x, y) = bytes.split_at_mut(ELEMENT_LEN);
        x.copy_from_slice(&self.x.to_be_bytes());
        y.copy_from_slice(&self.y.to_be_bytes());
        bytes
    }
}

/// `None` unless it is below p.
fn coordinate(bytes: &[u8; ELEMENT_LEN]) -> Option<Element> {
    let (_, is_below) = difference(bytes, &MODULUS_BYTES);
    bool::from(is_below).then(|| Element::from_be_bytes(bytes))
}

/// x³ − 3x + b. Carried.
fn right_side(x: &Element) -> Element {
    let mut side = x.squared();
    side.multiply(x);
    side.combine(1, -3, x);
    side.combine_and_carry(1, 1, &B);
    side
}
