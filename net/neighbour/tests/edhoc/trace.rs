//! The messages of RFC 9529, made and read by the public steps.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fs;
use std::path::Path;

use chacha20::rand_core::{TryCryptoRng, TryRng};
use hkdf::Hkdf;
use motemix_crypto::{Portable, Secret};
use motemix_neighbour::PrivateKey;
use motemix_neighbour::edhoc::cipher_suite::Ed25519Key;
use motemix_neighbour::edhoc::initiator::{self, AwaitingMessage2, Opening, VerifiedResponder};
use motemix_neighbour::edhoc::responder::{self, AwaitingMessage3, Message1, Offer};
use motemix_neighbour::edhoc::{
    CipherSuite, ConnectionId, CoseKey, Credential, CredentialId, Ead, ErrorMessage, Method, OwnCredential,
    OwnKey, PeerCredential, PeerKey, Refused, Session, Suite0, Suite2, Suites, Y,
};
use motemix_neighbour::suite::P256;
use serde_json::Value;
use sha2::Sha256;

/// Gives the bytes of a trace instead of random ones.
struct Replay(VecDeque<u8>);

impl TryRng for Replay {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unimplemented!("bytes are drawn")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        unimplemented!("bytes are drawn")
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.fill_with(|| self.0.pop_front().expect("the trace has no more random bytes"));
        Ok(())
    }
}

impl TryCryptoRng for Replay {}

fn vectors() -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/edhoc.json");
    serde_json::from_str(&fs::read_to_string(file).expect("the vectors")).expect("JSON")
}

struct Trace(Value);

impl Trace {
    fn read(name: &str) -> Self {
        Self(vectors()[name].clone())
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        hex::decode(self.0[name].as_str().unwrap_or_else(|| panic!("{name}"))).expect("hex")
    }

    fn array<const N: usize>(&self, name: &str) -> [u8; N] {
        self.bytes(name).try_into().expect("the value's length")
    }

    fn message(&self, number: usize) -> Vec<u8> {
        self.bytes(&format!("message_{number} (CBOR Sequence)"))
    }

    fn replay(&self, name: &str) -> Replay {
        Replay(self.bytes(name).into())
    }

    fn connection(&self, name: &str) -> ConnectionId {
        ConnectionId::new(&self.bytes(name)).expect("a short one")
    }

    /// SUITES_I without the last.
    fn passed_over(&self) -> Vec<i16> {
        match &self.bytes("SUITES_I (CBOR Data Item)")[..] {
            [_] => vec![],
            [0x82, first, _] => vec![(*first).into()],
            other => panic!("{other:02x?}"),
        }
    }
}

/// One of the two traces, ready to run.
struct Case<S: CipherSuite> {
    trace: Trace,
    method: Method,
    own: [Own<S>; 2],
    peer_keys: [CoseKey; 2],
    ids: [Vec<u8>; 2],
    credentials: [Vec<u8>; 2],
}

/// A private key, for steps to borrow.
enum Own<S: CipherSuite> {
    Static(S::PrivateKey),
    Signing(S::SigningKey),
}

const INITIATOR: usize = 0;
const RESPONDER: usize = 1;

impl<S: CipherSuite> Case<S> {
    fn new(trace: Trace, method: Method, own: [Own<S>; 2], peer_keys: [CoseKey; 2]) -> Self {
        let name = if method == Method::Signatures { "" } else { " (CBOR Data Item)" };
        let ids = ["I", "R"].map(|side| trace.bytes(&format!("ID_CRED_{side} (CBOR Data Item)")));
        let credentials = ["I", "R"].map(|side| trace.bytes(&format!("CRED_{side}{name}")));
        Self { trace, method, own, peer_keys, ids, credentials }
    }

    fn credential(&self, side: usize) -> Credential<'_> {
        let made = match self.method {
            Method::Signatures => Credential::certificate(&self.credentials[side]),
            Method::StaticKeys => Credential::ccs(&self.credentials[side]),
        };
        made.expect("a credential")
    }

    fn own(&self, side: usize) -> OwnCredential<'_, S> {
        OwnCredential {
            id: CredentialId::from_header(&self.ids[side]).expect("ID_CRED"),
            credential: self.credential(side),
            key: match &self.own[side] {
                Own::Static(key) => OwnKey::Static(key),
                Own::Signing(key) => OwnKey::Signing(key),
            },
        }
    }

    fn peer(&self, side: usize) -> PeerCredential<'_, S> {
        let key = match self.method {
            Method::StaticKeys => {
                PeerKey::Static(S::public_key(&self.peer_keys[side]).expect("of the suite"))
            }
            Method::Signatures => {
                PeerKey::Verifying(S::verifying_key(&self.peer_keys[side]).expect("of the suite"))
            }
        };
        PeerCredential { credential: self.credential(side), key }
    }

    fn begin(&self, suite: &mut S) -> AwaitingMessage2<S> {
        let passed_over = self.trace.passed_over();
        let opening = Opening {
            method: self.method,
            passed_over: &passed_over,
            connection: self.trace.connection("C_I"),
            ead_1: Ead::NONE,
        };
        let mut room = [0; 64];
        let (waiting, message_1) =
            initiator::begin(&opening, suite, &mut self.trace.replay("X"), &mut room).expect("room");
        assert_eq!(message_1, self.trace.message(1));
        waiting
    }

    fn answer(&self, message_1: &[u8], suite: &mut S) -> Result<(AwaitingMessage3<S>, Vec<u8>), Refused> {
        let offer = Offer { methods: &[self.method], suites: &[S::NUMBER], understood: &[] };
        let mut room = [0; 256];
        let mut rng = self.trace.replay("Y");
        let connection = self.trace.connection("C_R");
        let agreed = Message1::parse(message_1, &offer)?.ephemeral(suite, &mut rng)?.agree(suite)?;
        let (waiting, message_2) =
            agreed.authenticate(connection, &self.own(RESPONDER), Ead::NONE, suite, &mut rng, &mut room)?;
        Ok((waiting, message_2.to_vec()))
    }

    fn verify_responder(
        &self,
        waiting: &AwaitingMessage2<S>,
        message_2: &[u8],
        suite: &mut S,
    ) -> Result<VerifiedResponder<S>, Refused> {
        let received = waiting.read_message_2(message_2.to_vec(), &[], suite)?;
        received.verify_peer(&self.peer(RESPONDER), suite)
    }

    fn finish(&self, verified: VerifiedResponder<S>, suite: &mut S) -> (initiator::Completed, Vec<u8>) {
        let mut room = [0; 128];
        let own = self.own(INITIATOR);
        let (completed, message_3) = verified
            .message_3(&own, Ead::NONE, suite, &mut Replay(VecDeque::new()), &mut room)
            .expect("room");
        (completed, message_3.to_vec())
    }

    fn verify_initiator(
        &self,
        waiting: &AwaitingMessage3<S>,
        message_3: &[u8],
        suite: &mut S,
    ) -> Result<responder::Completed, Refused> {
        waiting.read_message_3(message_3.to_vec(), &[], suite)?.verify_peer(&self.peer(INITIATOR), suite)
    }

    /// Runs the handshake and compares all that leaves it.
    fn follow(&self, suite: &mut S) {
        let at_initiator = self.begin(suite);
        let (at_responder, message_2) = self.answer(&self.trace.message(1), suite).expect("the trace's");
        assert_eq!(message_2, self.trace.message(2));

        let received = at_initiator.read_message_2(message_2.clone(), &[], suite).expect("the trace's");
        assert_eq!(received.id(), self.own(RESPONDER).id);
        let verified = received.verify_peer(&self.peer(RESPONDER), suite).expect("the trace's");
        let (at_initiator, message_3) = self.finish(verified, suite);
        assert_eq!(message_3, self.trace.message(3));

        let received = at_responder.read_message_3(message_3, &[], suite).expect("the trace's");
        assert_eq!(received.id(), self.own(INITIATOR).id);
        let at_responder = received.verify_peer(&self.peer(INITIATOR), suite).expect("the trace's");
        let mut room = [0; 32];
        let (at_responder, message_4) = at_responder.message_4(Ead::NONE, suite, &mut room).expect("room");
        assert_eq!(message_4, self.trace.message(4));
        assert_eq!(at_initiator.read_message_4(&mut message_4.to_vec(), &[], suite), Ok(Ead::NONE));
        self.compare_sessions([at_initiator.into_session(), at_responder]);
    }

    fn compare_sessions(&self, mut sessions: [Session; 2]) {
        for session in &mut sessions {
            assert_eq!(session.transcript()[..], self.trace.bytes("TH_4"));
            self.compare_exported(session, "");
            self.compare_with_hkdf(session);
            session.key_update(&self.trace.bytes("context for KeyUpdate")).expect("a short context");
            self.compare_exported(session, " after KeyUpdate");
        }
        let [initiator, responder] = sessions;
        let [c_i, c_r] = ["C_I", "C_R"].map(|name| self.trace.connection(name));
        assert_eq!([initiator.own_connection(), initiator.peer_connection()], [&c_i, &c_r]);
        assert_eq!([responder.own_connection(), responder.peer_connection()], [&c_r, &c_i]);
        // The OSCORE identifier of a sender is the one that its peer chose.
        assert_eq!(c_r.as_bytes(), self.trace.bytes("Client's OSCORE Sender ID"));
    }

    /// Numbers of every length in (label, context, length), against HKDF itself.
    fn compare_with_hkdf(&self, session: &Session) {
        let hkdf = Hkdf::<Sha256>::from_prk(&self.trace.bytes("PRK_exporter")).expect("32 bytes");
        for (label, context, len, before, behind) in [
            (23, 0, 23, &[0x17, 0x40][..], &[0x17][..]),
            (24, 0, 32, &[0x18, 24, 0x40], &[0x18, 32]),
            (25, 24, 255, &[0x18, 25, 0x58, 24], &[0x18, 255]),
            (255, 255, 256, &[0x18, 255, 0x58, 255], &[0x19, 1, 0]),
            (256, 256, 300, &[0x19, 1, 0, 0x59, 1, 0], &[0x19, 1, 44]),
            (40_000, 300, 8160, &[0x19, 0x9c, 0x40, 0x59, 1, 44], &[0x19, 0x1f, 0xe0]),
        ] {
            let context = vec![7; context];
            let (mut ours, mut expected) = (vec![0; len], vec![0; len]);
            session.exporter(label, &context, &mut ours).expect("a length below the limit");
            hkdf.expand(&[before, &context, behind].concat(), &mut expected).expect("the same");
            assert_eq!(ours, expected, "label {label}");
        }
    }

    fn compare_exported(&self, session: &Session, when: &str) {
        let (mut secret, mut salt) = ([0; 16], [0; 8]);
        session.exporter(0, &[], &mut secret).expect("a short one");
        session.exporter(1, &[], &mut salt).expect("a short one");
        assert_eq!(secret[..], self.trace.bytes(&format!("OSCORE Master Secret{when}")));
        assert_eq!(salt[..], self.trace.bytes(&format!("OSCORE Master Salt{when}")));
    }

    /// Nothing but the trace's own messages is accepted, and afterwards the trace's still are.
    fn refuse_altered(&self, suite: &mut S) {
        let at_initiator = self.begin(suite);
        let mut counts = [0; 2];
        for wrong in altered(&self.trace.message(1)) {
            match self.answer(&wrong, suite) {
                Err(_) => counts[0] += 1,
                Ok((_, message_2)) => {
                    let refused = self.verify_responder(&at_initiator, &message_2, suite);
                    assert!(refused.is_err(), "message_1 {}", hex::encode(&wrong));
                    counts[1] += 1;
                }
            }
        }
        assert!(counts[0] > 0 && counts[1] > 0, "{counts:?}");
        let (at_responder, message_2) = self.answer(&self.trace.message(1), suite).expect("the trace's");
        for wrong in altered(&message_2) {
            let refused = self.verify_responder(&at_initiator, &wrong, suite);
            assert!(refused.is_err(), "message_2 {}", hex::encode(&wrong));
        }
        let verified = self.verify_responder(&at_initiator, &message_2, suite).expect("the trace's");
        let (at_initiator, message_3) = self.finish(verified, suite);
        for wrong in altered(&message_3) {
            let refused = self.verify_initiator(&at_responder, &wrong, suite);
            assert!(refused.is_err(), "message_3 {}", hex::encode(&wrong));
        }
        let at_responder = self.verify_initiator(&at_responder, &message_3, suite).expect("the trace's");
        let mut room = [0; 32];
        let (_, message_4) = at_responder.message_4(Ead::NONE, suite, &mut room).expect("room");
        for mut wrong in altered(message_4) {
            assert!(at_initiator.read_message_4(&mut wrong, &[], suite).is_err());
        }
        assert_eq!(at_initiator.read_message_4(&mut message_4.to_vec(), &[], suite), Ok(Ead::NONE));
    }
}

/// Each message that differs from this one in one bit, or in one byte by 1 or by the inverse; each
/// that ends early, and two that end late.
fn altered(message: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for at in 0..message.len() {
        let changes = (0..8).map(|bit| 1 << bit).chain([0xff]).map(|mask: u8| message[at] ^ mask);
        for byte in changes.chain([message[at].wrapping_add(1), message[at].wrapping_sub(1)]) {
            let mut wrong = message.to_vec();
            wrong[at] = byte;
            all.push(wrong);
        }
        all.push(message[..at].to_vec());
    }
    all.push([message, &[0]].concat());
    all.push([message, message].concat());
    all
}

fn with_signatures() -> Case<Suite0<Portable>> {
    let trace = Trace::read("method_0_suite_0");
    let own = ["SK_I", "SK_R"].map(|name| Own::Signing(Ed25519Key::new(Secret::new(trace.array(name)))));
    let peers = ["PK_I", "PK_R"].map(|name| CoseKey::Ed25519(trace.array(name)));
    Case::new(trace, Method::Signatures, own, peers)
}

fn with_static_keys() -> Case<Suite2<P256>> {
    let trace = Trace::read("method_3_suite_2");
    let own = ["SK_I", "SK_R"]
        .map(|name| Own::Static(PrivateKey::new(Secret::new(trace.array(name))).expect("a key")));
    let peers = ["PK_I", "PK_R"].map(|name| {
        let y = Y::Coordinate(trace.array(&format!("{name}_y")));
        CoseKey::P256 { x: trace.array(&format!("{name}_x")), y }
    });
    Case::new(trace, Method::StaticKeys, own, peers)
}

#[test]
fn the_trace_with_signatures_and_certificates_is_the_rfcs_byte_for_byte() {
    with_signatures().follow(&mut Suite0::new());
}

#[test]
fn the_trace_with_static_keys_is_the_rfcs_byte_for_byte_and_takes_101_bytes() {
    let case = with_static_keys();
    case.follow(&mut Suite2(P256));
    // The trace names two suites; one alone is two bytes less.
    assert_eq!([1, 2, 3].map(|number| case.trace.message(number).len()), [37 + 2, 45, 19]);
}

#[test]
fn no_altered_message_of_the_trace_with_signatures_is_accepted_and_the_right_one_still_is() {
    with_signatures().refuse_altered(&mut Suite0::new());
}

#[test]
fn no_altered_message_of_the_trace_with_static_keys_is_accepted_and_the_right_one_still_is() {
    with_static_keys().refuse_altered(&mut Suite2(P256));
}

#[test]
fn whoever_selects_a_suite_that_the_responder_lacks_is_told_which_it_has() {
    let trace = Trace::read("method_3_suite_6");
    let offer = Offer { methods: &[Method::StaticKeys], suites: &[2], understood: &[] };
    assert_eq!(Message1::parse(&trace.message(1), &offer).err(), Some(Refused::Suite));
    let mut room = [0; 8];
    let error = ErrorMessage::WrongSuite(Suites::new(offer.suites).expect("one"));
    let sent = error.emit(&mut room).expect("room");
    assert_eq!(sent, trace.bytes("error (CBOR Sequence)"));
    assert_eq!(ErrorMessage::parse(sent), Ok(error));
}

#[test]
fn each_malformed_message_of_the_rfc_is_refused() {
    let vectors = vectors();
    let (mut first, mut second) = (0, 0);
    for case in vectors["invalid"].as_array().expect("cases") {
        let bytes = hex::decode(case["bytes"].as_str().expect("hex")).expect("hex");
        match case["message"].as_str().expect("a message") {
            "message_1" => {
                first += 1;
                let refused =
                    refused_message_1(&bytes).unwrap_or_else(|| panic!("{} is accepted", case["why"]));
                let expected = match case["why"].as_str().expect("a reason") {
                    "Error in elliptic curve representation"
                    | "Error in elliptic curve point"
                    | "Curve point of low order" => Refused::PublicKey,
                    // Selects a suite with longer keys, which nobody speaks here.
                    "Error in length of ephemeral key" => Refused::Suite,
                    _ => Refused::Malformed,
                };
                assert_eq!(refused, expected, "{}", case["why"]);
            }
            "message_2" => {
                second += 1;
                let case = with_static_keys();
                let waiting = case.begin(&mut Suite2(P256));
                let refused = case.verify_responder(&waiting, &bytes, &mut Suite2(P256));
                assert_eq!(refused.err(), Some(Refused::Malformed));
            }
            // Is in the unit tests of the crate.
            _ => {}
        }
    }
    assert_eq!([first, second], [11, 1]);
}

/// Why a responder that speaks both suites does not get to message_2.
fn refused_message_1(bytes: &[u8]) -> Option<Refused> {
    let offer = Offer { methods: &[Method::StaticKeys], suites: &[2, 0], understood: &[] };
    let message_1 = match Message1::parse(bytes, &offer) {
        Err(refused) => return Some(refused),
        Ok(message_1) => message_1,
    };
    let mut rng = Trace::read("method_3_suite_2").replay("Y");
    if message_1.suite() == 0 {
        let suite = &mut Suite0::<Portable>::new();
        message_1.ephemeral(suite, &mut rng).and_then(|ephemeral| ephemeral.agree(suite)).err()
    } else {
        let suite = &mut Suite2(P256);
        message_1.ephemeral(suite, &mut rng).and_then(|ephemeral| ephemeral.agree(suite)).err()
    }
}
