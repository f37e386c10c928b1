//! Handshakes with aiocoap over CoAP (RFC 9528, appendix A), and requests under OSCORE with their
//! keys: aiocoap has EDHOC of lakers, CoAP and OSCORE of its own.
//!
//! `scripts/neighbour/coap_peer.py` lists what is to be known about aiocoap. lakers encodes exporter
//! labels from 24 on wrongly, but OSCORE needs labels 0 and 1 alone.

use std::thread;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng as _, SeedableRng};
use coap_lite::{Packet, ResponseType};
use motemix_neighbour::edhoc::responder::{self, AwaitingMessage3};
use motemix_neighbour::edhoc::{
    ConnectionId, Ead, ErrorMessage, Method, PeerCredential, Refused, Session, initiator,
};
use serde_json::{Value, json};

use crate::coap::{self, Client, EDHOC, Server, is_success, post, response};
use crate::lakers::{Suite, neighbour, scalar};
use crate::neighbours::{Neighbour, accept, exported};
use crate::oscore::{Context, NotProtected};
use crate::python::{Python, RefusedThere, bytes};

/// What comes before message_1 in a request (RFC 9528, A.2.1): `true` in CBOR.
const BEGINNING: u8 = 0xf5;
const EDHOC_PATH: [&str; 2] = [".well-known", "edhoc"];

/// Who ended a handshake, or did not take what came after it.
#[derive(Debug)]
#[allow(dead_code, reason = "what is in them is for whoever reads a failure")]
enum Ended {
    /// The peer: its response without protection.
    There(Packet),
    Here(Refused),
}

impl From<Refused> for Ended {
    fn from(refused: Refused) -> Self {
        Self::Here(refused)
    }
}

/// Changes a message on its way, by its number.
type Carry<'c> = &'c mut dyn FnMut(usize, &mut Vec<u8>);

/// One of ours and one of theirs, and whom each takes the other for.
struct Meeting {
    rng: ChaCha20Rng,
    ours: Neighbour<Suite>,
    theirs: Neighbour<Suite>,
    ours_there: Vec<u8>,
    theirs_here: Vec<u8>,
}

impl Meeting {
    fn new(seed: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let ours = neighbour("ours", 0x01, &mut rng);
        let theirs = neighbour("theirs", 0x02, &mut rng);
        let [ours_there, theirs_here] = [&ours, &theirs].map(|side| side.ccs.clone());
        Self { rng, ours, theirs, ours_there, theirs_here }
    }

    /// With other bytes in each run; `MOTEMIX_SEED` repeats one.
    fn anew() -> Self {
        let seed = std::env::var("MOTEMIX_SEED").ok().map(|seed| seed.parse().expect("a number"));
        let seed = seed.unwrap_or_else(|| u64::from(getrandom::u32().expect("random bytes")));
        println!("to repeat: MOTEMIX_SEED={seed}");
        Self::new(seed)
    }

    fn payload(&mut self) -> Vec<u8> {
        let mut payload = vec![0; 1 + self.rng.next_u32() as usize % 200];
        self.rng.fill_bytes(&mut payload);
        payload
    }

    /// The message once for each of its bytes, with that byte changed at random.
    fn altered(&mut self, message: &[u8]) -> Vec<Vec<u8>> {
        let altered = (0..message.len()).map(|at| {
            let mut altered = message.to_vec();
            altered[at] ^= 1 + (self.rng.next_u32() % 255) as u8;
            altered
        });
        altered.collect()
    }

    fn known(&self) -> PeerCredential<'_, Suite> {
        PeerCredential::from_ccs(&self.theirs_here, Method::StaticKeys).expect("a key of the suite")
    }

    /// How aiocoap knows itself and the peer.
    fn credentials_there(&self) -> Value {
        json!({
            "key": scalar(&self.theirs), "own": hex::encode(&self.theirs.ccs),
            "peer": hex::encode(&self.ours_there), "by_value": self.theirs.by_value,
        })
    }

    /// A server of aiocoap, which has forgotten all handshakes before.
    fn server(&self, python: &mut Python) -> Client {
        let answer = python.ask("serve", self.credentials_there()).expect("it serves");
        Client::of(answer["port"].as_u64().expect("a number").try_into().expect("a port"))
    }

    /// Our handshake with aiocoap up to message_3, which has not left.
    fn begin_with(
        &mut self,
        client: &Client,
        carry: Carry,
    ) -> Result<(initiator::Completed, Vec<u8>), Ended> {
        let (waiting, mut message_1) = self.ours.begin(&mut self.rng);
        carry(1, &mut message_1);
        let answer = client.request(post(&EDHOC_PATH, [&[BEGINNING], &message_1[..]].concat()));
        let mut message_2 =
            if is_success(&answer) { answer.payload } else { return Err(Ended::There(answer)) };
        carry(2, &mut message_2);
        let peer = PeerCredential::from_ccs(&self.theirs_here, Method::StaticKeys)?;
        let (completed, mut message_3) = self.ours.finish(&waiting, &message_2, &peer, &mut self.rng)?;
        carry(3, &mut message_3);
        Ok((completed, message_3))
    }

    /// aiocoap's handshake with us, then its request: what it says at the end.
    fn answer(
        &mut self,
        python: &mut Python,
        payload: &[u8],
        combined: bool,
        carry: Carry,
    ) -> (Result<Vec<u8>, RefusedThere>, Answered) {
        let mut server = Server::new();
        let mut question = self.credentials_there();
        question["port"] = server.port().into();
        question["payload"] = hex::encode(payload).into();
        question["combined"] = combined.into();
        let mut responder = Responder { meeting: self, carry, waiting: None, answered: Answered::default() };
        let end = server.end();
        thread::scope(|scope| {
            let asked = scope.spawn(|| {
                let answer = python.ask("request", question);
                end();
                answer.map(|answer| bytes(&answer, "payload"))
            });
            server.serve(|request| responder.answer(&request));
            (asked.join().expect("it was asked"), responder.answered)
        })
    }
}

/// What our responder saw of a handshake.
#[derive(Default)]
struct Answered {
    context: Option<Context>,
    requests: Vec<Vec<u8>>,
    refused: Option<Refused>,
    took_message_4: bool,
}

/// Answers aiocoap's handshake and what it requests.
struct Responder<'m, 'c> {
    meeting: &'m mut Meeting,
    carry: Carry<'c>,
    waiting: Option<AwaitingMessage3<Suite>>,
    answered: Answered,
}

impl Responder<'_, '_> {
    fn answer(&mut self, request: &Packet) -> Packet {
        self.try_answer(request).unwrap_or_else(|refused| {
            self.answered.refused = Some(refused);
            let mut room = [0; 16];
            let message = ErrorMessage::Unspecified("refused").emit(&mut room).expect("room");
            response(ResponseType::BadRequest, message.to_vec())
        })
    }

    fn try_answer(&mut self, request: &Packet) -> Result<Packet, Refused> {
        if coap::path(request) != EDHOC_PATH.map(str::as_bytes) {
            return self.protected(request);
        }
        match &request.payload[..] {
            [BEGINNING, message_1 @ ..] => {
                let mut message_1 = message_1.to_vec();
                (self.carry)(1, &mut message_1);
                // The two names of a connection differ. Here the initiator's stands before its one
                // data item, each in a byte.
                let taken = message_1[message_1.len() - 2];
                let Meeting { rng, ours, .. } = &mut *self.meeting;
                ours.connection = ConnectionId::new(&[if taken == 0x0a { 0x0b } else { 0x0a }])?;
                let (waiting, mut message_2) = ours.answer(&message_1, rng)?;
                self.waiting = Some(waiting);
                (self.carry)(2, &mut message_2);
                Ok(response(ResponseType::Changed, message_2))
            }
            // The identifier stands in front of a message_3 that comes by itself.
            [_, message_3 @ ..] => {
                let completed = self.take_message_3(message_3)?;
                let mut room = [0; 64];
                let (session, message_4) =
                    completed.message_4(Ead::NONE, &mut Suite::default(), &mut room)?;
                self.answered.context = Some(Context::of(&session));
                self.answered.took_message_4 = true;
                Ok(response(ResponseType::Changed, message_4.to_vec()))
            }
            [] => Err(Refused::Malformed),
        }
    }

    fn take_message_3(&mut self, message_3: &[u8]) -> Result<responder::Completed, Refused> {
        let waiting = self.waiting.as_ref().ok_or(Refused::Malformed)?;
        let mut message_3 = message_3.to_vec();
        (self.carry)(3, &mut message_3);
        accept(waiting, &message_3, &self.meeting.known())
    }

    /// A request under OSCORE, with message_3 in front or without.
    fn protected(&mut self, request: &Packet) -> Result<Packet, Refused> {
        let mut request = request.clone();
        if request.get_option(EDHOC).is_some() {
            // A byte string, of more than 23 bytes with a credential in it.
            let len = match request.payload[..] {
                [0x58, len, ..] => 2 + usize::from(len),
                [head @ 0x40..0x58, ..] => 1 + usize::from(head - 0x40),
                _ => return Err(Refused::Malformed),
            };
            let (message_3, rest) = request.payload.split_at_checked(len).ok_or(Refused::Malformed)?;
            self.answered.context = Some(Context::of(&self.take_message_3(message_3)?.into_session()));
            request.payload = rest.to_vec();
        }
        let context = self.answered.context.as_ref().ok_or(Refused::Malformed)?;
        (self.carry)(4, &mut request.payload);
        let (inner, id) = context.open_request(&request).map_err(|_| Refused::Ciphertext)?;
        assert_eq!(coap::path(&inner), [b"turned"]);
        self.answered.requests.push(inner.payload.clone());
        let payload = inner.payload.into_iter().rev().collect();
        let mut outer = context.protect_response(&id, &response(ResponseType::Changed, payload));
        (self.carry)(5, &mut outer.payload);
        Ok(outer)
    }
}

/// Posts under OSCORE, with message_3 in front or without, and returns what comes back under the
/// same keys.
fn post_protected(
    client: &Client,
    context: &mut Context,
    message_3: &[u8],
    payload: &[u8],
    carry: Carry,
) -> Result<Vec<u8>, Ended> {
    let (mut request, id) = context.protect_request(&post(&["turned"], payload.to_vec()));
    carry(4, &mut request.payload);
    if !message_3.is_empty() {
        request.add_option(EDHOC, vec![]);
        request.payload = [message_3, &request.payload].concat();
    }
    let mut answer = client.request(request);
    carry(5, &mut answer.payload);
    let inner = context.open_response(&id, &answer).map_err(|_| Ended::There(answer))?;
    assert!(is_success(&inner), "{inner:?}");
    Ok(inner.payload)
}

/// The keys of a session, with one bit of the secret or of the salt changed.
fn with_one_bit_changed(session: &Session, of_secret: bool) -> Context {
    let (mut secret, mut salt) = (exported(session, 0, b"", 16), exported(session, 1, b"", 8));
    *if of_secret { &mut secret[15] } else { &mut salt[0] } ^= 1;
    let [sender, recipient] = [session.peer_connection(), session.own_connection()];
    Context::new(&secret, &salt, sender.as_bytes(), recipient.as_bytes())
}

fn undisturbed(_: usize, _: &mut Vec<u8>) {}

fn turned(payload: &[u8]) -> Vec<u8> {
    payload.iter().rev().copied().collect()
}

#[test]
fn aiocoap_answers_message_3_and_a_first_request_in_one() {
    let mut python = Python::over_coap();
    for by_value in [false, true] {
        let mut meeting = Meeting::new(u64::from(by_value));
        (meeting.ours.by_value, meeting.theirs.by_value) = (by_value, by_value);
        let client = meeting.server(&mut python);
        let (completed, message_3) =
            meeting.begin_with(&client, &mut undisturbed).expect("an undisturbed handshake");
        let mut context = Context::of(&completed.into_session());
        let mut message_3 = &message_3[..];
        for _ in 0..3 {
            let payload = meeting.payload();
            let answer = post_protected(&client, &mut context, message_3, &payload, &mut undisturbed);
            assert_eq!(answer.expect("the same keys"), turned(&payload));
            message_3 = &[];
        }
    }
}

#[test]
fn aiocoap_confirms_message_3_that_comes_by_itself() {
    let mut python = Python::over_coap();
    let mut meeting = Meeting::new(2);
    let client = meeting.server(&mut python);
    let (completed, message_3) =
        meeting.begin_with(&client, &mut undisturbed).expect("an undisturbed handshake");
    // lakers' name for a connection has one byte, which is CBOR's for a number: it stands as it is.
    let connection = completed.session().peer_connection().as_bytes();
    let answer = client.request(post(&EDHOC_PATH, [connection, &message_3].concat()));
    assert!(is_success(&answer), "{answer:?}");
    for mut altered in meeting.altered(&answer.payload) {
        completed.read_message_4(&mut altered, &[], &mut Suite::default()).expect_err("an altered message_4");
    }
    let mut message_4 = answer.payload;
    assert_eq!(completed.read_message_4(&mut message_4, &[], &mut Suite::default()), Ok(Ead::NONE));
    let mut context = Context::of(&completed.into_session());
    let payload = meeting.payload();
    let answer = post_protected(&client, &mut context, &[], &payload, &mut undisturbed);
    assert_eq!(answer.expect("the same keys"), turned(&payload));
}

#[test]
fn aiocoap_begins_and_sends_message_3_by_itself_or_with_its_request() {
    let mut python = Python::over_coap();
    for (seed, combined) in (3..).zip([true, false, true, false]) {
        let mut meeting = Meeting::new(seed);
        meeting.theirs.by_value = seed > 4;
        let payload = meeting.payload();
        let (answer, ours) = meeting.answer(&mut python, &payload, combined, &mut undisturbed);
        assert_eq!(ours.refused, None);
        assert_eq!(answer.expect("the same keys"), turned(&payload));
        assert_eq!(ours.requests, [payload]);
        assert_eq!(ours.took_message_4, !combined);
    }
}

#[test]
fn one_other_bit_in_a_master_secret_or_salt_opens_nothing() {
    let mut python = Python::over_coap();
    let mut meeting = Meeting::new(7);
    let client = meeting.server(&mut python);
    let (completed, message_3) =
        meeting.begin_with(&client, &mut undisturbed).expect("an undisturbed handshake");
    let session = completed.into_session();
    let mut context = Context::of(&session);
    let payload = meeting.payload();
    post_protected(&client, &mut context, &message_3, &payload, &mut undisturbed).expect("the same keys");
    for of_secret in [true, false] {
        let mut wrong = with_one_bit_changed(&session, of_secret);
        // A number that aiocoap has not seen: otherwise it would look no further.
        wrong.next = 100;
        let refused = post_protected(&client, &mut wrong, &[], &payload, &mut undisturbed);
        assert!(matches!(refused, Err(Ended::There(_))), "{refused:?}");
        // What aiocoap answers under its keys is not opened with these.
        let (request, id) = context.protect_request(&post(&["turned"], payload.clone()));
        let answer = client.request(request);
        assert!(is_success(&answer), "{answer:?}");
        assert_eq!(wrong.open_response(&id, &answer), Err(NotProtected));
        assert!(context.open_response(&id, &answer).is_ok());
    }
    // The resource is there for those with the keys, and for nobody else.
    let answer = client.request(post(&["turned"], payload.clone()));
    assert!(!is_success(&answer), "{answer:?}");
    let answer = post_protected(&client, &mut context, &[], &payload, &mut undisturbed);
    assert_eq!(answer.expect("the same keys"), turned(&payload));
}

#[test]
fn neither_takes_whom_it_does_not_know() {
    let mut python = Python::over_coap();
    let payload = b"for whom?";
    let impostor = |name, kid, seed| {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        neighbour(name, kid, &mut rng).ccs
    };

    // aiocoap knows another key under our name.
    let mut meeting = Meeting::new(8);
    meeting.ours_there = impostor("ours", 0x01, 80);
    let client = meeting.server(&mut python);
    let (completed, message_3) =
        meeting.begin_with(&client, &mut undisturbed).expect("aiocoap proves its key first");
    let mut context = Context::of(&completed.into_session());
    let refused = post_protected(&client, &mut context, &message_3, payload, &mut undisturbed);
    assert!(matches!(refused, Err(Ended::There(_))), "{refused:?}");
    let (refused, ours) = meeting.answer(&mut python, payload, true, &mut undisturbed);
    refused.expect_err("our message_2");
    assert!(ours.context.is_none() && ours.refused.is_none());

    // We know another key under its name.
    let mut meeting = Meeting::new(9);
    meeting.theirs_here = impostor("theirs", 0x02, 90);
    let client = meeting.server(&mut python);
    let refused = meeting.begin_with(&client, &mut undisturbed).map(|_| ());
    assert!(matches!(refused, Err(Ended::Here(Refused::Mac))), "{refused:?}");
    for combined in [true, false] {
        let (refused, ours) = meeting.answer(&mut python, payload, combined, &mut undisturbed);
        refused.expect_err("no message_4 and no response");
        assert!(ours.context.is_none());
        assert_eq!(ours.refused, Some(Refused::Mac));
    }
}

/// Counts, for each of the five messages, how often `ended` was refused with one byte of it changed,
/// until the message had no further byte. Unchanged, it is taken.
fn each_byte_altered(
    meeting: &mut Meeting,
    mut ended: impl FnMut(&mut Meeting, Carry) -> bool,
) -> [usize; 5] {
    [1, 2, 3, 4, 5].map(|number| {
        let mut at = 0;
        loop {
            let change = 1 + (meeting.rng.next_u32() % 255) as u8;
            let mut changed = false;
            let has_ended = ended(meeting, &mut |which, message| {
                if let (true, Some(byte)) = (which == number, message.get_mut(at)) {
                    *byte ^= change;
                    changed = true;
                }
            });
            assert_eq!(has_ended, changed, "message {number}, byte {at} xor {change:02x}");
            if !changed {
                return at;
            }
            at += 1;
        }
    })
}

#[test]
fn each_altered_byte_of_a_handshake_that_we_begin_is_refused() {
    let (mut python, mut meeting) = (Python::over_coap(), Meeting::anew());
    let lens = each_byte_altered(&mut meeting, |meeting, carry| {
        let client = meeting.server(&mut python);
        let Ok((completed, message_3)) = meeting.begin_with(&client, carry) else { return true };
        let mut context = Context::of(&completed.into_session());
        post_protected(&client, &mut context, &message_3, b"1234", carry).is_err()
    });
    assert_eq!(lens, [37, 45, 19, 21, 14]);
}

#[test]
fn each_altered_byte_of_a_handshake_that_aiocoap_begins_is_refused() {
    let (mut python, mut meeting) = (Python::over_coap(), Meeting::anew());
    let lens = each_byte_altered(&mut meeting, |meeting, carry| {
        let (answer, _) = meeting.answer(&mut python, b"1234", true, carry);
        answer.is_err()
    });
    assert_eq!(lens, [38, 45, 19, 21, 14]);
}
