//! Ed25519 of boards. The message is public, and so are public keys and signatures.

use motemix_crypto::curve::half_words::scalar::Scalar;
use motemix_crypto::ed25519::SigningKey;

use crate::trial::{Expected, Operation, Trial};

const SEED: [u8; 32] = *b"a seed as random as any other...";
const MESSAGE: &[u8] = b"a reading, and whatever else";

pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "Ed25519: key from its seed",
        secret: "the seed",
        expected: Expected::Secret,
        variants: 4,
        run: |trial| key(trial).public_key().to_vec(),
    },
    Operation {
        name: "Ed25519: signature",
        secret: "the seed",
        expected: Expected::Secret,
        variants: 4,
        run: |trial| key(trial).sign(&[MESSAGE]).to_vec(),
    },
    Operation {
        name: "scalars of 64 bytes: reduce, add",
        secret: "both scalars",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| {
            let mut scalar = Scalar::from_wide_bytes(trial.secret([0xa5; 64]).expose());
            scalar += &Scalar::from_bytes_mod_order(*trial.secret(SEED).expose());
            scalar.to_bytes().to_vec()
        },
    },
];

/// Another seed in each variant.
fn key(trial: &Trial) -> SigningKey {
    let mut seed = SEED;
    seed[0] ^= (trial.variant() * 8) as u8;
    SigningKey::from_seed(&trial.secret(seed))
}
