//! Integers modulo p = 2²⁵⁵ − 19.
//!
//! After a multiplication each limb is at most 2¹² + 2 in magnitude: *carried*. The sum or
//! difference of two carried elements, at most 2¹³ + 4 in each limb, may be multiplied as it is: a
//! column of twenty products is then less than 20·(2¹³ + 4)² < 2³⁰·⁴.

// As in limbs.rs.
#![allow(clippy::inline_always)]

use subtle::{Choice, ConditionallySelectable};

use super::limbs::{COLUMNS, LIMBS, add_product, carry, pack, settle, unpack};

/// 2²⁶⁰ = 2⁵·2²⁵⁵ ≡ 2⁵·19.
const AROUND: i32 = 608;
/// Bits of the uppermost limb that lie below 2²⁵⁵.
const UPPERMOST_BITS: u32 = 8;
const HALF: usize = LIMBS / 2;

/// Limb i counts 2^(13·i).
#[derive(Clone, Copy)]
pub(super) struct Element([i32; LIMBS]);

impl Element {
    pub(super) const ZERO: Self = Self::small(0);
    pub(super) const ONE: Self = Self::small(1);

    const fn small(value: i32) -> Self {
        let mut limbs = [0; LIMBS];
        limbs[0] = value;
        Self(limbs)
    }

    /// Little-endian; bit 255 is ignored (RFC 7748 §5). Carried.
    pub(super) fn from_bytes(bytes: &[u8; 32]) -> Self {
        let mut limbs = unpack(bytes);
        take_above(&mut limbs);
        carry_all(&mut limbs);
        Self(limbs)
    }

    /// The representative below p, little-endian.
    pub(super) fn to_bytes(self) -> [u8; 32] {
        let mut limbs = self.0;
        // Once to have no negative limb, once for what went around, once more because that may have
        // borrowed from all limbs.
        for _ in 0..3 {
            let above = settle(&mut limbs);
            limbs[0] += AROUND * above;
        }
        // Below 2²⁶⁰ now, then below 2²⁵⁵ + 2¹⁰, so below 2p.
        limbs[0] += 19 * take_above(&mut limbs);
        settle(&mut limbs);
        // 19 more reach 2²⁵⁵ exactly if there is a p to subtract.
        let mut more = limbs;
        more[0] += 19;
        settle(&mut more);
        limbs[0] += 19 * take_above(&mut more);
        settle(&mut limbs);
        take_above(&mut limbs);

        pack(&limbs)
    }

    /// The sum or difference of carried elements; not carried.
    pub(super) fn plus(&self, other: &Self) -> Self {
        Self(core::array::from_fn(|limb| self.0[limb] + other.0[limb]))
    }

    /// The sum or difference of carried elements; not carried.
    pub(super) fn minus(&self, other: &Self) -> Self {
        Self(core::array::from_fn(|limb| self.0[limb] - other.0[limb]))
    }

    /// Carried.
    #[inline(never)]
    pub(super) fn multiply(&mut self, by: &Self) {
        let mut columns = [0; COLUMNS];
        add_product(&mut columns, &self.0, &by.0);
        reduce(&columns, &mut self.0);
    }

    /// Carried.
    #[inline(never)]
    pub(super) fn square(&mut self) {
        let (low, high) = halves(&self.0);
        let mut columns = [square(low), square(high)];
        let columns = columns.as_flattened_mut();
        let twice_low: [i32; HALF] = core::array::from_fn(|limb| 2 * low[limb]);
        add_product(&mut columns[HALF..], &twice_low, high);
        reduce(columns.first_chunk().expect("two halves are all"), &mut self.0);
    }

    /// By 121665, the curve's (A − 2) / 4. Carried.
    pub(super) fn multiply_by_curve_constant(&mut self) {
        for limb in &mut self.0 {
            *limb *= 121_665;
        }
        carry_all(&mut self.0);
    }

    /// self^(2^squarings) · factor. Carried.
    fn power(&self, squarings: usize, factor: &Self) -> Self {
        let mut power = *self;
        for _ in 0..squarings {
            power.square();
        }
        power.multiply(factor);
        power
    }

    /// To the power of p − 2; zero stays zero. Carried.
    #[allow(clippy::similar_names)]
    pub(super) fn inverted(&self) -> Self {
        let mut two = *self;
        two.square();
        let nine = two.power(2, self);
        let mut eleven = nine;
        eleven.multiply(&two);
        // From here on, a name is the number of ones in the exponent.
        let ones_5 = eleven.power(1, &nine);
        let ones_10 = ones_5.power(5, &ones_5);
        let ones_20 = ones_10.power(10, &ones_10);
        let ones_40 = ones_20.power(20, &ones_20);
        let ones_50 = ones_40.power(10, &ones_10);
        let ones_100 = ones_50.power(50, &ones_50);
        let ones_200 = ones_100.power(100, &ones_100);
        let ones_250 = ones_200.power(50, &ones_50);
        ones_250.power(5, &eleven)
    }

    pub(super) fn swap_if(choice: Choice, a: &mut Self, b: &mut Self) {
        for (a, b) in a.0.iter_mut().zip(&mut b.0) {
            i32::conditional_swap(a, b, choice);
        }
    }
}

fn halves(limbs: &[i32; LIMBS]) -> (&[i32; HALF], &[i32; HALF]) {
    let (low, high) = limbs.split_at(HALF);
    (low.first_chunk().expect("a half"), high.first_chunk().expect("a half"))
}

/// The square of a half: its ten limbs fit the registers.
#[inline(never)]
fn square(limbs: &[i32; HALF]) -> [i32; LIMBS] {
    [
        square_column::<0>(limbs),
        square_column::<1>(limbs),
        square_column::<2>(limbs),
        square_column::<3>(limbs),
        square_column::<4>(limbs),
        square_column::<5>(limbs),
        square_column::<6>(limbs),
        square_column::<7>(limbs),
        square_column::<8>(limbs),
        square_column::<9>(limbs),
        square_column::<10>(limbs),
        square_column::<11>(limbs),
        square_column::<12>(limbs),
        square_column::<13>(limbs),
        square_column::<14>(limbs),
        square_column::<15>(limbs),
        square_column::<16>(limbs),
        square_column::<17>(limbs),
        square_column::<18>(limbs),
        0,
    ]
}

#[inline(always)]
fn square_column<const AT: usize>(limbs: &[i32; HALF]) -> i32 {
    let rows = AT.saturating_sub(HALF - 1)..AT.div_ceil(2);
    let once = rows.fold(0, |sum, row| sum + limbs[row] * limbs[AT - row]);
    let middle = if AT.is_multiple_of(2) { limbs[AT / 2] * limbs[AT / 2] } else { 0 };
    2 * once + middle
}

/// Takes the columns above 19 around. Each column is below 2³¹ − 2²³ in magnitude, and the last is
/// empty.
#[inline(always)]
fn reduce(columns: &[i32; COLUMNS], limbs: &mut [i32; LIMBS]) {
    let (lower, upper) = columns.split_at(LIMBS);
    let (mut carried, mut carried_above) = (0, 0);
    for ((limb, lower), upper) in limbs.iter_mut().zip(lower).zip(upper) {
        let above = carry(*upper, &mut carried_above);
        *limb = carry(*lower + AROUND * above, &mut carried);
    }
    // The last column was empty; what it gives, at most 2, goes around twice.
    wrap(limbs, carried + AROUND * carried_above);
}

/// Carries. Each limb is below 2³⁰ in magnitude.
fn carry_all(limbs: &mut [i32; LIMBS]) {
    let mut carried = 0;
    for limb in &mut *limbs {
        *limb = carry(*limb, &mut carried);
    }
    wrap(limbs, carried);
}

/// Takes what the uppermost limb gave, less than 2¹⁸, around; it dies away after two limbs.
fn wrap(limbs: &mut [i32; LIMBS], carried: i32) {
    limbs[0] += AROUND * carried;
    let mut carried = 0;
    limbs[0] = carry(limbs[0], &mut carried);
    limbs[1] = carry(limbs[1], &mut carried);
    limbs[2] += carried;
}

/// Takes away what is at 2²⁵⁵ and above, and returns it.
fn take_above(limbs: &mut [i32; LIMBS]) -> i32 {
    let above = limbs[LIMBS - 1] >> UPPERMOST_BITS;
    limbs[LIMBS - 1] &= (1 << UPPERMOST_BITS) - 1;
    above
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2²⁵⁵ − `less`.
    fn below_2_255(less: u8) -> [u8; 32] {
        let mut bytes = [0xff; 32];
        bytes[0] = 0_u8.wrapping_sub(less);
        bytes[31] = 0x7f;
        bytes
    }

    fn small(value: u8) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[0] = value;
        bytes
    }

    #[test]
    fn the_bytes_are_those_of_the_representative_below_p() {
        for less in 1..=19 {
            assert_eq!(
                Element::from_bytes(&below_2_255(less)).to_bytes(),
                small(19 - less),
                "p + {}",
                19 - less
            );
        }
        for less in 20..=255 {
            assert_eq!(Element::from_bytes(&below_2_255(less)).to_bytes(), below_2_255(less));
        }
        assert_eq!(Element::from_bytes(&[0xff; 32]).to_bytes(), small(18), "bit 255 is ignored");
        assert_eq!(Element::ZERO.minus(&Element::ONE).to_bytes(), below_2_255(20), "−1");
    }

    #[test]
    fn the_greatest_sums_may_be_multiplied() {
        // Overflow would end this test: it runs with checks.
        let greatest = Element([4098; LIMBS]);
        let least = Element(greatest.0.map(|limb| -limb));
        for [a, b] in [[greatest, greatest], [greatest, least], [least, least]] {
            for c in [a, b] {
                let (sum, mut carried) = (a.plus(&b), a.plus(&b).0);
                carry_all(&mut carried);
                let mut product = sum;
                product.multiply(&c.plus(&c));
                let mut of_carried = Element(carried);
                of_carried.multiply(&c);
                assert_eq!(product.to_bytes(), of_carried.plus(&of_carried).to_bytes());

                let mut square = sum;
                square.square();
                let mut product = sum;
                product.multiply(&sum);
                assert_eq!(square.to_bytes(), product.to_bytes());
                let mut multiple = sum;
                multiple.multiply_by_curve_constant();
                assert!(multiple.0.iter().all(|limb| limb.abs() <= 4098), "carried: {:?}", multiple.0);
            }
        }
    }

    #[test]
    fn what_is_multiplied_is_carried() {
        let mut element = Element(core::array::from_fn(|limb| if limb % 3 == 0 { 8196 } else { -8196 }));
        let mut other = Element([8196; LIMBS]);
        for _ in 0..1000 {
            element.multiply(&other.plus(&element));
            other.square();
            for element in [&element, &other] {
                assert!(element.0.iter().all(|limb| limb.abs() <= 4098), "{:?}", element.0);
            }
        }
    }

    #[test]
    fn an_element_times_its_inverse_is_one() {
        for bytes in [small(1), small(2), below_2_255(20), below_2_255(200), [0x42; 32]] {
            let element = Element::from_bytes(&bytes);
            let mut product = element.inverted();
            product.multiply(&element);
            assert_eq!(product.to_bytes(), small(1));
        }
        assert_eq!(Element::ZERO.inverted().to_bytes(), small(0));
    }
}
