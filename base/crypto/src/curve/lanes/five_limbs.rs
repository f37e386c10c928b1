//! The field modulo p = 2^255 − 19 in five limbs of 51 bits, for processors that multiply 52 bits
//! by 52 and add the lower or the upper 52 bits of the product. Bounds:
//! `docs/research/curve-arithmetic.md`.

/// Makes `Factor` and `Product` of the vector that is in scope.
macro_rules! field_of_five_limbs {
    (#[$features:meta]) => {
        /// Limbs below 2^52, of which the multiplier takes no more.
        #[derive(Clone, Copy, Debug)]
        struct Factor([Vector; 5]);

        /// Limbs below 2^61, not carried.
        #[derive(Clone, Copy, Debug)]
        struct Product([Vector; 5]);

        impl Factor {
            #[$features]
            #[inline]
            fn from_limbs(limbs: &[Vector; 5]) -> Self {
                Self(*limbs)
            }

            #[$features]
            #[inline]
            fn to_limbs(self) -> [Vector; 5] {
                self.0
            }

            #[$features]
            #[inline]
            fn times(&self, other: &Self) -> Product {
                let (a, b) = (&self.0, &other.0);
                let mut sums = [splat(0); 10];
                for i in 0..5 {
                    for j in 0..5 {
                        sums[i + j + 1] = add_high_product(sums[i + j + 1], a[i], b[j]);
                    }
                }
                // The upper half counts 2^52, and the next limb 2^51.
                for sum in &mut sums {
                    *sum = add(*sum, *sum);
                }
                for i in 0..5 {
                    for j in 0..5 {
                        sums[i + j] = add_low_product(sums[i + j], a[i], b[j]);
                    }
                }
                Product::folded(&sums)
            }

            #[$features]
            #[inline]
            fn squared(&self) -> Product {
                let a = &self.0;
                let mut sums = [splat(0); 10];
                for i in 0..5 {
                    for j in i + 1..5 {
                        sums[i + j + 1] = add_high_product(sums[i + j + 1], a[i], a[j]);
                    }
                }
                for sum in &mut sums {
                    *sum = add(*sum, *sum);
                }
                for i in 0..5 {
                    sums[2 * i + 1] = add_high_product(sums[2 * i + 1], a[i], a[i]);
                    for j in i + 1..5 {
                        sums[i + j] = add_low_product(sums[i + j], a[i], a[j]);
                    }
                }
                for sum in &mut sums {
                    *sum = add(*sum, *sum);
                }
                for i in 0..5 {
                    sums[2 * i] = add_low_product(sums[2 * i], a[i], a[i]);
                }
                Product::folded(&sums)
            }

            /// (A + 2) / 4 of the curve times this, and more.
            #[$features]
            #[inline]
            fn times_curve_constant_plus(&self, more: &Product) -> Self {
                // With twice the constant, the upper half of the product counts 2^51 like the next
                // limb, and the lower half is even.
                let twice = splat(2 * 121_666);
                let zero = splat(0);
                let mut sums = more.0;
                for i in 0..4 {
                    sums[i + 1] = add_high_product(sums[i + 1], self.0[i], twice);
                }
                let top = add_high_product(zero, self.0[4], twice);
                sums[0] = add_low_product(sums[0], top, splat(19));
                for i in 0..5 {
                    let low = add_low_product(zero, self.0[i], twice);
                    sums[i] = add(sums[i], shift_right::<1>(low));
                }
                Product(sums).to_factor()
            }

            /// `other` in the lanes that are chosen.
            #[$features]
            #[inline]
            fn or(&self, choice: Mask, other: &Self) -> Self {
                let mut chosen = *self;
                for i in 0..5 {
                    chosen.0[i] = choose(choice, self.0[i], other.0[i]);
                }
                chosen
            }
        }

        impl Product {
            #[$features]
            #[inline]
            fn small(value: u64) -> Self {
                let zero = splat(0);
                Self([splat(value), zero, zero, zero, zero])
            }

            #[$features]
            #[inline]
            fn of_factor(factor: &Factor) -> Self {
                Self(factor.0)
            }

            /// 2^255 is 19.
            #[$features]
            #[inline]
            fn folded(sums: &[Vector; 10]) -> Self {
                let mut limbs = [splat(0); 5];
                for i in 0..5 {
                    limbs[i] = add(sums[i], multiply_low(sums[i + 5], splat(19)));
                }
                Self(limbs)
            }

            /// Carried once, all limbs at the same time.
            #[$features]
            #[inline]
            fn to_factor(self) -> Factor {
                let mask = splat((1 << 51) - 1);
                let [l0, l1, l2, l3, l4] = self.0;
                Factor([
                    add_low_product(and(l0, mask), shift_right::<51>(l4), splat(19)),
                    add(and(l1, mask), shift_right::<51>(l0)),
                    add(and(l2, mask), shift_right::<51>(l1)),
                    add(and(l3, mask), shift_right::<51>(l2)),
                    add(and(l4, mask), shift_right::<51>(l3)),
                ])
            }

            #[$features]
            #[inline]
            fn times(&self, other: &Self) -> Self {
                self.to_factor().times(&other.to_factor())
            }

            #[$features]
            #[inline]
            fn sum_and_difference(&self, other: &Self) -> (Factor, Factor) {
                let mut sum = self.0;
                for i in 0..5 {
                    sum[i] = add(sum[i], other.0[i]);
                }
                (Self(sum).to_factor(), self.minus(other))
            }

            #[$features]
            #[inline]
            fn minus(&self, other: &Self) -> Factor {
                // 2^10·p in limbs that no limb of a product reaches: nothing goes below zero.
                let multiple = [splat(((1 << 51) - 19) << 10), splat(((1 << 51) - 1) << 10)];
                let mut difference = self.0;
                for i in 0..5 {
                    let more = add(difference[i], multiple[usize::from(i > 0)]);
                    difference[i] = subtract(more, other.0[i]);
                }
                Self(difference).to_factor()
            }
        }
    };
}

pub(super) use field_of_five_limbs;
