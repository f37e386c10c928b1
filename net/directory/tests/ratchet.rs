//! Keys that only move forward.

use motemix_crypto::Secret;
use motemix_directory::{Epoch, KeyRatchet, RatchetError};

/// Seeds and mix keys of `docs/spec/epochs.md`.
const VECTORS: [(u32, &str, &str); 4] = [
    (
        7,
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "4a69d4a8d948ec5eb83feb844b319d74f1271a3bbc1e9ba86ec9018ac649eeeb",
    ),
    (
        8,
        "80ab318a2a71affdac90861cdf6541a7e5b01db7270cf411060ae8902e8c07d6",
        "79cfbedce836f0d9e89fd9ceab4c17fcacbe856d89e5360c7f9d92f444cbf9a4",
    ),
    (
        9,
        "eb3afd0d7a06d0671f01d8b89652af08589fbcd3afca1d14f6335e4c0efe5087",
        "61fe912ed54288da8d42770632164a219b00d4e40ddcfd82a679138161963ae1",
    ),
    (
        10,
        "c192bcf65581e9b345b8dc62e62c6d6ccdf9ed304e84d7dc28b6be42852c0c02",
        "79c81d7e514c6269296133b3ebbbdf86db97a4eb521a74a35a90a5dfbe959bea",
    ),
];

fn first() -> KeyRatchet {
    KeyRatchet::new(Epoch(7), Secret::new(core::array::from_fn(|at| at as u8)))
}

#[test]
fn the_ratchet_follows_the_test_vectors() {
    let stays = first();
    let mut moves = first();
    for (epoch, seed, mix_secret) in VECTORS {
        moves.advance_to(Epoch(epoch)).unwrap();
        assert_eq!((moves.epoch(), hex::encode(moves.expose_seed()).as_str()), (Epoch(epoch), seed));
        for ratchet in [&stays, &moves] {
            let secret = ratchet.mix_secret(Epoch(epoch)).unwrap();
            assert_eq!(hex::encode(secret.expose()), mix_secret);
        }
    }
}

#[test]
fn the_keys_of_passed_epochs_are_gone() {
    let mut ratchet = first();
    ratchet.advance_to(Epoch(9)).unwrap();
    let passed = RatchetError::Passed { asked: Epoch(8), have: Epoch(9) };
    assert_eq!(ratchet.mix_secret(Epoch(8)).unwrap_err(), passed);
    assert_eq!(ratchet.advance_to(Epoch(8)), Err(passed));
    assert_eq!(hex::encode(ratchet.expose_seed()), VECTORS[2].1, "it has not moved");
}

#[test]
fn an_epoch_in_the_far_future_is_an_error_and_not_a_pause() {
    let mut ratchet = first();
    let refused = ratchet.advance_to(Epoch(u32::MAX)).unwrap_err();
    assert_eq!(refused, RatchetError::TooFarAhead { asked: Epoch(u32::MAX), have: Epoch(7) });
    assert_eq!(ratchet.epoch(), Epoch(7));
}

#[test]
fn a_ratchet_says_nothing_about_itself() {
    assert_eq!(format!("{:?}", first()), "KeyRatchet(..)");
}
