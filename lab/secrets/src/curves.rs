//! X25519 in each backend, and the sender's blinded scalars.

use motemix_crypto::curve::half_words::scalar::Scalar;
use motemix_crypto::curve::lanes::{self, Lanes};
use motemix_crypto::curve::scalar::BlindedScalar;
use motemix_crypto::curve::words::{
    Words,
    combed::Combed,
    product::{Long, OfHalves},
};
use motemix_crypto::{Curve, Pair, Portable, PublicKey, PublicPoint, Secret, SharedSecret};

use crate::host_curve::HostCurve;
use crate::trial::{Expected, Operation, Trial};

const SECRET: [u8; 32] = *b"a scalar as random as any other.";
const POINT: PublicKey = PublicKey([9; 32]);

pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "public key, portable",
        secret: "the scalar",
        expected: Expected::Secret,
        variants: 1,
        run: public_key::<Portable>,
    },
    Operation {
        name: "Diffie-Hellman, portable",
        secret: "the scalar and the point",
        expected: Expected::Secret,
        variants: 1,
        run: diffie_hellman::<Portable>,
    },
    Operation {
        name: "public key, words",
        secret: "the scalar",
        expected: Expected::Secret,
        variants: 1,
        run: public_key::<Words<Long>>,
    },
    Operation {
        name: "Diffie-Hellman, words",
        secret: "the scalar and the point",
        expected: Expected::Secret,
        variants: 1,
        run: diffie_hellman::<Words<Long>>,
    },
    Operation {
        name: "public key, words, products of halves",
        secret: "the scalar",
        expected: Expected::Secret,
        variants: 1,
        run: public_key::<Words<OfHalves>>,
    },
    Operation {
        name: "Diffie-Hellman, words, products of halves",
        secret: "the scalar and the point",
        expected: Expected::Secret,
        variants: 1,
        run: diffie_hellman::<Words<OfHalves>>,
    },
    Operation {
        name: "Diffie-Hellman, a public point's comb",
        secret: "the scalar",
        expected: Expected::Secret,
        variants: 4,
        run: |trial| {
            let mut point = Combed::default();
            point.set(&Portable::public_key(&Secret::new(SECRET)));
            shared(point.diffie_hellman(&trial.secret(with(SECRET, trial))))
        },
    },
    Operation {
        name: "public key, the host's",
        secret: "the scalar",
        expected: Expected::Secret,
        variants: 1,
        run: public_key::<HostCurve>,
    },
    Operation {
        name: "Diffie-Hellman, the host's",
        secret: "the scalar and the point",
        expected: Expected::Secret,
        variants: 1,
        run: diffie_hellman::<HostCurve>,
    },
    Operation {
        name: "Diffie-Hellman, a batch in the four lanes of AVX2",
        secret: "the scalars and the points",
        expected: Expected::Secret,
        variants: 1,
        run: in_four_lanes,
    },
    Operation {
        name: "whether a shared secret is zero",
        secret: "the shared secret",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| shared(SharedSecret::contributory(*trial.secret([3; 32]).expose())),
    },
    Operation {
        name: "a shared secret with one byte that is not zero",
        secret: "the shared secret",
        expected: Expected::Secret,
        variants: 32,
        run: |trial| {
            let mut bytes = [0; 32];
            bytes[trial.variant()] = 1;
            shared(SharedSecret::contributory(*trial.secret(bytes).expose()))
        },
    },
    Operation {
        name: "blinded scalar: reduce, multiply, clamp",
        secret: "both scalars",
        expected: Expected::Secret,
        variants: 4,
        run: |trial| {
            let mut scalar = BlindedScalar::from_clamped(&trial.secret(with(SECRET, trial)));
            scalar.blind(&trial.secret([0x5a; 32]));
            scalar.to_clamped().expose().to_vec()
        },
    },
    Operation {
        name: "scalars of half words: reduce, multiply",
        secret: "both scalars",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| {
            let mut scalar = Scalar::from_bytes_mod_order(*trial.secret(SECRET).expose());
            scalar *= &Scalar::from_bytes_mod_order(*trial.secret([0x5a; 32]).expose());
            scalar.to_bytes().to_vec()
        },
    },
];

/// Another secret in each variant.
fn with<const N: usize>(mut bytes: [u8; N], trial: &Trial) -> [u8; N] {
    bytes[0] ^= (trial.variant() * 8) as u8;
    bytes
}

fn public_key<C: Curve>(trial: &Trial) -> Vec<u8> {
    C::public_key(&trial.secret(SECRET)).0.to_vec()
}

fn diffie_hellman<C: Curve>(trial: &Trial) -> Vec<u8> {
    let mut point = POINT;
    trial.mark(&mut point.0);
    shared(C::diffie_hellman(&trial.secret(SECRET), &point))
}

/// Two groups of lanes, one of which is not full. The ladder of eight lanes is the same source.
fn in_four_lanes(trial: &Trial) -> Vec<u8> {
    let secrets: [_; 7] = std::array::from_fn(|at| trial.secret(SECRET.map(|byte| byte ^ at as u8)));
    let mut points: [_; 7] = std::array::from_fn(|at| PublicKey([9 + at as u8; 32]));
    for point in &mut points {
        trial.mark(&mut point.0);
    }
    let pairs: [_; 7] = std::array::from_fn(|at| Pair { secret: &secrets[at], point: points[at] });
    let mut agreed = [const { None }; 7];
    let lanes = Lanes::four();
    assert!(lanes.is_some(), "no AVX2 to check");
    lanes::diffie_hellman_batch::<Portable>(lanes, &pairs, &mut agreed);
    agreed.into_iter().flat_map(shared).collect()
}

fn shared(shared: Option<SharedSecret>) -> Vec<u8> {
    let shared = shared.expect("a point of large order");
    Secret::new(*shared.expose()).expose().to_vec()
}
