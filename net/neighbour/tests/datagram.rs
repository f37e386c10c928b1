//! Two hosts exchange datagrams of one length under one key, past a stranger.

use motemix_crypto::Secret;
use motemix_neighbour::Refused;
use motemix_neighbour::datagram::{
    Content, Datagram, HANDSHAKE_OVERHEAD, MAX_FORGED, MAX_SEALED, OVERHEAD, PAYLOAD_OVERHEAD, Protected,
    SecurityContext, carry,
};
use motemix_neighbour::edhoc::Role;
use motemix_neighbour::suite::{Aes as _, SoftwareAes};
use proptest::prelude::*;
use std::collections::BTreeSet;

const LENGTH: usize = 128;
const NAME: [u8; 8] = *b"one name";

fn both() -> [SecurityContext; 2] {
    [Role::Initiator, Role::Responder].map(|role| SecurityContext::new(Secret::new([7; 16]), role))
}

fn sealed(context: &mut SecurityContext, text: &[u8]) -> [u8; LENGTH] {
    let mut datagram = [0xff; LENGTH];
    context.seal(&Content::Text { name: NAME, text }, &mut datagram).expect("it fits");
    datagram
}

fn protected(datagram: &[u8]) -> Protected<'_> {
    match Datagram::parse(datagram) {
        Ok(Datagram::Protected(protected)) => protected,
        other => panic!("{other:?}"),
    }
}

fn opened(context: &mut SecurityContext, datagram: &[u8]) -> Result<Vec<u8>, Refused> {
    let mut room = [0; LENGTH];
    match context.open(&protected(datagram), &mut room)? {
        (_, Content::Text { name, text }) => {
            assert_eq!(name, NAME);
            Ok(text.to_vec())
        }
        (_, other) => panic!("{other:?}"),
    }
}

/// Written out from the specification, and encrypted without the code under test.
#[test]
fn the_bytes_are_those_of_the_specification() {
    let [mut one, mut other] = both();
    let _ = sealed(&mut one, b"before");
    let datagram = sealed(&mut one, b"21.5");
    let header = [2, 0, 0, 0, 1];
    let mut plaintext = [0; LENGTH - 5 - 8];
    plaintext[..15].copy_from_slice(b"\x01\x00\x0cone name21.5");
    let nonce = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    let tag = SoftwareAes.seal(&Secret::new([7; 16]), &nonce, &header, &mut plaintext).expect("sealed");
    assert_eq!(datagram[..], [&header[..], &plaintext, &tag].concat());

    let mut datagram = [0xff; LENGTH];
    assert_eq!(other.seal(&Content::Receipt(1), &mut datagram), Ok(0));
    let header = [2, 0, 0, 0, 0];
    let mut plaintext = [0; LENGTH - 5 - 8];
    plaintext[..7].copy_from_slice(&[2, 0, 4, 0, 0, 0, 1]);
    let nonce = [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let tag = SoftwareAes.seal(&Secret::new([7; 16]), &nonce, &header, &mut plaintext).expect("sealed");
    assert_eq!(datagram[..], [&header[..], &plaintext, &tag].concat());

    let mut datagram = [0xff; PAYLOAD_OVERHEAD + 3];
    assert_eq!(other.seal(&Content::Payload(&[7, 8, 9]), &mut datagram), Ok(1));
    let header = [2, 0, 0, 0, 1];
    let mut plaintext = [3, 0, 3, 7, 8, 9];
    let nonce = [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    let tag = SoftwareAes.seal(&Secret::new([7; 16]), &nonce, &header, &mut plaintext).expect("sealed");
    assert_eq!(datagram[..], [&header[..], &plaintext, &tag].concat());
    let mut room = [0; LENGTH];
    assert_eq!(one.open(&protected(&datagram), &mut room), Ok((1, Content::Payload(&[7, 8, 9]))));

    let mut datagram = [0xff; 8];
    carry(&[1, 2], &mut datagram).expect("it fits");
    assert_eq!(datagram, [1, 0, 2, 1, 2, 0, 0, 0]);
}

#[test]
fn a_datagram_that_comes_back_to_its_sender_is_not_its_peers() {
    let [mut one, _] = both();
    let datagram = sealed(&mut one, b"hello");
    assert_eq!(opened(&mut one, &datagram), Err(Refused::Ciphertext));
}

#[test]
fn a_key_ends_after_its_numbers_and_no_number_comes_twice() {
    let [mut one, mut other] = both();
    let mut datagram = [0; OVERHEAD];
    let content = Content::Text { name: NAME, text: b"" };
    for number in 0..MAX_SEALED {
        assert_eq!(one.seal(&content, &mut datagram), Ok(number));
    }
    assert!(one.has_ended());
    let mut room = [0; OVERHEAD];
    assert!(other.open(&protected(&datagram), &mut room).is_ok());
    assert_eq!(one.seal(&content, &mut datagram), Err(Refused::Exhausted));
}

#[test]
fn a_key_ends_after_too_many_forgeries() {
    let [mut one, mut other] = both();
    let good = sealed(&mut one, b"hello");
    let mut room = [0; OVERHEAD];
    let forged = [2; OVERHEAD];
    for _ in 0..MAX_FORGED {
        assert_eq!(other.open(&protected(&forged), &mut room), Err(Refused::Ciphertext));
    }
    assert_eq!(opened(&mut other, &good), Err(Refused::Exhausted));
    assert!(other.has_ended());
}

#[test]
fn a_text_that_does_not_fit_uses_up_no_number() {
    let [mut one, mut other] = both();
    let mut datagram = [0; LENGTH];
    let text = [b'x'; LENGTH - OVERHEAD + 1];
    let content = Content::Text { name: NAME, text: &text };
    assert_eq!(one.seal(&content, &mut datagram), Err(Refused::Length));
    let [_, fits @ ..] = text;
    assert_eq!(one.sealed(), 0);
    let datagram = sealed(&mut one, &fits);
    assert_eq!(opened(&mut other, &datagram), Ok(fits.to_vec()));
}

#[test]
fn padding_that_is_not_zero_is_refused() {
    let mut datagram = [0; 12];
    carry(&[1, 2, 3], &mut datagram).expect("it fits");
    datagram[11] = 1;
    assert!(matches!(Datagram::parse(&datagram), Err(Refused::Kind)));
    let mut plaintext = [0; LENGTH - 5 - 8];
    plaintext[..7].copy_from_slice(&[2, 0, 4, 0, 0, 0, 1]);
    plaintext[50] = 1;
    let (header, nonce) = ([2, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let tag = SoftwareAes.seal(&Secret::new([7; 16]), &nonce, &header, &mut plaintext).expect("sealed");
    let datagram = [&header[..], &plaintext, &tag].concat();
    let [mut one, _] = both();
    assert_eq!(opened(&mut one, &datagram), Err(Refused::Kind));
}

proptest! {
    #[test]
    fn any_text_arrives_and_all_datagrams_are_of_one_length(
        texts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..=LENGTH - OVERHEAD), 0..20)
    ) {
        let [mut one, mut other] = both();
        for text in texts {
            let datagram = sealed(&mut one, &text);
            prop_assert_eq!(opened(&mut other, &datagram), Ok(text));
        }
    }

    #[test]
    fn an_altered_datagram_is_refused_and_changes_nothing(at in 0..LENGTH, change in 1u8..) {
        let [mut one, mut other] = both();
        let datagram = sealed(&mut one, b"21.5 degrees");
        let mut altered = datagram;
        altered[at] ^= change;
        if at > 0 {
            prop_assert_eq!(opened(&mut other, &altered), Err(Refused::Ciphertext));
        } else if let Ok(Datagram::Protected(_)) = Datagram::parse(&altered) {
            prop_assert!(false, "of another kind");
        }
        prop_assert_eq!(opened(&mut other, &datagram), Ok(b"21.5 degrees".to_vec()));
    }

    /// Against a set of all numbers that ever came.
    #[test]
    fn each_number_is_taken_once_and_none_from_behind_the_window(
        order in proptest::collection::vec(0u32..200, 0..300)
    ) {
        let [mut one, mut other] = both();
        let sent: Vec<_> = (0..200).map(|_| sealed(&mut one, b"x")).collect();
        let mut seen = BTreeSet::new();
        for number in order {
            let highest = seen.last().copied().unwrap_or(0);
            let is_fresh = !seen.contains(&number) && number + 64 > highest;
            let outcome = opened(&mut other, &sent[number as usize]);
            prop_assert_eq!(outcome.is_ok(), is_fresh, "{} after {}", number, highest);
            if outcome == Err(Refused::Replayed) {
                continue;
            }
            seen.insert(number);
        }
    }

    #[test]
    fn no_bytes_do_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in 0u8..4) {
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = kind;
        }
        let [mut one, _] = both();
        let mut room = [0; 256];
        match Datagram::parse(&bytes) {
            Ok(Datagram::Handshake(message)) => {
                let mut again = vec![0xff; bytes.len()];
                carry(message, &mut again).expect("it did fit");
                prop_assert_eq!(again, bytes.clone(), "there is one form only");
                prop_assert!(message.len() + HANDSHAKE_OVERHEAD <= bytes.len());
            }
            Ok(Datagram::Protected(protected)) => {
                prop_assert_eq!(one.open(&protected, &mut room), Err(Refused::Ciphertext));
            }
            Err(_) => {}
        }
    }
}
