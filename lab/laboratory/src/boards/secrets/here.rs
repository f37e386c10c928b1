//! The operations of the firmware's `mote_secrets`, on this host.

use super::Motes;
use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use ed25519_dalek::Signer;
use motemix_crypto::curve::scalar::BlindedScalar;
use motemix_crypto::wide_block::WideBlockKeys;
use motemix_crypto::{Curve, Portable, PublicKey, Secret, WideBlake2s, hash};
use motemix_neighbour::suite::{P256, PUBLIC_KEY_LEN, SIGNATURE_LEN};
use motemix_neighbour::{PrivateKey, Suite};
use motemix_sphinx::{MOTE, MixKey, Packet, ReplayError, ReplayFilter, ReplayTag};

const LABEL: &motemix_crypto::stream::Label = b"motemix/test";

fn key(buffer: &[u8], at: usize) -> Option<Secret<32>> {
    buffer.get(at..)?.first_chunk().copied().map(Secret::new)
}

pub fn multiply(buffer: &mut [u8]) -> Option<()> {
    let (first, rest) = buffer.split_first_chunk_mut::<8>()?;
    let second = u64::from_le_bytes(*rest.first_chunk()?);
    *first = u64::from_le_bytes(*first).wrapping_mul(second).to_le_bytes();
    Some(())
}

pub fn x25519(buffer: &mut [u8]) -> Option<()> {
    let product = Portable::diffie_hellman(&key(buffer, 0)?, &PublicKey(*key(buffer, 32)?.expose()))?;
    buffer[..32].copy_from_slice(product.expose());
    Some(())
}

pub fn x25519_base(buffer: &mut [u8]) -> Option<()> {
    let public_key = Portable::public_key(&key(buffer, 0)?);
    buffer[..32].copy_from_slice(&public_key.0);
    Some(())
}

pub fn blind(buffer: &mut [u8]) -> Option<()> {
    let mut scalar = BlindedScalar::from_clamped(&key(buffer, 0)?);
    scalar.blind(&key(buffer, 32)?);
    buffer[..32].copy_from_slice(scalar.to_clamped().expose());
    Some(())
}

pub fn forward(buffer: &mut [u8]) -> Option<()> {
    struct Forgetful;
    impl ReplayFilter for Forgetful {
        fn admit(&mut self, _: &ReplayTag) -> Result<(), ReplayError> {
            Ok(())
        }
    }
    let mix_key = MixKey::new(key(buffer, 0)?);
    let packet = Packet::<Motes>::parse(buffer.get_mut(32..)?).ok()?;
    let ((), authentic) = packet.authenticate([((), &mix_key)]).ok()?;
    authentic.admit(&mut Forgetful).ok()?.unwrap_layer().ok()?;
    Some(())
}

fn payload(buffer: &mut [u8]) -> Option<(WideBlockKeys, &mut [u8])> {
    let keys = WideBlockKeys::derive(key(buffer, 0)?.expose(), LABEL);
    Some((keys, buffer.get_mut(32..32 + MOTE.payload_len())?))
}

pub fn wide_block_encrypt(buffer: &mut [u8]) -> Option<()> {
    payload(buffer).map(|(keys, payload)| keys.encrypt::<WideBlake2s>(payload))
}

pub fn wide_block_decrypt(buffer: &mut [u8]) -> Option<()> {
    payload(buffer).map(|(keys, payload)| keys.decrypt::<WideBlake2s>(payload))
}

pub fn stream(buffer: &mut [u8]) -> Option<()> {
    let key = key(buffer, 0)?;
    motemix_crypto::stream::xor(key.expose(), LABEL, buffer.get_mut(32..32 + MOTE.routing_info_len())?);
    Some(())
}

pub fn p256_public_key(buffer: &mut [u8]) -> Option<()> {
    let public = P256.public_key(&PrivateKey::new(key(buffer, 0)?).ok()?).ok()?;
    buffer[..PUBLIC_KEY_LEN].copy_from_slice(public.as_bytes());
    Some(())
}

pub fn p256_agree(buffer: &mut [u8]) -> Option<()> {
    let peer = motemix_neighbour::PublicKey::new(*buffer.get(32..)?.first_chunk()?).ok()?;
    let shared = P256.agree(&PrivateKey::new(key(buffer, 0)?).ok()?, &peer).ok()?;
    buffer[..32].copy_from_slice(shared.expose());
    Some(())
}

pub fn p256_sign(buffer: &mut [u8]) -> Option<()> {
    let private = PrivateKey::new(key(buffer, 0)?).ok()?;
    let mut rng = ChaCha20Rng::from_seed(*key(buffer, 64)?.expose());
    let signature = P256.sign(&private, key(buffer, 32)?.expose(), &mut rng).ok()?;
    buffer[..SIGNATURE_LEN].copy_from_slice(&signature.0);
    Some(())
}

fn ed25519(buffer: &[u8]) -> Option<ed25519_dalek::SigningKey> {
    Some(ed25519_dalek::SigningKey::from_bytes(key(buffer, 0)?.expose()))
}

pub fn ed25519_key(buffer: &mut [u8]) -> Option<()> {
    let public = ed25519(buffer)?.verifying_key();
    buffer[..32].copy_from_slice(public.as_bytes());
    Some(())
}

pub fn ed25519_sign(buffer: &mut [u8]) -> Option<()> {
    let signature = ed25519(buffer)?.sign(buffer.get(32..96)?);
    buffer[..64].copy_from_slice(&signature.to_bytes());
    Some(())
}

pub fn mac(buffer: &mut [u8]) -> Option<()> {
    let (mac, message) = buffer.get(32..)?.split_first_chunk::<16>()?;
    let made = hash::blake2s_128(key(buffer, 0)?.expose(), message.get(..MOTE.routing_info_len())?);
    *buffer.last_mut()? = u8::from(made.expose() == mac);
    Some(())
}

pub fn control_comparison(buffer: &mut [u8]) -> Option<()> {
    let equal = buffer.get(..16)?.iter().zip(buffer.get(32..48)?).take_while(|(a, b)| a == b).count();
    *buffer.last_mut()? = u8::try_from(equal).ok()?;
    Some(())
}

#[expect(clippy::unnecessary_wraps, reason = "as all operations")]
pub fn control_branch(_: &mut [u8]) -> Option<()> {
    Some(())
}

pub fn control_table(buffer: &mut [u8]) -> Option<()> {
    let first = buffer.first_mut()?;
    *first = first.wrapping_mul(3) ^ 0x5c;
    Some(())
}

pub fn control_division(buffer: &mut [u8]) -> Option<()> {
    let (first, rest) = buffer.split_first_chunk_mut::<4>()?;
    let divisor = u32::from_le_bytes(*rest.first_chunk()?) | 1;
    *first = (u32::from_le_bytes(*first) / divisor).to_le_bytes();
    Some(())
}
