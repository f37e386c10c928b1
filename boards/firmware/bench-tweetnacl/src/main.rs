//! The thesis' operations on TweetNaCl, under the same names as ours.

#![no_std]
#![no_main]

mod nacl;
mod sphinx;

use motemix_board_calls::place::Place;
use motemix_board_calls::{BAD, verdict};
use sphinx::{Address, DATA_LEN, MAX_HOPS, Node, Outcome, Packet};

const DATA: [u8; DATA_LEN] = [0x52; DATA_LEN];
const ID: Address = *b"of a message yes";
/// The node on the board.
const ME: u8 = 0;
const EPHEMERAL: [u8; 32] = [0x7b; 32];

/// A packet under way.
struct Flight {
    to: Address,
    packet: Packet,
}

static FLIGHT: Place<Flight> = Place::empty();
static PATH: Place<[Node; MAX_HOPS]> = Place::empty();
static POINT: Place<[u8; 32]> = Place::empty();

fn outcome(result: Option<bool>) -> u32 {
    result.map_or(BAD, verdict)
}

fn address(node: u8) -> Address {
    [0x20 + node; 16]
}

/// Two secrets serve for all nodes: what an operation costs does not depend on it, and a
/// multiplication takes long here.
fn secret(node: u8) -> [u8; 32] {
    [0x11 + node % 2; 32]
}

fn node(number: u8) -> Node {
    Node { address: address(number), public_key: nacl::multiply_base(&secret(number)) }
}

fn create(path: &[Node], there: usize) -> Option<Flight> {
    let to = path.first()?.address;
    Some(Flight { to, packet: sphinx::create(path, there, &EPHEMERAL, &ID, &DATA) })
}

/// The packet arrives where it is going.
fn arrive(flight: &mut Flight) -> Option<Outcome> {
    let number = flight.to[0] - 0x20;
    let outcome = sphinx::process(&mut flight.packet, &flight.to, &secret(number))?;
    if let Outcome::Forward(next) | Outcome::Reply(next) = outcome {
        flight.to = next;
    }
    Some(outcome)
}

#[unsafe(no_mangle)]
extern "C" fn prepare_x25519() -> u32 {
    POINT.put(nacl::multiply_base(&secret(1)));
    verdict(true)
}

#[unsafe(no_mangle)]
extern "C" fn bench_x25519() -> u32 {
    outcome(POINT.with(|point| {
        *point = nacl::multiply(&secret(0), point);
        true
    }))
}

#[unsafe(no_mangle)]
extern "C" fn check_x25519() -> u32 {
    let expected = nacl::multiply(&secret(1), &nacl::multiply_base(&secret(0)));
    outcome(POINT.with(|point| *point == expected))
}

fn prepare_flight(path: &[u8], there: usize) -> u32 {
    let mut nodes = [node(ME); 3];
    for (place, number) in nodes.iter_mut().zip(path) {
        *place = node(*number);
    }
    match create(&nodes[..path.len()], there) {
        Some(flight) => {
            FLIGHT.put(flight);
            verdict(true)
        }
        None => BAD,
    }
}

#[unsafe(no_mangle)]
extern "C" fn prepare_forward() -> u32 {
    prepare_flight(&[ME, 1, 2], 2)
}

#[unsafe(no_mangle)]
extern "C" fn bench_forward() -> u32 {
    outcome(
        FLIGHT.with(|flight| arrive(flight).is_some_and(|outcome| outcome == Outcome::Forward(address(1)))),
    )
}

/// The receiver replies, and the sender has its acknowledgement.
#[unsafe(no_mangle)]
extern "C" fn check_forward() -> u32 {
    outcome(FLIGHT.with(|flight| {
        arrive(flight).is_some_and(|outcome| outcome == Outcome::Reply(address(2)))
            && arrive(flight).is_some_and(|outcome| outcome == Outcome::Acknowledged(ID))
    }))
}

#[unsafe(no_mangle)]
extern "C" fn prepare_receive() -> u32 {
    prepare_flight(&[ME, 1], 1)
}

#[unsafe(no_mangle)]
extern "C" fn bench_receive() -> u32 {
    outcome(FLIGHT.with(|flight| arrive(flight).is_some_and(|outcome| outcome == Outcome::Reply(address(1)))))
}

#[unsafe(no_mangle)]
extern "C" fn check_receive() -> u32 {
    outcome(FLIGHT.with(|flight| arrive(flight).is_some_and(|outcome| outcome == Outcome::Acknowledged(ID))))
}

#[unsafe(no_mangle)]
extern "C" fn prepare_acknowledge() -> u32 {
    if prepare_flight(&[1, ME], 1) == BAD {
        return BAD;
    }
    outcome(
        FLIGHT.with(|flight| arrive(flight).is_some_and(|outcome| outcome == Outcome::Reply(address(ME)))),
    )
}

#[unsafe(no_mangle)]
extern "C" fn bench_acknowledge() -> u32 {
    outcome(FLIGHT.with(|flight| arrive(flight).is_some_and(|outcome| outcome == Outcome::Acknowledged(ID))))
}

fn prepare_create() -> u32 {
    let pair = [node(0), node(1)];
    let mut path = [pair[0]; MAX_HOPS];
    for (place, number) in path.iter_mut().zip(0..) {
        *place = Node { address: address(number), ..pair[usize::from(number % 2)] };
    }
    PATH.put(path);
    verdict(true)
}

fn bench_create(hops: usize) -> u32 {
    match PATH.with(|path| create(path.get(..hops)?, hops.div_ceil(2))).flatten() {
        Some(flight) => {
            FLIGHT.put(flight);
            verdict(true)
        }
        None => BAD,
    }
}

/// The packet goes all its way and comes back acknowledged.
fn check_create(hops: usize) -> u32 {
    outcome(FLIGHT.with(|flight| {
        (1..hops).all(|_| arrive(flight).is_some())
            && arrive(flight).is_some_and(|outcome| outcome == Outcome::Acknowledged(ID))
    }))
}

macro_rules! creations {
    ($($hops:literal $prepare:ident $bench:ident $check:ident;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $prepare() -> u32 {
            prepare_create()
        }

        #[unsafe(no_mangle)]
        extern "C" fn $bench() -> u32 {
            bench_create($hops)
        }

        #[unsafe(no_mangle)]
        extern "C" fn $check() -> u32 {
            check_create($hops)
        }
    )*};
}

creations! {
    6 prepare_create6 bench_create6 check_create6;
    7 prepare_create7 bench_create7 check_create7;
    8 prepare_create8 bench_create8 check_create8;
    9 prepare_create9 bench_create9 check_create9;
    10 prepare_create10 bench_create10 check_create10;
}
