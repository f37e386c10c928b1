//! From a shared secret to everything a hop uses it for.

use aes::Aes128;
use aes::cipher::{
    BlockCipherEncrypt as _, KeyInit as _, KeyIvInit as _, StreamCipher as _, StreamCipherSeek as _,
};
use hmac::{Hmac, Mac as _};
use motemix_crypto::Secret;
use motemix_crypto::p224::{Point, Scalar, ShortScalar};
use motemix_sphinx::ReplayTag;
use motemix_sphinx::onion::LayerKeys;
use sha2::{Digest as _, Sha256, Sha512};
use subtle::ConstantTimeEq as _;

use super::format::{Blinding, K};

type Ctr = ctr::Ctr128BE<Aes128>;

/// What is hashed before a shared secret.
pub const KEY: &[u8] = b"aes_key:";
/// What is hashed before group element and shared secret, for [`Blinding::Wide`].
const WIDE_BLINDING: &[u8] = b"motemix-loopix/1 blinding";

/// The labels under which keys are derived.
const BLINDING: &[u8; K] = b"hbhbhbhbhbhbhbhb";
const ROUTING_STREAM: &[u8; K] = b"hrhohrhohrhohrho";
const HEADER_MAC: &[u8; K] = b"hmu:hmu:hmu:hmu:";
const PAYLOAD: &[u8; K] = b"hpi:hpi:hpi:hpi:";
const REPLAY_TAG: &[u8; K] = b"htauhtauhtauhtau";

/// AES-128 in counter mode: the block `iv` is the first counter, which wraps at 2¹²⁸.
pub fn xor_ctr(key: &[u8; K], iv: &[u8; K], bytes: &mut [u8]) {
    Ctr::new(key.into(), iv.into()).apply_keystream(bytes);
}

/// μ: the first half of HMAC-SHA-256 over the parts.
pub fn mac(key: &[u8; K], parts: &[&[u8]]) -> [u8; K] {
    let mut hmac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    for part in parts {
        hmac.update(part);
    }
    let tag = hmac.finalize().into_bytes();
    *tag.first_chunk().expect("a tag of 32 bytes has 16")
}

/// In constant time: every MAC, tag and mark of Loopix is compared here.
pub fn macs_match<const N: usize>(a: &[u8; N], b: &[u8; N]) -> bool {
    a.as_slice().ct_eq(b.as_slice()).into()
}

/// One AES block under `key`: how labels become keys.
pub fn derive(key: &Secret<K>, label: &[u8; K]) -> Secret<K> {
    let mut block = Secret::new(*label);
    Aes128::new(key.expose().into()).encrypt_block(block.expose_mut().into());
    block
}

/// The key of a shared secret, given as an uncompressed point.
pub fn extract(uncompressed: &[u8]) -> Secret<K> {
    let digest = Sha256::new().chain_update(KEY).chain_update(uncompressed).finalize();
    Secret::new(*digest.first_chunk().expect("a digest of 32 bytes has 16"))
}

/// The keys of one hop.
#[derive(Debug)]
pub struct HopKeys {
    blinding: Secret<K>,
    stream: Secret<K>,
    mac: Secret<K>,
    payload: Secret<K>,
    replay_tag: ReplayTag,
}

impl HopKeys {
    /// All keys that follow from a shared secret.
    pub fn new(shared: &Secret<57>) -> Self {
        Self::from_key(&extract(shared.expose()))
    }

    /// All keys that follow from the key of a shared secret.
    pub fn from_key(key: &Secret<K>) -> Self {
        Self {
            blinding: derive(key, BLINDING),
            stream: derive(key, ROUTING_STREAM),
            mac: derive(key, HEADER_MAC),
            payload: derive(key, PAYLOAD),
            replay_tag: ReplayTag(*derive(key, REPLAY_TAG).expose()),
        }
    }

    /// Recognises a packet that this hop has seen.
    pub const fn replay_tag(&self) -> ReplayTag {
        self.replay_tag
    }

    /// The key of the payload's wide block, and of its tag.
    pub const fn payload(&self) -> &Secret<K> {
        &self.payload
    }

    /// The key of ρ.
    pub const fn stream_key(&self) -> &Secret<K> {
        &self.stream
    }

    /// The key of the header MAC.
    pub const fn mac_key(&self) -> &Secret<K> {
        &self.mac
    }

    /// The bytes of the short blinding factor.
    pub const fn short_blinding(&self) -> &Secret<K> {
        &self.blinding
    }

    /// γ of β, with associated data before it.
    pub fn header_mac(&self, [first, second]: [&[u8]; 2], routing_info: &[u8]) -> [u8; K] {
        mac(self.mac.expose(), &[first, second, routing_info])
    }

    /// Xors ρ, from its byte number `from` on.
    pub fn xor_stream(&self, from: usize, bytes: &mut [u8]) {
        let mut stream = Ctr::new(self.stream.expose().into(), &[0; K].into());
        stream.seek(from);
        stream.apply_keystream(bytes);
    }

    /// The factor that turns this hop's group element into the next. `None` with probability 2⁻¹²⁸.
    pub fn blinding(&self, kind: Blinding, group_element: &Point, shared: &Secret<57>) -> Option<Factor> {
        match kind {
            Blinding::Short => ShortScalar::from_be_bytes(&self.blinding).map(Factor::Short),
            Blinding::Wide => {
                let digest = Sha512::new()
                    .chain_update(WIDE_BLINDING)
                    .chain_update(group_element.compress())
                    .chain_update(shared.expose())
                    .finalize();
                Scalar::reduce(&Secret::new(digest.into())).map(Factor::Wide)
            }
        }
    }
}

/// A blinding factor.
#[derive(Debug)]
pub enum Factor {
    /// A scalar of 128 bits.
    Short(ShortScalar),
    /// A scalar below the group's order.
    Wide(Scalar),
}

impl Factor {
    /// The next group element.
    pub fn blind(&self, group_element: &Point) -> Point {
        match self {
            Self::Short(factor) => group_element.mul_short(factor),
            Self::Wide(factor) => group_element.mul(factor),
        }
    }

    /// The sender's next exponent.
    #[must_use]
    pub fn times(&self, exponent: &Scalar) -> Scalar {
        match self {
            Self::Short(factor) => exponent.mul(&factor.widen()),
            Self::Wide(factor) => exponent.mul(factor),
        }
    }
}

/// A hop's keys with what its MAC covers beside β.
#[derive(Debug)]
pub struct Bound<'a> {
    /// The hop's keys.
    pub keys: &'a HopKeys,
    /// Its associated data.
    pub associated: [&'a [u8]; 2],
}

impl LayerKeys for Bound<'_> {
    fn xor_stream(&self, from: usize, bytes: &mut [u8]) {
        self.keys.xor_stream(from, bytes);
    }

    fn header_mac(&self, routing_info: &[u8]) -> [u8; K] {
        self.keys.header_mac(self.associated, routing_info)
    }
}
