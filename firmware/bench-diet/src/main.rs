//! The six functions of IoT-CryptoDiet, and a handshake and a message of the settled protocol.

#![no_std]
#![no_main]

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use motemix_board_bench::place::Place;
use motemix_board_bench::{BAD, verdict};
use motemix_neighbour::Signature;
use motemix_neighbour::functions::{
    KeyPair, SharedKey, decrypt, encrypt, generate_key_pair, shared_key, sign, verify,
};
use motemix_neighbour::suite::HalfWordsP256;

/// What the paper encrypts and signs is not said; one block with its padding.
const MESSAGE: [u8; 12] = *b"21.5 degrees";

static PAIR: Place<[KeyPair; 2]> = Place::empty();
static KEY: Place<SharedKey> = Place::empty();
static CIPHERTEXT: Place<[u8; 16]> = Place::empty();
static SIGNATURE: Place<Signature> = Place::empty();

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn outcome(result: Option<bool>) -> u32 {
    result.map_or(BAD, verdict)
}

#[unsafe(no_mangle)]
extern "C" fn bench_generate() -> u32 {
    let pair = generate_key_pair(&mut HalfWordsP256, &mut rng(1));
    verdict(pair.is_ok_and(|pair| pair.public.as_bytes()[0] != 0))
}

fn prepare_pairs() -> u32 {
    let pair = |seed| generate_key_pair(&mut HalfWordsP256, &mut rng(seed));
    let (Ok(mine), Ok(theirs)) = (pair(1), pair(2)) else { return BAD };
    PAIR.put([mine, theirs]);
    verdict(true)
}

#[unsafe(no_mangle)]
extern "C" fn prepare_shared_key() -> u32 {
    prepare_pairs()
}

#[unsafe(no_mangle)]
extern "C" fn bench_shared_key() -> u32 {
    outcome(PAIR.with(|[mine, theirs]| shared_key(&mut HalfWordsP256, &mine.private, &theirs.public).is_ok()))
}

fn prepare_key() -> u32 {
    prepare_pairs();
    let key = PAIR.with(|[mine, theirs]| shared_key(&mut HalfWordsP256, &mine.private, &theirs.public).ok());
    let Some(Some(key)) = key else { return BAD };
    KEY.put(key);
    CIPHERTEXT.put([0; 16]);
    verdict(true)
}

#[unsafe(no_mangle)]
extern "C" fn prepare_encrypt() -> u32 {
    prepare_key()
}

#[unsafe(no_mangle)]
extern "C" fn bench_encrypt() -> u32 {
    outcome(KEY.with(|key| {
        CIPHERTEXT.with(|room| encrypt(&mut HalfWordsP256, key, &MESSAGE, room).is_ok()).unwrap_or(false)
    }))
}

#[unsafe(no_mangle)]
extern "C" fn prepare_decrypt() -> u32 {
    prepare_key();
    bench_encrypt()
}

#[unsafe(no_mangle)]
extern "C" fn bench_decrypt() -> u32 {
    outcome(KEY.with(|key| {
        CIPHERTEXT
            .with(|room| decrypt(&mut HalfWordsP256, key, room).is_ok_and(|message| message == MESSAGE))
            .unwrap_or(false)
    }))
}

#[unsafe(no_mangle)]
extern "C" fn prepare_sign() -> u32 {
    prepare_pairs()
}

#[unsafe(no_mangle)]
extern "C" fn bench_sign() -> u32 {
    outcome(PAIR.with(|[mine, _]| {
        sign(&mut HalfWordsP256, &mine.private, &MESSAGE, &mut rng(3)).map(|made| SIGNATURE.put(made)).is_ok()
    }))
}

#[unsafe(no_mangle)]
extern "C" fn prepare_verify() -> u32 {
    prepare_pairs();
    bench_sign()
}

#[unsafe(no_mangle)]
extern "C" fn bench_verify() -> u32 {
    outcome(PAIR.with(|[mine, _]| {
        SIGNATURE
            .with(|made| verify(&mut HalfWordsP256, &mine.public, &MESSAGE, made).is_ok())
            .unwrap_or(false)
    }))
}
