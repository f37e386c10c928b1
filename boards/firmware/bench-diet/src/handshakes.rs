//! The two forms of IoT-CryptoDiet's protocol, step by step: of the one to the letter what each
//! node computes, of the settled one what each side of a handshake does; and the first message of
//! each.

#![no_std]
#![no_main]

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use motemix_board_calls::place::Place;
use motemix_board_calls::steps;
use motemix_neighbour::Refused;
use motemix_neighbour::diet::literal::{self, Node, Peer};
use motemix_neighbour::diet::settled::{
    ANSWER_LEN, Admission, HELLO_LEN, Identity, Initiator, OVERHEAD, Pending, Session,
};
use motemix_neighbour::suite::HalfWordsP256;

const TEXT: [u8; 12] = *b"21.5 degrees";

static SENSOR: Place<Node> = Place::empty();
static ROUTER: Place<Node> = Place::empty();
static AT_SENSOR: Place<Peer> = Place::empty();
static AT_ROUTER: Place<Peer> = Place::empty();
static LITERAL: Place<[u8; literal::message_len(TEXT.len())]> = Place::empty();

static INITIATOR: Place<Identity> = Place::empty();
static RESPONDER: Place<Identity> = Place::empty();
static CALLING: Place<Initiator> = Place::empty();
static HELLO: Place<[u8; HELLO_LEN]> = Place::empty();
static ANSWER: Place<[u8; ANSWER_LEN]> = Place::empty();
static PENDING: Place<Pending> = Place::empty();
static SESSION: Place<Session> = Place::empty();
static SETTLED: Place<[u8; OVERHEAD + TEXT.len()]> = Place::empty();

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

/// What lies in a place; a step before has put it there.
fn with<T, R>(place: &Place<T>, use_it: impl FnOnce(&mut T) -> Result<R, Refused>) -> Result<R, Refused> {
    place.with(use_it).unwrap_or(Err(Refused::Length))
}

fn sensor_generates() -> Result<(), Refused> {
    SENSOR.put(Node::generate(&mut HalfWordsP256, &mut rng(1))?);
    Ok(())
}

fn router_generates() -> Result<(), Refused> {
    ROUTER.put(Node::generate(&mut HalfWordsP256, &mut rng(2))?);
    Ok(())
}

fn meets(node: &Place<Node>, other: &Place<Node>, peer: &Place<Peer>) -> Result<(), Refused> {
    let keys = with(other, |other| Ok(other.keys()))?;
    with(node, |node| {
        peer.put(node.meet(&keys, &mut HalfWordsP256)?);
        Ok(())
    })
}

fn sensor_meets() -> Result<(), Refused> {
    meets(&SENSOR, &ROUTER, &AT_SENSOR)
}

fn router_meets() -> Result<(), Refused> {
    meets(&ROUTER, &SENSOR, &AT_ROUTER)
}

fn literal_protects() -> Result<(), Refused> {
    let mut room = [0; literal::message_len(TEXT.len())];
    with(&SENSOR, |sensor| {
        with(&AT_SENSOR, |router| {
            sensor.protect(router, &TEXT, &mut room, &mut HalfWordsP256, &mut rng(3)).map(|_| ())
        })
    })?;
    LITERAL.put(room);
    Ok(())
}

fn literal_opens() -> Result<(), Refused> {
    let mut message = with(&LITERAL, |message| Ok(*message))?;
    let is_same =
        with(&AT_ROUTER, |sensor| Ok(sensor.open(&mut message, &mut HalfWordsP256)? == TEXT.as_slice()))?;
    if is_same { Ok(()) } else { Err(Refused::Ciphertext) }
}

/// Both have their identities: they keep them from one handshake to the next.
fn identities() -> Result<(), Refused> {
    INITIATOR.put(Identity::generate(&mut HalfWordsP256, &mut rng(4))?);
    RESPONDER.put(Identity::generate(&mut HalfWordsP256, &mut rng(5))?);
    Ok(())
}

fn hello() -> Result<(), Refused> {
    let (calling, hello) = with(&INITIATOR, |me| me.hello(&mut HalfWordsP256, &mut rng(6)))?;
    CALLING.put(calling);
    HELLO.put(hello);
    Ok(())
}

fn answer() -> Result<(), Refused> {
    let known = [with(&INITIATOR, |initiator| Ok(initiator.public_key()))?];
    let hello = with(&HELLO, |hello| Ok(*hello))?;
    let (pending, answer) =
        with(&RESPONDER, |me| me.answer(&hello, Admission::Of(&known), &mut HalfWordsP256, &mut rng(7)))?;
    PENDING.put(pending);
    ANSWER.put(answer);
    Ok(())
}

fn finish() -> Result<(), Refused> {
    let known = [with(&RESPONDER, |responder| Ok(responder.public_key()))?];
    let answer = with(&ANSWER, |answer| Ok(*answer))?;
    let session =
        with(&CALLING, |calling| calling.finish(&answer, Admission::Of(&known), &mut HalfWordsP256))?;
    SESSION.put(session);
    Ok(())
}

fn settled_protects() -> Result<(), Refused> {
    let mut room = [0; OVERHEAD + TEXT.len()];
    with(&SESSION, |session| session.seal(&TEXT, &mut room, &mut HalfWordsP256, &mut rng(8)).map(|_| ()))?;
    SETTLED.put(room);
    Ok(())
}

fn settled_opens() -> Result<(), Refused> {
    let mut message = with(&SETTLED, |message| Ok(*message))?;
    let pending = PENDING.take().ok_or(Refused::Length)?;
    let (_, text) = pending.open(&mut message, &mut HalfWordsP256).map_err(|(_, refused)| refused)?;
    if text == TEXT { Ok(()) } else { Err(Refused::Ciphertext) }
}

/// The form to the letter.
const LITERAL_STEPS: [fn() -> Result<(), Refused>; 6] =
    [sensor_generates, router_generates, sensor_meets, router_meets, literal_protects, literal_opens];

steps! {
    LITERAL_STEPS:
    0 prepare_sensor_generates bench_sensor_generates sensor_generates
    1 prepare_router_generates bench_router_generates router_generates
    2 prepare_sensor_meets bench_sensor_meets sensor_meets
    3 prepare_router_meets bench_router_meets router_meets
    4 prepare_literal_protects bench_literal_protects literal_protects
    5 prepare_literal_opens bench_literal_opens literal_opens
}

/// The settled form.
const SETTLED_STEPS: [fn() -> Result<(), Refused>; 6] =
    [identities, hello, answer, finish, settled_protects, settled_opens];

steps! {
    SETTLED_STEPS:
    1 prepare_hello bench_hello hello
    2 prepare_answer bench_answer answer
    3 prepare_finish bench_finish finish
    4 prepare_settled_protects bench_settled_protects settled_protects
    5 prepare_settled_opens bench_settled_opens settled_opens
}
