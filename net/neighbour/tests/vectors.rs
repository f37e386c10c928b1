//! The suites in software against Wycheproof's vectors, the examples of standards, and each other.

#[path = "suites/known_answers.rs"]
mod known_answers;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use motemix_crypto::Secret;
use motemix_neighbour::functions::{decrypt, encrypt, shared_key};
use motemix_neighbour::suite::{Aes as _, HalfWordsP256, P256, SoftwareAes};
use motemix_neighbour::{PrivateKey, PublicKey, Refused, Signature, Suite};
use proptest::prelude::*;
use sha2::{Digest, Sha256};

use known_answers::{private, unhexed as bytes};

#[test]
fn shared_secrets_agree_with_wycheproof() {
    agree_with_wycheproof(P256);
    agree_with_wycheproof(HalfWordsP256);
}

fn agree_with_wycheproof(mut suite: impl Suite) {
    // The paper's key is the first half of the secret.
    known_answers::agree_with_wycheproof(&mut suite, |suite, own, peer| {
        shared_key(suite, own, peer).expect("a point");
    });
}

#[test]
fn signatures_agree_with_wycheproof() {
    known_answers::verify_as_wycheproof(&mut P256);
    known_answers::verify_as_wycheproof(&mut HalfWordsP256);
}

#[test]
fn ccm_has_the_packet_vectors_of_its_rfc() {
    known_answers::seal_as_the_rfc(&mut SoftwareAes, |_, _| {});
}

/// FIPS 197, appendix B.
#[test]
fn aes_has_the_standards_example() {
    let key = Secret::new(bytes("2b7e151628aed2a6abf7158809cf4f3c"));
    let plain = bytes("3243f6a8885a308d313198a2e0370734");
    let mut block = plain;
    SoftwareAes.encrypt_block(&key, &mut block).expect("in software");
    assert_eq!(block, bytes("3925841d02dc09fbdc118597196a0b32"));
    SoftwareAes.decrypt_block(&key, &mut block).expect("in software");
    assert_eq!(block, plain);
}

/// RFC 6979, A.2.5: what its private key signs is checked, and another's is not.
#[test]
fn a_signature_is_of_one_key_and_one_message() {
    is_of_one_key_and_one_message(P256);
    is_of_one_key_and_one_message(HalfWordsP256);
}

fn is_of_one_key_and_one_message(mut suite: impl Suite) {
    let key = private(bytes("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721"));
    let public = suite.public_key(&key).expect("in software");
    let x: [u8; 32] = bytes("60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6");
    assert_eq!(public.as_bytes()[1..], x);
    let signature = Signature(bytes(
        "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716\
         f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
    ));
    assert_eq!(suite.verify(&public, &Sha256::digest(b"sample").into(), &signature), Ok(()));
    let other = suite.verify(&public, &Sha256::digest(b"simple").into(), &signature);
    assert_eq!(other, Err(Refused::Signature));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// From the same generator, since both have the nonces of RFC 6979.
    #[test]
    fn suites_make_the_same_keys_secrets_and_signatures(seed: [u8; 32], digest: [u8; 32]) {
        let mut rng = ChaCha20Rng::from_seed(seed);
        let [mine, theirs] = [(); 2].map(|()| PrivateKey::generate(&mut rng));
        let public = P256.public_key(&theirs).expect("in software");
        prop_assert_eq!(HalfWordsP256.public_key(&theirs).expect("in software"), public);
        let secret = P256.agree(&mine, &public).expect("a point");
        let same = HalfWordsP256.agree(&mine, &public).expect("a point");
        prop_assert_eq!(secret.expose(), same.expose());

        let signature = P256.sign(&theirs, &digest, &mut ChaCha20Rng::from_seed(digest)).expect("signed");
        prop_assert_eq!(HalfWordsP256.sign(&theirs, &digest, &mut ChaCha20Rng::from_seed(digest)), Ok(signature));
        prop_assert_eq!(HalfWordsP256.verify(&public, &digest, &signature), Ok(()));
        let mine = HalfWordsP256.public_key(&mine).expect("in software");
        prop_assert_eq!(HalfWordsP256.verify(&mine, &digest, &signature), Err(Refused::Signature));
    }
}

#[test]
fn keys_out_of_range_are_no_keys() {
    let order = bytes("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551");
    for wrong in [[0; 32], order, [0xff; 32]] {
        assert_eq!(PrivateKey::new(Secret::new(wrong)).err(), Some(Refused::PrivateKey));
    }
    // The point at infinity, an x without a point, and a point of another curve.
    assert_eq!(PublicKey::new([0; 33]), Err(Refused::PublicKey));
    let mut none = [0xff; 33];
    none[0] = 2;
    assert_eq!(PublicKey::new(none), Err(Refused::PublicKey));
    assert_eq!(PublicKey::from_coordinates(&[1; 64]), Err(Refused::PublicKey));
}

#[test]
fn messages_of_every_length_are_padded_and_unpadded() {
    let (mine, theirs) = (private([7; 32]), P256.public_key(&private([9; 32])).expect("in software"));
    let key = shared_key(&mut P256, &mine, &theirs).expect("a point");
    for len in 0..=64 {
        let (message, mut room) = (vec![len as u8; len], [0; 80]);
        let ciphertext = encrypt(&mut P256, &key, &message, &mut room).expect("room");
        assert_eq!(ciphertext.len() % 16, 0);
        assert_eq!(decrypt(&mut P256, &key, ciphertext).expect("its own"), message);
        assert_eq!(encrypt(&mut P256, &key, &message, &mut [0; 4][..]).err(), Some(Refused::Length));
    }
    for wrong in [0, 1, 15, 17] {
        assert_eq!(decrypt(&mut P256, &key, &mut [0; 32][..wrong]).err(), Some(Refused::Length));
    }
}
