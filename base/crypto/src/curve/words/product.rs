//! Products of two words, as the core makes them.

/// How 32 times 32 bits become 64. A type, because what takes constant time differs between cores
/// that Rust compiles for alike.
pub trait Product {
    /// `a` times `b`.
    fn product(a: u32, b: u32) -> u64;
}

/// In one instruction: Cortex-M4 and most larger cores. Constant time there, but not on a
/// Cortex-M3, whose long products end early.
#[derive(Debug, Clone, Copy)]
pub enum Long {}

impl Product for Long {
    #[inline]
    fn product(a: u32, b: u32) -> u64 {
        u64::from(a) * u64::from(b)
    }
}

/// From four products of half words, which take one time on every core.
#[derive(Debug, Clone, Copy)]
pub enum OfHalves {}

impl Product for OfHalves {
    #[inline]
    fn product(a: u32, b: u32) -> u64 {
        let (a0, a1) = (a & 0xffff, a >> 16);
        let (b0, b1) = (b & 0xffff, b >> 16);
        let low = a0 * b0;
        // Neither sum overflows: (2¹⁶ − 1)² + 2·(2¹⁶ − 1) = 2³² − 1.
        let middle = a1 * b0 + (low >> 16);
        let other = a0 * b1 + (middle & 0xffff);
        let high = a1 * b1 + (middle >> 16) + (other >> 16);
        u64::from(high) << 32 | u64::from(other << 16 | low & 0xffff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_products_are_one(a: u32, b: u32) {
            prop_assert_eq!(OfHalves::product(a, b), Long::product(a, b));
        }
    }

    #[test]
    fn the_greatest_product_does_not_overflow() {
        for a in [0, 1, 0xffff, 0x1_0000, u32::MAX] {
            assert_eq!(OfHalves::product(a, u32::MAX), Long::product(a, u32::MAX));
        }
    }
}
