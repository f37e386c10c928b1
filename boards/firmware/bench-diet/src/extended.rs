//! The same application with the library: keys are exchanged, and the text goes out encrypted and
//! signed, as IoT-CryptoDiet's extended application has it. All six functions are in it.

#![no_std]
#![no_main]

mod application;

use application::{TEXT, exchange, start};
use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use motemix_board_calls::place::Place;
use motemix_board_calls::verdict;
use motemix_neighbour::diet::literal::{Node, Peer, message_len};
use motemix_neighbour::suite::HalfWordsP256;

static RNG: Place<ChaCha20Rng> = Place::empty();
static NODE: Place<Node> = Place::empty();
static PEER: Place<Peer> = Place::empty();

#[unsafe(no_mangle)]
extern "C" fn prepare_handshake() -> u32 {
    start();
    RNG.put(ChaCha20Rng::from_seed([1; 32]));
    verdict(true)
}

/// Initialisation, and steps 1 and 2.
#[unsafe(no_mangle)]
extern "C" fn bench_handshake() -> u32 {
    let met = RNG.with(|rng| {
        NODE.put(Node::generate(&mut HalfWordsP256, rng).ok()?);
        NODE.with(|node| {
            let peer = exchange(&node.keys(), |keys| node.meet(keys, &mut HalfWordsP256))?.ok()?;
            PEER.put(peer);
            Some(())
        })?
    });
    verdict(met.flatten().is_some())
}

#[unsafe(no_mangle)]
extern "C" fn prepare_message() -> u32 {
    prepare_handshake() | bench_handshake()
}

#[unsafe(no_mangle)]
extern "C" fn bench_message() -> u32 {
    let mut room = [0; message_len(TEXT.len())];
    let arrived = RNG.with(|rng| {
        NODE.with(|node| {
            PEER.with(|peer| {
                let message = node.protect(peer, &TEXT, &mut room, &mut HalfWordsP256, rng).ok()?;
                exchange(message, |arrived| {
                    peer.open(arrived, &mut HalfWordsP256).is_ok_and(|text| *text == TEXT)
                })
            })?
        })?
    });
    verdict(arrived.flatten() == Some(true))
}
