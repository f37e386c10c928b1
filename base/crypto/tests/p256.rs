//! P-256 from half words beside the crate `p256`: products, signatures, and where additions would
//! go wrong.

use motemix_crypto::Secret;
use motemix_crypto::p256::{Point, Scalar, diffie_hellman, ecdsa};
use p256::ecdsa::signature::hazmat::PrehashVerifier;
use p256::elliptic_curve::ops::Reduce;
use p256::elliptic_curve::sec1::ToSec1Point;
use p256::elliptic_curve::{Field, PrimeField};
use p256::{NonZeroScalar, ProjectivePoint, PublicKey, U256};
use proptest::prelude::*;

type Theirs = p256::Scalar;

fn ours(scalar: &Theirs) -> Option<Scalar> {
    Scalar::from_be_bytes(&Secret::new(scalar.to_repr().into()))
}

fn theirs(bytes: [u8; 32]) -> Theirs {
    <Theirs as Reduce<U256>>::reduce(&U256::from_be_slice(&bytes))
}

fn power_of_two(exponent: usize) -> Theirs {
    (0..exponent).fold(Theirs::ONE, |power, _| power + power)
}

fn coordinates(point: &ProjectivePoint) -> [u8; 64] {
    let point = PublicKey::from_affine(point.to_affine()).expect("not infinity").to_sec1_point(false);
    point.as_bytes()[1..].try_into().expect("two coordinates")
}

fn same_point(point: &ProjectivePoint) -> Point {
    Point::from_coordinates(&coordinates(point)).expect("a point of the curve")
}

fn agree_on(scalar: &Theirs, of: &Theirs) {
    let Some(own) = ours(scalar) else { return };
    let product = coordinates(&(ProjectivePoint::GENERATOR * scalar));
    let point = Point::mul_generator(&own);
    assert_eq!(point.to_coordinates(), product, "{scalar:?} G");
    assert_eq!(Point::decompress(&point.compress()).expect("a point").to_coordinates(), product);

    let point = ProjectivePoint::GENERATOR * of;
    let shared = diffie_hellman(&own, &same_point(&point));
    assert_eq!(shared.expose()[..], coordinates(&(point * scalar))[..32], "{scalar:?} times {of:?} G");
}

/// 2 d for each digit of a number, and 2 a for each tooth of the comb: their last addition is of
/// equal points. So are those of their negatives.
fn of_equal_points() -> impl Iterator<Item = Theirs> {
    let digits = (1..16_u32).step_by(2).map(Theirs::from);
    let combs = (0..8_usize).map(|signs| {
        let lower = (0..3).map(|tooth| match signs >> tooth & 1 {
            1 => power_of_two(64 * tooth),
            _ => -power_of_two(64 * tooth),
        });
        power_of_two(192) + lower.sum::<Theirs>()
    });
    digits.chain(combs).flat_map(|half| [half + half, -(half + half)])
}

#[test]
fn scalars_at_the_ends_and_where_points_are_equal_have_the_right_products() {
    let small = (1..40_u32).map(Theirs::from);
    let powers = (0..256).step_by(5).map(power_of_two);
    let ends = small.chain(powers).flat_map(|scalar| [scalar, -scalar]);
    for scalar in ends.chain(of_equal_points()) {
        agree_on(&scalar, &Theirs::from(0x1234_5678_u32));
        agree_on(&scalar, &Theirs::ONE);
    }
}

#[test]
fn only_numbers_from_one_to_n_less_one_are_scalars() {
    let order = -Theirs::ONE;
    let mut bytes: [u8; 32] = order.to_repr().into();
    assert!(Scalar::from_be_bytes(&Secret::new(bytes)).is_some(), "n − 1");
    bytes[31] += 1;
    assert!(Scalar::from_be_bytes(&Secret::new(bytes)).is_none(), "n");
    for at in 0..32 {
        let mut more = bytes;
        if let Some(byte) = more[at].checked_add(1) {
            more[at] = byte;
            assert!(Scalar::from_be_bytes(&Secret::new(more)).is_none(), "n + 256^{}", 31 - at);
        }
    }
    assert!(Scalar::from_be_bytes(&Secret::zero()).is_none());
    assert!(Scalar::from_be_bytes(&Secret::new([0xff; 32])).is_none());
}

/// p − `less`.
fn below_modulus(less: u8) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..4].fill(0xff);
    bytes[7] = 1;
    bytes[20..].fill(0xff);
    bytes[31] -= less;
    bytes
}

#[test]
fn points_are_those_of_the_other_crate_near_zero_and_near_p() {
    let small = |value| core::array::from_fn(|at| if at == 31 { value } else { 0 });
    let mut points = 0;
    for x in (0..100).map(small).chain((0..100).map(below_modulus)).chain([[0xff; 32]]) {
        for sign in 0..6 {
            let bytes: [u8; 33] = core::array::from_fn(|at| if at == 0 { sign } else { x[at - 1] });
            // The other crate reads 05 too, which is no form of SEC 1.
            let other = PublicKey::from_sec1_bytes(&bytes).ok().filter(|_| sign != 5);
            let own = Point::decompress(&bytes);
            assert_eq!(own.is_some(), other.is_some(), "{bytes:02x?}");
            let (Some(own), Some(other)) = (own, other) else { continue };
            assert_eq!(own.to_coordinates(), coordinates(&other.to_projective()));
            assert_eq!(own.compress(), bytes);
            points += 1;
        }
    }
    assert!(points > 150, "only {points} points");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn products_are_those_of_the_other_crate(scalar: [u8; 32], of: [u8; 32]) {
        prop_assume!(bool::from(!theirs(of).is_zero()));
        agree_on(&theirs(scalar), &theirs(of));
    }

    #[test]
    fn coordinates_that_are_no_point_are_refused(point: [u8; 32], at in 0..64_usize, flip in 1..=255_u8) {
        prop_assume!(bool::from(!theirs(point).is_zero()));
        let mut bytes = coordinates(&(ProjectivePoint::GENERATOR * theirs(point)));
        bytes[at] ^= flip;
        let uncompressed: [u8; 65] = core::array::from_fn(|at| if at == 0 { 4 } else { bytes[at - 1] });
        prop_assert_eq!(
            Point::from_coordinates(&bytes).is_some(),
            PublicKey::from_sec1_bytes(&uncompressed).is_ok()
        );
    }

    #[test]
    fn signatures_are_those_of_the_other_crate(private: [u8; 32], nonce: [u8; 32], digest: [u8; 32]) {
        let (private, nonce) = (theirs(private), theirs(nonce));
        let (Some(own_private), Some(own_nonce)) = (ours(&private), ours(&nonce)) else { return Ok(()) };
        let made = ecdsa::sign(&own_private, &own_nonce, &digest).expect("r and s are not zero");
        let scalar = |scalar| NonZeroScalar::new(scalar).expect("not zero");
        let (theirs, _) = ::ecdsa::hazmat::sign_prehashed::<p256::NistP256>(&scalar(private), &scalar(nonce), &digest)
            .expect("r and s are not zero");
        prop_assert_eq!(&made[..], &theirs.to_bytes()[..]);
        prop_assert!(ecdsa::verify_vartime(&Point::mul_generator(&own_private), &digest, &made));
    }

    #[test]
    fn what_is_verified_is_what_the_other_crate_verifies(
        private: [u8; 32], nonce: [u8; 32], digest: [u8; 32], at in 0..96_usize, flip in 1..=255_u8,
    ) {
        let (Some(private), Some(nonce)) = (ours(&theirs(private)), ours(&theirs(nonce))) else { return Ok(()) };
        let public = Point::mul_generator(&private);
        let made = ecdsa::sign(&private, &nonce, &digest).expect("r and s are not zero");
        let mut altered = [made.as_slice(), digest.as_slice()].concat();
        altered[at] ^= flip;
        let (signature, digest) = altered.split_first_chunk::<64>().expect("a signature");
        let digest: &[u8; 32] = digest.try_into().expect("a digest");
        let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(&public.compress()).expect("a point");
        let other = p256::ecdsa::Signature::from_slice(signature)
            .is_ok_and(|signature| key.verify_prehash(digest, &signature).is_ok());
        prop_assert_eq!(ecdsa::verify_vartime(&public, digest, signature), other);
    }
}

/// RFC 6979, A.2.5, with SHA-256: the nonces that it names, and the signatures.
#[test]
fn signatures_are_those_of_rfc_6979() {
    use sha2::{Digest, Sha256};
    fn bytes<const N: usize>(hex: &str) -> [u8; N] {
        core::array::from_fn(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("hex digits"))
    }
    let scalar = |hex| Scalar::from_be_bytes(&Secret::new(bytes(hex))).expect("from 1 to n − 1");
    let private = scalar("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721");
    for (message, nonce, signature) in [
        (
            "sample",
            "a6e3c57dd01abe90086538398355dd4c3b17aa873382b0f24d6129493d8aad60",
            "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716\
             f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
        ),
        (
            "test",
            "d16b6ae827f17175e040871a1c7ec3500192c4c92677336ec2537acaee0008e0",
            "f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367\
             019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083",
        ),
    ] {
        let digest = Sha256::digest(message).into();
        let signature: [u8; 64] = bytes(signature);
        assert_eq!(ecdsa::sign(&private, &scalar(nonce), &digest), Some(signature));
        assert!(ecdsa::verify_vartime(&Point::mul_generator(&private), &digest, &signature));
    }
}

/// Signatures whose two products meet on the way, as only the owner of the key can make them: the
/// private key is a small number, and so are the factors of the generator and of the public key.
#[test]
fn signatures_whose_products_are_equal_or_cancel_are_verified() {
    let number = |value: i64| match Theirs::from(value.unsigned_abs()) {
        scalar if value < 0 => -scalar,
        scalar => scalar,
    };
    let (mut verified, mut infinite) = (0, 0);
    for private in [1, 2, 3, -1, -2, 16, -16] {
        let public = Point::mul_generator(&ours(&number(private)).expect("not zero"));
        for of_generator in [-33, -16, -2, -1, 0, 1, 2, 3, 15, 16, 17, 32, 48] {
            for of_public in [-32, -16, -3, -2, -1, 1, 2, 3, 15, 16, 17, 18] {
                let sum = number(of_generator) + number(of_public) * number(private);
                if bool::from(sum.is_zero()) {
                    // No x, so no r: what a signature with any r says is wrong.
                    let s = theirs([7; 32]) * number(of_public).invert().expect("not zero");
                    let signature = [[7; 32], s.to_repr().into()].concat().try_into().expect("r and s");
                    let digest = (s * number(of_generator)).to_repr().into();
                    assert!(!ecdsa::verify_vartime(&public, &digest, &signature));
                    infinite += 1;
                    continue;
                }
                let x = coordinates(&(ProjectivePoint::GENERATOR * sum));
                let r = theirs(*x.first_chunk().expect("x"));
                let s = r * number(of_public).invert().expect("not zero");
                let signature = [r.to_repr(), s.to_repr()].concat().try_into().expect("r and s");
                let digest = (s * number(of_generator)).to_repr().into();
                let case = format!("{of_generator} G + {of_public} * {private} G");
                assert!(ecdsa::verify_vartime(&public, &digest, &signature), "{case}");
                verified += 1;
            }
        }
    }
    assert!(verified > 1000 && infinite > 10, "{verified} and {infinite}");
}
