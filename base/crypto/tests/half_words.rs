//! The scalars of half words, and the curve of boards, against those of curve25519-dalek.

use curve25519_dalek::scalar::Scalar as TheirScalar;
use motemix_crypto::curve::half_words::scalar::Scalar;
use motemix_crypto::{BoardCurve, Curve, Portable, PublicKey, Secret, SharedSecret};
use proptest::prelude::*;

/// Any 32 bytes; and long runs of ones and zeros, which are at the ends of what limbs hold.
fn bytes() -> impl Strategy<Value = [u8; 32]> {
    let runs = prop::collection::vec((any::<bool>(), 1..100_usize), 1..8).prop_map(|runs| {
        let bits: Vec<_> = runs.into_iter().flat_map(|(bit, len)| std::iter::repeat_n(bit, len)).collect();
        std::array::from_fn(|byte| {
            (0..8).fold(0, |value, bit| value | (u8::from(bits[(byte * 8 + bit) % bits.len()]) << bit))
        })
    });
    prop_oneof![any::<[u8; 32]>(), runs]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn curves_agree(secret in bytes(), point in bytes()) {
        let (secret, point) = (Secret::new(secret), PublicKey(point));
        prop_assert_eq!(BoardCurve::public_key(&secret), Portable::public_key(&secret));
        let ours = BoardCurve::diffie_hellman(&secret, &point);
        let theirs = Portable::diffie_hellman(&secret, &point);
        prop_assert_eq!(ours.as_ref().map(SharedSecret::expose), theirs.as_ref().map(SharedSecret::expose));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4096) })]

    #[test]
    fn scalars_agree(a in bytes(), b in bytes()) {
        let (mut ours, mut theirs) = (Scalar::from_bytes_mod_order(a), TheirScalar::from_bytes_mod_order(a));
        prop_assert_eq!(ours.to_bytes(), theirs.to_bytes());
        for _ in 0..4 {
            ours *= &Scalar::from_bytes_mod_order(b);
            theirs *= TheirScalar::from_bytes_mod_order(b);
            prop_assert_eq!(ours.to_bytes(), theirs.to_bytes());
            ours += &Scalar::from_bytes_mod_order(a);
            theirs += TheirScalar::from_bytes_mod_order(a);
            prop_assert_eq!(ours.to_bytes(), theirs.to_bytes());
        }
    }

    #[test]
    fn scalars_of_64_bytes_agree(lower in bytes(), upper in bytes()) {
        let wide: [u8; 64] = std::array::from_fn(|at| if at < 32 { lower[at] } else { upper[at - 32] });
        let theirs = TheirScalar::from_bytes_mod_order_wide(&wide);
        prop_assert_eq!(Scalar::from_wide_bytes(&wide).to_bytes(), theirs.to_bytes());
    }
}

/// ℓ + `offset`, little-endian; the lowest byte of ℓ is 0xed.
fn near_the_order(offset: i8) -> [u8; 32] {
    let mut bytes = (-TheirScalar::ONE).to_bytes();
    bytes[0] = 0xed_u8.checked_add_signed(offset).expect("no carry");
    bytes
}

#[test]
fn scalars_near_the_order_and_at_the_ends_are_reduced() {
    let ends = [[0; 32], [0xff; 32], std::array::from_fn(|at| u8::from(at == 0))];
    for bytes in (-100..=18).map(near_the_order).chain(ends) {
        let theirs = TheirScalar::from_bytes_mod_order(bytes);
        let mut ours = Scalar::from_bytes_mod_order(bytes);
        assert_eq!(ours.to_bytes(), theirs.to_bytes());
        let mut twice = Scalar::from_bytes_mod_order(bytes);
        twice += &ours;
        assert_eq!(twice.to_bytes(), (theirs + theirs).to_bytes());
        ours *= &Scalar::from_bytes_mod_order(near_the_order(-1));
        assert_eq!(ours.to_bytes(), (-theirs).to_bytes());
    }
    assert_eq!(
        Scalar::from_bytes_mod_order(near_the_order(0)).to_bytes(),
        [0; 32],
        "the order itself is zero"
    );
}
