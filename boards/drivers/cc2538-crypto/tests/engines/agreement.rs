//! The engines against the suite in software, on whatever there is.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use crypto_bigint::U256;
use motemix_cc2538_crypto::{Counters, MAX_ASSOCIATED_LEN, MAX_TEXT_LEN};
use motemix_crypto::Secret;
use motemix_neighbour::suite::{Aes as _, HalfWordsP256, P256, SoftwareAes, Suite};
use motemix_neighbour::{PrivateKey, Refused, Signature};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::{accelerated, private, rng};

/// n − 1, big-endian.
const LAST: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc,
    0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x50,
];

/// A small number, whose upper words are zero.
fn small(number: u8) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[31] = number;
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// From the same generator, since both have the nonces of RFC 6979.
    #[test]
    fn keys_secrets_and_signatures_are_those_of_the_software(seed: [u8; 32], digest: [u8; 32]) {
        let (chip, mut suite) = accelerated();
        let mut keys = ChaCha20Rng::from_seed(seed);
        let [mine, theirs] = [(); 2].map(|()| PrivateKey::generate(&mut keys));
        let public = P256.public_key(&theirs).expect("in software");
        prop_assert_eq!(suite.public_key(&theirs), Ok(public));
        let secret = P256.agree(&mine, &public).expect("a point");
        let same = suite.agree(&mine, &public).expect("a point");
        prop_assert_eq!(secret.expose(), same.expose());

        let signature = P256.sign(&theirs, &digest, &mut ChaCha20Rng::from_seed(digest)).expect("signed");
        prop_assert_eq!(suite.sign(&theirs, &digest, &mut ChaCha20Rng::from_seed(digest)), Ok(signature));
        prop_assert_eq!(suite.verify(&public, &digest, &signature), Ok(()));
        let mine = P256.public_key(&mine).expect("in software");
        prop_assert_eq!(suite.verify(&mine, &digest, &signature), Err(Refused::Signature));
        let mut altered = signature.0;
        altered[usize::from(seed[0]) % 64] ^= 1 << (seed[1] % 8);
        let ours = suite.verify(&public, &digest, &Signature(altered));
        prop_assert_eq!(ours, Err(Refused::Signature));
        prop_assert_eq!(suite.counters(), &Counters::default());
        prop_assert!(chip.model().left().is_empty());
    }

    #[test]
    fn messages_of_all_lengths_are_sealed_and_opened_as_in_software(
        key: [u8; 16],
        nonce: [u8; 13],
        associated in vec(any::<u8>(), 0..MAX_ASSOCIATED_LEN),
        message in vec(any::<u8>(), 0..MAX_TEXT_LEN),
    ) {
        let (chip, mut suite) = accelerated();
        let key = Secret::new(key);
        let (mut ours, mut theirs) = (message.clone(), message.clone());
        let tag = suite.aes().seal(&key, &nonce, &associated, &mut ours);
        prop_assert_eq!(tag, SoftwareAes.seal(&key, &nonce, &associated, &mut theirs));
        prop_assert_eq!(&ours, &theirs);
        let tag = tag.expect("sealed");
        prop_assert_eq!(suite.aes().open(&key, &nonce, &associated, &mut ours, &tag), Ok(()));
        prop_assert_eq!(&ours, &message);
        let mut wrong = tag;
        wrong[usize::from(nonce[0]) % 8] ^= 0x10;
        let opened = suite.aes().open(&key, &nonce, &associated, &mut theirs, &wrong);
        prop_assert_eq!(opened, Err(Refused::Ciphertext));
        prop_assert!(chip.model().left().is_empty());
    }
}

#[test]
fn the_first_and_the_last_scalars_have_their_points() {
    let (_, mut suite) = accelerated();
    for scalar in [small(1), small(2), LAST] {
        let private = private(scalar);
        let public = suite.public_key(&private).expect("a point");
        assert_eq!(Ok(public), HalfWordsP256.public_key(&private));
        let signature = suite.sign(&private, &[0x11; 32], &mut rng(1)).expect("signed");
        assert_eq!(HalfWordsP256.verify(&public, &[0x11; 32], &signature), Ok(()));
    }
}

/// Zero modulo n is no scalar for the engine, and two points may be one or be each other's
/// negatives.
#[test]
fn digests_and_signatures_that_make_the_engines_special_cases_are_checked() {
    let (_, mut suite) = accelerated();
    let mut order = LAST;
    order[31] += 1;
    for digest in [[0; 32], order, [0xff; 32]] {
        let private = private(small(7));
        let public = P256.public_key(&private).expect("in software");
        let signature = suite.sign(&private, &digest, &mut rng(3)).expect("signed");
        assert_eq!(P256.verify(&public, &digest, &signature), Ok(()));
        assert_eq!(suite.verify(&public, &digest, &signature), Ok(()));
    }
    // With Q = G the two products are one point where h is r, and cancel where h is −r.
    let public = suite.public_key(&private(small(1))).expect("a point");
    let r = suite.public_key(&private(small(2))).expect("a point").coordinates();
    let [r, _] = *r.as_chunks::<32>().0 else { panic!("two coordinates") };
    let with = |s: [u8; 32]| Signature([r, s].concat().try_into().expect("64 bytes"));
    // (h + r)/s · G is 2·G for s = r.
    assert_eq!(suite.verify(&public, &r, &with(r)), P256.verify(&public, &r, &with(r)));
    assert_eq!(suite.verify(&public, &r, &with(r)), Ok(()));
    let [order, r] = [order, r].map(|number| U256::from_be_slice(&number));
    let negative = order.wrapping_sub(&r).to_be_bytes().into();
    assert_eq!(suite.verify(&public, &negative, &with(small(5))), Err(Refused::Signature));
    assert_eq!(suite.counters(), &Counters::default());
}

#[test]
fn a_message_that_is_longer_than_the_buffer_is_refused() {
    let (chip, mut suite) = accelerated();
    let key = Secret::new([1; 16]);
    let (associated, text) = (vec![0; MAX_ASSOCIATED_LEN + 1], vec![0; MAX_TEXT_LEN + 1]);
    let before = chip.model().accesses;
    for (associated, text) in [(&associated[1..], &text[..]), (&associated[..], &text[1..])] {
        let mut text = text.to_vec();
        assert_eq!(suite.aes().seal(&key, &[0; 13], associated, &mut text), Err(Refused::Length));
        assert_eq!(suite.aes().open(&key, &[0; 13], associated, &mut text, &[0; 8]), Err(Refused::Length));
    }
    assert_eq!(chip.model().accesses, before);
    let mut longest = text[1..].to_vec();
    assert!(suite.aes().seal(&key, &[0; 13], &associated[1..], &mut longest).is_ok());
}
