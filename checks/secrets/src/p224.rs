//! P-224, whose points are public and whose scalars are not.

use motemix_crypto::p224::{Point, Scalar, ShortScalar, diffie_hellman};

use crate::trial::{Expected, Operation, Trial};

const SECRET: [u8; 28] = *b"a scalar that is below the n";
const WIDE: [u8; 64] = *b"sixty-four bytes of a hash, from which a scalar is made modulo n";
const SHORT: [u8; 16] = *b"half of a scalar";

pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "P-224: a scalar from bytes, and back",
        secret: "the scalar",
        expected: Expected::Secret,
        run: |trial| scalar(trial).to_be_bytes().expose().to_vec(),
    },
    Operation {
        name: "P-224: a scalar from a hash, a product of scalars",
        secret: "both scalars",
        expected: Expected::Secret,
        run: |trial| reduced(trial).mul(&scalar(trial)).to_be_bytes().expose().to_vec(),
    },
    Operation {
        name: "P-224: multiplication",
        secret: "the scalar",
        expected: Expected::Secret,
        run: |trial| point().mul(&scalar(trial)).compress().to_vec(),
    },
    Operation {
        name: "P-224: multiplication of the generator",
        secret: "the scalar",
        expected: Expected::Secret,
        run: |trial| Point::mul_generator(&scalar(trial)).compress().to_vec(),
    },
    Operation {
        name: "P-224: multiplication by a short scalar, and by the same made long",
        secret: "the scalar",
        expected: Expected::Secret,
        run: |trial| {
            let by = short(trial);
            [point().mul_short(&by), point().mul(&by.widen())].map(|point| point.compress()).concat()
        },
    },
    Operation {
        name: "P-224: Diffie-Hellman",
        secret: "the scalar",
        expected: Expected::Secret,
        run: |trial| diffie_hellman(&scalar(trial), &point()).expose().to_vec(),
    },
];

/// As it comes from the wire.
fn point() -> Point {
    Point::decompress(&Point::GENERATOR.compress()).expect("the generator is a point")
}

fn scalar(trial: &Trial) -> Scalar {
    Scalar::from_be_bytes(&trial.secret(SECRET)).expect("below n")
}

fn reduced(trial: &Trial) -> Scalar {
    Scalar::reduce(&trial.secret(WIDE)).expect("not zero")
}

fn short(trial: &Trial) -> ShortScalar {
    ShortScalar::from_be_bytes(&trial.secret(SHORT)).expect("not zero")
}
