//! The primitives on what NIST's validation programs have for them (`vectors/nist.json`).

use std::fs;
use std::path::Path;

use motemix_crypto::Secret;
use motemix_neighbour::suite::P256;
use motemix_neighbour::{PrivateKey, PublicKey, Refused, Signature, Suite as _};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

fn cases(name: &str, count: usize) -> Vec<Value> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/nist.json");
    let vectors: Value = serde_json::from_str(&fs::read_to_string(file).expect("the vectors")).expect("JSON");
    assert_eq!(vectors["format"], "motemix-nist-vectors/1");
    let cases = vectors[name].as_array().expect("a list").clone();
    assert_eq!(cases.len(), count);
    cases
}

fn bytes(value: &Value) -> Vec<u8> {
    // A number that is out of range may have an odd count of digits.
    let digits = value.as_str().expect("a string");
    let padded = if digits.len() % 2 == 1 { format!("0{digits}") } else { digits.into() };
    hex::decode(padded).expect("hex")
}

fn array<const N: usize>(value: &Value) -> [u8; N] {
    bytes(value).try_into().expect("the length")
}

fn private(value: &Value) -> PrivateKey {
    PrivateKey::new(Secret::new(array(value))).expect("from 1 to n − 1")
}

fn public(x: &Value, y: &Value) -> Result<PublicKey, Refused> {
    let coordinates = [bytes(x), bytes(y)].concat();
    PublicKey::from_coordinates(coordinates.as_slice().try_into().map_err(|_| Refused::PublicKey)?)
}

#[test]
fn private_keys_have_the_public_keys_of_ecdsavs() {
    for case in cases("key_pairs", 10) {
        let expected = public(&case["x"], &case["y"]).expect("a point");
        assert_eq!(P256.public_key(&private(&case["private"])).expect("in software"), expected);
    }
}

#[test]
fn public_keys_are_taken_and_refused_as_ecdsavs_has_it() {
    for case in cases("public_keys", 12) {
        assert_eq!(public(&case["x"], &case["y"]).is_ok(), case["is_right"], "{}", case["why"]);
    }
}

#[test]
fn shared_secrets_are_those_of_the_key_agreement_test_and_its_wrong_keys_are_noticed() {
    for case in cases("agreements", 60) {
        let own = private(&case["private"]);
        let is_pair = public(&case["own_x"], &case["own_y"]) == P256.public_key(&own);
        let agreed = public(&case["x"], &case["y"]).and_then(|peer| P256.agree(&own, &peer));
        let is_same =
            agreed.is_ok_and(|secret| Sha256::digest(secret.expose())[..] == bytes(&case["hashed_secret"]));
        assert_eq!(is_pair && is_same, case["is_right"], "{}", case["why"]);
    }
}

#[test]
fn signatures_are_taken_and_refused_as_ecdsavs_has_it_and_its_keys_sign() {
    let mut rng = <chacha20::ChaCha20Rng as chacha20::rand_core::SeedableRng>::seed_from_u64(1);
    let verify = |case: &Value, signature| {
        let digest = Sha256::digest(bytes(&case["message"])).into();
        P256.verify(&public(&case["x"], &case["y"]).expect("a point"), &digest, &Signature(signature))
    };
    for case in cases("signatures", 15) {
        assert_eq!(verify(&case, array(&case["signature"])).is_ok(), case["is_right"], "{}", case["why"]);
    }
    for case in cases("signed", 15) {
        assert_eq!(verify(&case, array(&case["signature"])), Ok(()));
        // Ours have other nonces, so other bytes.
        let digest = Sha256::digest(bytes(&case["message"])).into();
        let ours = P256.sign(&private(&case["private"]), &digest, &mut rng).expect("a key").0;
        assert_eq!(verify(&case, ours), Ok(()));
        assert_ne!(ours[..], bytes(&case["signature"]));
    }
}

#[test]
fn blocks_are_encrypted_as_aesavs_has_it() {
    for case in cases("blocks", 294) {
        let key = Secret::new(array(&case[0]));
        let (plain, cipher) = (bytes(&case[1]), bytes(&case[2]));
        for (plain, cipher) in plain.as_chunks::<16>().0.iter().zip(cipher.as_chunks::<16>().0) {
            let mut block = *plain;
            P256.encrypt_block(&key, &mut block).expect("in software");
            assert_eq!(block, *cipher);
            P256.decrypt_block(&key, &mut block).expect("in software");
            assert_eq!(block, *plain);
        }
    }
}

#[test]
fn messages_are_sealed_as_ccmvs_has_it() {
    for case in cases("ccm", 10) {
        let (key, nonce) = (Secret::new(array(&case["key"])), array(&case["nonce"]));
        let (associated, mut text) = (bytes(&case["adata"]), bytes(&case["payload"]));
        let tag = P256.seal(&key, &nonce, &associated, &mut text).expect("a short message");
        assert_eq!([&text[..], &tag].concat(), bytes(&case["ct"]));
        assert_eq!(P256.open(&key, &nonce, &associated, &mut text, &tag), Ok(()));
        assert_eq!(text, bytes(&case["payload"]));
    }
}
