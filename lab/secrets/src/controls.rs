//! Operations that leak on purpose.

use std::hint::black_box;

use crate::trial::{Expected, Operation};

pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "control: a comparison that ends early",
        secret: "one side",
        expected: Expected::Leak,
        variants: 1,
        run: |trial| {
            let secret = trial.secret([7; 32]);
            vec![u8::from(ends_early(secret.expose(), &[7; 32]))]
        },
    },
    Operation {
        name: "control: a table indexed by a secret",
        secret: "the index",
        expected: Expected::Leak,
        variants: 1,
        run: |trial| {
            let table: [u8; 256] = std::array::from_fn(|at| !at as u8);
            let secret = trial.secret([7]);
            vec![black_box(&table)[usize::from(secret.expose()[0])]]
        },
    },
    Operation {
        name: "control: square and multiply that leaves out a multiplication",
        secret: "the exponent",
        expected: Expected::Leak,
        variants: 1,
        run: |trial| power(3, trial.secret([0xa5]).expose()[0]).to_be_bytes().to_vec(),
    },
    Operation {
        name: "control: a comparison that ends early, in place of one whose outcome is disclosed",
        secret: "one side",
        expected: Expected::Uneven,
        variants: 32,
        run: |trial| {
            let mut wrong = [7; 32];
            wrong[trial.variant()] ^= 1;
            let secret = trial.secret(wrong);
            // Disclosed: whether they are equal.
            vec![u8::from(secret.expose().iter().all(|byte| black_box(*byte) == 7))]
        },
    },
];

#[inline(never)]
fn ends_early(a: &[u8; 32], b: &[u8; 32]) -> bool {
    a.iter().zip(b).all(|(a, b)| black_box(*a) == *b)
}

#[inline(never)]
fn power(base: u32, exponent: u8) -> u32 {
    (0..8).rev().fold(1, |power: u32, bit| {
        let square = power.wrapping_mul(power);
        if black_box(exponent) >> bit & 1 == 1 { black_box(square.wrapping_mul(base)) } else { square }
    })
}
