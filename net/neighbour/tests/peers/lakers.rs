//! Handshakes of method 3 and suite 2 with lakers.

use crate::neighbours::{Neighbour, Private, exported};
use crate::python::{Python, bytes};
use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng as _, SeedableRng};
use motemix_crypto::Portable;
use motemix_neighbour::edhoc::initiator::Opening;
use motemix_neighbour::edhoc::responder::{Message1, Offer};
use motemix_neighbour::edhoc::{
    Ccs, ConnectionId, CredentialId, Ead, EadItem, Method, PeerCredential, Session, Suite0, Suite2,
    WithoutSignatures, initiator,
};
use motemix_neighbour::suite::P256;
use serde_json::json;

pub type Suite = WithoutSignatures<Suite2<P256>>;

/// Label 1 with the bytes that the peer sends too.
const EAD: &[u8] = b"\x01\x47motemix";

/// Somebody's credential as lakers wants it, with a subject.
pub fn neighbour(name: &str, kid: u8, rng: &mut ChaCha20Rng) -> Neighbour<Suite> {
    let mut made = Neighbour::<Suite>::new(Method::StaticKeys, &[kid], rng);
    let key = Ccs::parse(&made.ccs).expect("its own").key;
    let mut room = [0; 256];
    made.ccs = Ccs { subject: Some(name), kid: Some(&[kid]), key }.emit(&mut room).expect("room").to_vec();
    made
}

pub fn scalar(neighbour: &Neighbour<Suite>) -> String {
    match &neighbour.private {
        Private::Static(key) => hex::encode(key.expose()),
        Private::Signing(never) => match *never {},
    }
}

/// One of ours and one of theirs, with random names.
struct Meeting {
    rng: ChaCha20Rng,
    ours: Neighbour<Suite>,
    theirs: Neighbour<Suite>,
    connections: [u8; 2],
    by_value: bool,
    with_data: bool,
}

impl Meeting {
    fn new(seed: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut byte = || rng.next_u32() as u8;
        // From 00 to 17 and from 20 to 37, as lakers has them too.
        let [kid, other, c_i, c_r] = [(); 4].map(|()| byte() % 24 + (byte() % 2) * 32);
        let mut ours = neighbour("ours", kid, &mut rng);
        let theirs = neighbour("theirs", other, &mut rng);
        let (by_value, with_data) = (seed % 2 == 1, seed % 4 > 1);
        ours.by_value = by_value;
        ours.ead = if with_data { EAD.to_vec() } else { vec![] };
        Self { rng, ours, theirs, connections: [c_i, c_r], by_value, with_data }
    }

    fn connection(&self, which: usize) -> ConnectionId {
        ConnectionId::new(&[self.connections[which]]).expect("short")
    }

    /// The label of what the peer sends along.
    fn their_data(&self) -> Option<u32> {
        self.with_data.then_some(1)
    }

    fn check_data(&self, ead: Ead) {
        let expected = EadItem { label: 1, is_critical: false, value: Some(b"motemix") };
        assert_eq!(ead.items().next(), self.with_data.then_some(expected));
    }

    /// The credential that a message of theirs names, looked up or taken from the message.
    fn their_credential<'a>(&'a self, id: CredentialId<'a>) -> PeerCredential<'a, Suite> {
        let ccs = match id {
            CredentialId::Kid(kid) => {
                assert!(!self.by_value);
                assert_eq!(kid, self.theirs.kid);
                &self.theirs.ccs
            }
            CredentialId::Ccs(ccs) => {
                assert!(self.by_value);
                assert_eq!(ccs, self.theirs.ccs);
                ccs
            }
            CredentialId::Header(map) => panic!("{map:02x?}"),
        };
        PeerCredential::from_ccs(ccs, Method::StaticKeys).expect("a point")
    }

    fn we_begin(mut self, python: &mut Python) {
        let suite = &mut Suite::default();
        let opening = Opening {
            method: Method::StaticKeys,
            passed_over: &[],
            connection: self.connection(0),
            ead_1: self.ours.ead(),
        };
        let mut room = [0; 512];
        let (waiting, message_1) = initiator::begin(&opening, suite, &mut self.rng, &mut room).expect("room");
        let question = json!({
            "message": hex::encode(message_1), "key": scalar(&self.theirs), "own": hex::encode(&self.theirs.ccs),
            "connection": hex::encode([self.connections[1]]), "by_value": self.by_value, "ead": self.their_data(),
        });
        let answer = python.ask("answer", question).expect("message_2");
        assert_eq!(bytes(&answer, "connection"), [self.connections[0]]);
        assert_eq!(answer["ead"], if self.with_data { json!([1]) } else { json!([]) });
        let message_2 = bytes(&answer, "message");
        let received = waiting.read_message_2(message_2, &[], suite).expect("theirs");
        self.check_data(received.ead_2());
        let verified =
            received.verify_peer(&self.their_credential(received.id()), suite).expect("their credential");
        let mut room = [0; 512];
        let (completed, message_3) = verified
            .message_3(&self.ours.own(), self.ours.ead(), suite, &mut self.rng, &mut room)
            .expect("room");
        let question = json!({"message": hex::encode(message_3), "peer": hex::encode(&self.ours.ccs)});
        let answer = python.ask("accept", question).expect("message_4");
        let mut message_4 = bytes(&answer, "message");
        assert_eq!(completed.read_message_4(&mut message_4, &[], suite), Ok(Ead::NONE));
        let session = completed.into_session();
        assert_eq!(session.peer_connection(), &self.connection(1));
        compare(session, python);
    }

    fn they_begin(mut self, python: &mut Python) {
        let suite = &mut Suite::default();
        let question = json!({"connection": hex::encode([self.connections[0]]), "ead": self.their_data()});
        let message_1 = python.bytes("begin", question, "message");
        let offer = Offer { methods: &[Method::StaticKeys], suites: &[0, 2], understood: &[] };
        let parsed = Message1::parse(&message_1, &offer).expect("theirs");
        assert_eq!((parsed.suite(), parsed.connection()), (2, &self.connection(0)));
        self.check_data(parsed.ead_1());
        let agreed =
            parsed.ephemeral(suite, &mut self.rng).and_then(|step| step.agree(suite)).expect("a point");
        let (connection, own, ead) = (self.connection(1), self.ours.own(), self.ours.ead());
        let mut room = [0; 512];
        let (waiting, message_2) =
            agreed.authenticate(connection, &own, ead, suite, &mut self.rng, &mut room).expect("room");
        let question = json!({
            "message": hex::encode(message_2), "key": scalar(&self.theirs), "own": hex::encode(&self.theirs.ccs),
            "peer": hex::encode(&self.ours.ccs), "by_value": self.by_value, "ead": self.their_data(),
        });
        let answer = python.ask("finish", question).expect("message_3");
        assert_eq!(bytes(&answer, "connection"), [self.connections[1]]);
        let message_3 = bytes(&answer, "message");
        let received = waiting.read_message_3(message_3, &[], suite).expect("theirs");
        self.check_data(received.ead_3());
        let completed =
            received.verify_peer(&self.their_credential(received.id()), suite).expect("their credential");
        let mut room = [0; 64];
        let (session, message_4) = completed.message_4(Ead::NONE, suite, &mut room).expect("room");
        python.ask("confirm", json!({"message": hex::encode(message_4)})).expect("our message_4");
        compare(session, python);
    }
}

/// Both sides export the same, before and after an update. Only labels below 24 and contexts below
/// 256 bytes: lakers has other keys for longer ones. Those are compared with HKDF in the traces.
fn compare(mut session: Session, python: &mut Python) {
    for context in [&b""[..], b"hour 1", &[7; 255]] {
        for label in [0_u16, 1, 23] {
            let question = json!({"label": label, "context": hex::encode(context), "length": 32});
            let there = python.bytes("export", question, "key");
            assert_eq!(exported(&session, label, context, 32), there);
        }
        if !context.is_empty() {
            session.key_update(context).expect("a short context");
            python.ask("update", json!({"context": hex::encode(context)})).expect("an update");
        }
    }
}

#[test]
fn lakers_answers_whom_we_begin_with_by_name_and_by_value() {
    let mut python = Python::start();
    (0..16).for_each(|seed| Meeting::new(seed).we_begin(&mut python));
}

#[test]
fn we_answer_whom_lakers_begins_with_by_name_and_by_value() {
    let mut python = Python::start();
    (16..32).for_each(|seed| Meeting::new(seed).they_begin(&mut python));
}

#[test]
fn neither_takes_an_impostor_for_the_other() {
    let mut python = Python::start();
    let mut meeting = Meeting::new(32);
    let suite = &mut Suite::default();
    let message_1 = python.bytes("begin", json!({"connection": "05"}), "message");
    let (waiting, message_2) = meeting.ours.answer(&message_1, &mut meeting.rng).expect("theirs");
    let another = neighbour("ours", meeting.ours.kid[0], &mut meeting.rng);
    let finish = |message_2: &[u8], peer: &Neighbour<Suite>| {
        json!({
            "message": hex::encode(message_2), "key": scalar(&meeting.theirs), "own": hex::encode(&meeting.theirs.ccs),
            "peer": hex::encode(&peer.ccs), "by_value": false,
        })
    };
    let refused = python.ask("finish", finish(&message_2, &another)).expect_err("an impostor");
    assert!(!refused.0.is_empty());

    let message_1 = python.bytes("begin", json!({"connection": "05"}), "message");
    let (waiting_again, message_2) = meeting.ours.answer(&message_1, &mut meeting.rng).expect("theirs");
    let message_3 = python.bytes("finish", finish(&message_2, &meeting.ours), "message");
    // It is of another handshake than the first.
    assert!(waiting.read_message_3(message_3.clone(), &[], suite).is_err());
    let received = waiting_again.read_message_3(message_3, &[], suite).expect("theirs");
    assert!(received.verify_peer(&another.known(), suite).is_err());
    assert!(received.verify_peer(&meeting.theirs.known(), suite).is_ok());
}

#[test]
fn lakers_refuses_a_suite_that_it_does_not_speak() {
    let mut python = Python::start();
    let mut rng = ChaCha20Rng::seed_from_u64(33);
    let board = Neighbour::<Suite0<Portable>>::new(Method::StaticKeys, &[1], &mut rng);
    let (_, message_1) = board.begin(&mut rng);
    let theirs = neighbour("theirs", 2, &mut rng);
    let question = json!({
        "message": hex::encode(message_1), "key": scalar(&theirs), "own": hex::encode(&theirs.ccs),
        "connection": "06", "by_value": false,
    });
    python.ask("answer", question).expect_err("suite 0");
}
