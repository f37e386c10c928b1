//! Engines that fail: each failure has its name and is counted, nothing wrong comes out, nothing
//! is left behind, and what works again is used again.

use motemix_cc2538_crypto::{Cc2538, Counters, Fault};
use motemix_crypto::Secret;
use motemix_neighbour::Refused;
use motemix_neighbour::suite::{Aes as _, HalfWordsP256, SoftwareAes, Suite};

use crate::chip::Chip;
use crate::pka::{ECC_ADD, ECC_MUL, Failure, MOD_INV};
use crate::{LIMITS, accelerated, aes, private, rng};

const DIGEST: [u8; 32] = [0x3c; 32];

/// The one fault that was counted.
fn only(counters: &Counters) -> Fault {
    let counted: Vec<_> = Fault::ALL.iter().filter(|fault| counters.faults(**fault) != 0).collect();
    assert_eq!(counted.len(), 1, "{counted:?}");
    assert_eq!(counters.faults(*counted[0]), 1);
    *counted[0]
}

#[test]
fn an_engine_that_does_not_end_is_given_up_reset_and_wiped() {
    let (chip, mut suite) = accelerated();
    let key = private([7; 32]);
    let public = suite.public_key(&key).expect("a point");
    chip.model().pka.failing = Some((0, Failure::Hangs));
    let before = chip.model().accesses;
    assert_eq!(suite.agree(&key, &public).err(), Some(Refused::Engine));
    let accesses = chip.model().accesses - before;
    assert!(accesses < 1_000, "{accesses} accesses");
    assert_eq!(only(suite.counters()), Fault::PkaStuck);
    assert_eq!((suite.counters().resets, suite.counters().unwiped), (1, 0));
    assert_eq!(chip.model().left(), [""; 0]);
    assert!(suite.agree(&key, &public).is_ok());
}

#[test]
fn an_engine_that_no_reset_stops_is_not_used_until_it_is_wiped() {
    let (chip, mut suite) = accelerated();
    let key = private([7; 32]);
    chip.model().pka.failing = Some((0, Failure::HangsThroughResets(2)));
    assert_eq!(suite.public_key(&key), Err(Refused::Engine));
    assert_eq!(suite.counters().unwiped, 1);
    assert_eq!(chip.model().left(), ["the PKA's memory"]);
    // Nothing is begun on what cannot be wiped.
    let begun = chip.model().pka.begun.len();
    assert_eq!(suite.public_key(&key), Err(Refused::Engine));
    assert_eq!(chip.model().pka.begun.len(), begun);
    assert_eq!(suite.counters().unwiped, 2);
    assert_eq!(suite.public_key(&key), HalfWordsP256.public_key(&key));
    assert_eq!(chip.model().left(), [""; 0]);
    assert_eq!(suite.counters().faults(Fault::PkaStuck), 2);
}

#[test]
fn an_engine_that_never_starts_is_told_at_the_start() {
    let chip = Chip::new();
    chip.model().aes.failing = Some((0, aes::Failure::KeyBus));
    assert_eq!(Cc2538::new(chip, LIMITS).err(), Some(Fault::DmaBus));
}

#[test]
fn each_code_of_the_engine_has_its_name() {
    for (code, fault) in [(7, Fault::Infinity), (31, Fault::Operands), (3, Fault::Operands)] {
        let (chip, mut suite) = accelerated();
        chip.model().pka.failing = Some((0, Failure::Code(code)));
        assert_eq!(suite.public_key(&private([7; 32])), Err(Refused::Engine));
        assert_eq!(only(suite.counters()), fault);
        assert_eq!(chip.model().left(), [""; 0]);
    }
    let (chip, mut suite) = accelerated();
    suite.sign(&private([7; 32]), &DIGEST, &mut rng(1)).expect("signed");
    let first = chip.model().pka.begun.iter().position(|begun| *begun == MOD_INV).expect("an inverse");
    chip.model().pka.failing = Some((first, Failure::Code(7)));
    assert_eq!(suite.sign(&private([7; 32]), &DIGEST, &mut rng(1)), Err(Refused::Engine));
    assert_eq!(only(suite.counters()), Fault::NoInverse);
    assert_eq!(chip.model().left(), [""; 0]);
}

#[test]
fn a_point_beside_the_curve_does_not_leave() {
    for bit in [0, 31, 255, 320, 500] {
        let (chip, mut suite) = accelerated();
        let (key, public) = (private([7; 32]), private([9; 32]));
        let public = suite.public_key(&public).expect("a point");
        chip.model().pka.failing = Some((0, Failure::Flipped(bit)));
        assert_eq!(suite.agree(&key, &public).err(), Some(Refused::Engine));
        assert_eq!(only(suite.counters()), Fault::OffCurve);
        chip.model().pka.failing = Some((0, Failure::Flipped(bit)));
        assert_eq!(suite.public_key(&key), Err(Refused::Engine));
        assert_eq!(chip.model().left(), [""; 0]);
    }
}

/// A faulty signature can tell the private key (Boneh, DeMillo, Lipton, EUROCRYPT 1997, and what
/// followed), so no bit of any result may be wrong in one that leaves.
#[test]
fn no_wrong_bit_in_any_step_of_a_signature_lets_a_wrong_signature_out() {
    let (chip, mut suite) = accelerated();
    let key = private([7; 32]);
    let public = suite.public_key(&key).expect("a point");
    chip.model().pka.begun.clear();
    let right = suite.sign(&key, &DIGEST, &mut rng(1)).expect("signed");
    let steps = chip.model().pka.begun.clone();
    assert_eq!(steps.iter().filter(|step| **step == ECC_MUL).count(), 2);
    let mut noticed = 0;
    for at in 0..steps.len() {
        for bit in [0, 77, 255] {
            chip.model().pka.failing = Some((at, Failure::Flipped(bit)));
            match suite.sign(&key, &DIGEST, &mut rng(1)) {
                // What the bit was in did not matter: a point's y, or what a remainder took away.
                Ok(signature) => assert_eq!(signature, right, "step {at}, bit {bit}"),
                Err(refused) => {
                    assert_eq!(refused, Refused::Engine);
                    noticed += 1;
                }
            }
            assert!(chip.model().pka.failing.is_none(), "the step was reached");
            assert_eq!(chip.model().left(), [""; 0]);
        }
    }
    assert_eq!(noticed, 3 * steps.len(), "each was noticed");
    assert_eq!(HalfWordsP256.verify(&public, &DIGEST, &right), Ok(()));
}

#[test]
fn no_wrong_bit_in_any_step_lets_a_signature_be_taken_or_refused_wrongly() {
    let (chip, mut suite) = accelerated();
    let key = private([7; 32]);
    let public = suite.public_key(&key).expect("a point");
    let right = suite.sign(&key, &DIGEST, &mut rng(1)).expect("signed");
    chip.model().pka.begun.clear();
    assert_eq!(suite.verify(&public, &DIGEST, &right), Ok(()));
    let steps = chip.model().pka.begun.clone();
    assert!(steps.contains(&ECC_ADD));
    for at in 0..steps.len() {
        for bit in [0, 77, 255] {
            chip.model().pka.failing = Some((at, Failure::Flipped(bit)));
            assert_eq!(suite.verify(&public, &DIGEST, &right), Err(Refused::Engine), "step {at}");
            chip.model().pka.failing = Some((at, Failure::Flipped(bit)));
            let other = suite.verify(&public, &[0; 32], &right);
            assert!(other.is_err(), "step {at}, bit {bit}");
            chip.model().pka.failing = None;
        }
    }
}

#[test]
fn each_failure_of_the_aes_engine_has_its_name_and_leaves_nothing() {
    for (failure, fault) in [
        (aes::Failure::KeyBus, Fault::DmaBus),
        (aes::Failure::KeyWrite, Fault::KeyStoreWrite),
        (aes::Failure::KeyLost, Fault::KeyStoreWrite),
        (aes::Failure::KeyRead, Fault::KeyStoreRead),
        (aes::Failure::KeyReadHangs, Fault::AesStuck),
        (aes::Failure::TextBus, Fault::DmaBus),
        (aes::Failure::TextHangs, Fault::AesStuck),
        (aes::Failure::TagHangs, Fault::AesStuck),
    ] {
        let (chip, mut suite) = accelerated();
        let (key, nonce) = (Secret::new([3; 16]), [1; 13]);
        let fail = || chip.model().aes.failing = Some((0, failure));
        fail();
        let before = chip.model().accesses;
        let mut text = *b"twenty bytes of text";
        assert_eq!(suite.aes().seal(&key, &nonce, b"with", &mut text), Err(Refused::Engine), "{failure:?}");
        let accesses = chip.model().accesses - before;
        assert!(accesses < 200, "{accesses} accesses");
        assert_eq!(only(suite.counters()), fault, "{failure:?}");
        assert_eq!((suite.counters().resets, suite.counters().unwiped), (1, 0), "{failure:?}");
        assert_eq!(chip.model().left(), [""; 0], "{failure:?}");

        let mut sealed = *b"twenty bytes of text";
        let tag = suite.aes().seal(&key, &nonce, b"with", &mut sealed).expect("it works again");
        fail();
        let opened = suite.aes().open(&key, &nonce, b"with", &mut sealed.clone(), &tag);
        assert_eq!(opened, Err(Refused::Engine), "{failure:?}");
        assert_eq!(chip.model().left(), [""; 0], "{failure:?}");
        assert_eq!(suite.aes().open(&key, &nonce, b"with", &mut sealed, &tag), Ok(()));
        assert_eq!(&sealed, b"twenty bytes of text");
    }
}

/// The second key of a call is the zero that overwrites the first.
#[test]
fn a_key_that_could_not_be_overwritten_is_overwritten_before_the_next_one() {
    let (chip, mut suite) = accelerated();
    let key = Secret::new([3; 16]);
    let mut block = [9; 16];
    chip.model().aes.failing = Some((1, aes::Failure::KeyBus));
    assert_eq!(suite.aes().encrypt_block(&key, &mut block), Err(Refused::Engine));
    assert_eq!(suite.counters().unwiped, 1);
    assert_eq!(chip.model().left(), ["the key in the store", "the key in the engine"]);
    let computed = chip.model().aes.computed.len();
    chip.model().aes.failing = Some((0, aes::Failure::KeyBus));
    assert_eq!(suite.aes().encrypt_block(&key, &mut block), Err(Refused::Engine));
    assert_eq!(chip.model().aes.computed.len(), computed, "nothing is computed before it is wiped");
    assert_eq!(suite.counters().unwiped, 2);
    let (mut ours, mut theirs) = ([9; 16], [9; 16]);
    assert_eq!(suite.aes().encrypt_block(&key, &mut ours), Ok(()));
    SoftwareAes.encrypt_block(&key, &mut theirs).expect("in software");
    assert_eq!(ours, theirs);
    assert_eq!(chip.model().left(), [""; 0]);
}

#[test]
fn the_engine_says_that_it_has_no_protection_against_side_channels() {
    let (_, mut suite) = accelerated();
    assert_eq!(suite.side_channel_protection(), 0);
}
