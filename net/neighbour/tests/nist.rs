//! The suites in software on what NIST's validation programs have for them (`vectors/nist.json`).

#[path = "suites/known_answers.rs"]
mod known_answers;

use motemix_neighbour::suite::{HalfWordsP256, P256, SoftwareAes};

#[test]
fn private_keys_have_the_public_keys_of_ecdsavs() {
    known_answers::make_keys_as_nist(&mut P256);
    known_answers::make_keys_as_nist(&mut HalfWordsP256);
}

#[test]
fn public_keys_are_taken_and_refused_as_ecdsavs_has_it() {
    known_answers::take_keys_as_nist();
}

#[test]
fn shared_secrets_are_those_of_the_key_agreement_test_and_its_wrong_keys_are_noticed() {
    known_answers::agree_as_nist(&mut P256);
    known_answers::agree_as_nist(&mut HalfWordsP256);
}

#[test]
fn signatures_are_taken_and_refused_as_ecdsavs_has_it_and_its_keys_sign() {
    known_answers::sign_as_nist(&mut P256);
    known_answers::sign_as_nist(&mut HalfWordsP256);
}

#[test]
fn blocks_are_encrypted_as_aesavs_has_it() {
    known_answers::encrypt_as_nist(&mut SoftwareAes);
}

#[test]
fn messages_are_sealed_as_ccmvs_has_it() {
    known_answers::seal_as_nist(&mut SoftwareAes);
}
