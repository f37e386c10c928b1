//! The Montgomery ladder of RFC 7748 §5 in as many lanes as a vector has, written once.
//!
//! It is a macro and no generic function, because `#[target_feature]` has to stand at each function
//! that works with vectors, and an attribute does not take a parameter.

/// Makes `multiply_each` of what the module has: a `Vector` with what can be done with it, and the
/// `Factor` and `Product` of its field.
///
/// A `Factor` may be multiplied, a `Product` is what a multiplication makes. They are two types,
/// because fields differ in where they carry: a sum of products is a factor, and that is the only
/// place where limbs have to be brought below their bound.
macro_rules! ladder {
    (#[$features:meta]) => {
        /// X25519 of each lane of each group, at most `GROUPS` of them. Numbers are in
        /// little-endian words of 64 bits: `[i][lane]` is word i. The products take the place of
        /// the points.
        ///
        /// The scalars are clamped already.
        #[$features]
        pub(super) fn multiply_each(scalars: &[[[u64; LANES]; 4]], points: &mut [[[u64; LANES]; 4]]) {
            let zero = Product::small(0).to_factor();
            let mut fractions = [(zero, zero); GROUPS];
            for ((scalar, point), fraction) in scalars.iter().zip(&*points).zip(&mut fractions) {
                *fraction = ladder(&loaded(scalar), &loaded(point));
            }
            let fractions = &mut fractions[..points.len()];
            divide(fractions);
            for ((quotient, _), point) in fractions.iter().zip(points) {
                *point = stored(&canonical_words(quotient.to_limbs()));
            }
        }

        /// The product of each lane, as a fraction.
        #[$features]
        #[inline(never)]
        #[allow(clippy::many_single_char_names)] // those of RFC 7748
        fn ladder(scalars: &[Vector; 4], points: &[Vector; 4]) -> (Factor, Factor) {
            let x1 = Factor::from_limbs(&limbs_of_words(points));
            let (mut x2, mut z2) = (Product::small(1), Product::small(0));
            let (mut x3, mut z3) = (Product::of_factor(&x1), Product::small(1));
            let mut swapped = none();
            for bit in (0..255).rev() {
                let set = bit_is_set(scalars[bit / 64], bit % 64);
                let swap = differs(set, swapped);
                swapped = set;

                // Taken apart by reference: by value, the compiler copies what was made.
                let ab = x2.sum_and_difference(&z2);
                let cd = x3.sum_and_difference(&z3);
                let ((a, b), (c, d)) = ((&ab.0, &ab.1), (&cd.0, &cd.1));
                // If the points are swapped, these two are swapped: their sum is the same, and the
                // square of their difference. So only what is doubled has to be chosen.
                let da = d.times(a);
                let cb = c.times(b);
                let a = a.or(swap, c);
                let b = b.or(swap, d);
                // What needs a result comes as late as it can after it: a product takes longer than
                // it keeps the multiplier busy.
                let aa = a.squared();
                let bb = b.squared();
                let of_both = da.sum_and_difference(&cb);
                x3 = of_both.0.squared();
                let square = of_both.1.squared();
                x2 = aa.times(&bb);
                // E·(B² + (a24 + 1)·E), which is RFC 7748's E·(A² + a24·E).
                let e = aa.minus(&bb);
                let sum = e.times_curve_constant_plus(&bb);
                z3 = square.to_factor().times(&x1);
                z2 = e.times(&sum);
            }
            // Bit 0 of a clamped scalar is not set: nothing is left to be swapped.
            (x2.to_factor(), z2.to_factor())
        }

        /// Divides each fraction, with one inversion for all of them (P. L. Montgomery, Math. Comp.
        /// 48, 1987). A lane whose denominator is zero becomes zero, and harms none of the others.
        #[$features]
        #[inline(never)]
        fn divide(fractions: &mut [(Factor, Factor)]) {
            let (zero, one) = (Product::small(0).to_factor(), Product::small(1).to_factor());
            let mut product = one;
            // The product of all the denominators before this one.
            let mut before = [one; GROUPS];
            for ((x, z), before) in fractions.iter_mut().zip(&mut before) {
                let [w0, w1, w2, w3] = canonical_words(z.to_limbs());
                let none = is_zero(or(or(w0, w1), or(w2, w3)));
                (*x, *z) = (x.or(none, &zero), z.or(none, &one));
                *before = product;
                product = product.times(z).to_factor();
            }
            let mut inverse = inverted(&product);
            for ((x, z), before) in fractions.iter_mut().zip(&before).rev() {
                *x = x.times(&inverse.times(before).to_factor()).to_factor();
                inverse = inverse.times(z).to_factor();
            }
        }

        /// z^(p − 2).
        #[$features]
        #[inline(never)]
        fn inverted(z: &Factor) -> Factor {
            let z2 = z.squared().to_factor();
            let z9 = z2.squared_times(2).times(z).to_factor();
            let z11 = z9.times(&z2).to_factor();
            // z to the power of 2^n − 1 each.
            let ones_5 = z11.squared_times(1).times(&z9).to_factor();
            let ones_10 = ones_5.squared_times(5).times(&ones_5).to_factor();
            let ones_20 = ones_10.squared_times(10).times(&ones_10).to_factor();
            let ones_40 = ones_20.squared_times(20).times(&ones_20).to_factor();
            let ones_50 = ones_40.squared_times(10).times(&ones_10).to_factor();
            let ones_100 = ones_50.squared_times(50).times(&ones_50).to_factor();
            let ones_200 = ones_100.squared_times(100).times(&ones_100).to_factor();
            let ones_250 = ones_200.squared_times(50).times(&ones_50).to_factor();
            ones_250.squared_times(5).times(&z11).to_factor()
        }

        impl Factor {
            /// Squared so many times.
            #[$features]
            #[inline]
            fn squared_times(&self, times: usize) -> Self {
                let mut power = *self;
                for _ in 0..times {
                    power = power.squared().to_factor();
                }
                power
            }
        }

        /// Limbs of 51 bits; bit 255 is left out, as RFC 7748 §5 has it.
        #[$features]
        #[inline]
        fn limbs_of_words(words: &[Vector; 4]) -> [Vector; 5] {
            let mask = splat((1 << 51) - 1);
            let [w0, w1, w2, w3] = *words;
            [
                and(w0, mask),
                and(or(shift_right::<51>(w0), shift_left::<13>(w1)), mask),
                and(or(shift_right::<38>(w1), shift_left::<26>(w2)), mask),
                and(or(shift_right::<25>(w2), shift_left::<39>(w3)), mask),
                and(shift_right::<12>(w3), mask),
            ]
        }

        /// The number below p, from limbs of 51 bits that may be one bit longer.
        #[$features]
        #[inline]
        fn canonical_words(mut limbs: [Vector; 5]) -> [Vector; 4] {
            let mask = splat((1 << 51) - 1);
            let mut carry = splat(0);
            for limb in &mut limbs {
                let sum = add(*limb, carry);
                *limb = and(sum, mask);
                carry = shift_right::<51>(sum);
            }
            // Less than 2^255 + 2^7 is left, which is less than 2·p. If it is p or more, then 19
            // more make it 2^255 or more.
            limbs[0] = add(limbs[0], times_19(carry));
            let mut at_least_p = splat(19);
            for limb in &limbs {
                at_least_p = shift_right::<51>(add(*limb, at_least_p));
            }
            let mut carry = times_19(at_least_p);
            for limb in &mut limbs {
                let sum = add(*limb, carry);
                *limb = and(sum, mask);
                carry = shift_right::<51>(sum);
            }
            let [l0, l1, l2, l3, l4] = limbs;
            [
                or(l0, shift_left::<51>(l1)),
                or(shift_right::<13>(l1), shift_left::<38>(l2)),
                or(shift_right::<26>(l2), shift_left::<25>(l3)),
                or(shift_right::<39>(l3), shift_left::<12>(l4)),
            ]
        }

        #[$features]
        #[inline]
        fn times_19(a: Vector) -> Vector {
            add(add(shift_left::<4>(a), shift_left::<1>(a)), a)
        }

        #[$features]
        #[inline]
        fn loaded(words: &[[u64; LANES]; 4]) -> [Vector; 4] {
            [load(&words[0]), load(&words[1]), load(&words[2]), load(&words[3])]
        }

        #[$features]
        #[inline]
        fn stored(words: &[Vector; 4]) -> [[u64; LANES]; 4] {
            [store(words[0]), store(words[1]), store(words[2]), store(words[3])]
        }
    };
}

pub(super) use ladder;
