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
        variants: 1,
        run: |trial| scalar(trial).to_be_bytes().expose().to_vec(),
    },
    Operation {
        name: "P-224: a scalar from a hash, a product of scalars",
        secret: "both scalars",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| reduced(trial).mul(&scalar(trial)).to_be_bytes().expose().to_vec(),
    },
    Operation {
        name: "P-224: multiplication",
        secret: "the scalar",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| point().mul(&scalar(trial)).compress().to_vec(),
    },
    Operation {
        name: "P-224: multiplication of the generator",
        secret: "the scalar",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| Point::mul_generator(&scalar(trial)).compress().to_vec(),
    },
    Operation {
        name: "P-224: multiplication by a short scalar, and by the same made long",
        secret: "the scalar",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| {
            let by = short(trial);
            [point().mul_short(&by), point().mul(&by.widen())].map(|point| point.compress()).concat()
        },
    },
    Operation {
        name: "P-224: Diffie-Hellman",
        secret: "the scalar",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| diffie_hellman(&scalar(trial), &point()).expose().to_vec(),
    },
    Operation {
        name: "P-224: a scalar from bytes that are the order's, one of them less",
        secret: "the scalar",
        expected: Expected::Secret,
        variants: 28,
        run: |trial| {
            let mut bytes = ORDER;
            bytes[trial.variant()] -= 1;
            Scalar::from_be_bytes(&trial.secret(bytes)).expect("below n").to_be_bytes().expose().to_vec()
        },
    },
    Operation {
        name: "P-224: a short scalar with one byte that is not zero",
        secret: "the scalar",
        expected: Expected::Secret,
        variants: 16,
        run: |trial| {
            let mut bytes = [0; 16];
            bytes[trial.variant()] = 1;
            let scalar = ShortScalar::from_be_bytes(&trial.secret(bytes)).expect("not zero");
            scalar.widen().to_be_bytes().expose().to_vec()
        },
    },
];

/// n (SEC 2, 3.2.2), big-endian.
const ORDER: [u8; 28] = [
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x16, 0xa2, 0xe0,
    0xb8, 0xf0, 0x3e, 0x13, 0xdd, 0x29, 0x45, 0x5c, 0x5c, 0x2a, 0x3d,
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
