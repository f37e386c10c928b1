//! The field modulo p = 2^255 − 19 in ten limbs of 26 and 25 bits by turns, for processors that
//! multiply 32 bits by 32. Bounds: `docs/curve-arithmetic.md`.

/// Makes `Factor` and `Product` of the vector that is in scope.
macro_rules! field_of_ten_limbs {
    (#[$features:meta]) => {
        /// Limbs below 4 times what they hold when carried: 19 times that is below 2^32, of which
        /// the multiplier takes no more.
        #[derive(Clone, Copy, Debug)]
        struct Factor([Vector; 10]);

        /// Limbs of 26 and 25 bits, carried, one of them a little longer.
        #[derive(Clone, Copy, Debug)]
        struct Product([Vector; 10]);

        impl Factor {
            /// From limbs of 51 bits.
            #[$features]
            #[inline]
            fn from_limbs(limbs: &[Vector; 5]) -> Self {
                let mask = splat((1 << 26) - 1);
                let mut halves = [splat(0); 10];
                for i in 0..5 {
                    halves[2 * i] = and(limbs[i], mask);
                    halves[2 * i + 1] = shift_right::<26>(limbs[i]);
                }
                Self(halves)
            }

            /// To limbs of 51 bits.
            #[$features]
            #[inline]
            fn to_limbs(self) -> [Vector; 5] {
                let mut limbs = [splat(0); 5];
                for i in 0..5 {
                    limbs[i] = add(self.0[2 * i], shift_left::<26>(self.0[2 * i + 1]));
                }
                limbs
            }

            #[$features]
            #[inline]
            fn times(&self, other: &Self) -> Product {
                let (even, odd) = self.by_turns();
                let (other_even, other_odd) = other.by_turns();
                // Two odd limbs count twice, because the places of both are half a bit too high;
                // and they make even limbs, one further up than their numbers say.
                let mut evens = product_of_five(&even, other_even);
                add_products(&mut evens, &twice(&odd), next_place(other_odd));
                let mut odds = product_of_five(&even, other_odd);
                add_products(&mut odds, &odd, other_even);
                Product::carried(&evens, &odds)
            }

            #[$features]
            #[inline]
            fn squared(&self) -> Product {
                let (even, odd) = self.by_turns();
                let odds = product_of_five(&twice(&even), odd);
                let [e0, e1, e2, e3, e4] = square_of_five(&even);
                let [o0, o1, o2, o3, o4] = twice(&square_of_five(&odd));
                let evens = [add(e0, times_19(o4)), add(e1, o0), add(e2, o1), add(e3, o2), add(e4, o3)];
                Product::carried(&evens, &odds)
            }

            /// The limbs of 26 bits, and those of 25.
            #[$features]
            #[inline]
            fn by_turns(&self) -> ([Vector; 5], [Vector; 5]) {
                let a = &self.0;
                ([a[0], a[2], a[4], a[6], a[8]], [a[1], a[3], a[5], a[7], a[9]])
            }

            /// (A + 2) / 4 of the curve times this, and more.
            #[$features]
            #[inline]
            fn times_curve_constant_plus(&self, more: &Product) -> Self {
                let constant = splat(121_666);
                let (mut evens, mut odds) = Factor(more.0).by_turns();
                let (even, odd) = self.by_turns();
                for i in 0..5 {
                    evens[i] = add(evens[i], multiply(even[i], constant));
                    odds[i] = add(odds[i], multiply(odd[i], constant));
                }
                Product::carried(&evens, &odds).to_factor()
            }

            /// `other` in the lanes that are chosen.
            #[$features]
            #[inline]
            fn or(&self, choice: Mask, other: &Self) -> Self {
                let mut chosen = *self;
                for i in 0..10 {
                    chosen.0[i] = choose(choice, self.0[i], other.0[i]);
                }
                chosen
            }
        }

        impl Product {
            #[$features]
            #[inline]
            fn small(value: u64) -> Self {
                let mut limbs = [splat(0); 10];
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

            /// Two chains side by side, from limb 0 and from limb 4.
            #[$features]
            #[inline]
            fn carried(evens: &[Vector; 5], odds: &[Vector; 5]) -> Self {
                let [l0, l2, l4, l6, l8] = *evens;
                let [l1, l3, l5, l7, l9] = *odds;
                let mut limbs = [l0, l1, l2, l3, l4, l5, l6, l7, l8, l9];
                let (mask_26, mask_25) = (splat((1 << 26) - 1), splat((1 << 25) - 1));
                for i in [0, 4, 1, 5, 2, 6, 3, 7, 4, 8] {
                    if i % 2 == 0 {
                        limbs[i + 1] = add(limbs[i + 1], shift_right::<26>(limbs[i]));
                        limbs[i] = and(limbs[i], mask_26);
                    } else {
                        limbs[i + 1] = add(limbs[i + 1], shift_right::<25>(limbs[i]));
                        limbs[i] = and(limbs[i], mask_25);
                    }
                }
                // 2^255 is 19.
                limbs[0] = add(limbs[0], times_19(shift_right::<25>(limbs[9])));
                limbs[9] = and(limbs[9], mask_25);
                limbs[1] = add(limbs[1], shift_right::<26>(limbs[0]));
                limbs[0] = and(limbs[0], mask_26);
                Self(limbs)
            }

            // Written into the ladder, sum and difference are made side by side, of more limbs than
            // there are registers.
            #[$features]
            #[inline(never)]
            fn plus(&self, other: &Self) -> Factor {
                let mut sum = self.0;
                for i in 0..10 {
                    sum[i] = add(sum[i], other.0[i]);
                }
                Factor(sum)
            }

            #[$features]
            #[inline(never)]
            fn minus(&self, other: &Self) -> Factor {
                // 2·p in limbs that are larger than those of a product: nothing goes below zero.
                let (even, odd) = (splat(2 * ((1 << 26) - 1)), splat(2 * ((1 << 25) - 1)));
                let mut difference = self.0;
                for i in 0..10 {
                    let multiple = match i {
                        0 => splat(2 * ((1 << 26) - 19)),
                        _ if i % 2 == 0 => even,
                        _ => odd,
                    };
                    difference[i] = subtract(add(difference[i], multiple), other.0[i]);
                }
                Factor(difference)
            }
        }

        /// The product of two numbers of five limbs of 51 bits each.
        #[$features]
        #[inline]
        fn product_of_five(a: &[Vector; 5], b: [Vector; 5]) -> [Vector; 5] {
            let mut sums = b;
            for sum in &mut sums {
                *sum = multiply(a[0], *sum);
            }
            add_rows(&mut sums, a, b);
            sums
        }

        /// Adds that product.
        #[$features]
        #[inline]
        fn add_products(sums: &mut [Vector; 5], a: &[Vector; 5], b: [Vector; 5]) {
            add_row(sums, a[0], &b);
            add_rows(sums, a, b);
        }

        /// All rows but the first.
        #[$features]
        #[inline]
        fn add_rows(sums: &mut [Vector; 5], a: &[Vector; 5], b: [Vector; 5]) {
            let b = next_place(b);
            add_row(sums, a[1], &b);
            let b = next_place(b);
            add_row(sums, a[2], &b);
            let b = next_place(b);
            add_row(sums, a[3], &b);
            let b = next_place(b);
            add_row(sums, a[4], &b);
        }

        #[$features]
        #[inline]
        fn add_row(sums: &mut [Vector; 5], a: Vector, b: &[Vector; 5]) {
            for i in 0..5 {
                sums[i] = add_product(sums[i], a, b[i]);
            }
        }

        /// Times 2^51.
        #[$features]
        #[inline]
        fn next_place(limbs: [Vector; 5]) -> [Vector; 5] {
            let [l0, l1, l2, l3, l4] = limbs;
            [times_19_short(l4), l0, l1, l2, l3]
        }

        #[$features]
        #[inline]
        fn twice(limbs: &[Vector; 5]) -> [Vector; 5] {
            let mut twice = *limbs;
            for limb in &mut twice {
                *limb = add(*limb, *limb);
            }
            twice
        }

        #[$features]
        #[inline]
        fn square_of_five(a: &[Vector; 5]) -> [Vector; 5] {
            let [a0, a1, a2, a3, a4] = *a;
            let [b0, b1, b2, b3, _] = twice(a);
            let (a3_19, a4_19) = (times_19_short(a3), times_19_short(a4));
            [
                sum_of_products([a0, b1, b2], [a0, a4_19, a3_19]),
                sum_of_products([b0, b2, a3], [a1, a4_19, a3_19]),
                sum_of_products([b0, a1, b3], [a2, a1, a4_19]),
                sum_of_products([b0, b1, a4], [a3, a2, a4_19]),
                sum_of_products([b0, b1, a2], [a4, a3, a2]),
            ]
        }

        #[$features]
        #[inline]
        fn sum_of_products(a: [Vector; 3], b: [Vector; 3]) -> Vector {
            add_product(add_product(multiply(a[0], b[0]), a[1], b[1]), a[2], b[2])
        }
    };
}

pub(super) use field_of_ten_limbs;
