//! P-256 from half words. Its points are public, its scalars and nonces are not.

use motemix_crypto::p256::{Point, Scalar, diffie_hellman, ecdsa};

use crate::trial::{Expected, Operation, Trial};

const SECRET: [u8; 32] = *b"a scalar that is below P-256's n";
const NONCE: [u8; 32] = *b"another, for a single signature.";

pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "P-256: multiplication of the generator",
        secret: "the scalar",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| Point::mul_generator(&scalar(trial, SECRET)).compress().to_vec(),
    },
    Operation {
        name: "P-256: Diffie-Hellman",
        secret: "the scalar",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| diffie_hellman(&scalar(trial, SECRET), &point()).expose().to_vec(),
    },
    Operation {
        name: "P-256: signature",
        secret: "the private key and the nonce",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| {
            let (private, nonce) = (scalar(trial, SECRET), scalar(trial, NONCE));
            ecdsa::sign(&private, &nonce, &[7; 32]).expect("r and s are not zero").to_vec()
        },
    },
    Operation {
        name: "P-256: a scalar from bytes that are the order's, one of them less",
        secret: "the scalar",
        expected: Expected::Secret,
        variants: 28,
        run: |trial| {
            let mut bytes = ORDER;
            // Four bytes are zero already.
            let at = trial.variant();
            bytes[if at < 4 { at } else { at + 4 }] -= 1;
            Scalar::from_be_bytes(&trial.secret(bytes)).expect("below n").expose().to_vec()
        },
    },
];

/// n (SEC 2, 2.4.2), big-endian.
const ORDER: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc,
    0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
];

/// Some point: the product of the generator and a number that is no secret.
fn point() -> Point {
    let three = std::array::from_fn(|at| if at == 31 { 3 } else { 0 });
    let three = Scalar::from_be_bytes(&motemix_crypto::Secret::new(three)).expect("below n");
    Point::mul_generator(&three)
}

fn scalar(trial: &Trial, bytes: [u8; 32]) -> Scalar {
    Scalar::from_be_bytes(&trial.secret(bytes)).expect("below n")
}
