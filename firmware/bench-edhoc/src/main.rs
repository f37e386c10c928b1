//! The steps of EDHOC as boards run it: method 3, suite 0, the board's own X25519; and the
//! protection of a frame with the key that they end with.

#![no_std]
#![no_main]

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use motemix_board_bench::place::Place;
use motemix_board_bench::{BAD, BoardCurve, verdict};
use motemix_crypto::aes_ccm::{KEY_LEN, NONCE_LEN, TAG_LEN, open, seal};
use motemix_crypto::{Curve, Secret};
use motemix_neighbour::edhoc::initiator::{
    self, AwaitingMessage2, Opening, ReceivedMessage2, VerifiedResponder,
};
use motemix_neighbour::edhoc::responder::{
    self, Agreed, AwaitingMessage3, Ephemeral, Message1, Offer, ReceivedMessage3,
};
use motemix_neighbour::edhoc::{
    Ccs, CipherSuite as _, ConnectionId, CoseKey, Credential, CredentialId, Ead, Method, OwnCredential,
    OwnKey, PeerCredential, Refused, Session, Suite0, WithoutSignatures,
};

type Suite = WithoutSignatures<Suite0<BoardCurve>>;
/// Bytes of a credential without a subject, with a kid of one byte.
const CCS_LEN: usize = 47;

struct Neighbour {
    kid: [u8; 1],
    key: Secret<32>,
    ccs: [u8; CCS_LEN],
}

static MOTE: Place<Neighbour> = Place::empty();
static ROUTER: Place<Neighbour> = Place::empty();
static MESSAGE_1: Place<[u8; 37]> = Place::empty();
static MESSAGE_2: Place<[u8; 45]> = Place::empty();
static MESSAGE_3: Place<[u8; 19]> = Place::empty();
static AWAITING_2: Place<AwaitingMessage2<Suite>> = Place::empty();
static RECEIVED_2: Place<ReceivedMessage2<Suite, [u8; 45]>> = Place::empty();
static VERIFIED: Place<VerifiedResponder<Suite>> = Place::empty();
static EPHEMERAL: Place<Ephemeral<Suite>> = Place::empty();
static AGREED: Place<Agreed<Suite>> = Place::empty();
static AWAITING_3: Place<AwaitingMessage3<Suite>> = Place::empty();
static RECEIVED_3: Place<ReceivedMessage3<Suite, [u8; 19]>> = Place::empty();
static AT_MOTE: Place<initiator::Completed> = Place::empty();
static AT_ROUTER: Place<responder::Completed> = Place::empty();
static SESSION: Place<Session> = Place::empty();

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn outcome(result: Result<(), Refused>) -> u32 {
    verdict(result.is_ok())
}

/// What lies in a place; a step before has put it there.
fn with<T, R>(place: &Place<T>, use_it: impl FnOnce(&mut T) -> Result<R, Refused>) -> Result<R, Refused> {
    place.with(use_it).unwrap_or(Err(Refused::Room))
}

fn own(neighbour: &Neighbour) -> Result<OwnCredential<'_, Suite>, Refused> {
    Ok(OwnCredential {
        id: CredentialId::Kid(&neighbour.kid),
        credential: Credential::ccs(&neighbour.ccs)?,
        key: OwnKey::Static(&neighbour.key),
    })
}

fn neighbours() -> Result<(), Refused> {
    for (place, byte) in [(&MOTE, 1), (&ROUTER, 2)] {
        let (kid, key) = ([byte], Secret::new([byte; 32]));
        let mut ccs = [0; CCS_LEN];
        let public = CoseKey::X25519(BoardCurve::public_key(&key).0);
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
    let opening = Opening { method: Method::StaticKeys, passed_over: &[], connection, ead_1: Ead::NONE };
    let mut room = [0; 37];
    let (waiting, message) = initiator::begin(&opening, &mut Suite::default(), &mut rng(3), &mut room)?;
    MESSAGE_1.put(message.try_into().map_err(|_| Refused::Length)?);
    AWAITING_2.put(waiting);
    Ok(())
}

fn ephemeral() -> Result<(), Refused> {
    with(&MESSAGE_1, |message| {
        let offer = Offer { methods: &[Method::StaticKeys], suites: &[Suite::NUMBER], understood: &[] };
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
    let mut room = [0; 46];
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
    let mut room = [0; 21];
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

fn exporter() -> Result<(), Refused> {
    with(&SESSION, |session| session.exporter(32_768, &[], &mut [0; 16]))
}

/// The steps of both sides in their order.
const STEPS: [fn() -> Result<(), Refused>; 10] = [
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
];

/// All steps before the one with this number.
fn prepare(count: usize) -> u32 {
    outcome(STEPS.iter().take(count).try_for_each(|step| step()))
}

/// `prepare_x` and `bench_x` of a step.
macro_rules! steps {
    ($($number:literal $prepare:ident $bench:ident $step:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $prepare() -> u32 {
            prepare($number)
        }

        #[unsafe(no_mangle)]
        extern "C" fn $bench() -> u32 {
            outcome($step())
        }
    )*};
}

steps! {
    1 prepare_begin bench_begin begin
    2 prepare_ephemeral bench_ephemeral ephemeral
    3 prepare_agree bench_agree agree
    4 prepare_authenticate bench_authenticate authenticate
    5 prepare_read_message_2 bench_read_message_2 read_message_2
    6 prepare_verify_responder bench_verify_responder verify_responder
    7 prepare_message_3 bench_message_3 message_3
    8 prepare_read_message_3 bench_read_message_3 read_message_3
    9 prepare_verify_initiator bench_verify_initiator verify_initiator
}

#[unsafe(no_mangle)]
extern "C" fn prepare_exporter() -> u32 {
    let ready = prepare(STEPS.len());
    let both = AT_MOTE.take().zip(AT_ROUTER.take());
    let Some((mote, router)) = both.map(|(mote, router)| (mote.into_session(), router.into_session())) else {
        return BAD;
    };
    let is_same = mote.transcript() == router.transcript();
    SESSION.put(mote);
    if is_same { ready } else { BAD }
}

#[unsafe(no_mangle)]
extern "C" fn bench_exporter() -> u32 {
    outcome(exporter())
}

/// The longest frame, 127 bytes without its check sequence: header, text and MIC.
struct Protected {
    header: [u8; FRAME_HEADER],
    text: [u8; FRAME_TEXT],
    tag: [u8; TAG_LEN],
}

/// Two short addresses, a security header with a counter; see `motemix-link`.
const FRAME_HEADER: usize = 14;
const FRAME_TEXT: usize = 125 - FRAME_HEADER - TAG_LEN;
const FRAME_KEY: [u8; KEY_LEN] = [0x4b; KEY_LEN];
const FRAME_NONCE: [u8; NONCE_LEN] = [0x6e; NONCE_LEN];
const TEXT: [u8; FRAME_TEXT] = [0x74; FRAME_TEXT];

static FRAME: Place<Protected> = Place::empty();

#[unsafe(no_mangle)]
extern "C" fn prepare_seal_frame() -> u32 {
    FRAME.put(Protected { header: [0x68; FRAME_HEADER], text: TEXT, tag: [0; TAG_LEN] });
    verdict(true)
}

#[unsafe(no_mangle)]
extern "C" fn bench_seal_frame() -> u32 {
    let sealed = FRAME.with(|frame| {
        frame.tag = seal(&Secret::new(FRAME_KEY), &FRAME_NONCE, &frame.header, &mut frame.text).ok()?;
        Some(())
    });
    verdict(sealed.flatten().is_some())
}

/// What was sealed opens again, and is the text.
#[unsafe(no_mangle)]
extern "C" fn check_seal_frame() -> u32 {
    let opened = bench_open_frame();
    verdict(opened == verdict(true) && FRAME.with(|frame| frame.text == TEXT) == Some(true))
}

#[unsafe(no_mangle)]
extern "C" fn prepare_open_frame() -> u32 {
    prepare_seal_frame() | bench_seal_frame()
}

#[unsafe(no_mangle)]
extern "C" fn bench_open_frame() -> u32 {
    let opened = FRAME.with(|frame| {
        open(&Secret::new(FRAME_KEY), &FRAME_NONCE, &frame.header, &mut frame.text, &frame.tag).is_ok()
    });
    verdict(opened == Some(true))
}
