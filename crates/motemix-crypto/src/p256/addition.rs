//! Doubling and addition.

use super::field::Element;
use super::point::Point;

/// (X / Z², Y / Z³). X and Y are carried, Z is of weight 2 at most.
#[derive(Clone, Copy, Debug)]
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

    /// Doubles it: "dbl-2001-b" of the Explicit-Formulas Database (D. Bernstein), for a = −3. No
    /// point of the curve has y = 0, so it holds for all points.
    #[inline(never)]
    pub fn double(&mut self) {
        let delta = self.z.squared();
        let mut gamma = self.y.squared();
        let mut beta = self.x.times(&gamma);
        let mut alpha = self.x.minus(&delta);
        self.x.combine(1, 1, &delta);
        alpha.multiply(&self.x);
        alpha.combine_and_carry(3, 0, &delta);

        self.z.multiply(&self.y);
        self.z.combine(2, 0, &delta);
        self.x.set_square(&alpha);
        self.x.combine_and_carry(1, -8, &beta);
        // Of weight 5.
        beta.combine(4, -1, &self.x);
        gamma.square();
        self.y.set_product(&alpha, &beta);
        self.y.combine_and_carry(1, -8, &gamma);
    }

    /// Adds a point that is not equal, not the negative, where neither is infinity. Returns the
    /// difference of the x-coordinates, by which Z is multiplied.
    #[inline(never)]
    #[allow(clippy::many_single_char_names)] // those of the formulas
    pub fn add_point(&mut self, other: &Point) -> Element {
        let (x, y) = other.coordinates();
        let mut zz = self.z.squared();
        let mut h = x.times(&zz);
        h.combine(1, -1, &self.x);
        zz.multiply(&self.z);
        let mut r = y.times(&zz);
        r.combine(1, -1, &self.y);
        self.z.multiply(&h);

        let mut hhh = h.squared();
        let mut v = self.x.times(&hhh);
        hhh.multiply(&h);
        self.x.set_square(&r);
        self.x.combine(1, -1, &hhh);
        self.x.combine_and_carry(1, -2, &v);
        v.combine(1, -1, &self.x);
        r.multiply(&v);
        self.y.multiply(&hhh);
        self.y.combine_and_carry(-1, 1, &r);
        h
    }

    /// Adds a point that is not the negative, where neither is infinity, in constant time.
    pub fn add_any_point(&mut self, other: &Point) {
        let are_equal = self.add_point(other).is_zero();
        let mut twice = Self::from_point(other);
        twice.double();
        self.x.assign_if(&twice.x, are_equal);
        self.y.assign_if(&twice.y, are_equal);
        self.z.assign_if(&twice.z, are_equal);
    }

    /// The sum of any two points that are not infinity: `None` if the sum is. In variable time.
    pub fn of_points_vartime(a: &Point, b: &Point) -> Option<Self> {
        let ((ax, ay), (bx, by)) = (a.coordinates(), b.coordinates());
        if !bool::from(ax.minus(bx).is_zero()) {
            let mut sum = Self::from_point(a);
            sum.add_point(b);
            return Some(sum);
        }
        let are_equal = bool::from(ay.minus(by).is_zero());
        let mut twice = Self::from_point(a);
        twice.double();
        are_equal.then_some(twice)
    }

    /// Makes X and Y into x and y, given 1 / Z.
    pub fn make_affine(x: &mut Element, y: &mut Element, inverse: &Element) {
        let mut power = inverse.squared();
        x.multiply(&power);
        power.multiply(inverse);
        y.multiply(&power);
    }

    /// The same point, with the Z of another that has 1 as yet.
    pub fn scale(&mut self, z: &Element) {
        let mut power = z.squared();
        self.x.multiply(&power);
        power.multiply(z);
        self.y.multiply(&power);
        self.z = *z;
    }

    /// Adds a point that has the same Z, which is then given that of the sum (N. Meloni, "New point
    /// addition formulae for ECC applications", 2007). Returns by what Z is multiplied. The points
    /// are not equal, not each other's negatives, and not infinity.
    #[inline(never)]
    pub fn add_alike(&mut self, other: &mut Self) -> Element {
        let dx = other.x.minus(&self.x);
        let dy = other.y.minus(&self.y);
        let squared = dx.squared();
        // What was added, with the new Z, and what it is added to.
        other.x.multiply(&squared);
        self.x.multiply(&squared);
        let mut difference = other.x.minus(&self.x);
        other.y.multiply(&difference);
        difference.combine(0, 1, &other.x);
        self.x.combine(1, 1, &other.x);
        let sum = dy.squared();
        self.x.combine_and_carry(-1, 1, &sum);
        difference.combine(1, -1, &self.x);
        self.y.set_product(&dy, &difference);
        self.y.combine_and_carry(1, -1, &other.y);
        self.z.multiply(&dx);
        other.z = self.z;
        dx
    }
}
