//! Every operation that sees a secret, with inputs from outside: the stopwatch gives thousands of
//! secrets, and looks whether the number of cycles is always the same.
//!
//! Inputs lie in one buffer, and the outcome is left there, as each function says. Each returns
//! zero when it did its work.

use crate::ShippedCurve;
use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use motemix_board_calls::place::Place;
use motemix_board_calls::{BAD, verdict};
use motemix_crypto::curve::scalar::BlindedScalar;
use motemix_crypto::ed25519::{self, SigningKey};
use motemix_crypto::wide_block::WideBlockKeys;
use motemix_crypto::{Curve, PublicKey, PublicPoint, Secret, WideBlake2s, hash, stream};
use motemix_multiply as _;
use motemix_neighbour::suite::{HalfWordsP256, PUBLIC_KEY_LEN, SIGNATURE_LEN};
use motemix_neighbour::{PrivateKey, PublicKey as PublicKey256, Suite};
use motemix_sphinx::{Hop, MOTE, MixKey, Mote, Packet, ReplayError, ReplayFilter, ReplayTag};
use subtle::ConstantTimeEq;

type Motes = Mote<ShippedCurve>;

const BUFFER_LEN: usize = 32 + MOTE.packet_len();

static BUFFER: Place<[u8; BUFFER_LEN]> = Place::empty();

/// Where the inputs come to. To be called once.
#[unsafe(no_mangle)]
extern "C" fn mote_buffer() -> *mut u8 {
    BUFFER.put([0; BUFFER_LEN]);
    BUFFER.with(|buffer| buffer.as_mut_ptr()).unwrap_or(core::ptr::null_mut())
}

pub fn with(use_it: impl FnOnce(&mut [u8; BUFFER_LEN]) -> Option<bool>) -> u32 {
    BUFFER.with(use_it).flatten().map_or(BAD, verdict)
}

/// 32 bytes of the buffer.
fn key(buffer: &[u8; BUFFER_LEN], at: usize) -> Option<[u8; 32]> {
    buffer.get(at..)?.first_chunk().copied()
}

/// Two factors of 64 bits; their product takes the place of the first.
#[unsafe(no_mangle)]
extern "C" fn bench_multiply() -> u32 {
    with(|buffer| {
        let (first, rest) = buffer.split_first_chunk_mut::<8>()?;
        let second = u64::from_le_bytes(*rest.first_chunk()?);
        *first = u64::from_le_bytes(*first).wrapping_mul(second).to_le_bytes();
        Some(true)
    })
}

/// Scalar, point; the product takes the place of the scalar.
#[unsafe(no_mangle)]
extern "C" fn bench_x25519() -> u32 {
    with(|buffer| {
        let point = PublicKey(key(buffer, 32)?);
        let product = ShippedCurve::diffie_hellman(&Secret::new(key(buffer, 0)?), &point)?;
        buffer.get_mut(..32)?.copy_from_slice(product.expose());
        Some(true)
    })
}

/// What products are taken of, once it was made ready.
static POINT: Place<<ShippedCurve as Curve>::Point> = Place::empty();

/// Makes the point that lies behind the scalar ready. The point is public.
#[unsafe(no_mangle)]
extern "C" fn prepare_x25519_public() -> u32 {
    with(|buffer| {
        POINT.put_new(Default::default);
        let bytes = PublicKey(key(buffer, 32)?);
        POINT.with(|point| point.set(&bytes)).map(|()| true)
    })
}

/// Scalar; its product with that point takes its place.
#[unsafe(no_mangle)]
extern "C" fn bench_x25519_public() -> u32 {
    with(|buffer| {
        let secret = Secret::new(key(buffer, 0)?);
        let product = POINT.with(|point| point.diffie_hellman(&secret))??;
        buffer.get_mut(..32)?.copy_from_slice(product.expose());
        Some(true)
    })
}

/// Scalar; its public key takes its place.
#[unsafe(no_mangle)]
extern "C" fn bench_x25519_base() -> u32 {
    with(|buffer| {
        let public_key = ShippedCurve::public_key(&Secret::new(key(buffer, 0)?));
        buffer.get_mut(..32)?.copy_from_slice(&public_key.0);
        Some(true)
    })
}

/// First scalar, blinding; the blinded scalar takes the place of the first.
#[unsafe(no_mangle)]
extern "C" fn bench_blind() -> u32 {
    with(|buffer| {
        let mut scalar = BlindedScalar::from_clamped(&Secret::new(key(buffer, 0)?));
        scalar.blind(&Secret::new(key(buffer, 32)?));
        buffer.get_mut(..32)?.copy_from_slice(scalar.to_clamped().expose());
        Some(true)
    })
}

/// Key, then the payload of a packet.
#[unsafe(no_mangle)]
extern "C" fn bench_wide_block_encrypt() -> u32 {
    with(|buffer| {
        let keys = WideBlockKeys::derive(&key(buffer, 0)?, b"motemix/test");
        keys.encrypt::<WideBlake2s>(buffer.get_mut(32..32 + MOTE.payload_len())?);
        Some(true)
    })
}

/// The same.
#[unsafe(no_mangle)]
extern "C" fn bench_wide_block_decrypt() -> u32 {
    with(|buffer| {
        let keys = WideBlockKeys::derive(&key(buffer, 0)?, b"motemix/test");
        keys.decrypt::<WideBlake2s>(buffer.get_mut(32..32 + MOTE.payload_len())?);
        Some(true)
    })
}

/// Key, then bytes as long as a packet's routing info.
#[unsafe(no_mangle)]
extern "C" fn bench_stream() -> u32 {
    with(|buffer| {
        let key = key(buffer, 0)?;
        stream::xor(&key, b"motemix/test", buffer.get_mut(32..32 + MOTE.routing_info_len())?);
        Some(true)
    })
}

/// Key, a MAC, then bytes as long as a packet's routing info. The MAC is made and compared; it may
/// hold or not, which the last byte of the buffer says.
#[unsafe(no_mangle)]
extern "C" fn bench_mac() -> u32 {
    with(|buffer| {
        let (mac, message) = buffer.get(32..)?.split_first_chunk::<16>()?;
        let made = hash::blake2s_128(&key(buffer, 0)?, message.get(..MOTE.routing_info_len())?);
        // Kept as it is: what follows from it is not secret any more.
        let matches = made.expose().as_slice().ct_eq(mac.as_slice());
        let out = buffer.last_mut()?;
        *out = matches.unwrap_u8();
        Some(true)
    })
}

/// Private key of P-256; its public key takes its place.
#[unsafe(no_mangle)]
extern "C" fn bench_p256_public_key() -> u32 {
    with(|buffer| {
        let private = PrivateKey::new(Secret::new(key(buffer, 0)?)).ok()?;
        let public = HalfWordsP256.public_key(&private).ok()?;
        buffer.get_mut(..PUBLIC_KEY_LEN)?.copy_from_slice(public.as_bytes());
        Some(true)
    })
}

/// Private key of P-256, a public one; the shared secret takes the place of the first.
#[unsafe(no_mangle)]
extern "C" fn bench_p256_agree() -> u32 {
    with(|buffer| {
        let private = PrivateKey::new(Secret::new(key(buffer, 0)?)).ok()?;
        let peer = PublicKey256::new(*buffer.get(32..)?.first_chunk()?).ok()?;
        let shared = HalfWordsP256.agree(&private, &peer).ok()?;
        buffer.get_mut(..32)?.copy_from_slice(shared.expose());
        Some(true)
    })
}

/// Private key of P-256, digest, seed of the generator; the signature takes their place.
#[unsafe(no_mangle)]
extern "C" fn bench_p256_sign() -> u32 {
    with(|buffer| {
        let private = PrivateKey::new(Secret::new(key(buffer, 0)?)).ok()?;
        let mut rng = ChaCha20Rng::from_seed(key(buffer, 64)?);
        let signature = HalfWordsP256.sign(&private, &key(buffer, 32)?, &mut rng).ok()?;
        buffer.get_mut(..SIGNATURE_LEN)?.copy_from_slice(&signature.0);
        Some(true)
    })
}

/// Seed of Ed25519; its public key takes its place.
#[unsafe(no_mangle)]
extern "C" fn bench_ed25519_key() -> u32 {
    with(|buffer| {
        let signing = SigningKey::from_seed(&Secret::new(key(buffer, 0)?));
        buffer.get_mut(..32)?.copy_from_slice(signing.public_key());
        Some(true)
    })
}

/// Seed of Ed25519, 64 bytes that are signed; the signature takes the place of the seed and of half
/// of them.
#[unsafe(no_mangle)]
extern "C" fn bench_ed25519_sign() -> u32 {
    with(|buffer| {
        let signing = SigningKey::from_seed(&Secret::new(key(buffer, 0)?));
        let signature = signing.sign(&[&key(buffer, 32)?, &key(buffer, 64)?]);
        buffer.get_mut(..ed25519::SIGNATURE_LEN)?.copy_from_slice(&signature);
        Some(true)
    })
}

/// Mix key, packet: up to the packet that is sent on. All packets are to be forwarded.
#[unsafe(no_mangle)]
extern "C" fn bench_forward() -> u32 {
    with(|buffer| {
        let mix_key = MixKey::new(Secret::new(key(buffer, 0)?));
        let packet = Packet::<Motes>::parse(buffer.get_mut(32..)?).ok()?;
        let ((), authentic) = packet.authenticate([((), &mix_key)]).ok()?;
        let hop = authentic.admit(&mut Forgetful).ok()?.unwrap_layer().ok()?;
        Some(matches!(hop, Hop::Forward(_)))
    })
}

/// Admits every packet.
struct Forgetful;

impl ReplayFilter for Forgetful {
    fn admit(&mut self, _: &ReplayTag) -> Result<(), ReplayError> {
        Ok(())
    }
}
