//! From a shared secret to everything a hop uses it for.

use motemix_crypto::wide_block::WideBlockKeys;
use motemix_crypto::{Curve, Pair, PublicKey, PublicPoint, Secret, SharedSecret, hash, stream};
use subtle::ConstantTimeEq;

use crate::delay::HopDelay;
use crate::geometry::{BLOCK_LEN, HEADER_MAC_LEN, MAX_HOPS};
use crate::onion::LayerKeys;

const HOP: &[u8] = b"motemix/1 hop";
const REPLAY_FILTER: &[u8] = b"motemix/1 replay filter";
const KEYS: &stream::Label = b"motemix/keys";
const PATH: &stream::Label = b"motemix/path";
const TURN: &stream::Label = b"motemix/turn";

/// Blocks of the key stream that are for the header.
const HEADER_KEYS_BLOCKS: u32 = 2;

/// A node's secret for one epoch. Its public key is in the epoch's network document.
#[derive(Debug)]
pub struct MixKey(Secret<32>);

impl MixKey {
    /// Takes any 32 random bytes; X25519 clamps them.
    pub const fn new(secret: Secret<32>) -> Self {
        Self(secret)
    }

    /// What the network document says of this key. One multiplication.
    pub fn public_key<C: Curve>(&self) -> PublicKey {
        C::public_key(&self.0)
    }

    /// Keys the digests under which a node remembers the replay tags of this mix key
    /// (`docs/spec/epochs.md`): nobody else can choose tags that crowd together, the digests mean
    /// the same after a restart, and they mean nothing once the mix key is gone.
    pub fn replay_filter_key(&self) -> Secret<16> {
        hash::blake2s_128(self.0.expose(), REPLAY_FILTER)
    }

    pub(crate) fn shared_secret(&self, group_element: &impl PublicPoint) -> Option<SharedSecret> {
        group_element.diffie_hellman(&self.0)
    }

    /// The same as one of a batch.
    pub(crate) const fn with(&self, group_element: PublicKey) -> Pair<'_> {
        Pair { secret: &self.0, point: group_element }
    }
}

/// Recognises a packet that a node has seen before under the same mix key. Sixteen bytes,
/// pseudorandom.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReplayTag(pub [u8; 16]);

/// The 32 bytes from which all of a hop's keys follow.
#[derive(Debug)]
pub(crate) struct HopKey(Secret<32>);

impl HopKey {
    pub(crate) fn extract(shared: &SharedSecret) -> Self {
        Self(hash::blake2s_256(shared.expose(), HOP))
    }

    pub(crate) const fn zero() -> Self {
        Self(Secret::zero())
    }

    /// The place of a hop's key, which holds the node's mix key until then.
    pub(crate) const fn in_place_of(mix_key: &PublicKey) -> Self {
        Self(Secret::new(mix_key.0))
    }

    /// What [`in_place_of`](Self::in_place_of) put there.
    pub(crate) const fn mix_key_in_place(&self) -> PublicKey {
        PublicKey(*self.0.expose())
    }

    #[must_use]
    pub(crate) const fn duplicate(&self) -> Self {
        Self(self.0.duplicate())
    }

    #[cfg(test)]
    pub(crate) const fn expose(&self) -> &[u8; 32] {
        self.0.expose()
    }

    /// The keys of the header: enough to read and to check it.
    pub(crate) fn header_keys(&self) -> HeaderKeys {
        let mut bytes = Secret::zero();
        stream::fill(self.0.expose(), KEYS, bytes.expose_mut());
        HeaderKeys(bytes)
    }

    /// The keys of the payload, the second half of the key stream.
    pub(crate) fn payload_keys(&self) -> WideBlockKeys {
        let mut keys = Secret::zero();
        stream::fill_from(self.0.expose(), KEYS, HEADER_KEYS_BLOCKS, keys.expose_mut());
        WideBlockKeys::new(keys)
    }

    /// The keys of the reply, at a turn-round hop.
    pub(crate) fn turn_keys(&self) -> WideBlockKeys {
        WideBlockKeys::derive(self.0.expose(), TURN)
    }
}

/// The first half of a hop's key stream.
#[derive(Debug)]
pub(crate) struct HeaderKeys(Secret<128>);

impl HeaderKeys {
    pub(crate) const fn zero() -> Self {
        Self(Secret::zero())
    }

    fn part<const N: usize>(&self, at: usize) -> &[u8; N] {
        self.0.expose()[at..].first_chunk().expect("the parts lie inside the key stream")
    }

    /// In constant time.
    pub(crate) fn header_mac_matches(&self, routing_info: &[u8], mac: &[u8; HEADER_MAC_LEN]) -> bool {
        self.header_mac(routing_info).as_slice().ct_eq(mac.as_slice()).into()
    }

    pub(crate) fn blinding(&self) -> Secret<32> {
        Secret::new(*self.part::<32>(64))
    }

    pub(crate) fn replay_tag(&self) -> ReplayTag {
        ReplayTag(*self.part::<16>(96))
    }

    pub(crate) fn delay(&self) -> HopDelay {
        HopDelay::from_seed(u64::from_le_bytes(*self.part::<8>(112)))
    }
}

impl LayerKeys for HeaderKeys {
    fn xor_stream(&self, from: usize, bytes: &mut [u8]) {
        let key = self.part::<32>(32);
        if from == 0 {
            return stream::xor(key, PATH, bytes);
        }
        let mut keystream = [0; (MAX_HOPS + 1) * BLOCK_LEN];
        let keystream = &mut keystream[..from + bytes.len()];
        stream::xor(key, PATH, keystream);
        for (byte, key) in bytes.iter_mut().zip(&keystream[from..]) {
            *byte ^= key;
        }
    }

    fn header_mac(&self, routing_info: &[u8]) -> [u8; HEADER_MAC_LEN] {
        *hash::blake2s_128(self.part::<32>(0), routing_info).expose()
    }
}
