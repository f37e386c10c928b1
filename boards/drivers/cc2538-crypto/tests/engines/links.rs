//! Whole handshakes between a node with the engines and one without.

use std::time::Duration;

use chacha20::ChaCha20Rng;
use motemix_cc2538_crypto::Counters;
use motemix_neighbour::diet::settled;
use motemix_neighbour::edhoc::initiator::{self, Opening};
use motemix_neighbour::edhoc::responder::{Message1, Offer};
use motemix_neighbour::edhoc::{
    Ccs, CipherSuite, ConnectionId, CoseKey, Credential, CredentialId, Ead, Method, OwnCredential, OwnKey,
    PeerCredential, Session, Suite2,
};
use motemix_neighbour::functions::{decrypt, encrypt, generate_key_pair, shared_key};
use motemix_neighbour::handshakes::{Admission, Admitted, Event, HandshakeDrop, Handshakes, Identity, Peer};
use motemix_neighbour::suite::{HalfWordsP256, Suite};
use motemix_neighbour::{PrivateKey, Refused};
use motemix_time::Instant;

use crate::{accelerated, aes, pka, private, rng};

#[test]
fn the_six_functions_work_between_the_engines_and_the_software() {
    let (_, mut suite) = accelerated();
    let mut rng = rng(1);
    let mine = generate_key_pair(&mut suite, &mut rng).expect("a pair");
    let theirs = generate_key_pair(&mut HalfWordsP256, &mut rng).expect("a pair");
    let ours = shared_key(&mut suite, &mine.private, &theirs.public).expect("a point");
    let same = shared_key(&mut HalfWordsP256, &theirs.private, &mine.public).expect("a point");
    let mut room = [0; 80];
    for len in 0..64 {
        let message = vec![len as u8; len];
        let ciphertext = encrypt(&mut suite, &ours, &message, &mut room).expect("room");
        assert_eq!(decrypt(&mut HalfWordsP256, &same, ciphertext).expect("its own"), message);
    }
}

fn shake_hands(one: &mut impl Suite, other: &mut impl Suite, rng: &mut ChaCha20Rng) {
    let sensor = settled::Identity::generate(one, rng).expect("an identity");
    let router = settled::Identity::generate(other, rng).expect("an identity");
    let (sensors, routers) = ([sensor.public_key()], [router.public_key()]);
    let (waiting, hello) = sensor.hello(one, rng).expect("a hello");
    let (pending, answer) =
        router.answer(&hello, settled::Admission::Of(&sensors), other, rng).expect("an answer");
    let mut at_sensor = waiting.finish(&answer, settled::Admission::Of(&routers), one).expect("a session");
    let mut room = [0; 128];
    let message = at_sensor.seal(b"21.5 degrees", &mut room, one, rng).expect("room");
    let (mut at_router, text) = pending.open(message, other).map_err(|(_, why)| why).expect("the message");
    assert_eq!(text, b"21.5 degrees");
    let receipt = at_router.seal(b"seen", &mut room, other, rng).expect("room");
    assert_eq!(at_sensor.open(receipt, one).expect("the receipt"), b"seen");
}

#[test]
fn the_settled_handshake_ends_in_either_direction() {
    let (chip, mut suite) = accelerated();
    let mut rng = rng(2);
    shake_hands(&mut suite, &mut HalfWordsP256, &mut rng);
    shake_hands(&mut HalfWordsP256, &mut suite, &mut rng);
    assert_eq!(suite.counters(), &Counters::default());
    assert_eq!(chip.model().left(), [""; 0]);
}

/// Who has this private key, and how others know it.
struct Party {
    private: PrivateKey,
    ccs: Vec<u8>,
    kid: [u8; 1],
}

impl Party {
    fn new(kid: u8, rng: &mut ChaCha20Rng) -> Self {
        let private = PrivateKey::generate(rng);
        let public = HalfWordsP256.public_key(&private).expect("in software");
        let (mut room, kid) = ([0; 128], [kid]);
        let ccs = Ccs { subject: None, kid: Some(&kid), key: CoseKey::p256(&public) };
        let ccs = ccs.emit(&mut room).expect("room").to_vec();
        Self { private, ccs, kid }
    }

    fn own<S>(&self, method: Method) -> OwnCredential<'_, S>
    where
        S: CipherSuite<PrivateKey = PrivateKey, SigningKey = PrivateKey>,
    {
        OwnCredential {
            id: CredentialId::Kid(&self.kid),
            credential: Credential::ccs(&self.ccs).expect("a Claims Set"),
            key: match method {
                Method::StaticKeys => OwnKey::Static(&self.private),
                Method::Signatures => OwnKey::Signing(&self.private),
            },
        }
    }
}

fn edhoc<I: Suite, R: Suite>(
    method: Method,
    one: &mut Suite2<I>,
    other: &mut Suite2<R>,
    rng: &mut ChaCha20Rng,
) -> Result<[Session; 2], Refused> {
    let [initiator, responder] = [1, 2].map(|kid| Party::new(kid, rng));
    let connection = ConnectionId::new(&[0x0a]).expect("short");
    let none = || Ead::new(&[]).expect("no items");
    let engine = |why: motemix_neighbour::edhoc::Refused| {
        assert_eq!(why, motemix_neighbour::edhoc::Refused::Engine);
        Refused::Engine
    };
    let mut room = [0; 512];
    let opening = Opening { method, passed_over: &[], connection, ead_1: none() };
    let (at_initiator, message) = initiator::begin(&opening, one, rng, &mut room).map_err(engine)?;
    let message_1 = message.to_vec();
    let offer = Offer { methods: &[method], suites: &[2], understood: &[] };
    let read = Message1::parse(&message_1, &offer).expect("message_1");
    let agreed = read.ephemeral(other, rng).map_err(engine)?.agree(other).map_err(engine)?;
    let own = responder.own::<Suite2<R>>(method);
    let answered = agreed.authenticate(connection, &own, none(), other, rng, &mut room);
    let (at_responder, message) = answered.map_err(engine)?;
    let received = at_initiator.read_message_2(message.to_vec(), &[], one).map_err(engine)?;
    let known = PeerCredential::from_ccs(&responder.ccs, method).expect("a key of the suite");
    let verified = received.verify_peer(&known, one).map_err(engine)?;
    let own = initiator.own::<Suite2<I>>(method);
    let (at_initiator, message) = verified.message_3(&own, none(), one, rng, &mut room).map_err(engine)?;
    let received = at_responder.read_message_3(message.to_vec(), &[], other).map_err(engine)?;
    let known = PeerCredential::from_ccs(&initiator.ccs, method).expect("a key of the suite");
    let at_responder = received.verify_peer(&known, other).map_err(engine)?;
    Ok([at_initiator.into_session(), at_responder.into_session()])
}

fn exported(session: &Session) -> [u8; 16] {
    let mut key = [0; 16];
    session.exporter(7, b"a story", &mut key).expect("a short key");
    key
}

#[test]
fn edhoc_ends_with_one_key_in_either_direction_and_both_methods() {
    let (chip, suite) = accelerated();
    let (mut engines, mut software) = (Suite2(suite), Suite2(HalfWordsP256));
    let mut rng = rng(4);
    for method in [Method::StaticKeys, Method::Signatures] {
        let [one, other] = edhoc(method, &mut engines, &mut software, &mut rng).expect("sessions");
        assert_eq!(exported(&one), exported(&other));
        let [one, other] = edhoc(method, &mut software, &mut engines, &mut rng).expect("sessions");
        assert_eq!(exported(&one), exported(&other));
    }
    assert_eq!(engines.0.counters(), &Counters::default());
    assert_eq!(chip.model().left(), [""; 0]);
}

/// Whichever operation of the engines hangs: the handshake ends with the reason, and the next one
/// ends with keys.
#[test]
fn a_handshake_on_an_engine_that_fails_ends_with_the_reason_and_the_next_one_works() {
    let (chip, suite) = accelerated();
    let (mut engines, mut software) = (Suite2(suite), Suite2(HalfWordsP256));
    let mut rng = rng(5);
    let operations = {
        chip.model().pka.begun.clear();
        edhoc(Method::Signatures, &mut software, &mut engines, &mut rng).expect("sessions");
        chip.model().pka.begun.len()
    };
    assert!(operations > 20, "a signature, its check, and two products");
    for at in 0..operations {
        chip.model().pka.failing = Some((at, pka::Failure::Hangs));
        let failed = edhoc(Method::Signatures, &mut software, &mut engines, &mut rng);
        assert_eq!(failed.err(), Some(Refused::Engine), "operation {at}");
        assert_eq!(chip.model().left(), [""; 0]);
    }
    edhoc(Method::Signatures, &mut software, &mut engines, &mut rng).expect("sessions");
}

/// One that both know.
struct Known(Admitted);

impl Admission for Known {
    fn admitted(&self, _: Peer) -> Option<Admitted> {
        Some(self.0)
    }
}

/// A node and whom it knows.
struct Node<S: Suite> {
    me: Peer,
    handshakes: Handshakes<Suite2<S>>,
    known: Known,
    rng: ChaCha20Rng,
    key: Option<[u8; 16]>,
}

impl<S: Suite> Node<S> {
    fn new(number: u8, suite: S, own: &PrivateKey, other: &PrivateKey) -> Self {
        let (me, mut rng) = (Peer([number; 8]), rng(number));
        let admitted = |key| {
            let public = HalfWordsP256.public_key(key).expect("in software");
            Admitted { key: CoseKey::p256(&public), kid: 3 }
        };
        let mut handshakes = Handshakes::new(Suite2(suite), me, &mut rng);
        handshakes.set_identity(Some(Identity::new(own.duplicate(), admitted(own))));
        Self { me, handshakes, known: Known(admitted(other)), rng, key: None }
    }

    /// Does all that can be done now, and gives what is to be sent.
    fn settle(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let mut sent = vec![];
        self.handshakes.handle_timeout(now);
        loop {
            let worked = self.handshakes.work(now, &self.known, &mut self.rng);
            let event = self.handshakes.poll_event();
            let transmit = self.handshakes.poll_transmit(now);
            if !worked && event.is_none() && transmit.is_none() {
                return sent;
            }
            if let Some(Event::Key { key, .. }) = event {
                self.key = Some(*key.expose());
            }
            sent.extend(transmit.map(|transmit| transmit.as_bytes().to_vec()));
        }
    }
}

/// Ten seconds of two nodes of which the first calls the second. The keys that they have then.
fn meet<I: Suite, R: Suite>(one: &mut Node<I>, other: &mut Node<R>) -> [Option<[u8; 16]>; 2] {
    let begin = Instant::from_micros(50_000_000);
    one.handshakes.call(begin, other.me, &one.known);
    for millis in 0..10_000 {
        let now = begin + Duration::from_millis(millis);
        for message in one.settle(now) {
            let _ = other.handshakes.handle(now, one.me, &message, &other.known);
        }
        for message in other.settle(now) {
            let _ = one.handshakes.handle(now, other.me, &message, &one.known);
        }
    }
    [one.key, other.key]
}

/// What fails in a handshake's engines.
#[derive(Clone, Copy, Debug)]
enum Failing {
    Nothing,
    Pka(usize),
    Aes(usize),
}

/// The messages of a handshake are sent again, so one failure of an engine costs time alone.
#[test]
fn a_handshake_outlives_a_failure_of_either_sides_engine_at_any_operation() {
    let keys = [private([1; 32]), private([2; 32])];
    for calls in [true, false] {
        let run = |failing| {
            let (chip, suite) = accelerated();
            chip.model().pka.begun.clear();
            match failing {
                Failing::Nothing => {}
                Failing::Pka(at) => chip.model().pka.failing = Some((at, pka::Failure::Hangs)),
                Failing::Aes(at) => chip.model().aes.failing = Some((at, aes::Failure::TextHangs)),
            }
            let mut engines = Node::new(1, suite, &keys[0], &keys[1]);
            let mut software = Node::new(2, HalfWordsP256, &keys[1], &keys[0]);
            let [one, other] =
                if calls { meet(&mut engines, &mut software) } else { meet(&mut software, &mut engines) };
            assert!(one.is_some() && one == other, "{failing:?}, calls: {calls}");
            assert_eq!(chip.model().left(), [""; 0]);
            let model = chip.model();
            let done = (model.pka.begun.len(), model.aes.computed.len());
            (done, engines.handshakes.counters().dropped(HandshakeDrop::Engine))
        };
        let ((products, texts), dropped) = run(Failing::Nothing);
        assert_eq!((products, texts, dropped), (4, 2, 0), "message_3 and message_4 have texts of CCM");
        let each = (0..products).map(Failing::Pka).chain((0..texts).map(Failing::Aes));
        for failing in each {
            assert_eq!(run(failing).1, 1, "{failing:?}, calls: {calls}");
        }
    }
}
