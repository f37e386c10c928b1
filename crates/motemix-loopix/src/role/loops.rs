//! Loop cover: packets that a node sends to itself, and knows again.

use motemix_crypto::Secret;
use motemix_crypto::p224::Scalar;
use rand_core::CryptoRng;
use sha2::{Digest as _, Sha256};

use super::core::Core;
use super::peers::Peer;
use crate::packet::Format;
use crate::packet::format::K;
use crate::packet::keys::{mac, macs_match};
use crate::wire::hardened::Payload;
use crate::wire::message::{self, Destination, Message};

const LABEL: &[u8] = b"motemix-loopix/1 loop";
/// Bytes of a loop's noise by which it is known: half of them random, half a MAC of those.
const MARK_LEN: usize = 16;
const HALF: usize = MARK_LEN / 2;

/// Knows this node's loops by a MAC in their noise. Nothing has to be remembered, and a node that
/// was started again knows what comes back of those before.
#[derive(Debug)]
pub(super) struct OwnLoops {
    key: Secret<K>,
}

impl OwnLoops {
    /// The loops of whoever has this secret.
    pub(super) fn new(secret: &Scalar) -> Self {
        let hash: Secret<32> = Secret::new(
            Sha256::new().chain_update(LABEL).chain_update(secret.to_be_bytes().expose()).finalize().into(),
        );
        let mut key = Secret::zero();
        key.expose_mut().copy_from_slice(&hash.expose()[..K]);
        Self { key }
    }

    /// The payload of a new loop.
    pub(super) fn begin(&self, core: &Core, rng: &mut impl CryptoRng) -> Vec<u8> {
        let mut random = [0; HALF];
        rng.fill_bytes(&mut random);
        let mut mark = [0; MARK_LEN];
        mark[..HALF].copy_from_slice(&random);
        mark[HALF..].copy_from_slice(&self.mac(random));
        if core.is_hardened() {
            return Payload::Loop(mark).encode();
        }
        let me = destination(&core.me);
        let len = noise_len(core, &me);
        let mut text = message::noise(message::LOOP, len, rng);
        for (byte, mark) in text[message::LOOP.len()..].iter_mut().zip(mark) {
            *byte = mark;
        }
        me.payload(&text)
    }

    /// Whether a loop with this noise is ours.
    pub(super) fn knows(&self, noise: &[u8]) -> bool {
        let Some((random, rest)) = noise.split_first_chunk() else { return false };
        let Some((mac, _)) = rest.split_first_chunk::<HALF>() else { return false };
        // Disclosed: whether it is a loop. Nothing that others see follows from it.
        macs_match(&self.mac(*random), mac)
    }

    fn mac(&self, random: [u8; HALF]) -> [u8; HALF] {
        let mac = mac(self.key.expose(), &[&random]);
        *mac.first_chunk().expect("a MAC of 16 bytes has 8")
    }
}

/// How the originals name the receiver of a message.
pub(super) fn destination(peer: &Peer) -> Destination {
    Destination { host: peer.address.host.to_string(), port: peer.address.port, name: peer.name.to_string() }
}

/// The noise of a cover message, cut to what fits into a packet; at least a mark.
pub(super) fn noise_len(core: &Core, to: &Destination) -> usize {
    let room = to.room(Format::LOOPIX.body_len).saturating_sub(message::LOOP.len());
    core.rates.noise_len.clamp(MARK_LEN, room.max(MARK_LEN))
}

/// The message in a payload of the originals, if it is for this node.
pub(super) fn for_me(core: &Core, payload: &[u8]) -> Option<Message> {
    let (to, message) = message::parse(payload)?;
    let me = &core.me;
    let is_me =
        *to.name == *me.name && to.port == me.address.port && core.hosts.is_same(&me.address.host, &to.host);
    is_me.then_some(message)
}
