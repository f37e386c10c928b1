//! Hosts that know nobody by an address introduce themselves: credentials of P-256 by value.

use chacha20::ChaCha20Rng;
use motemix_crypto::Secret;
use motemix_neighbour::edhoc::{CipherSuite, CoseKey, Role, Suite2};
use motemix_neighbour::handshakes::{
    Admission, Admitted, Event, Failure, HandshakeDrop, Handshakes, Identity, MAX_MESSAGE_BY_VALUE, Peer,
};
use motemix_neighbour::suite::{P256, Suite as _};
use motemix_neighbour::{PrivateKey, PublicKey};
use motemix_time::Instant;
use rand_core::SeedableRng as _;
use std::cell::RefCell;
use std::time::Duration;

type Suite = Suite2<P256>;
const PEERS: [Peer; 2] = [Peer([1; 8]), Peer([2; 8])];

struct Friends {
    admitted: Vec<PublicKey>,
    proved: RefCell<Vec<PublicKey>>,
}

impl Admission for Friends {
    fn admitted(&self, _: Peer) -> Option<Admitted> {
        None
    }

    fn is_heard(&self, _: Peer) -> bool {
        true
    }

    fn introduced(&self, _: Peer, key: &CoseKey) -> bool {
        Suite::public_key(key).is_ok_and(|key| self.admitted.contains(&key))
    }

    fn proved(&self, _: Peer, key: &CoseKey) {
        self.proved.borrow_mut().extend(Suite::public_key(key));
    }
}

struct Host {
    public: PublicKey,
    handshakes: Handshakes<Suite, MAX_MESSAGE_BY_VALUE>,
    friends: Friends,
    rng: ChaCha20Rng,
}

fn pair() -> [Host; 2] {
    let mut hosts = [1, 2].map(|number: u8| {
        let mut rng = ChaCha20Rng::from_seed([number; 32]);
        let private = PrivateKey::generate(&mut rng);
        let public = P256.public_key(&private).expect("in software");
        let mut handshakes = Handshakes::with_room(Suite2(P256), Peer([0; 8]), &mut rng);
        let credential = Admitted { key: CoseKey::p256(&public), kid: 0 };
        handshakes.set_identity(Some(Identity::by_value(private, credential)));
        Host { public, handshakes, friends: Friends { admitted: vec![], proved: RefCell::default() }, rng }
    });
    let publics = [hosts[1].public, hosts[0].public];
    hosts.iter_mut().zip(publics).for_each(|(host, friend)| host.friends.admitted.push(friend));
    hosts
}

/// The first host calls the second. What is sent passes `carry`.
fn run(hosts: &mut [Host; 2], mut carry: impl FnMut(usize, &[u8]) -> Vec<Vec<u8>>) -> [Option<Event>; 2] {
    let mut now = Instant::from_micros(1_000_000);
    hosts[0].handshakes.call(now, PEERS[1], &hosts[0].friends);
    let mut events = [None, None];
    let mut count = 0;
    for _ in 0..20_000 {
        for at in 0..2 {
            let host = &mut hosts[at];
            host.handshakes.handle_timeout(now);
            while host.handshakes.work(now, &host.friends, &mut host.rng) {}
            events[at] = host.handshakes.poll_event().or(events[at].take());
            while let Some(transmit) = hosts[at].handshakes.poll_transmit(now) {
                for message in carry(count, transmit.as_bytes()) {
                    let to = &mut hosts[1 - at];
                    let _ = to.handshakes.handle(now, PEERS[at], &message, &to.friends);
                    while to.handshakes.work(now, &to.friends, &mut to.rng) {}
                }
                count += 1;
            }
        }
        if events.iter().all(Option::is_some) || matches!(events[0], Some(Event::Failed { .. })) {
            break;
        }
        now = now + Duration::from_millis(1);
    }
    events
}

fn failure(event: Option<&Event>) -> Option<Failure> {
    match event {
        Some(Event::Failed { reason, .. }) => Some(*reason),
        _ => None,
    }
}

#[test]
fn each_learns_who_the_other_is_and_both_have_one_key() {
    let mut hosts = pair();
    let mut lens = vec![];
    let events = run(&mut hosts, |_, message| {
        lens.push(message.len());
        vec![message.to_vec()]
    });
    let [
        Some(Event::Key { key: one, role: Role::Initiator, .. }),
        Some(Event::Key { key: other, role: Role::Responder, .. }),
    ] = &events
    else {
        panic!("{events:?}")
    };
    assert_eq!(one.expose(), other.expose());
    assert_eq!(*hosts[0].friends.proved.borrow(), [hosts[1].public]);
    assert_eq!(*hosts[1].friends.proved.borrow(), [hosts[0].public]);
    assert!(lens.iter().all(|len| *len <= MAX_MESSAGE_BY_VALUE), "{lens:?}");
    assert_eq!(lens, [1, 9, 46, 131, 104, 10]);
}

#[test]
fn whoever_is_not_admitted_is_told_nothing_and_counted() {
    let mut hosts = pair();
    hosts[1].friends.admitted.clear();
    let events = run(&mut hosts, |_, message| vec![message.to_vec()]);
    assert_eq!(failure(events[0].as_ref()), Some(Failure::Unconfirmed));
    assert!(hosts[1].handshakes.counters().dropped(HandshakeDrop::Stranger) > 0);
    assert!(hosts[1].friends.proved.borrow().is_empty());

    let mut hosts = pair();
    hosts[0].friends.admitted.clear();
    let events = run(&mut hosts, |_, message| vec![message.to_vec()]);
    assert_eq!(failure(events[0].as_ref()), Some(Failure::Unproved));
    assert!(hosts[0].handshakes.counters().dropped(HandshakeDrop::Stranger) > 0);
}

/// The router has another private key than the one that its credential shows.
#[test]
fn whoever_shows_a_key_that_it_has_not_proves_nothing() {
    let mut hosts = pair();
    let private = PrivateKey::new(Secret::new([9; 32])).expect("a scalar");
    let shown = Admitted { key: CoseKey::p256(&hosts[1].public), kid: 0 };
    hosts[1].handshakes.set_identity(Some(Identity::by_value(private, shown)));
    let events = run(&mut hosts, |_, message| vec![message.to_vec()]);
    assert_eq!(failure(events[0].as_ref()), Some(Failure::Unproved));
    assert!(hosts[0].handshakes.counters().dropped(HandshakeDrop::Unproved) > 0);
    assert!(hosts[0].friends.proved.borrow().is_empty());
}

/// A credential and an ephemeral key that are on no curve.
#[test]
fn points_off_the_curve_are_refused_with_one_reason() {
    let mut hosts = pair();
    let off = CoseKey::P256 { x: [3; 32], y: motemix_neighbour::edhoc::Y::Coordinate([5; 32]) };
    let private = PrivateKey::new(Secret::new([9; 32])).expect("a scalar");
    let shown = Admitted { key: off, kid: 0 };
    hosts[1].handshakes.set_identity(Some(Identity::by_value(private, shown)));
    let events = run(&mut hosts, |_, message| vec![message.to_vec()]);
    assert_eq!(failure(events[0].as_ref()), Some(Failure::Unproved));
    assert!(hosts[0].handshakes.counters().dropped(HandshakeDrop::PublicKey) > 0);

    let mut hosts = pair();
    let events = run(&mut hosts, |number, message| {
        let mut forged = message.to_vec();
        if number == 2 {
            // No point has an x above the field's prime.
            forged[13..45].fill(0xff);
        }
        vec![forged]
    });
    // Whoever called sends its message again, and this time it is not altered.
    assert!(matches!(events, [Some(Event::Key { .. }), Some(Event::Key { .. })]), "{events:?}");
    assert!(hosts[1].handshakes.counters().dropped(HandshakeDrop::PublicKey) > 0);
}

#[test]
fn an_altered_message_is_counted_and_the_right_one_still_counts() {
    for at in (1..10).chain([40, 60, 90, 104]) {
        for altered in [3, 4] {
            let mut hosts = pair();
            let events = run(&mut hosts, |number, message| {
                let mut forged = message.to_vec();
                if number == altered {
                    let at = at % forged.len();
                    forged[at.max(1)] ^= 1;
                    return vec![forged, message.to_vec()];
                }
                vec![forged]
            });
            assert!(
                matches!(events, [Some(Event::Key { .. }), Some(Event::Key { .. })]),
                "message {altered}, byte {at}: {events:?}"
            );
            let dropped: u32 = hosts
                .iter()
                .map(|host| {
                    let counters = host.handshakes.counters();
                    HandshakeDrop::ALL.iter().map(|reason| counters.dropped(*reason)).sum::<u32>()
                })
                .sum();
            assert!(dropped > 0, "message {altered}, byte {at}");
        }
    }
}
