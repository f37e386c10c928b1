//! Ed25519: a key from its seed, a signature of a reading, and its check.

use motemix_board_bench::world::{self, READING};
use motemix_board_calls::place::Place;
use motemix_board_calls::verdict;
use motemix_crypto::ed25519::{SIGNATURE_LEN, SigningKey, is_key, is_signed};

use crate::{outcome, sure};

static KEY: Place<SigningKey> = Place::empty();
static SIGNATURE: Place<[u8; SIGNATURE_LEN]> = Place::empty();

#[unsafe(no_mangle)]
extern "C" fn bench_ed25519_key() -> u32 {
    KEY.put(SigningKey::from_seed(&world::secret(*b"mine", 0)));
    verdict(true)
}

/// The public key is that of what it signs.
#[unsafe(no_mangle)]
extern "C" fn check_ed25519_key() -> u32 {
    bench_ed25519_sign();
    bench_ed25519_verify()
}

#[unsafe(no_mangle)]
extern "C" fn prepare_ed25519_sign() -> u32 {
    bench_ed25519_key()
}

#[unsafe(no_mangle)]
extern "C" fn bench_ed25519_sign() -> u32 {
    outcome(KEY.with(|key| SIGNATURE.put(key.sign(&[&READING]))))
}

#[unsafe(no_mangle)]
extern "C" fn check_ed25519_sign() -> u32 {
    bench_ed25519_verify()
}

#[unsafe(no_mangle)]
extern "C" fn prepare_ed25519_verify() -> u32 {
    bench_ed25519_key();
    bench_ed25519_sign()
}

/// The key too, as of somebody who was not known before.
#[unsafe(no_mangle)]
extern "C" fn bench_ed25519_verify() -> u32 {
    outcome(
        KEY.with(|key| {
            let public = key.public_key();
            SIGNATURE.with(|signature| sure(is_key(public) && is_signed(public, &[&READING], signature)))
        })
        .flatten()
        .flatten(),
    )
}
