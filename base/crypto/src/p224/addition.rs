//! Doubling and addition: fast ones that do not hold everywhere, and one that does.

use super::field::Element;
use super::point::{B, Point};

/// (X / Z², Y / Z³). Coordinates are of weight 9 at most.
#[derive(Clone, Copy)]
pub struct Jacobian {
    pub x: Element,
    pub y: Element,
    pub z: Element,
}

impl Jacobian {
    pub const fn from_point(point: &Point) -> Self {
        let (x, y) = point.coordinates();
        Self { x: *x, y: *y, z: Element::ONE }
    }

    /// "dbl-2001-b" of the Explicit-Formulas Database (D. Bernstein), for a = −3.
    #[must_use]
    pub const fn doubled(&self) -> Self {
        let delta = self.z.squared();
        let gamma = self.y.squared();
        let beta = self.x.times(&gamma);
        let alpha = self.x.minus(&delta).times(&self.x.plus(&delta)).small_multiple(3);
        let x = alpha.squared().minus(&beta.small_multiple(8));
        let z = self.y.plus(&self.z).squared().minus(&gamma).minus(&delta);
        let y = alpha.product(&beta.small_multiple(4).minus(&x)).minus(&gamma.square_multiple(8));
        Self { x, y: y.reduced(), z }
    }

    /// The sum of points that are not equal, not each other's negatives, and not infinity
    /// ("add-1998-cmo-2").
    #[must_use]
    #[allow(clippy::many_single_char_names)] // those of the formulas
    pub const fn plus_another(&self, other: &Self) -> Self {
        let zz = self.z.squared();
        let their_zz = other.z.squared();
        let u = self.x.times(&their_zz);
        let s = self.y.times(&other.z).times(&their_zz);
        let h = other.x.times(&zz).minus(&u);
        let r = other.y.times(&self.z).times(&zz).minus(&s);
        let hh = h.squared();
        let hhh = h.times(&hh);
        let v = u.times(&hh);
        let x = r.squared().minus(&hhh).minus(&v.small_multiple(2));
        let y = r.product(&v.minus(&x)).minus(&s.product(&hhh));
        Self { x, y: y.reduced(), z: self.z.times(&other.z).times(&h) }
    }

    /// The sum with a point that is not equal, not the negative, where neither is infinity.
    #[must_use]
    #[allow(clippy::many_single_char_names)] // those of the formulas
    pub const fn plus_point(&self, other: &Point) -> Self {
        let (x, y) = other.coordinates();
        let zz = self.z.squared();
        let h = x.times(&zz).minus(&self.x);
        let r = y.times(&self.z).times(&zz).minus(&self.y);
        let hh = h.squared();
        let hhh = h.times(&hh);
        let v = self.x.times(&hh);
        let x = r.squared().minus(&hhh).minus(&v.small_multiple(2));
        let y = r.product(&v.minus(&x)).minus(&self.y.product(&hhh));
        Self { x, y: y.reduced(), z: self.z.times(&h) }
    }

    /// The same point, given 1 / Z.
    pub const fn to_affine(self, inverse: &Element) -> Point {
        let squared = inverse.squared();
        Point::new(&self.x.times(&squared), &self.y.times(&squared).times(inverse))
    }

    /// Twice a point, and the point itself with the same Z: [`Self::doubled`] where Z is 1.
    pub const fn twice_and_once(point: &Point) -> (Self, Self) {
        let (x, y) = point.coordinates();
        let gamma = y.squared();
        let beta = x.times(&gamma).small_multiple(4);
        let alpha = x.minus(&Element::ONE).times(&x.plus(&Element::ONE)).small_multiple(3);
        let twice_x = alpha.squared().minus(&beta.small_multiple(2));
        let eighth = gamma.square_multiple(8).reduced();
        let twice_y = alpha.times(&beta.minus(&twice_x)).minus(&eighth);
        let z = y.small_multiple(2);
        (Self { x: twice_x, y: twice_y, z }, Self { x: beta, y: eighth, z })
    }

    /// The sum with a point that has the same Z, and `self` again with the Z of the sum (N. Meloni,
    /// "New point addition formulae for ECC applications", 2007). The points are not equal, not
    /// each other's negatives, and not infinity.
    #[must_use]
    pub const fn sum_and_self(&self, other: &Self) -> (Self, Self) {
        let dx = self.x.minus(&other.x);
        let dy = self.y.minus(&other.y);
        let squared = dx.squared();
        let self_x = self.x.times(&squared);
        let other_x = other.x.times(&squared);
        let self_y = self.y.times(&self_x.minus(&other_x));
        let x = dy.squared().minus(&self_x).minus(&other_x);
        let y = dy.times(&self_x.minus(&x)).minus(&self_y);
        let z = self.z.times(&dx);
        (Self { x, y, z }, Self { x: self_x, y: self_y, z })
    }

    /// The negative where `mask` is −1.
    #[must_use]
    pub const fn negated_if(&self, mask: i64) -> Self {
        Self { y: self.y.select(&self.y.negated(), mask), ..*self }
    }

    pub const fn to_projective(self) -> Projective {
        let zz = self.z.squared();
        Projective { x: self.x.times(&self.z), y: self.y, z: zz.times(&self.z) }
    }
}

/// (X / Z, Y / Z), or infinity: (0, 1, 0). Coordinates are of weight 9 at most.
#[derive(Clone, Copy)]
pub struct Projective {
    x: Element,
    y: Element,
    z: Element,
}

impl Projective {
    pub const fn from_point(point: &Point) -> Self {
        Jacobian::from_point(point).to_projective()
    }

    /// The sum of any two points (J. Renes, C. Costello, L. Batina, "Complete addition formulas for
    /// prime order elliptic curves", 2016, algorithm 4).
    #[must_use]
    pub const fn plus(&self, other: &Self) -> Self {
        let xx = self.x.times(&other.x);
        let yy = self.y.times(&other.y);
        let zz = self.z.times(&other.z);
        let xy = self.x.plus(&self.y).times(&other.x.plus(&other.y)).minus(&xx).minus(&yy);
        let yz = self.y.plus(&self.z).times(&other.y.plus(&other.z)).minus(&yy).minus(&zz);
        let xz = self.x.plus(&self.z).times(&other.x.plus(&other.z)).minus(&xx).minus(&zz);
        let u = xx.minus(&zz).small_multiple(3);
        let v = xz.minus(&B.times(&zz)).small_multiple(3);
        let w = B.times(&xz).minus(&zz.small_multiple(3)).minus(&xx).small_multiple(3);
        let (sum, difference) = (yy.plus(&v), yy.minus(&v));
        Self {
            x: xy.product(&sum).minus(&yz.product(&w)).reduced(),
            y: sum.product(&difference).plus(&u.product(&w)).reduced(),
            z: yz.product(&difference).plus(&xy.product(&u)).reduced(),
        }
    }

    #[must_use]
    pub const fn negated(&self) -> Self {
        Self { y: self.y.negated(), ..*self }
    }

    /// `self` where `mask` is zero, `other` where it is −1.
    #[must_use]
    pub const fn select(&self, other: &Self, mask: i64) -> Self {
        Self {
            x: self.x.select(&other.x, mask),
            y: self.y.select(&other.y, mask),
            z: self.z.select(&other.z, mask),
        }
    }

    /// The affine coordinates; (0, 0) for infinity, which has none.
    pub const fn to_affine(self) -> Point {
        let inverse = self.z.inverted();
        Point::new(&self.x.times(&inverse), &self.y.times(&inverse))
    }
}
