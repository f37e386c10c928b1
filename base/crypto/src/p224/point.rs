//! Points as they are stored and sent: SEC 1, 2.3.3 and 2.3.4.

use zeroize::zeroize_stack;

use super::field::{ELEMENT_LEN, Element};
use super::multiply;
use super::scalar::{Scalar, ShortScalar};
use super::{STACK_LEN, root};

/// A byte for the sign of y, and x.
pub const COMPRESSED_LEN: usize = 1 + ELEMENT_LEN;
/// A byte that says so, x and y.
pub const UNCOMPRESSED_LEN: usize = 1 + 2 * ELEMENT_LEN;

const EVEN_Y: u8 = 2;
const ODD_Y: u8 = 3;
const BOTH_COORDINATES: u8 = 4;

/// b of y² = x³ − 3x + b.
pub const B: Element = element(
    b"\xb4\x05\x0a\x85\x0c\x04\xb3\xab\xf5\x41\x32\x56\x50\x44\
        \xb0\xb7\xd7\xbf\xd8\xba\x27\x0b\x39\x43\x23\x55\xff\xb4",
);

/// An affine point of the curve; never infinity. It is public, and does not wipe itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    // Canonical, so that equal points are equal.
    x: Element,
    y: Element,
}

impl Point {
    /// G, which generates the whole group.
    pub const GENERATOR: Self = Self {
        x: element(
            b"\xb7\x0e\x0c\xbd\x6b\xb4\xbf\x7f\x32\x13\x90\xb9\x4a\x03\
        \xc1\xd3\x56\xc2\x11\x22\x34\x32\x80\xd6\x11\x5c\x1d\x21",
        ),
        y: element(
            b"\xbd\x37\x63\x88\xb5\xf7\x23\xfb\x4c\x22\xdf\xe6\xcd\x43\
        \x75\xa0\x5a\x07\x47\x64\x44\xd5\x81\x99\x85\x00\x7e\x34",
        ),
    };

    /// From 02 or 03 and x, in variable time. `None` for another first byte, for an x that is not
    /// below p, and for one that belongs to no point.
    pub fn decompress(bytes: &[u8; COMPRESSED_LEN]) -> Option<Self> {
        let [sign, x @ ..] = bytes;
        let is_odd = match *sign {
            EVEN_Y => false,
            ODD_Y => true,
            _ => return None,
        };
        let x = Element::from_be_bytes(x)?;
        let cubed = x.squared().times(&x);
        let y = root::square_root(&cubed.minus(&x.small_multiple(3)).plus(&B).times(&Element::ONE))?;
        let y = y.canonical();
        let y = if y.is_odd() == is_odd { y } else { y.negated() };
        Some(Self::new(&x, &y))
    }

    /// From reduced coordinates of a point of the curve.
    pub(super) const fn new(x: &Element, y: &Element) -> Self {
        Self { x: x.canonical(), y: y.canonical() }
    }

    /// A point of a table: its y may be negative, so it must not be compared.
    pub(super) const fn unreduced(x: Element, y: Element) -> Self {
        Self { x, y }
    }

    pub(super) const fn coordinates(&self) -> (&Element, &Element) {
        (&self.x, &self.y)
    }

    /// 02 if y is even or 03 if it is odd, and x. In constant time.
    pub fn compress(&self) -> [u8; COMPRESSED_LEN] {
        let mut bytes = [0; COMPRESSED_LEN];
        bytes[0] = EVEN_Y + u8::from(self.y.is_odd());
        bytes[1..].copy_from_slice(&self.x.to_be_bytes());
        bytes
    }

    /// 04, x and y. In constant time.
    pub fn to_uncompressed(&self) -> [u8; UNCOMPRESSED_LEN] {
        let mut bytes = [0; UNCOMPRESSED_LEN];
        let (x, y) = bytes[1..].split_at_mut(ELEMENT_LEN);
        x.copy_from_slice(&self.x.to_be_bytes());
        y.copy_from_slice(&self.y.to_be_bytes());
        bytes[0] = BOTH_COORDINATES;
        bytes
    }

    /// The product, in constant time.
    #[must_use]
    pub fn mul(&self, by: &Scalar) -> Self {
        wiped(|| multiply::variable_base(self, by.words(), multiply::DIGITS))
    }

    /// The product with a number of half the length, in constant time and about half of it.
    #[must_use]
    pub fn mul_short(&self, by: &ShortScalar) -> Self {
        wiped(|| multiply::variable_base(self, &by.words(), multiply::SHORT_DIGITS))
    }

    /// The product with [`Self::GENERATOR`], in constant time.
    #[must_use]
    pub fn mul_generator(by: &Scalar) -> Self {
        wiped(|| multiply::fixed_base(by.words()))
    }
}

/// Wipes the stack below after the product was made: coordinates do not wipe themselves.
fn wiped(product: impl FnOnce() -> Point) -> Point {
    let product = framed(product);
    zeroize_stack::<STACK_LEN>();
    product
}

/// In a frame of its own, so that the frame can be wiped.
#[inline(never)]
fn framed(product: impl FnOnce() -> Point) -> Point {
    product()
}

/// A constant below p.
const fn element(bytes: &[u8; ELEMENT_LEN]) -> Element {
    match Element::from_be_bytes(bytes) {
        Some(element) => element.canonical(),
        None => panic!("a constant of the curve is below p"),
    }
}
