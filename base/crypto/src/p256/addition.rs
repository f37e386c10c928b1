//! Doubling and addition.
//!
//! X is less than 2.3 p in magnitude, Y than 2 p, Z than 3 p, and coordinates that are added than
//! 2 p. It follows for their sums from what `field` says of products, step by step. In a doubling δ
//! is less than 1.6 p, 2 γ than 1.5 p, 2 β than 1.3 p, α than 1.2 p; what Y is reduced from is the
//! greatest, 9.5 p². In an addition h is less than 3.5 p, r than 3.2 p, h² than 1.8 p, h³ than
//! 1.4 p, v than 1.3 p; Y comes from 14 p².

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
        // 2 γ and 2 β of the formulas.
        let gamma = self.y.twice_squared();
        let mut beta = self.x.times(&gamma);
        let mut alpha = self.x.minus(&delta);
        self.x.combine_and_carry(3, 3, &delta);
        alpha.multiply(&self.x);

        self.z.multiply(&self.y);
        self.z.combine(2, 0, &delta);
        self.x.set_square_and(&alpha, -4, &beta);
        // Of weight 3.
        beta.combine(2, -1, &self.x);
        self.y.set_product_less_squares(&alpha, &beta, &gamma);
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
        hhh.combine(1, 2, &v);
        self.x.set_square_and(&r, -1, &hhh);
        // −hhh.
        hhh.combine(-1, 2, &v);
        v.combine(1, -1, &self.x);
        self.y.multiply_and_add_product(&hhh, &r, &v);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;
    use crate::p256::Scalar;

    fn multiple(by: u8) -> Point {
        let scalar = Secret::new(core::array::from_fn(|at| if at == 31 { by } else { 0 }));
        Point::mul_generator(&Scalar::from_be_bytes(&scalar).expect("from 1 to n − 1"))
    }

    fn coordinates(sum: &Jacobian) -> [u8; 64] {
        let mut inverse = sum.z;
        inverse.invert();
        let mut point = Point::new(sum.x, sum.y);
        point.make_affine(&inverse);
        point.to_coordinates()
    }

    /// By how much elements may differ that are the same modulo p: so often p is added that they
    /// stay less than `limit` thousandths of p.
    fn same(element: Element, limit: i64) -> impl Iterator<Item = Element> {
        (-3..=3)
            .map(move |times| element.and_multiple_of_p(times))
            .filter(move |same| same.size().abs() < limit)
    }

    fn alike(sum: &Jacobian) -> impl Iterator<Item = Jacobian> {
        let sum = *sum;
        same(sum.x, 2300).flat_map(move |x| {
            same(sum.y, 2000).flat_map(move |y| same(sum.z, 3000).map(move |z| Jacobian { x, y, z }))
        })
    }

    fn assert_size(sum: &Jacobian) {
        let sizes = [sum.x, sum.y, sum.z].map(|coordinate| coordinate.size().abs());
        assert!(sizes[0] < 2300 && sizes[1] < 2000 && sizes[2] < 3000, "{sizes:?}");
    }

    #[test]
    fn sums_are_right_however_great_coordinates_are_and_stay_so_great() {
        let point = multiple(1);
        let (x, y) = point.coordinates();
        for by in (2..5).step_by(crate::ONE_IN) {
            // Their Z is not one.
            let mut sum = Jacobian::from_point(&multiple(by));
            sum.double();
            let [of_twice, of_one_more] = [4 * by, 2 * by + 1].map(|by| multiple(by).to_coordinates());
            let mut cases = 0;
            for alike in alike(&sum).step_by(crate::ONE_IN) {
                let mut twice = alike;
                twice.double();
                assert_size(&twice);
                assert_eq!(coordinates(&twice), of_twice, "4 · {by}");
                for x in same(*x, 2000).step_by(crate::ONE_IN) {
                    let mut sum = alike;
                    sum.add_point(&Point::new(x, same(*y, 2000).last().expect("one at least")));
                    assert_size(&sum);
                    assert_eq!(coordinates(&sum), of_one_more, "2 · {by} + 1");
                }
                cases += 1;
            }
            assert!(cases > 60 / crate::ONE_IN, "{cases} of {by}");
        }
    }
}
