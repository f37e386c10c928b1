//! Two hosts exchange datagrams that are repeated, reordered and altered, while a stranger sends
//! whatever it likes.
#![cfg_attr(fuzzing, no_main)]

use std::collections::BTreeSet;

use arbitrary::Arbitrary;
use motemix_crypto::Secret;
use motemix_fuzz::{Damage, fuzz_target};
use motemix_neighbour::Refused;
use motemix_neighbour::datagram::{Content, Datagram, Protected, SecurityContext, carry};
use motemix_neighbour::edhoc::Role;

const LENGTH: usize = 160;

#[derive(Arbitrary, Debug)]
enum Step {
    Seal {
        from: bool,
        text: Vec<u8>,
    },
    Receipt {
        from: bool,
        number: u32,
    },
    Payload {
        from: bool,
        payload: Vec<u8>,
    },
    /// One of those that were sealed, altered or not.
    Arrive {
        which: u8,
        damage: Option<Damage>,
    },
    Raw(Vec<u8>),
}

struct Sent {
    from: bool,
    bytes: Vec<u8>,
    carried: Carried,
}

enum Carried {
    Text(Vec<u8>),
    Receipt(u32),
    Payload(Vec<u8>),
}

fuzz_target!(|steps: Vec<Step>| {
    let side = |role| SecurityContext::new(Secret::new([7; 16]), role);
    let mut sides = [side(Role::Initiator), side(Role::Responder)];
    let (mut sent, mut taken) = (Vec::<Sent>::new(), BTreeSet::new());
    for step in steps {
        let mut datagram = vec![0xff; LENGTH];
        match step {
            Step::Seal { from, text } => {
                let content = Content::Text { name: [1; 8], text: &text };
                if sides[usize::from(from)].seal(&content, &mut datagram).is_ok() {
                    sent.push(Sent { from, bytes: datagram, carried: Carried::Text(text) });
                }
            }
            Step::Receipt { from, number } => {
                if sides[usize::from(from)].seal(&Content::Receipt(number), &mut datagram).is_ok() {
                    sent.push(Sent { from, bytes: datagram, carried: Carried::Receipt(number) });
                }
            }
            Step::Payload { from, payload } => {
                if sides[usize::from(from)].seal(&Content::Payload(&payload), &mut datagram).is_ok() {
                    sent.push(Sent { from, bytes: datagram, carried: Carried::Payload(payload) });
                }
            }
            Step::Arrive { which, damage } => {
                let which = usize::from(which);
                let Some(one) = sent.get(which) else { continue };
                let mut bytes = one.bytes.clone();
                if let Some(damage) = damage {
                    damage.apply(&mut bytes);
                }
                let is_altered = bytes != one.bytes;
                let Some(protected) = protected(&bytes) else {
                    assert!(is_altered);
                    continue;
                };
                let mut room = [0; 2 * LENGTH];
                match sides[usize::from(!one.from)].open(&protected, &mut room) {
                    Ok((_, content)) => {
                        assert!(!is_altered && taken.insert(which), "altered, or taken twice");
                        match (content, &one.carried) {
                            (Content::Text { text, .. }, Carried::Text(sealed)) => assert_eq!(text, sealed),
                            (Content::Receipt(number), Carried::Receipt(sealed)) => {
                                assert_eq!(number, *sealed);
                            }
                            (Content::Payload(payload), Carried::Payload(sealed)) => {
                                assert_eq!(payload, sealed);
                            }
                            (other, _) => panic!("{other:?}"),
                        }
                    }
                    Err(refused) => {
                        assert!(is_altered || refused == Refused::Replayed, "{refused:?}");
                    }
                }
            }
            Step::Raw(bytes) => read_anything(&bytes, &mut sides),
        }
    }
});

fn protected(bytes: &[u8]) -> Option<Protected<'_>> {
    match Datagram::parse(bytes) {
        Ok(Datagram::Protected(protected)) => Some(protected),
        _ => None,
    }
}

fn read_anything(bytes: &[u8], sides: &mut [SecurityContext; 2]) {
    match Datagram::parse(bytes) {
        Ok(Datagram::Handshake(message)) => {
            let mut again = vec![0xff; bytes.len()];
            carry(message, &mut again).expect("it did fit");
            assert_eq!(again, bytes, "there is one form only");
        }
        Ok(Datagram::Protected(protected)) => {
            let mut room = vec![0; bytes.len()];
            for side in sides {
                assert_eq!(side.open(&protected, &mut room), Err(Refused::Ciphertext));
            }
        }
        Err(_) => {}
    }
}
