//! The field modulo p = 2^255 − 19 in nine limbs of 29 bits, for processors that multiply 32 bits
//! by 32. Bounds: `docs/research/curve-arithmetic.md`.

/// Makes `Factor` and `Product` of the vector that is in scope.
macro_rules! field_of_nine_limbs {
    (#[$features:meta]) => {
        /// Limbs below 3 times what they hold when carried; the eighth of a difference is carried.
        #[derive(Clone, Copy, Debug)]
        struct Factor([Vector; 9]);

        /// Limbs of 29 bits, the last one of 23; carried, two of them a little longer.
        #[derive(Clone, Copy, Debug)]
        struct Product([Vector; 9]);

        impl Factor {
            /// From limbs of 51 bits.
            #[$features]
            #[inline]
            fn from_limbs(limbs: &[Vector; 5]) -> Self {
                let mask = splat((1 << 29) - 1);
                let [m0, m1, m2, m3, m4] = *limbs;
                Self([
                    and(m0, mask),
                    or(shift_right::<29>(m0), and(shift_left::<22>(m1), mask)),
                    and(shift_right::<7>(m1), mask),
                    or(shift_right::<36>(m1), and(shift_left::<15>(m2), mask)),
                    and(shift_right::<14>(m2), mask),
                    or(shift_right::<43>(m2), and(shift_left::<8>(m3), mask)),
                    and(shift_right::<21>(m3), mask),
                    or(shift_right::<50>(m3), and(shift_left::<1>(m4), mask)),
                    shift_right::<28>(m4),
                ])
            }

            /// To limbs of 51 bits.
            #[$features]
            #[inline]
            fn to_limbs(self) -> [Vector; 5] {
                let [l0, l1, l2, l3, l4, l5, l6, l7, l8] = self.0;
                let lowest = |limb, bits: u32| and(limb, splat((1 << bits) - 1));
                [
                    add(l0, shift_left::<29>(lowest(l1, 22))),
                    add(add(shift_right::<22>(l1), shift_left::<7>(l2)), shift_left::<36>(lowest(l3, 15))),
                    add(add(shift_right::<15>(l3), shift_left::<14>(l4)), shift_left::<43>(lowest(l5, 8))),
                    add(add(shift_right::<8>(l5), shift_left::<21>(l6)), shift_left::<50>(lowest(l7, 1))),
                    add(shift_right::<1>(l7), shift_left::<28>(l8)),
                ]
            }

            #[$features]
            #[inline]
            fn times(&self, other: &Self) -> Product {
                product(&self.0, &other.0)
            }

            #[$features]
            #[inline(never)]
            fn squared(&self) -> Product {
                let a = &self.0;
                let mut sums = [splat(0); 17];
                let twice = add(a[0], a[0]);
                for i in 1..9 {
                    sums[i] = multiply(twice, a[i]);
                }
                sums[0] = multiply(a[0], a[0]);
                add_square_rows(&mut sums, a);
                Product::folded(sums)
            }

            /// (A + 2) / 4 of the curve times this, and more.
            #[$features]
            #[inline]
            fn times_curve_constant_plus(&self, more: &Product) -> Self {
                let constant = splat(121_666);
                let mut sums = more.0;
                for i in 0..9 {
                    sums[i] = add(sums[i], multiply(self.0[i], constant));
                }
                Product::carried(sums).to_factor()
            }

            /// `other` in the lanes that are chosen.
            #[$features]
            #[inline]
            fn or(&self, choice: Mask, other: &Self) -> Self {
                let mut chosen = *self;
                for i in 0..9 {
                    chosen.0[i] = choose(choice, self.0[i], other.0[i]);
                }
                chosen
            }
        }

        impl Product {
            #[$features]
            #[inline]
            fn small(value: u64) -> Self {
                let mut limbs = [splat(0); 9];
                limbs[0] = splat(value);
                Self(limbs)
            }

            #[$features]
            #[inline]
            fn of_factor(factor: &Factor) -> Self {
                Self(factor.0)
            }

            #[$features]
            #[inline]
            fn to_factor(self) -> Factor {
                Factor(self.0)
            }

            /// From the seventeen sums of a product: 2^261 is 64 · 19.
            #[$features]
            #[inline]
            fn folded(sums: [Vector; 17]) -> Self {
                let mask = splat((1 << 29) - 1);
                let mut upper = [splat(0); 9];
                upper[..8].copy_from_slice(&sums[9..]);
                // Two chains side by side; a limb that is multiplied has to be short.
                for i in [0, 4, 1, 5, 2, 6, 3, 7, 4] {
                    upper[i + 1] = add(upper[i + 1], shift_right::<29>(upper[i]));
                    upper[i] = and(upper[i], mask);
                }
                let factor = splat(64 * 19);
                let mut limbs = upper;
                for i in 0..9 {
                    limbs[i] = add(sums[i], multiply(upper[i], factor));
                }
                Self::carried(limbs)
            }

            /// Two chains side by side, from limb 0 and from limb 4.
            #[$features]
            #[inline]
            fn carried(mut limbs: [Vector; 9]) -> Self {
                let mask = splat((1 << 29) - 1);
                for i in [0, 4, 1, 5, 2, 6, 3, 7, 4] {
                    limbs[i + 1] = add(limbs[i + 1], shift_right::<29>(limbs[i]));
                    limbs[i] = and(limbs[i], mask);
                }
                // 2^255 is 19.
                limbs[0] = add(limbs[0], times_19(shift_right::<23>(limbs[8])));
                limbs[8] = and(limbs[8], splat((1 << 23) - 1));
                limbs[1] = add(limbs[1], shift_right::<29>(limbs[0]));
                limbs[0] = and(limbs[0], mask);
                Self(limbs)
            }

            #[$features]
            #[inline]
            fn times(&self, other: &Self) -> Self {
                product(&self.0, &other.0)
            }

            // Written into the ladder, both are made beside other ones, of more limbs than there
            // are registers.
            #[$features]
            #[inline(never)]
            fn sum_and_difference(&self, other: &Self) -> (Factor, Factor) {
                let mut sum = self.0;
                for i in 0..9 {
                    sum[i] = add(sum[i], other.0[i]);
                }
                (Factor(sum), self.minus(other))
            }

            #[$features]
            #[inline]
            fn minus(&self, other: &Self) -> Factor {
                // 2·p in limbs that are larger than those of a product: nothing goes below zero.
                let multiple = splat(2 * ((1 << 29) - 1));
                let mut difference = self.0;
                for i in 0..9 {
                    let multiple = match i {
                        0 => splat(2 * ((1 << 29) - 19)),
                        8 => splat(2 * ((1 << 23) - 1)),
                        _ => multiple,
                    };
                    difference[i] = subtract(add(difference[i], multiple), other.0[i]);
                }
                // Of eight products of limbs as long as these, the sum would be more than 2^64.
                difference[8] = add(difference[8], shift_right::<29>(difference[7]));
                difference[7] = and(difference[7], splat((1 << 29) - 1));
                Factor(difference)
            }
        }

        /// Row by row: each has one limb of `a`, and after it the lowest sum is complete. So no
        /// more than nine sums are in registers.
        #[$features]
        #[inline(never)]
        fn product(a: &[Vector; 9], b: &[Vector; 9]) -> Product {
            let (b_but_last, last) = (b.first_chunk().expect("nine"), b[8]);
            let mut sums = [splat(0); 17];
            for i in 0..9 {
                sums[i] = multiply(a[0], b[i]);
            }
            add_row_of_8(&mut sums, 1, a[1], b_but_last);
            sums[9] = multiply(a[1], last);
            add_row_of_8(&mut sums, 2, a[2], b_but_last);
            sums[10] = multiply(a[2], last);
            add_row_of_8(&mut sums, 3, a[3], b_but_last);
            sums[11] = multiply(a[3], last);
            add_row_of_8(&mut sums, 4, a[4], b_but_last);
            sums[12] = multiply(a[4], last);
            add_row_of_8(&mut sums, 5, a[5], b_but_last);
            sums[13] = multiply(a[5], last);
            add_row_of_8(&mut sums, 6, a[6], b_but_last);
            sums[14] = multiply(a[6], last);
            add_row_of_8(&mut sums, 7, a[7], b_but_last);
            sums[15] = multiply(a[7], last);
            add_row_of_8(&mut sums, 8, a[8], b_but_last);
            sums[16] = multiply(a[8], last);
            Product::folded(sums)
        }

        /// All rows of a square but the first. The product of two different limbs counts twice.
        #[$features]
        #[inline]
        fn add_square_rows(sums: &mut [Vector; 17], a: &[Vector; 9]) {
            sums[2] = add(sums[2], multiply(a[1], a[1]));
            let twice = add(a[1], a[1]);
            add_row_of_6(sums, 3, twice, a[2..].first_chunk().expect("six"));
            sums[9] = multiply(twice, a[8]);

            sums[4] = add(sums[4], multiply(a[2], a[2]));
            let twice = add(a[2], a[2]);
            add_row_of_5(sums, 5, twice, a[3..].first_chunk().expect("five"));
            sums[10] = multiply(twice, a[8]);

            sums[6] = add(sums[6], multiply(a[3], a[3]));
            let twice = add(a[3], a[3]);
            add_row_of_4(sums, 7, twice, a[4..].first_chunk().expect("four"));
            sums[11] = multiply(twice, a[8]);

            sums[8] = add(sums[8], multiply(a[4], a[4]));
            let twice = add(a[4], a[4]);
            add_row_of_3(sums, 9, twice, a[5..].first_chunk().expect("three"));
            sums[12] = multiply(twice, a[8]);

            sums[10] = add(sums[10], multiply(a[5], a[5]));
            let twice = add(a[5], a[5]);
            add_row_of_2(sums, 11, twice, a[6..].first_chunk().expect("two"));
            sums[13] = multiply(twice, a[8]);

            sums[12] = add(sums[12], multiply(a[6], a[6]));
            let twice = add(a[6], a[6]);
            sums[13] = add(sums[13], multiply(twice, a[7]));
            sums[14] = multiply(twice, a[8]);

            sums[14] = add(sums[14], multiply(a[7], a[7]));
            let twice = add(a[7], a[7]);
            sums[15] = multiply(twice, a[8]);
            sums[16] = multiply(a[8], a[8]);
        }
    };
}

pub(super) use field_of_nine_limbs;
