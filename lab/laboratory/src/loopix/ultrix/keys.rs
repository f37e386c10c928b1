//! From a shared key to everything a hop uses it for.

use aes::Aes128;
use aes::cipher::array::Array;
use aes::cipher::{
    BlockCipherDecrypt as _, BlockCipherEncrypt as _, BlockModeDecrypt as _, BlockModeEncrypt as _,
    KeyInit as _, KeyIvInit as _, StreamCipher as _,
};
use motemix_crypto::Secret;
use motemix_sphinx::ReplayTag;
use motemix_sphinx::onion::LayerKeys;

use super::group::Group;
use motemix_loopix::packet::format::K;
use motemix_loopix::packet::keys::{derive, mac, xor_ctr};

/// The labels under which keys are derived.
const MASTER: &[u8; K] = b"_master_________";
const FRAGILE: &[u8; K] = b"_fragile________";
const DESTINATION: &[u8; K] = b"dest_inner______";
const PAYLOAD: &[u8; K] = b"body_inner______";

const ZERO: [u8; K] = [0; K];

/// `N` blocks of the stream of `key` that begins with the counter `iv`.
pub fn keystream<const N: usize>(key: &Secret<K>, iv: &[u8; K]) -> [Secret<K>; N] {
    let mut stream = ctr::Ctr128BE::<Aes128>::new(key.expose().into(), iv.into());
    std::array::from_fn(|_| {
        let mut block = Secret::zero();
        stream.apply_keystream(block.expose_mut());
        block
    })
}

/// One block, encrypted.
pub fn encrypt_block(key: &Secret<K>, block: &mut [u8; K]) {
    Aes128::new(key.expose().into()).encrypt_block(block.into());
}

/// One block, decrypted.
pub fn decrypt_block(key: &Secret<K>, block: &mut [u8; K]) {
    Aes128::new(key.expose().into()).decrypt_block(block.into());
}

/// CBC from a zero block. Bytes after the last whole block stay as they are; a format has none.
pub fn encrypt_chained(key: &Secret<K>, bytes: &mut [u8]) {
    let (blocks, _) = Array::slice_as_chunks_mut(bytes);
    cbc::Encryptor::<Aes128>::new(key.expose().into(), &ZERO.into()).encrypt_blocks(blocks);
}

/// Takes [`encrypt_chained`] back.
pub fn decrypt_chained(key: &Secret<K>, bytes: &mut [u8]) {
    let (blocks, _) = Array::slice_as_chunks_mut(bytes);
    cbc::Decryptor::<Aes128>::new(key.expose().into(), &ZERO.into()).decrypt_blocks(blocks);
}

/// ρ.
pub fn xor_stream(key: &Secret<K>, bytes: &mut [u8]) {
    xor_ctr(key.expose(), &ZERO, bytes);
}

/// The key that hides who a message is for.
pub fn destination_stream(destination_key: &[u8; K]) -> Secret<K> {
    derive(&Secret::new(*destination_key), DESTINATION)
}

/// The key of the payload's wide block.
pub fn payload_block(destination_key: &[u8; K]) -> Secret<K> {
    derive(&Secret::new(*destination_key), PAYLOAD)
}

/// The keys of one hop that depend on the shared secret alone.
#[derive(Debug)]
pub struct HopKeys {
    stream: Secret<K>,
    mac: Secret<K>,
    replay_tag: ReplayTag,
    blinding: Secret<K>,
}

impl HopKeys {
    /// All keys that follow from the key of a shared secret.
    pub fn new(key: &Secret<K>) -> Self {
        let [stream, mac, tag, blinding] = keystream(key, MASTER);
        Self { stream, mac, replay_tag: ReplayTag(*tag.expose()), blinding }
    }

    /// Recognises a packet that this hop has seen. Anybody can make one that this hop has not seen.
    pub const fn replay_tag(&self) -> ReplayTag {
        self.replay_tag
    }

    /// The factor that turns this hop's group element into the next.
    pub fn blinding<G: Group>(&self) -> Option<G::Exponent> {
        G::factor(&self.blinding)
    }

    /// The keys that break if the header was changed.
    pub fn links(&self, associated: &[u8], chain: &[u8; K], routing_info: &[u8]) -> Links {
        let bound = Secret::new(mac(self.mac.expose(), &[associated, chain, routing_info]));
        let [root, payload, next] = keystream(&bound, FRAGILE);
        Links { root, payload, chain: *next.expose() }
    }
}

impl LayerKeys for HopKeys {
    fn xor_stream(&self, from: usize, bytes: &mut [u8]) {
        use aes::cipher::StreamCipherSeek as _;
        let mut stream = ctr::Ctr128BE::<Aes128>::new(self.stream.expose().into(), &ZERO.into());
        stream.seek(from);
        stream.apply_keystream(bytes);
    }

    /// There is none inside the header.
    fn header_mac(&self, _: &[u8]) -> [u8; K] {
        ZERO
    }
}

/// The keys of one hop that depend on its whole header.
#[derive(Debug)]
pub struct Links {
    /// The root of the destination key's layer.
    pub root: Secret<K>,
    /// The key of the payload's layer.
    pub payload: Secret<K>,
    /// The next γ.
    pub chain: [u8; K],
}
