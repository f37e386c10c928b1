//! The paper's two propositions, and the attacks that its protocol leaves open: each works on the
//! protocol to the letter and fails on the settled one.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use motemix_neighbour::Refused;
use motemix_neighbour::diet::literal::{self, Node, Peer};
use motemix_neighbour::diet::settled::{Admission, Identity, OVERHEAD, Pending, Session, claimed};
use motemix_neighbour::suite::P256;
use proptest::prelude::*;

type Rng = ChaCha20Rng;
type Datagram = Vec<u8>;

/// A sensor and a router after the handshake of the paper.
struct Letter {
    rng: Rng,
    sensor: Node,
    /// The router, as the sensor knows it.
    router: Peer,
    /// The sensor, as the router knows it.
    at_router: Peer,
    router_node: Node,
}

impl Letter {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::seed_from_u64(seed);
        let [sensor, router_node] =
            [(); 2].map(|()| Node::generate(&mut P256, &mut rng).expect("in software"));
        let router = sensor.meet(&router_node.keys(), &mut P256).expect("keys");
        let at_router = router_node.meet(&sensor.keys(), &mut P256).expect("keys");
        Self { rng, sensor, router, at_router, router_node }
    }

    fn message(&mut self, text: &[u8]) -> Datagram {
        let mut room = vec![0; literal::message_len(text.len())];
        let sent = self.sensor.protect(&self.router, text, &mut room, &mut P256, &mut self.rng);
        sent.expect("room").to_vec()
    }

    fn arrives(&mut self, datagram: &[u8]) -> Result<Vec<u8>, Refused> {
        open(&mut self.at_router, datagram)
    }
}

fn open(peer: &mut Peer, datagram: &[u8]) -> Result<Vec<u8>, Refused> {
    peer.open(&mut datagram.to_vec(), &mut P256).map(|text| text.to_vec())
}

/// Two neighbours after the settled handshake and its first message.
struct Settled {
    rng: Rng,
    sensor: Identity,
    router: Identity,
    /// Of the sensor, and of the router.
    sessions: [Session; 2],
}

impl Settled {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::seed_from_u64(seed);
        let [sensor, router] =
            [(); 2].map(|()| Identity::generate(&mut P256, &mut rng).expect("in software"));
        let (mut at_sensor, pending) = handshake(&sensor, &router, &mut rng);
        let first = seal(&mut at_sensor, b"first", &mut rng);
        let (at_router, _) = pending.open(&mut first.clone(), &mut P256).expect("it proves the sensor");
        Self { rng, sensor, router, sessions: [at_sensor, at_router] }
    }

    fn message(&mut self, text: &[u8]) -> Datagram {
        seal(&mut self.sessions[0], text, &mut self.rng)
    }

    fn arrives(&mut self, datagram: &[u8]) -> Result<Vec<u8>, Refused> {
        arrives(&mut self.sessions[1], datagram)
    }
}

fn handshake(sensor: &Identity, router: &Identity, rng: &mut Rng) -> (Session, Pending) {
    let (sensors, routers) = ([sensor.public_key()], [router.public_key()]);
    let (initiator, hello) = sensor.hello(&mut P256, rng).expect("in software");
    let (pending, answer) = router.answer(&hello, Admission::Of(&sensors), &mut P256, rng).expect("a hello");
    (initiator.finish(&answer, Admission::Of(&routers), &mut P256).expect("an answer"), pending)
}

fn seal(session: &mut Session, text: &[u8], rng: &mut Rng) -> Datagram {
    let mut room = vec![0; OVERHEAD + text.len()];
    session.seal(text, &mut room, &mut P256, rng).expect("room").to_vec()
}

fn arrives(session: &mut Session, datagram: &[u8]) -> Result<Vec<u8>, Refused> {
    session.open(&mut datagram.to_vec(), &mut P256).map(|text| text.to_vec())
}

#[test]
fn proposition_1_no_bit_of_a_message_can_be_changed() {
    let mut letter = Letter::new(1);
    let mut settled = Settled::new(1);
    let (first, second) = (letter.message(b"21.5 degrees"), settled.message(b"21.5 degrees"));
    for bit in 0..8 * first.len() {
        assert!(letter.arrives(&flipped(&first, bit)).is_err(), "bit {bit}");
    }
    for bit in 0..8 * second.len() {
        assert!(settled.arrives(&flipped(&second, bit)).is_err(), "bit {bit}");
    }
    assert_eq!(letter.arrives(&first).unwrap(), b"21.5 degrees");
    assert_eq!(settled.arrives(&second).unwrap(), b"21.5 degrees");
}

fn flipped(datagram: &[u8], bit: usize) -> Datagram {
    let mut altered = datagram.to_vec();
    altered[bit / 8] ^= 1 << (bit % 8);
    altered
}

#[test]
fn proposition_2_a_message_is_taken_once() {
    let mut letter = Letter::new(2);
    let mut settled = Settled::new(2);
    let (first, second) = (letter.message(b"21.5"), settled.message(b"21.5"));
    assert!(letter.arrives(&first).is_ok() && settled.arrives(&second).is_ok());
    assert_eq!(letter.arrives(&first), Err(Refused::Replayed));
    // Whoever lost the receipt says the same bytes. Nobody else can say more of that number.
    assert_eq!(settled.arrives(&second), Err(Refused::Repeated));
    for bit in 72..8 * second.len() {
        assert_eq!(settled.arrives(&flipped(&second, bit)), Err(Refused::Replayed), "bit {bit}");
    }
    let third = settled.message(b"21.6");
    assert!(settled.arrives(&third).is_ok());
    assert_eq!(settled.arrives(&second), Err(Refused::Replayed), "its receipt is another");
    // With another R1 the signature is another's.
    assert_eq!(letter.arrives(&flipped(&first, 0)), Err(Refused::Signature));
    assert_eq!(settled.arrives(&flipped(&second, 66)), Err(Refused::Ciphertext));
}

#[test]
fn attack_a_replay_after_the_receiver_forgot_or_restarted() {
    let mut letter = Letter::new(3);
    let old = letter.message(b"open the door");
    assert!(letter.arrives(&old).is_ok());
    for _ in 0..literal::REMEMBERED {
        let next = letter.message(b"nothing new");
        letter.arrives(&next).unwrap();
    }
    assert_eq!(letter.arrives(&old).unwrap(), b"open the door", "the door opens again");
    // And after the sensor's keys were sent once more, by anybody.
    let mut met_again = letter.router_node.meet(&letter.sensor.keys(), &mut P256).unwrap();
    assert_eq!(open(&mut met_again, &old).unwrap(), b"open the door");

    let mut settled = Settled::new(3);
    let old = settled.message(b"open the door");
    settled.arrives(&old).unwrap();
    for _ in 0..200 {
        let next = settled.message(b"nothing new");
        settled.arrives(&next).unwrap();
    }
    assert_eq!(settled.arrives(&old), Err(Refused::Replayed));
}

#[test]
fn a_replayed_hello_gives_nobody_a_session() {
    let mut rng = Rng::seed_from_u64(4);
    let [sensor, router] = [(); 2].map(|()| Identity::generate(&mut P256, &mut rng).expect("in software"));
    let sensors = [sensor.public_key()];
    let (initiator, hello) = sensor.hello(&mut P256, &mut rng).expect("in software");
    let mut answers = || router.answer(&hello, Admission::Of(&sensors), &mut P256, &mut rng).unwrap();
    let ((first, answer), (again, _)) = (answers(), answers());
    let mut session = initiator.finish(&answer, Admission::Anybody, &mut P256).unwrap();
    let old = seal(&mut session, b"open the door", &mut rng);
    first.open(&mut old.clone(), &mut P256).expect("the handshake that was meant");
    let (_, refused) = again.open(&mut old.clone(), &mut P256).expect_err("another handshake's");
    assert_eq!(refused, Refused::Ciphertext);
}

#[test]
fn attack_equal_readings_look_equal() {
    let reading = b"temperature 21.5 degrees, door closed";
    let mut letter = Letter::new(5);
    let ciphertexts = [(); 2].map(|()| letter.message(reading)[literal::NUMBER_LEN..][..48].to_vec());
    assert_eq!(ciphertexts[0], ciphertexts[1], "nothing has changed, everybody sees");

    let mut settled = Settled::new(5);
    let ciphertexts = [(); 2].map(|()| settled.message(reading)[9..][..reading.len()].to_vec());
    assert_ne!(ciphertexts[0], ciphertexts[1]);
}

#[test]
fn attack_a_man_in_the_middle_exchanges_the_keys() {
    let mut letter = Letter::new(6);
    let mallory = Node::generate(&mut P256, &mut letter.rng).expect("in software");
    // Both meet Mallory instead of each other, and Mallory reads and rewrites.
    letter.router = letter.sensor.meet(&mallory.keys(), &mut P256).unwrap();
    letter.at_router = letter.router_node.meet(&mallory.keys(), &mut P256).unwrap();
    let mut from_sensor = mallory.meet(&letter.sensor.keys(), &mut P256).unwrap();
    let to_router = mallory.meet(&letter.router_node.keys(), &mut P256).unwrap();
    let sent = letter.message(b"all is well");
    assert_eq!(open(&mut from_sensor, &sent).unwrap(), b"all is well");
    let mut room = [0; 200];
    let forged = mallory.protect(&to_router, b"fire!", &mut room, &mut P256, &mut letter.rng);
    assert_eq!(letter.arrives(forged.unwrap()).unwrap(), b"fire!");

    let mut settled = Settled::new(6);
    let mallory = Identity::generate(&mut P256, &mut settled.rng).expect("in software");
    let (sensors, routers) = ([settled.sensor.public_key()], [settled.router.public_key()]);
    let (initiator, hello) = settled.sensor.hello(&mut P256, &mut settled.rng).expect("in software");
    let answer = mallory.answer(&hello, Admission::Anybody, &mut P256, &mut settled.rng).unwrap().1;
    let finished = initiator.finish(&answer, Admission::Of(&routers), &mut P256);
    assert_eq!(finished.err(), Some(Refused::Stranger));
    let (_, hello_of_mallory) = mallory.hello(&mut P256, &mut settled.rng).expect("in software");
    let answered =
        settled.router.answer(&hello_of_mallory, Admission::Of(&sensors), &mut P256, &mut settled.rng);
    assert_eq!(answered.err(), Some(Refused::Stranger));
    // Nor with the router's name on keys of Mallory's.
    let mut hello = hello;
    hello[9..42].copy_from_slice(&hello_of_mallory[9..42]);
    let (_, answer) = settled
        .router
        .answer(&hello, Admission::Of(&sensors), &mut P256, &mut settled.rng)
        .expect("the sensor's identity, but not its key");
    let finished = initiator.finish(&answer, Admission::Of(&routers), &mut P256);
    assert_eq!(finished.err(), Some(Refused::Signature));
}

#[test]
fn attack_a_message_to_one_router_is_taken_by_another() {
    let mut letter = Letter::new(7);
    let other = Node::generate(&mut P256, &mut letter.rng).expect("in software");
    let mut at_other = other.meet(&letter.sensor.keys(), &mut P256).unwrap();
    // Its signature names no receiver, so what the other decrypts, it believes if the padding
    // happens to be right: one message of 256.
    let taken = (0..2000_u16).filter(|reading| {
        let to_router = letter.message(&reading.to_be_bytes());
        open(&mut at_other, &to_router).is_ok()
    });
    assert!(taken.count() > 0, "garbage in the sensor's name");

    let mut settled = Settled::new(7);
    let other = Identity::generate(&mut P256, &mut settled.rng).expect("in software");
    let (mut to_other, pending) = handshake(&settled.sensor, &other, &mut settled.rng);
    let first = seal(&mut to_other, b"first", &mut settled.rng);
    let mut at_other = pending.open(&mut first.clone(), &mut P256).expect("the sensor's").0;
    for _ in 0..100 {
        let to_router = settled.message(b"21.5");
        assert_eq!(arrives(&mut at_other, &to_router), Err(Refused::Ciphertext));
    }
}

#[test]
fn a_nodes_own_message_does_not_come_back_to_it() {
    let mut settled = Settled::new(8);
    let mine = settled.message(b"21.5");
    assert_eq!(arrives(&mut settled.sessions[0], &mine), Err(Refused::Ciphertext));
    let Settled { sessions: [at_sensor, at_router], rng, .. } = &mut settled;
    let back = seal(at_router, b"thank you", rng);
    assert_eq!(arrives(at_sensor, &back).unwrap(), b"thank you");
}

#[test]
fn messages_may_overtake_each_other_by_63() {
    let mut settled = Settled::new(9);
    let messages: Vec<_> = (0..200_u8).map(|number| settled.message(&[number])).collect();
    settled.arrives(&messages[100]).unwrap();
    for late in (37..100).rev() {
        assert_eq!(settled.arrives(&messages[late]).unwrap(), [late as u8]);
        assert_eq!(settled.arrives(&messages[late]), Err(Refused::Repeated));
    }
    assert_eq!(settled.arrives(&messages[36]), Err(Refused::Replayed));
    settled.arrives(&messages[199]).unwrap();
    assert_eq!(settled.arrives(&messages[135]), Err(Refused::Replayed));
    assert!(settled.arrives(&messages[136]).is_ok());
}

#[test]
fn a_wrong_first_message_leaves_the_handshake_open() {
    let mut rng = Rng::seed_from_u64(10);
    let [sensor, router] = [(); 2].map(|()| Identity::generate(&mut P256, &mut rng).expect("in software"));
    let (mut session, mut pending) = handshake(&sensor, &router, &mut rng);
    assert_eq!(pending.claimed(), sensor.public_key());
    let right = seal(&mut session, b"hello", &mut rng);
    for wrong in [&right[1..], &[], &flipped(&right, 100), &flipped(&right, 8 * right.len() - 1)] {
        let (still, _) = pending.open(&mut wrong.to_vec(), &mut P256).expect_err("wrong");
        pending = still;
    }
    let (session, message) = pending.open(&mut right.clone(), &mut P256).map(own).expect("right");
    assert_eq!((message, session.peer()), (b"hello".to_vec(), sensor.public_key()));
}

fn own((session, message): (Session, &mut [u8])) -> (Session, Vec<u8>) {
    (session, message.to_vec())
}

#[test]
fn a_person_is_told_whom_a_hello_and_an_answer_say_that_they_are_of() {
    let mut world = Settled::new(17);
    let (_, hello) = world.sensor.hello(&mut P256, &mut world.rng).expect("in software");
    let answered = world.router.answer(&hello, Admission::Anybody, &mut P256, &mut world.rng);
    let (_, answer) = answered.expect("in software");
    assert_eq!(claimed(&hello), Some(*world.sensor.public_key().as_bytes()));
    assert_eq!(claimed(&answer), Some(*world.router.public_key().as_bytes()));
    // Neither a part of one, nor one of another kind, nor a message as long.
    assert_eq!([&hello[1..], &answer[..74], &[0; 75], &[3; 139], &[]].map(claimed), [None; 5]);
    let message = world.message(&[0; 58]);
    assert_eq!((message.len(), claimed(&message)), (139, None));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn strangers_bytes_are_refused_whatever_they_are(
        mut bytes in prop::collection::vec(any::<u8>(), 0..300),
        kind in 0..4_u8,
    ) {
        if let Some(first) = bytes.first_mut() {
            *first = kind;
        }
        let mut letter = Letter::new(11);
        let mut settled = Settled::new(11);
        prop_assert!(letter.arrives(&bytes).is_err() && settled.arrives(&bytes).is_err());
        let initiator = settled.sensor.hello(&mut P256, &mut settled.rng).expect("in software").0;
        prop_assert!(initiator.finish(&bytes, Admission::Anybody, &mut P256).is_err());
        let answered = settled.router.answer(&bytes, Admission::Of(&[]), &mut P256, &mut settled.rng);
        prop_assert!(answered.is_err());
    }

    #[test]
    fn every_message_arrives_as_it_was(text in prop::collection::vec(any::<u8>(), 0..200)) {
        let (mut letter, mut settled) = (Letter::new(12), Settled::new(12));
        let datagram = letter.message(&text);
        prop_assert_eq!(letter.arrives(&datagram).unwrap(), text.clone());
        let datagram = settled.message(&text);
        prop_assert_eq!(settled.arrives(&datagram).unwrap(), text);
    }
}
