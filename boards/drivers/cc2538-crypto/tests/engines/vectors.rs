//! The vectors that the suites in software have: Wycheproof's, NIST's, and those of standards.

use motemix_cc2538_crypto::Counters;
use motemix_neighbour::Suite as _;

use crate::{accelerated, known_answers};

#[test]
fn shared_secrets_agree_with_wycheproof() {
    let (chip, mut suite) = accelerated();
    known_answers::agree_with_wycheproof(&mut suite, |_, _, _| assert_eq!(chip.model().left(), [""; 0]));
}

#[test]
fn signatures_agree_with_wycheproof() {
    known_answers::verify_as_wycheproof(&mut accelerated().1);
}

#[test]
fn keys_and_shared_secrets_are_those_of_nist() {
    let (_, mut suite) = accelerated();
    known_answers::make_keys_as_nist(&mut suite);
    known_answers::agree_as_nist(&mut suite);
    assert_eq!(suite.counters(), &Counters::default());
}

#[test]
fn signatures_are_taken_and_refused_as_nist_has_it() {
    known_answers::sign_as_nist(&mut accelerated().1);
}

#[test]
fn blocks_and_messages_are_encrypted_as_nist_has_it() {
    let (_, mut suite) = accelerated();
    known_answers::encrypt_as_nist(&mut suite.aes());
    known_answers::seal_as_nist(&mut suite.aes());
}

#[test]
fn ccm_has_the_packet_vectors_of_its_rfc_and_refuses_altered_ones() {
    let (chip, mut suite) = accelerated();
    known_answers::seal_as_the_rfc(&mut suite.aes(), |before, after| {
        assert_eq!(after, before, "nothing of the text leaves");
        assert_eq!(chip.model().left(), [""; 0]);
    });
    assert_eq!(suite.counters(), &Counters::default());
}
