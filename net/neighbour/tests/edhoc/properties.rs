//! Properties: whatever is drawn, two neighbours agree; whatever is altered, repeated or out of
//! order, nobody shares keys with whom it does not mean.

use crate::neighbours::{Keys, Neighbour, Pair, accept, exported};
use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use motemix_crypto::Portable;
use motemix_neighbour::edhoc::initiator::AwaitingMessage2;
use motemix_neighbour::edhoc::responder::AwaitingMessage3;
use motemix_neighbour::edhoc::{CipherSuite, ConnectionId, Method, Session, Suite0, Suite2};
use motemix_neighbour::suite::P256;
use proptest::prelude::*;
use proptest::sample::Index;

/// What a neighbour may choose.
#[derive(Debug, Clone)]
struct Choice {
    kid: Vec<u8>,
    by_value: bool,
    connection: Vec<u8>,
    ead: Option<Vec<u8>>,
}

fn choice() -> impl Strategy<Value = Choice> {
    let bytes = |len| prop::collection::vec(any::<u8>(), len);
    (bytes(0..40), any::<bool>(), bytes(0..9), prop::option::of(bytes(0..60)))
        .prop_map(|(kid, by_value, connection, ead)| Choice { kid, by_value, connection, ead })
}

fn apply<S: Keys>(choice: &Choice, method: Method, rng: &mut ChaCha20Rng) -> Neighbour<S> {
    let mut neighbour = Neighbour::new(method, &choice.kid, rng);
    neighbour.by_value = choice.by_value;
    neighbour.connection = ConnectionId::new(&choice.connection).expect("short");
    if let Some(value) = &choice.ead {
        // Label 1, and a byte string with a head of two bytes from 24 on.
        let head =
            if value.len() < 24 { vec![0x40 + value.len() as u8] } else { vec![0x58, value.len() as u8] };
        neighbour.ead = [&[0x01][..], &head, value].concat();
    }
    neighbour
}

/// Runs a test in each suite.
macro_rules! in_suite {
    ($is_p256:expr, $run:ident($($argument:expr),*)) => {
        if $is_p256 { $run::<Suite2<P256>>($($argument),*) } else { $run::<Suite0<Portable>>($($argument),*) }
    };
}

fn method(has_signatures: bool) -> Method {
    if has_signatures { Method::Signatures } else { Method::StaticKeys }
}

fn agree<S: Keys>(seed: u64, method: Method, choices: &[Choice; 2], label: u16, context: &[u8], len: usize) {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let [initiator, responder] = choices.each_ref().map(|choice| apply::<S>(choice, method, &mut rng));
    let mut sessions = Pair { rng, initiator, responder }.shake_hands(|_, _| ()).expect("a handshake");
    for _ in 0..2 {
        let [first, second] = sessions.each_ref().map(|session| exported(session, label, context, len));
        assert_eq!(first, second);
        for session in &mut sessions {
            session.key_update(context).expect("a short context");
        }
        assert!(len < 8 || first != exported(&sessions[0], label, context, len));
    }
}

/// What happens to a message.
#[derive(Debug, Clone)]
enum Damage {
    Change(Index, u8),
    Cut(Index),
    Insert(Index, u8),
    Replace(Vec<u8>),
}

impl Damage {
    /// The message, changed for certain.
    fn apply(&self, message: &mut Vec<u8>) {
        match self {
            Self::Change(at, mask) => {
                let at = at.index(message.len());
                message[at] ^= mask;
            }
            Self::Cut(at) => message.truncate(at.index(message.len())),
            Self::Insert(at, byte) => {
                let at = at.index(message.len() + 1);
                message.insert(at, *byte);
                // The same byte beside itself is another message still: longer by one.
            }
            Self::Replace(bytes) if bytes != message => message.clone_from(bytes),
            Self::Replace(_) => message.push(0),
        }
    }
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        4 => (any::<Index>(), 1..=u8::MAX).prop_map(|(at, mask)| Damage::Change(at, mask)),
        1 => any::<Index>().prop_map(Damage::Cut),
        1 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Insert(at, byte)),
        1 => prop::collection::vec(any::<u8>(), 0..200).prop_map(Damage::Replace),
    ]
}

fn refuse<S: Keys>(seed: u64, method: Method, choices: &[Choice; 2], which: usize, damage: &Damage) {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let [initiator, responder] = choices.each_ref().map(|choice| apply::<S>(choice, method, &mut rng));
    let mut pair = Pair { rng, initiator, responder };
    let sessions = pair.shake_hands(|number, message| {
        if number == which {
            damage.apply(message);
        }
    });
    assert!(sessions.is_err());
}

/// One of the ends, which takes whatever comes.
enum End<S: CipherSuite> {
    Initiator(AwaitingMessage2<S>),
    Responder(AwaitingMessage3<S>),
}

/// Two initiators and one responder; each message ever sent is delivered to each end again and
/// again, in the order that was drawn.
fn shuffle<S: Keys>(seed: u64, method: Method, order: &[(Index, Index)]) {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let [one, other, responder] = [1, 2, 3].map(|kid| Neighbour::<S>::new(method, &[kid], &mut rng));
    let initiators = [&one, &other];
    let mut sent: Vec<Vec<u8>> = vec![];
    let mut ends = vec![];
    let mut sessions: [Vec<Session>; 2] = [vec![], vec![]];
    for initiator in initiators {
        let (waiting, message_1) = initiator.begin(&mut rng);
        ends.push((initiator, End::Initiator(waiting)));
        sent.push(message_1);
    }
    let mut deliver = |message: usize, to: usize| {
        let message = sent[message % sent.len()].clone();
        let (neighbour, end) = &ends[to % ends.len()];
        match end {
            End::Initiator(waiting) => {
                if let Ok((completed, message_3)) =
                    neighbour.finish(waiting, &message, &responder.known(), &mut rng)
                {
                    sent.push(message_3);
                    sessions[0].push(completed.into_session());
                }
            }
            End::Responder(waiting) => {
                for peer in initiators {
                    if let Ok(completed) = accept(waiting, &message, &peer.known()) {
                        sessions[1].push(completed.into_session());
                    }
                }
            }
        }
        if ends.len() < 6
            && let Ok((waiting, message_2)) = responder.answer(&message, &mut rng)
        {
            ends.push((&one, End::Responder(waiting)));
            sent.push(message_2);
        }
        sent.len()
    };
    let mut count = 1;
    for (message, to) in order {
        count = deliver(message.index(count), to.index(6));
    }
    // After all that, one handshake in order still succeeds.
    for message in 0..count + 4 {
        (0..6).for_each(|to| _ = deliver(message, to));
    }
    assert!(sessions.iter().all(|ended| !ended.is_empty()));
    // Whoever was accepted had said so, in this very handshake.
    let [at_initiators, at_responder] = &sessions;
    for session in at_responder {
        let same = at_initiators.iter().find(|other| other.transcript() == session.transcript());
        let same = same.expect("an initiator that sent message_3");
        assert_eq!(exported(same, 0, b"", 16), exported(session, 0, b"", 16));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn two_neighbours_agree_whatever_they_choose(
        seed: u64,
        is_p256: bool,
        has_signatures: bool,
        choices in [choice(), choice()],
        label: u16,
        context in prop::collection::vec(any::<u8>(), 0..300),
        len in 0_usize..400,
    ) {
        in_suite!(is_p256, agree(seed, method(has_signatures), &choices, label, &context, len));
    }

    #[test]
    fn an_altered_handshake_ends_without_keys(
        seed: u64,
        is_p256: bool,
        has_signatures: bool,
        choices in [choice(), choice()],
        which in 1_usize..=3,
        damage in damage(),
    ) {
        in_suite!(is_p256, refuse(seed, method(has_signatures), &choices, which, &damage));
    }

    #[test]
    fn messages_that_are_repeated_or_out_of_order_make_nobody_share_keys_with_another(
        seed: u64,
        is_p256: bool,
        has_signatures: bool,
        order in prop::collection::vec(any::<(Index, Index)>(), 1..30),
    ) {
        in_suite!(is_p256, shuffle(seed, method(has_signatures), &order));
    }
}
