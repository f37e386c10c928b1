//! What operations with secrets leave on the stack below them.

use std::hint::black_box;
use std::ptr;

use curve25519_dalek::Scalar;
use motemix_crypto::curve::words::combed::Combed;
use motemix_crypto::curve::words::product::{Long, OfHalves};
use motemix_crypto::curve::words::{Words, WordsWithoutTable};
use motemix_crypto::ed25519::SigningKey;
use motemix_crypto::p256;
use motemix_crypto::{Curve, Portable, PublicKey, PublicPoint, Secret};
use sha2::{Digest as _, Sha512};
use zeroize::zeroize_stack;

/// More than any operation here takes.
const DEPTH: usize = 48 * 1024;
/// More than the frame of whoever looks takes.
const LOOKING: usize = 1024;
/// What is looked for is kept in disguise, so that it is not found where it is kept.
const DISGUISE: u8 = 0xa5;
/// A quarter of a secret is one register or two.
const PART: usize = 8;

type Operation = fn(&Secret<32>, &PublicKey);

struct Case {
    secret: Secret<32>,
    point: PublicKey,
    /// The secret and the shared one, in disguise.
    wanted: [[u8; 32]; 2],
}

impl Case {
    fn new() -> Self {
        let secret = std::array::from_fn(|at| 0x31 + 5 * at as u8);
        let point = Portable::public_key(&Secret::new([0x42; 32]));
        let shared = Portable::diffie_hellman(&Secret::new(secret), &point);
        let shared = *shared.expect("a point of the large group").expose();
        let wanted = [secret, shared].map(|bytes| bytes.map(|byte| byte ^ DISGUISE));
        Self { secret: Secret::new(secret), point, wanted }
    }
}

/// Whether a part of a secret lies below the caller.
#[inline(never)]
fn is_left(below: *const u8, wanted: &[[u8; 32]; 2]) -> bool {
    let mut bytes = [0_u8; PART];
    for depth in LOOKING..DEPTH {
        for (at, byte) in bytes.iter_mut().enumerate() {
            // SAFETY: the stack reaches further down than this, and whatever lies there is bytes.
            *byte = unsafe { ptr::read_volatile(below.wrapping_sub(depth).wrapping_add(at)) } ^ DISGUISE;
        }
        if wanted.iter().flat_map(|secret| secret.as_chunks::<PART>().0).any(|part| *part == bytes) {
            return true;
        }
    }
    false
}

/// Calls the operation so far below that nothing which it leaves is overwritten by who looks.
#[inline(never)]
fn call_below(operation: Operation, case: &Case) {
    let distance = black_box([0_u8; LOOKING]);
    operation(&case.secret, &case.point);
    black_box(&distance);
}

#[inline(never)]
fn leaves_a_secret(operation: Operation, case: &Case) -> bool {
    let here = black_box(0_u8);
    zeroize_stack::<DEPTH>();
    call_below(operation, case);
    is_left(&raw const here, &case.wanted)
}

fn public_key<C: Curve>(secret: &Secret<32>, _: &PublicKey) {
    black_box(&C::public_key(secret));
}

fn diffie_hellman<C: Curve>(secret: &Secret<32>, point: &PublicKey) {
    // Wiped where it is, when it is dropped.
    let shared = C::diffie_hellman(secret, point);
    black_box(&shared);
}

fn combed(secret: &Secret<32>, point: &PublicKey) {
    let mut combed = Combed::default();
    combed.set(point);
    let shared = combed.diffie_hellman(secret);
    black_box(&shared);
}

#[test]
fn a_secret_that_is_left_is_found() {
    let leave: Operation = |secret, _| {
        let copy = *secret.expose();
        black_box(&copy);
    };
    assert!(leaves_a_secret(leave, &Case::new()));
}

#[test]
fn words_leave_neither_the_secret_nor_what_is_agreed() {
    let case = Case::new();
    let operations: [(&str, Operation); 6] = [
        ("public key of long products", public_key::<Words<Long>>),
        ("public key of halves", public_key::<Words<OfHalves>>),
        ("public key without the table", public_key::<WordsWithoutTable<Long>>),
        ("agreement of long products", diffie_hellman::<Words<Long>>),
        ("agreement of halves", diffie_hellman::<Words<OfHalves>>),
        ("agreement of a combed point", combed),
    ];
    let left: Vec<_> =
        operations.iter().filter(|(_, operation)| leaves_a_secret(*operation, &case)).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The pair in each lane of a batch, whose lanes share an inversion.
#[cfg(target_arch = "x86_64")]
#[test]
fn lanes_leave_neither_the_secret_nor_what_is_agreed() {
    use motemix_crypto::curve::lanes::{Lanes, diffie_hellman_batch};
    use motemix_crypto::{Pair, SharedSecret};

    fn agree(lanes: Option<Lanes>, secret: &Secret<32>, point: &PublicKey) {
        let pairs = [Pair { secret, point: *point }; 32];
        let mut shared: [Option<SharedSecret>; 32] = [const { None }; 32];
        diffie_hellman_batch::<Portable>(lanes, &pairs, &mut shared);
        black_box(&shared);
    }
    let case = Case::new();
    let operations: [(&str, Option<Lanes>, Operation); 2] = [
        ("eight", Lanes::eight(), |secret, point| agree(Lanes::eight(), secret, point)),
        ("four", Lanes::four(), |secret, point| agree(Lanes::four(), secret, point)),
    ];
    for (name, lanes, operation) in operations {
        if lanes.is_none() {
            eprintln!("NOT RUN: this processor has no {name} lanes");
            continue;
        }
        assert!(!leaves_a_secret(operation, &case), "{name} lanes");
    }
}

#[test]
fn p256_leaves_neither_the_scalar_nor_the_nonce_nor_what_is_agreed() {
    let scalar = |secret: &Secret<32>| p256::Scalar::from_be_bytes(secret).expect("below n");
    let agree: Operation = |secret, _| {
        let secret = p256::Scalar::from_be_bytes(secret).expect("below n");
        let point = p256::Point::mul_generator(&secret);
        black_box(&p256::diffie_hellman(&secret, &point));
    };
    let sign: Operation = |secret, _| {
        let secret = p256::Scalar::from_be_bytes(secret).expect("below n");
        black_box(&p256::ecdsa::sign(&secret, &secret, &[7; 32]));
    };
    let secret = Secret::new(*Case::new().secret.expose());
    let shared = p256::diffie_hellman(&scalar(&secret), &p256::Point::mul_generator(&scalar(&secret)));
    let reversed = |bytes: &[u8; 32]| core::array::from_fn(|at| bytes[31 - at]);
    // Big-endian as it came, little-endian as it is worked with.
    for bytes in [*secret.expose(), reversed(secret.expose()), *shared.expose()] {
        let case = Case { wanted: [bytes.map(|byte| byte ^ DISGUISE); 2], ..Case::new() };
        for (name, operation) in [("agreement", agree), ("signature", sign)] {
            assert!(!leaves_a_secret(operation, &case), "{name}: {bytes:02x?}");
        }
    }
}

#[test]
fn ed25519_leaves_neither_the_seed_nor_what_follows_from_it() {
    let case = Case::new();
    let digest = Sha512::digest(case.secret.expose());
    let (scalar, prefix) = digest.split_at(32);
    let prefix: [u8; 32] = prefix.try_into().expect("half of a digest");
    let mut clamped: [u8; 32] = scalar.try_into().expect("half of a digest");
    clamped[0] &= 0xf8;
    clamped[31] = clamped[31] & 0x7f | 0x40;
    let reduced = Scalar::from_bytes_mod_order(clamped).to_bytes();
    let nonce = Sha512::new().chain_update(prefix).chain_update(b"reading").finalize();
    let nonce = Scalar::from_bytes_mod_order_wide(nonce.as_slice().try_into().expect("64 bytes"));

    let make: Operation = |secret, _| {
        // Wiped where it is, when it is dropped.
        let key = SigningKey::from_seed(secret);
        black_box(&key);
    };
    let sign: Operation = |secret, _| {
        let key = SigningKey::from_seed(secret);
        black_box(&key.sign(&[b"reading"]));
    };
    for bytes in [*case.secret.expose(), clamped, prefix, reduced, nonce.to_bytes()] {
        let case = Case { wanted: [bytes.map(|byte| byte ^ DISGUISE); 2], ..Case::new() };
        for (name, operation) in [("key", make), ("signature", sign)] {
            assert!(!leaves_a_secret(operation, &case), "{name}: {bytes:02x?}");
        }
    }
}
