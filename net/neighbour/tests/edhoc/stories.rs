//! What neighbours rely on.

use crate::neighbours::{Keys, Neighbour, Pair, accept, exported};
use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use motemix_crypto::{BoardCurve, Portable, Secret};
use motemix_neighbour::edhoc::initiator::{self, Opening};
use motemix_neighbour::edhoc::responder::{Message1, Offer};
use motemix_neighbour::edhoc::{
    Ccs, CipherSuite, ConnectionId, CoseKey, Credential, CredentialId, Ead, Method, OwnKey, PeerCredential,
    PeerKey, Refused, Session, Suite0, Suite2, WithoutSignatures,
};
use motemix_neighbour::suite::P256;

type Board = WithoutSignatures<Suite0<BoardCurve>>;
type Host = Suite0<Portable>;

fn agree([initiator, responder]: &[Session; 2]) {
    assert_eq!(initiator.transcript(), responder.transcript());
    assert_eq!(exported(initiator, 40_000, b"a link", 48), exported(responder, 40_000, b"a link", 48));
}

fn lengths<S: Keys>(method: Method) -> [usize; 3] {
    let mut lengths = [0; 3];
    let sessions =
        Pair::<S>::new(method, 1).shake_hands(|number, message| lengths[number - 1] = message.len());
    agree(&sessions.expect("a handshake"));
    lengths
}

#[test]
fn a_handshake_with_static_keys_takes_101_bytes_and_one_with_signatures_216() {
    assert_eq!(lengths::<Host>(Method::StaticKeys), [37, 45, 19]);
    assert_eq!(lengths::<Suite2<P256>>(Method::StaticKeys), [37, 45, 19]);
    assert_eq!(lengths::<Board>(Method::StaticKeys), [37, 45, 19]);
    assert_eq!(lengths::<WithoutSignatures<Suite2<P256>>>(Method::StaticKeys), [37, 45, 19]);
    // A signature has 56 bytes more than a MAC. Its head has one more, and message_3's too.
    assert_eq!(lengths::<Host>(Method::Signatures), [37, 102, 77]);
    assert_eq!(lengths::<Suite2<P256>>(Method::Signatures), [37, 102, 77]);
}

#[test]
fn a_board_without_signatures_and_a_host_with_everything_agree() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let board = Neighbour::<Board>::new(Method::StaticKeys, &[0x01], &mut rng);
    let host = Neighbour::<Host>::new(Method::StaticKeys, &[0x02], &mut rng);
    let (at_board, message_1) = board.begin(&mut rng);
    let (at_host, message_2) = host.answer(&message_1, &mut rng).expect("the board's");
    let known = PeerCredential::from_ccs(&host.ccs, Method::StaticKeys).expect("X25519");
    let (at_board, message_3) = board.finish(&at_board, &message_2, &known, &mut rng).expect("the host's");
    let known = PeerCredential::from_ccs(&board.ccs, Method::StaticKeys).expect("X25519");
    let at_host = accept(&at_host, &message_3, &known).expect("the board's");
    agree(&[at_board.into_session(), at_host.into_session()]);
}

#[test]
fn the_backends_of_the_curve_make_the_same_messages() {
    fn messages<S: Keys>() -> Vec<Vec<u8>> {
        let mut messages = vec![];
        let sessions =
            Pair::<S>::new(Method::StaticKeys, 3).shake_hands(|_, message| messages.push(message.clone()));
        messages.push(exported(&sessions.expect("a handshake")[0], 0, b"", 32));
        messages
    }
    assert_eq!(messages::<Suite0<Portable>>(), messages::<Suite0<BoardCurve>>());
}

/// The responder has the name that the initiator knows, and another key.
fn impostor<S: Keys>(method: Method, expected: Refused) {
    let mut pair = Pair::<S>::new(method, 4);
    let real = Neighbour::<S>::new(method, &[0x02], &mut pair.rng);
    let (waiting, message_1) = pair.initiator.begin(&mut pair.rng);
    let (_, message_2) = pair.responder.answer(&message_1, &mut pair.rng).expect("a message");
    let refused = pair.initiator.finish(&waiting, &message_2, &real.known(), &mut pair.rng);
    assert_eq!(refused.err(), Some(expected));
    // The impostor has only used up one try.
    let (at_real, message_2) = real.answer(&message_1, &mut pair.rng).expect("a message");
    let (_, message_3) =
        pair.initiator.finish(&waiting, &message_2, &real.known(), &mut pair.rng).expect("the right one");
    // Nor does the real responder take an initiator for another one.
    let refused = accept(&at_real, &message_3, &pair.responder.known());
    assert_eq!(refused.err(), Some(expected));
    assert!(accept(&at_real, &message_3, &pair.initiator.known()).is_ok());
}

#[test]
fn nobody_passes_as_another_whose_key_it_lacks() {
    impostor::<Host>(Method::StaticKeys, Refused::Mac);
    impostor::<Host>(Method::Signatures, Refused::Signature);
    impostor::<Suite2<P256>>(Method::StaticKeys, Refused::Mac);
    impostor::<Suite2<P256>>(Method::Signatures, Refused::Signature);
}

#[test]
fn the_key_may_be_right_and_the_credential_another_one_still() {
    let mut pair = Pair::<Host>::new(Method::StaticKeys, 5);
    let (waiting, message_1) = pair.initiator.begin(&mut pair.rng);
    let (_, message_2) = pair.responder.answer(&message_1, &mut pair.rng).expect("a message");
    // The same key, but somebody wrote another subject beside it.
    let ccs = Ccs::parse(&pair.responder.ccs).expect("a Claims Set");
    let mut room = [0; 128];
    let other = Ccs { subject: Some("router of room 12"), ..ccs }.emit(&mut room).expect("room");
    let other = PeerCredential::from_ccs(other, Method::StaticKeys).expect("X25519");
    let refused = pair.initiator.finish(&waiting, &message_2, &other, &mut pair.rng);
    assert_eq!(refused.err(), Some(Refused::Mac));
}

#[test]
fn whoever_has_never_met_the_peer_finds_its_credential_in_the_message() {
    fn strangers<S: Keys>(method: Method) {
        let mut pair = Pair::<S>::new(method, 6);
        (pair.initiator.by_value, pair.responder.by_value) = (true, true);
        let suite = &mut S::default();
        let (waiting, message_1) = pair.initiator.begin(&mut pair.rng);
        let (at_responder, message_2) = pair.responder.answer(&message_1, &mut pair.rng).expect("a message");
        let received = waiting.read_message_2(message_2, &[], suite).expect("readable");
        let CredentialId::Ccs(ccs) = received.id() else { panic!("{:?}", received.id()) };
        assert_eq!(ccs, pair.responder.ccs);
        let peer = PeerCredential::from_ccs(ccs, received.method()).expect("a key");
        let verified = received.verify_peer(&peer, suite).expect("the responder");
        let mut room = [0; 512];
        let (at_initiator, message_3) = verified
            .message_3(&pair.initiator.own(), Ead::NONE, suite, &mut pair.rng, &mut room)
            .expect("room");
        let received = at_responder.read_message_3(message_3.to_vec(), &[], suite).expect("readable");
        let CredentialId::Ccs(ccs) = received.id() else { panic!("{:?}", received.id()) };
        let peer = PeerCredential::from_ccs(ccs, received.method()).expect("a key");
        let at_responder = received.verify_peer(&peer, suite).expect("the initiator");
        agree(&[at_initiator.into_session(), at_responder.into_session()]);
    }
    strangers::<Host>(Method::StaticKeys);
    strangers::<Suite2<P256>>(Method::Signatures);
}

#[test]
fn message_4_tells_the_initiator_that_it_was_heard() {
    let mut pair = Pair::<Host>::new(Method::StaticKeys, 7);
    let (waiting, message_1) = pair.initiator.begin(&mut pair.rng);
    let (at_responder, message_2) = pair.responder.answer(&message_1, &mut pair.rng).expect("a message");
    let (at_initiator, message_3) = pair
        .initiator
        .finish(&waiting, &message_2, &pair.responder.known(), &mut pair.rng)
        .expect("the responder");
    let at_responder = accept(&at_responder, &message_3, &pair.initiator.known()).expect("the initiator");
    let suite = &mut Host::default();
    let mut room = [0; 32];
    let ead_4 = Ead::new(&[0x05, 0x42, 1, 2]).expect("an item");
    let (at_responder, message_4) = at_responder.message_4(ead_4, suite, &mut room).expect("room");
    // Another message of the handshake is none, and changes nothing.
    let mut wrong = message_3.clone();
    assert_eq!(at_initiator.read_message_4(&mut wrong, &[], suite), Err(Refused::Ciphertext));
    assert_eq!(at_initiator.read_message_4(&mut message_4.to_vec(), &[], suite), Ok(ead_4));
    agree(&[at_initiator.into_session(), at_responder]);
}

#[test]
fn an_update_of_keys_makes_new_ones_for_whoever_updates_with_the_same_context() {
    let mut sessions = Pair::<Host>::new(Method::StaticKeys, 8).shake_hands(|_, _| ()).expect("a handshake");
    let before = exported(&sessions[0], 0, b"", 16);
    sessions[0].key_update(b"hour 1").expect("short");
    assert_ne!(exported(&sessions[0], 0, b"", 16), before);
    assert_ne!(exported(&sessions[0], 0, b"", 16), exported(&sessions[1], 0, b"", 16));
    sessions[1].key_update(b"hour 1").expect("short");
    agree(&sessions);
    sessions[0].key_update(b"hour 2").expect("short");
    sessions[1].key_update(b"hour 3").expect("short");
    assert_ne!(exported(&sessions[0], 0, b"", 16), exported(&sessions[1], 0, b"", 16));
}

#[test]
fn keys_for_two_purposes_have_nothing_in_common() {
    let [session, _] = Pair::<Host>::new(Method::StaticKeys, 9).shake_hands(|_, _| ()).expect("a handshake");
    let mut all = vec![];
    for label in [0, 1, 23, 24, 25, 255, 256, 32_768, u16::MAX] {
        for (context, len) in [(&b""[..], 16), (b"x", 16), (b"", 17)] {
            all.push(exported(&session, label, context, len)[..16].to_vec());
        }
    }
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
    assert_eq!(session.exporter(0, b"", &mut vec![0; 8161]), Err(Refused::Length));
    assert!(session.exporter(0, b"", &mut vec![0; 8160]).is_ok());
}

/// The points of small order on Curve25519 and its twist, and their other encodings (RFC 7748,
/// 6.1).
const SMALL_ORDER: [&str; 7] = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
];

#[test]
fn a_key_of_small_order_is_refused_wherever_it_stands() {
    let mut pair = Pair::<Host>::new(Method::StaticKeys, 10);
    let (waiting, message_1) = pair.initiator.begin(&mut pair.rng);
    let (_, message_2) = pair.responder.answer(&message_1, &mut pair.rng).expect("a message");
    for point in SMALL_ORDER {
        let point: [u8; 32] = hex::decode(point).expect("hex").try_into().expect("32 bytes");
        let mut wrong = message_1.clone();
        wrong[4..36].copy_from_slice(&point);
        assert_eq!(pair.responder.answer(&wrong, &mut pair.rng).err(), Some(Refused::PublicKey));
        let mut wrong = message_2.clone();
        wrong[2..34].copy_from_slice(&point);
        let refused = pair.initiator.finish(&waiting, &wrong, &pair.responder.known(), &mut pair.rng);
        assert_eq!(refused.err(), Some(Refused::PublicKey));
        let known = PeerCredential {
            credential: Credential::ccs(&pair.responder.ccs).expect("a Claims Set"),
            key: PeerKey::Static(motemix_crypto::PublicKey(point)),
        };
        let refused = pair.initiator.finish(&waiting, &message_2, &known, &mut pair.rng);
        assert_eq!(refused.err(), Some(Refused::PublicKey));
    }
}

#[test]
fn an_ephemeral_key_that_is_no_point_of_p256_is_refused_before_anything_is_multiplied() {
    let mut pair = Pair::<Suite2<P256>>::new(Method::StaticKeys, 11);
    let (waiting, message_1) = pair.initiator.begin(&mut pair.rng);
    let (_, message_2) = pair.responder.answer(&message_1, &mut pair.rng).expect("a message");
    // 7 is no x-coordinate; the field's prime is 0 in another form.
    let seven = format!("{:0>64}", "7");
    for x in [&seven, "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff"] {
        let x: [u8; 32] = hex::decode(x).expect("hex").try_into().expect("32 bytes");
        let mut wrong = message_1.clone();
        wrong[4..36].copy_from_slice(&x);
        let offer = Offer { methods: &[Method::StaticKeys], suites: &[2], understood: &[] };
        let parsed = Message1::parse(&wrong, &offer).expect("well formed");
        let refused = parsed.ephemeral(&mut Suite2(P256), &mut pair.rng);
        assert_eq!(refused.err(), Some(Refused::PublicKey));
        let mut wrong = message_2.clone();
        wrong[2..34].copy_from_slice(&x);
        let refused = pair.initiator.finish(&waiting, &wrong, &pair.responder.known(), &mut pair.rng);
        assert_eq!(refused.err(), Some(Refused::PublicKey));
    }
}

#[test]
fn a_responder_chooses_the_best_suite_that_both_speak() {
    fn parsed(suites: &[i16], offered: &[i16]) -> Result<i16, Refused> {
        let connection = ConnectionId::new(&[7]).expect("short");
        let opening =
            Opening { method: Method::StaticKeys, passed_over: suites, connection, ead_1: Ead::NONE };
        let mut room = [0; 64];
        let mut rng = ChaCha20Rng::seed_from_u64(12);
        let (_, message_1) = initiator::begin(&opening, &mut Host::new(), &mut rng, &mut room).expect("room");
        let offer = Offer { methods: &[Method::StaticKeys], suites: offered, understood: &[] };
        Message1::parse(message_1, &offer).map(|message_1| message_1.suite())
    }
    assert_eq!(parsed(&[], &[0, 2]), Ok(0));
    assert_eq!(parsed(&[24, -21, 2], &[0]), Ok(0));
    assert_eq!(parsed(&[], &[2]), Err(Refused::Suite));
    assert_eq!(parsed(&[2], &[0, 2]), Err(Refused::Suite), "the initiator likes 2 better, and so do we");
    assert_eq!(parsed(&[], &[]), Err(Refused::Suite));
}

#[test]
fn a_method_that_is_not_offered_is_refused_and_so_is_a_key_that_does_not_fit() {
    let mut signing = Pair::<Host>::new(Method::Signatures, 13);
    let mut fixed = Pair::<Host>::new(Method::StaticKeys, 13);
    let (_, message_1) = signing.initiator.begin(&mut signing.rng);
    assert_eq!(fixed.responder.answer(&message_1, &mut fixed.rng).err(), Some(Refused::Method));
    for method in [1, 2, 4, 0x20] {
        let mut wrong = message_1.clone();
        wrong[0] = method;
        assert_eq!(signing.responder.answer(&wrong, &mut signing.rng).err(), Some(Refused::Method));
    }
    let (waiting, message_1) = fixed.initiator.begin(&mut fixed.rng);
    let (_, message_2) = fixed.responder.answer(&message_1, &mut fixed.rng).expect("a message");
    let refused = fixed.initiator.finish(&waiting, &message_2, &signing.responder.known(), &mut fixed.rng);
    assert_eq!(refused.err(), Some(Refused::Key));
    assert!(PeerCredential::<Host>::from_ccs(&signing.responder.ccs, Method::StaticKeys).is_err());
    assert!(PeerCredential::<Board>::from_ccs(&signing.responder.ccs, Method::Signatures).is_err());
    assert!(PeerCredential::<Suite2<P256>>::from_ccs(&fixed.responder.ccs, Method::StaticKeys).is_err());
    fixed.responder.private = signing.responder.private;
    assert_eq!(fixed.responder.answer(&message_1, &mut fixed.rng).err(), Some(Refused::Key));
    assert!(matches!(fixed.responder.own().key, OwnKey::Signing(_)));
}

#[test]
fn data_that_is_critical_is_understood_or_ends_the_handshake() {
    let mut pair = Pair::<Host>::new(Method::StaticKeys, 14);
    // Label −7 with a byte, and padding.
    pair.responder.ead = vec![0x26, 0x41, 9, 0x00];
    let (waiting, message_1) = pair.initiator.begin(&mut pair.rng);
    let (_, message_2) = pair.responder.answer(&message_1, &mut pair.rng).expect("a message");
    let suite = &mut Host::default();
    let refused = waiting.read_message_2(message_2.clone(), &[6], suite);
    assert_eq!(refused.err(), Some(Refused::CriticalEad));
    let received = waiting.read_message_2(message_2, &[7], suite).expect("understood");
    let item = received.ead_2().items().next().expect("the item");
    assert!(item.is_critical);
    assert_eq!((item.label, item.value), (7, Some(&[9][..])));
    assert!(received.verify_peer(&pair.responder.known(), suite).is_ok());

    pair.initiator.ead = vec![0x26];
    let (_, message_1) = pair.initiator.begin(&mut pair.rng);
    assert_eq!(pair.responder.answer(&message_1, &mut pair.rng).err(), Some(Refused::CriticalEad));
}

#[test]
fn a_message_that_is_too_long_for_its_room_or_for_anybody_is_refused() {
    let mut pair = Pair::<Host>::new(Method::StaticKeys, 15);
    let connection = ConnectionId::new(&[7]).expect("short");
    let opening = Opening { method: Method::StaticKeys, passed_over: &[], connection, ead_1: Ead::NONE };
    let suite = &mut Host::default();
    for len in 0..37 {
        let mut room = vec![0; len];
        let begun = initiator::begin(&opening, suite, &mut pair.rng, &mut room);
        assert_eq!(begun.err(), Some(Refused::Room));
    }
    let (waiting, message_1) = pair.initiator.begin(&mut pair.rng);
    let offer = Offer { methods: &[Method::StaticKeys], suites: &[0], understood: &[] };
    let parsed = Message1::parse(&message_1, &offer).expect("right");
    for (len, fits) in [(0, false), (2, false), (34, false), (45, false), (46, true)] {
        let agreed =
            parsed.ephemeral(suite, &mut pair.rng).and_then(|step| step.agree(suite)).expect("right");
        let mut room = vec![0; len];
        let made = agreed.authenticate(
            connection,
            &pair.responder.own(),
            Ead::NONE,
            suite,
            &mut pair.rng,
            &mut room,
        );
        assert_eq!(made.err(), if fits { None } else { Some(Refused::Room) }, "{len}");
    }
    // 501 bytes and the rest of PLAINTEXT_2 are one too many.
    pair.responder.ead = [&[0x01, 0x59, 0x01, 0xf1][..], &[0; 497]].concat();
    assert_eq!(pair.responder.answer(&message_1, &mut pair.rng).err(), Some(Refused::Room));
    pair.responder.ead = vec![];
    let long = [&[0x59, 0x03, 0x00][..], &[9; 0x300]].concat();
    let refused = waiting.read_message_2(long, &[], suite);
    assert_eq!(refused.err(), Some(Refused::Length));
    assert_eq!(ConnectionId::new(&[0; 9]).err(), Some(Refused::ConnectionId));
}

#[test]
fn a_claims_set_is_read_whatever_else_it_says_and_refused_without_a_key() {
    let key = CoseKey::X25519([7; 32]);
    let mut room = [0; 128];
    let ccs = Ccs { subject: Some("mote 12"), kid: Some(&[0x0c]), key };
    let bytes = ccs.emit(&mut room).expect("room");
    assert_eq!(Ccs::parse(bytes), Ok(ccs));
    // Another claim, and the parameters of the key in another order.
    let x = [7; 32];
    let strange = [
        &[0xa2, 0x04, 0x1a, 0x5f, 0, 0, 0, 0x08, 0xa1, 0x01, 0xa4, 0x21, 0x58, 0x20][..],
        &x,
        &[0x20, 0x04, 0x03, 0x81, 0x26, 0x01, 0x01],
    ]
    .concat();
    assert_eq!(Ccs::parse(&strange), Ok(Ccs { subject: None, kid: None, key }));
    for at in 0..bytes.len() {
        assert!(Ccs::parse(&bytes[..at]).is_err());
    }
    let twice = [&[0xa2, 0x08][..], &bytes[bytes.len() - 46..], &[0x08], &bytes[bytes.len() - 46..]].concat();
    assert_eq!(Ccs::parse(&twice), Err(Refused::Credential));
    assert_eq!(Credential::ccs(&[bytes, &[0]].concat()), Err(Refused::Credential));
    // A point of P-256 with only the sign of y, and one that is none.
    let sign = |y| {
        [&[0xa1, 8, 0xa1, 1, 0xa4, 1, 2, 0x20, 1, 0x21, 0x58, 0x20][..], &[0; 31], &[6], &[0x22, y]].concat()
    };
    let point = |bytes: &[u8]| Suite2::<P256>::public_key(&Ccs::parse(bytes).expect("a Claims Set").key);
    let [even, odd] = [0xf4, 0xf5].map(|y| point(&sign(y)).expect("a point"));
    assert_eq!(even.as_bytes()[1..], odd.as_bytes()[1..]);
    assert_ne!(even, odd);
    let mut none = sign(0xf4);
    *none.iter_mut().rfind(|byte| **byte == 6).expect("x") = 7;
    assert_eq!(point(&none), Err(Refused::PublicKey));
    for ccs in [sign(0xf4), sign(0xf5)] {
        assert_eq!(Ccs::parse(&ccs).expect("a Claims Set").emit(&mut [0; 64]), Ok(&ccs[..]));
    }
}

#[test]
fn nothing_secret_is_printed() {
    let mut pair = Pair::<Host>::new(Method::StaticKeys, 16);
    let (waiting, _) = pair.initiator.begin(&mut pair.rng);
    assert_eq!(format!("{waiting:?}"), "AwaitingMessage2 { method: StaticKeys, .. }");
    let [session, _] = pair.shake_hands(|_, _| ()).expect("a handshake");
    assert_eq!(format!("{session:?}"), "Session { role: Initiator, .. }");
    let key = Secret::<32>::zero();
    assert_eq!(format!("{key:?}"), "Secret(..)");
}
