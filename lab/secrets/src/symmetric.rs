//! Stream, hash, wide block and comparison.

use motemix_crypto::wide_block::WideBlockKeys;
use motemix_crypto::{WideBlake2b, WideBlake2s, WideHash, hash, stream};
use subtle::ConstantTimeEq;

use crate::trial::{Expected, Operation, Trial};

/// Longer than what any vector unit does at once, and no multiple of it.
const LONG: usize = 1045;

pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "stream (ChaCha20)",
        secret: "key and data",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| {
            let mut data = data(trial);
            stream::xor(trial.secret([1; 32]).expose(), b"motemix/test", &mut data);
            data
        },
    },
    Operation {
        name: "keyed hash (BLAKE2s), 32 and 16 bytes",
        secret: "key and data",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| {
            let (key, data) = (trial.secret([1; 32]), data(trial));
            let digest = hash::blake2s_256(key.expose(), &data);
            let mac = hash::blake2s_128(key.expose(), &data);
            [digest.expose().as_slice(), mac.expose()].concat()
        },
    },
    Operation {
        name: "wide hash (BLAKE2b)",
        secret: "key and data",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| WideBlake2b::digest(trial.secret([1; 32]).expose(), &data(trial)).expose().to_vec(),
    },
    Operation {
        name: "wide block over BLAKE2s: encrypt, decrypt",
        secret: "key and data",
        expected: Expected::Secret,
        variants: 1,
        run: wide_block::<WideBlake2s>,
    },
    Operation {
        name: "wide block over BLAKE2b: encrypt, decrypt",
        secret: "key and data",
        expected: Expected::Secret,
        variants: 1,
        run: wide_block::<WideBlake2b>,
    },
    Operation {
        name: "comparison of equal secrets",
        secret: "one side",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| vec![trial.secret([1; 32]).ct_eq(&motemix_crypto::Secret::new([1; 32])).unwrap_u8()],
    },
    Operation {
        name: "comparison of secrets that differ in one byte",
        secret: "both sides",
        expected: Expected::Secret,
        variants: 32,
        run: |trial| {
            let mut other = [1; 32];
            other[trial.variant()] = 2;
            vec![trial.secret([1; 32]).ct_eq(&trial.secret(other)).unwrap_u8()]
        },
    },
];

fn data(trial: &Trial) -> Vec<u8> {
    let mut data: Vec<u8> = (0..LONG).map(|at| at as u8).collect();
    trial.mark(&mut data);
    data
}

fn wide_block<H: WideHash>(trial: &Trial) -> Vec<u8> {
    let keys = WideBlockKeys::derive(trial.secret([1; 32]).expose(), b"motemix/test");
    let (mut once, mut back) = (data(trial), data(trial));
    keys.encrypt::<H>(&mut once);
    keys.decrypt::<H>(&mut back);
    [once, back].concat()
}
