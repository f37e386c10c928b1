//! Key files: their hexadecimal digits, and the big integers of Loopix.

use motemix_checked_sources::{keys, loopix_key};
use motemix_crypto::Secret;
use motemix_crypto::p224::Scalar;

use crate::trial::{Expected, Operation, Trial};

const SEED: [u8; 32] = *b"any seed, with a 0 and a ~ in it";
const SCALAR: [u8; 28] = *b"a scalar that is below the n";
/// Before the digits: title and name.
const HEAD: usize = b"a key\nseed ".len();

pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "write a key file",
        secret: "the seed",
        expected: Expected::Secret,
        variants: 4,
        run: |trial| keys::write(trial.secret(seed(trial)).expose()).to_vec(),
    },
    Operation {
        name: "read a key file",
        secret: "the digits of the seed",
        expected: Expected::Secret,
        variants: 4,
        run: |trial| {
            let mut text = keys::write(&seed(trial));
            trial.mark(&mut text[HEAD..HEAD + 64]);
            keys::read(&text).expect("just written").to_vec()
        },
    },
    Operation {
        name: "refuse a key file with one digit that is none",
        secret: "the digits of the seed",
        expected: Expected::Disclosed,
        variants: 64,
        run: |trial| {
            let mut text = keys::write(&SEED);
            text[HEAD + trial.variant()] = b'x';
            trial.mark(&mut text[HEAD..HEAD + 64]);
            vec![u8::from(keys::read(&text).is_some())]
        },
    },
    Operation {
        name: "write a key file of Loopix",
        secret: "the scalar",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| {
            let scalar = Scalar::from_be_bytes(&trial.secret(SCALAR)).expect("below n");
            loopix_key::encode_secret(&scalar).to_vec()
        },
    },
    Operation {
        name: "read a key file of Loopix",
        secret: "the scalar",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| {
            let scalar = Scalar::from_be_bytes(&Secret::new(SCALAR)).expect("below n");
            let mut packed = loopix_key::encode_secret(&scalar);
            let digits = packed.len() - SCALAR.len();
            trial.mark(&mut packed[digits..]);
            let scalar = loopix_key::decode_secret(&packed).expect("just written");
            scalar.to_be_bytes().expose().to_vec()
        },
    },
];

/// Another seed in each variant, with digits of both kinds.
fn seed(trial: &Trial) -> [u8; 32] {
    SEED.map(|byte| byte.wrapping_mul(1 + 2 * trial.variant() as u8))
}
