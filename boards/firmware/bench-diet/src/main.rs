//! The six functions of IoT-CryptoDiet. Each takes the number of its run, of which its keys and its
//! randomness are made.

#![no_std]
#![no_main]

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng as _, SeedableRng};
use motemix_board_calls::place::Place;
use motemix_board_calls::{BAD, verdict};
use motemix_crypto::Secret;
use motemix_neighbour::functions::{
    SharedKey, decrypt, encrypt, generate_key_pair, shared_key, sign, verify,
};
use motemix_neighbour::suite::HalfWordsP256;
use motemix_neighbour::{PrivateKey, PublicKey, Signature};

/// What the paper encrypts and signs is not said; one block with its padding.
const MESSAGE: [u8; 12] = *b"21.5 degrees";

static PRIVATE: Place<PrivateKey> = Place::empty();
static PUBLIC: Place<PublicKey> = Place::empty();
static KEY: Place<SharedKey> = Place::empty();
static CIPHERTEXT: Place<[u8; 16]> = Place::empty();
static SIGNATURE: Place<Signature> = Place::empty();

/// The generator number `purpose` of a run.
fn rng(run: u32, purpose: u8) -> ChaCha20Rng {
    let mut seed = [purpose; 32];
    seed[..4].copy_from_slice(&run.to_le_bytes());
    ChaCha20Rng::from_seed(seed)
}

fn outcome(result: Option<bool>) -> u32 {
    result.map_or(BAD, verdict)
}

#[unsafe(no_mangle)]
extern "C" fn bench_generate(run: u32) -> u32 {
    let pair = generate_key_pair(&mut HalfWordsP256, &mut rng(run, 1));
    verdict(pair.is_ok_and(|pair| pair.public.as_bytes()[0] != 0))
}

#[unsafe(no_mangle)]
extern "C" fn prepare_shared_key(run: u32) -> u32 {
    PRIVATE.put(PrivateKey::generate(&mut rng(run, 1)));
    outcome(generate_key_pair(&mut HalfWordsP256, &mut rng(run, 2)).ok().map(|theirs| {
        PUBLIC.put(theirs.public);
        true
    }))
}

#[unsafe(no_mangle)]
extern "C" fn bench_shared_key(_: u32) -> u32 {
    let made = PRIVATE.with(|mine| {
        PUBLIC.with(|theirs| shared_key(&mut HalfWordsP256, mine, theirs).map(|key| KEY.put(key)).is_ok())
    });
    outcome(made.flatten())
}

#[unsafe(no_mangle)]
extern "C" fn prepare_encrypt(run: u32) -> u32 {
    let mut key = Secret::zero();
    rng(run, 4).fill_bytes(key.expose_mut());
    KEY.put(SharedKey::new(key));
    CIPHERTEXT.put([0; 16]);
    verdict(true)
}

#[unsafe(no_mangle)]
extern "C" fn bench_encrypt(_: u32) -> u32 {
    outcome(KEY.with(|key| {
        CIPHERTEXT.with(|room| encrypt(&mut HalfWordsP256, key, &MESSAGE, room).is_ok()).unwrap_or(false)
    }))
}

#[unsafe(no_mangle)]
extern "C" fn prepare_decrypt(run: u32) -> u32 {
    prepare_encrypt(run) | bench_encrypt(run)
}

#[unsafe(no_mangle)]
extern "C" fn bench_decrypt(_: u32) -> u32 {
    outcome(KEY.with(|key| {
        CIPHERTEXT
            .with(|room| decrypt(&mut HalfWordsP256, key, room).is_ok_and(|message| message == MESSAGE))
            .unwrap_or(false)
    }))
}

#[unsafe(no_mangle)]
extern "C" fn prepare_sign(run: u32) -> u32 {
    PRIVATE.put(PrivateKey::generate(&mut rng(run, 1)));
    verdict(true)
}

#[unsafe(no_mangle)]
extern "C" fn bench_sign(run: u32) -> u32 {
    outcome(PRIVATE.with(|mine| {
        sign(&mut HalfWordsP256, mine, &MESSAGE, &mut rng(run, 3)).map(|made| SIGNATURE.put(made)).is_ok()
    }))
}

#[unsafe(no_mangle)]
extern "C" fn prepare_verify(run: u32) -> u32 {
    let Ok(pair) = generate_key_pair(&mut HalfWordsP256, &mut rng(run, 1)) else { return BAD };
    PRIVATE.put(pair.private);
    PUBLIC.put(pair.public);
    bench_sign(run)
}

#[unsafe(no_mangle)]
extern "C" fn bench_verify(_: u32) -> u32 {
    outcome(PUBLIC.with(|public| {
        SIGNATURE.with(|made| verify(&mut HalfWordsP256, public, &MESSAGE, made).is_ok()).unwrap_or(false)
    }))
}
