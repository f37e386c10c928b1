//! Doubling and addition.

use subtle::Choice;

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

    /// "dbl-2001-b" of the Explicit-Formulas Database (D. Bernstein), for a = −3. No point of the
    /// curve has y = 0: it holds for all points.
    #[must_use]
    #[inline(never)]
    pub fn doubled(&self) -> Self {
        let delta = self.z.squared();
        let gamma = self.y.squared();
        let beta = self.x.times(&gamma);
        let alpha = self.x.minus(&delta).times(&self.x.plus(&delta));
        let alpha = alpha.plus_multiple(2, &alpha).carried();
        let x = alpha.squared().plus_multiple(-8, &beta).carried();
        // Of weight 5.
        let difference = beta.plus_multiple(3, &beta).minus(&x);
        let y = alpha.times(&difference).plus_multiple(-8, &gamma.squared()).carried();
        let z = self.y.times(&self.z);
        Self { x, y, z: z.plus(&z) }
    }

    /// The sum with a point that is not equal, not the negative, where neither is infinity, and the
    /// difference of the x-coordinates, by which Z was multiplied.
    #[must_use]
    #[inline(never)]
    #[allow(clippy::many_single_char_names)] // those of the formulas
    pub fn plus_point(&self, other: &Point) -> (Self, Element) {
        let (x, y) = other.coordinates();
        let zz = self.z.squared();
        let h = x.times(&zz).minus(&self.x);
        let r = y.times(&zz.times(&self.z)).minus(&self.y);
        let hh = h.squared();
        let hhh = h.times(&hh);
        let v = self.x.times(&hh);
        let x = r.squared().minus(&hhh).plus_multiple(-2, &v).carried();
        let y = r.times(&v.minus(&x)).minus(&self.y.times(&hhh)).carried();
        (Self { x, y, z: self.z.times(&h) }, h)
    }

    /// The sum with a point that is not the negative, where neither is infinity, in constant time.
    #[must_use]
    pub fn plus_any_point(&self, other: &Point) -> Self {
        let (sum, difference) = self.plus_point(other);
        let twice = Self::from_point(other).doubled();
        sum.select(&twice, difference.is_zero())
    }

    /// The sum of any two points that are not infinity: `None` if the sum is. In variable time.
    pub fn of_points_vartime(a: &Point, b: &Point) -> Option<Self> {
        let ((ax, ay), (bx, by)) = (a.coordinates(), b.coordinates());
        if !bool::from(ax.minus(bx).is_zero()) {
            return Some(Self::from_point(a).plus_point(b).0);
        }
        bool::from(ay.minus(by).is_zero()).then(|| Self::from_point(a).doubled())
    }

    /// The same point, given 1 / Z.
    pub fn to_affine(self, inverse: &Element) -> Point {
        let squared = inverse.squared();
        Point::new(self.x.times(&squared), self.y.times(&squared.times(inverse)))
    }

    /// Twice a point, and the point itself with the same Z: [`Self::doubled`] where Z is 1.
    pub fn twice_and_once(point: &Point) -> (Self, Self) {
        let (_, y) = point.coordinates();
        let twice = Self::from_point(point).doubled();
        let zz = twice.z.squared();
        let (x, _) = point.coordinates();
        let once = Self { x: x.times(&zz), y: y.times(&zz.times(&twice.z)), z: twice.z };
        (twice, once)
    }

    /// The sum with a point that has the same Z, and `self` again with the Z of the sum (N. Meloni,
    /// "New point addition formulae for ECC applications", 2007); and by what that Z is the old
    /// one. The points are not equal, not each other's negatives, and not infinity.
    #[must_use]
    #[inline(never)]
    pub fn sum_and_self(&self, other: &Self) -> (Self, Self, Element) {
        let dx = self.x.minus(&other.x);
        let dy = self.y.minus(&other.y);
        let squared = dx.squared();
        let self_x = self.x.times(&squared);
        let other_x = other.x.times(&squared);
        let self_y = self.y.times(&self_x.minus(&other_x));
        let x = dy.squared().minus(&self_x).minus(&other_x).carried();
        let y = dy.times(&self_x.minus(&x)).minus(&self_y).carried();
        let z = self.z.times(&dx);
        (Self { x, y, z }, Self { x: self_x, y: self_y, z }, dx)
    }

    fn select(&self, other: &Self, choice: Choice) -> Self {
        Self {
            x: self.x.select(&other.x, choice),
            y: self.y.select(&other.y, choice),
            z: self.z.select(&other.z, choice),
        }
    }
}
