//! Ed25519 signatures made and checked: the vectors of RFC 8032, and beside the crate
//! `ed25519-dalek`.

use ed25519_dalek::Signer as _;
use motemix_crypto::Secret;
use motemix_crypto::ed25519::{SigningKey, is_key, is_signed};
use proptest::prelude::*;

const VECTORS: &str = include_str!("../../../vectors/ed25519.txt");

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn key(seed: [u8; 32]) -> SigningKey {
    SigningKey::from_seed(&Secret::new(seed))
}

#[test]
fn the_signatures_of_rfc_8032_are_made_and_checked() {
    let mut tests = 0;
    for test in VECTORS.split("\n\n").skip(1) {
        let value = |name: &str| {
            let line = test.lines().find_map(|line| line.strip_prefix(name)).expect("each has its line");
            bytes(line.trim())
        };
        let key = key(value("seed").try_into().expect("32 bytes"));
        assert_eq!(key.public_key()[..], value("public"), "{test}");
        let message = value("message");
        let signature = key.sign(&[&message]);
        assert_eq!(signature[..], value("signature"), "{test}");
        assert!(is_signed(key.public_key(), &[&message], &signature), "{test}");
        tests += 1;
    }
    assert_eq!(tests, 5);
}

#[test]
fn a_signing_key_prints_nothing_of_itself() {
    assert_eq!(format!("{:?}", key([7; 32])), "SigningKey(..)");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn keys_and_signatures_are_the_other_crates(
        seed: [u8; 32],
        message in prop::collection::vec(any::<u8>(), 0..300),
        cuts: [prop::sample::Index; 2],
    ) {
        let (ours, theirs) = (key(seed), ed25519_dalek::SigningKey::from_bytes(&seed));
        prop_assert_eq!(*ours.public_key(), theirs.verifying_key().to_bytes());
        prop_assert!(is_key(ours.public_key()));
        let mut cuts = cuts.map(|cut| cut.index(message.len() + 1));
        cuts.sort_unstable();
        let parts = [&message[..cuts[0]], &message[cuts[0]..cuts[1]], &message[cuts[1]..]];
        let signature = ours.sign(&parts);
        prop_assert_eq!(signature, theirs.sign(&message).to_bytes());
        prop_assert!(is_signed(ours.public_key(), &[&message], &signature));
        let mut other = signature;
        other[cuts[0] % 64] ^= 1;
        prop_assert!(!is_signed(ours.public_key(), &[&message], &other));
    }
}
