//! A handshake step by step, in the suite and with the method of the program around it.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use motemix_board_calls::place::Place;
use motemix_board_calls::steps;
use motemix_neighbour::edhoc::initiator::{
    self, AwaitingMessage2, Opening, ReceivedMessage2, VerifiedResponder,
};
use motemix_neighbour::edhoc::responder::{
    self, Agreed, AwaitingMessage3, Ephemeral, Message1, Offer, ReceivedMessage3,
};
use motemix_neighbour::edhoc::{
    Ccs, CipherSuite as _, ConnectionId, Credential, CredentialId, Ead, OwnCredential, PeerCredential,
    Refused, Session,
};

use crate::{CCS_LEN, Key, MESSAGE_2_LEN, MESSAGE_3_LEN, METHOD, Suite, credential_key, own_key};

const MESSAGE_1_LEN: usize = 37;
const MESSAGE_4_LEN: usize = 9;
/// A message is written with two bytes of room before what it holds.
const ROOM: usize = 2;

struct Neighbour {
    kid: [u8; 1],
    key: Key,
    ccs: [u8; CCS_LEN],
}

static MOTE: Place<Neighbour> = Place::empty();
static ROUTER: Place<Neighbour> = Place::empty();
static MESSAGE_1: Place<[u8; MESSAGE_1_LEN]> = Place::empty();
static MESSAGE_2: Place<[u8; MESSAGE_2_LEN]> = Place::empty();
static MESSAGE_3: Place<[u8; MESSAGE_3_LEN]> = Place::empty();
static AWAITING_2: Place<AwaitingMessage2<Suite>> = Place::empty();
static RECEIVED_2: Place<ReceivedMessage2<Suite, [u8; MESSAGE_2_LEN]>> = Place::empty();
static VERIFIED: Place<VerifiedResponder<Suite>> = Place::empty();
static EPHEMERAL: Place<Ephemeral<Suite>> = Place::empty();
static AGREED: Place<Agreed<Suite>> = Place::empty();
static AWAITING_3: Place<AwaitingMessage3<Suite>> = Place::empty();
static RECEIVED_3: Place<ReceivedMessage3<Suite, [u8; MESSAGE_3_LEN]>> = Place::empty();
static AT_MOTE: Place<initiator::Completed> = Place::empty();
static AT_ROUTER: Place<responder::Completed> = Place::empty();
static MESSAGE_4: Place<[u8; MESSAGE_4_LEN]> = Place::empty();
static MOTE_SESSION: Place<Session> = Place::empty();
static ROUTER_SESSION: Place<Session> = Place::empty();

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

/// What lies in a place; a step before has put it there.
fn with<T, R>(place: &Place<T>, use_it: impl FnOnce(&mut T) -> Result<R, Refused>) -> Result<R, Refused> {
    place.with(use_it).unwrap_or(Err(Refused::Room))
}

fn own(neighbour: &Neighbour) -> Result<OwnCredential<'_, Suite>, Refused> {
    Ok(OwnCredential {
        id: CredentialId::Kid(&neighbour.kid),
        credential: Credential::ccs(&neighbour.ccs)?,
        key: own_key(&neighbour.key),
    })
}

fn neighbours() -> Result<(), Refused> {
    for (place, byte) in [(&MOTE, 1), (&ROUTER, 2)] {
        let (kid, (key, public)) = ([byte], credential_key(byte));
        let mut ccs = [0; CCS_LEN];
        let written = Ccs { subject: None, kid: Some(&kid), key: public }.emit(&mut ccs)?;
        if written.len() != CCS_LEN {
            return Err(Refused::Length);
        }
        place.put(Neighbour { kid, key, ccs });
    }
    Ok(())
}

fn begin() -> Result<(), Refused> {
    let connection = ConnectionId::new(&[0x0a])?;
    let opening = Opening { method: METHOD, passed_over: &[], connection, ead_1: Ead::NONE };
    let mut room = [0; MESSAGE_1_LEN];
    let (waiting, message) = initiator::begin(&opening, &mut Suite::default(), &mut rng(3), &mut room)?;
    MESSAGE_1.put(message.try_into().map_err(|_| Refused::Length)?);
    AWAITING_2.put(waiting);
    Ok(())
}

fn ephemeral() -> Result<(), Refused> {
    with(&MESSAGE_1, |message| {
        let offer = Offer { methods: &[METHOD], suites: &[Suite::NUMBER], understood: &[] };
        let parsed = Message1::parse(message, &offer)?;
        EPHEMERAL.put(parsed.ephemeral(&mut Suite::default(), &mut rng(4))?);
        Ok(())
    })
}

fn agree() -> Result<(), Refused> {
    let step = EPHEMERAL.take().ok_or(Refused::Room)?;
    AGREED.put(step.agree(&mut Suite::default())?);
    Ok(())
}

fn authenticate() -> Result<(), Refused> {
    let step = AGREED.take().ok_or(Refused::Room)?;
    let connection = ConnectionId::new(&[0x0b])?;
    let mut room = [0; MESSAGE_2_LEN + ROOM];
    with(&ROUTER, |router| {
        let suite = &mut Suite::default();
        let (waiting, message) =
            step.authenticate(connection, &own(router)?, Ead::NONE, suite, &mut rng(5), &mut room)?;
        MESSAGE_2.put(message.try_into().map_err(|_| Refused::Length)?);
        AWAITING_3.put(waiting);
        Ok(())
    })
}

fn read_message_2() -> Result<(), Refused> {
    let message = with(&MESSAGE_2, |message| Ok(*message))?;
    with(&AWAITING_2, |waiting| {
        RECEIVED_2.put(waiting.read_message_2(message, &[], &mut Suite::default())?);
        Ok(())
    })
}

fn verify_responder() -> Result<(), Refused> {
    with(&RECEIVED_2, |received| {
        with(&ROUTER, |router| {
            let peer = PeerCredential::from_ccs(&router.ccs, received.method())?;
            VERIFIED.put(received.verify_peer(&peer, &mut Suite::default())?);
            Ok(())
        })
    })
}

fn message_3() -> Result<(), Refused> {
    let step = VERIFIED.take().ok_or(Refused::Room)?;
    let mut room = [0; MESSAGE_3_LEN + ROOM];
    with(&MOTE, |mote| {
        let suite = &mut Suite::default();
        let (completed, message) = step.message_3(&own(mote)?, Ead::NONE, suite, &mut rng(6), &mut room)?;
        MESSAGE_3.put(message.try_into().map_err(|_| Refused::Length)?);
        AT_MOTE.put(completed);
        Ok(())
    })
}

fn read_message_3() -> Result<(), Refused> {
    let message = with(&MESSAGE_3, |message| Ok(*message))?;
    with(&AWAITING_3, |waiting| {
        RECEIVED_3.put(waiting.read_message_3(message, &[], &mut Suite::default())?);
        Ok(())
    })
}

fn verify_initiator() -> Result<(), Refused> {
    with(&RECEIVED_3, |received| {
        with(&MOTE, |mote| {
            let peer = PeerCredential::from_ccs(&mote.ccs, received.method())?;
            AT_ROUTER.put(received.verify_peer(&peer, &mut Suite::default())?);
            Ok(())
        })
    })
}

fn message_4() -> Result<(), Refused> {
    let completed = AT_ROUTER.take().ok_or(Refused::Room)?;
    let mut room = [0; MESSAGE_4_LEN + ROOM];
    let (session, message) = completed.message_4(Ead::NONE, &mut Suite::default(), &mut room)?;
    MESSAGE_4.put(message.try_into().map_err(|_| Refused::Length)?);
    ROUTER_SESSION.put(session);
    Ok(())
}

fn read_message_4() -> Result<(), Refused> {
    let mut message = with(&MESSAGE_4, |message| Ok(*message))?;
    with(&AT_MOTE, |completed| {
        completed.read_message_4(&mut message, &[], &mut Suite::default()).map(|_| ())
    })?;
    MOTE_SESSION.put(AT_MOTE.take().ok_or(Refused::Room)?.into_session());
    Ok(())
}

/// Both sessions are the same.
fn agreed() -> Result<(), Refused> {
    let router = with(&ROUTER_SESSION, |router| Ok(*router.transcript()))?;
    with(&MOTE_SESSION, |mote| if *mote.transcript() == router { Ok(()) } else { Err(Refused::Mac) })
}

fn exporter() -> Result<(), Refused> {
    with(&MOTE_SESSION, |session| session.exporter(32_768, &[], &mut [0; 16]))
}

/// The steps of both sides in their order.
const STEPS: [fn() -> Result<(), Refused>; 13] = [
    neighbours,
    begin,
    ephemeral,
    agree,
    authenticate,
    read_message_2,
    verify_responder,
    message_3,
    read_message_3,
    verify_initiator,
    message_4,
    read_message_4,
    agreed,
];

steps! {
    STEPS:
    1 prepare_begin bench_begin begin
    2 prepare_ephemeral bench_ephemeral ephemeral
    3 prepare_agree bench_agree agree
    4 prepare_authenticate bench_authenticate authenticate
    5 prepare_read_message_2 bench_read_message_2 read_message_2
    6 prepare_verify_responder bench_verify_responder verify_responder
    7 prepare_message_3 bench_message_3 message_3
    8 prepare_read_message_3 bench_read_message_3 read_message_3
    9 prepare_verify_initiator bench_verify_initiator verify_initiator
    10 prepare_message_4 bench_message_4 message_4
    11 prepare_read_message_4 bench_read_message_4 read_message_4
    13 prepare_exporter bench_exporter exporter
}
