//! Loop cover: packets that a node sends to itself, and knows again.

use std::collections::VecDeque;
use std::time::Duration;

use motemix_crypto::Secret;
use motemix_crypto::p224::Scalar;
use motemix_node::{Instant, LoopAlarm, LoopTest};
use rand_core::CryptoRng;
use sha2::{Digest as _, Sha256};

use super::Counters;
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
/// Loops that are waited for at a time. One more is sent, and nothing follows from its loss.
const MOST_AWAITED: usize = 1024;

/// Knows this node's loops by a MAC in their noise: a node that was started again knows what comes
/// back of those before. Those of this run it waits for, and says if too few come back.
#[derive(Debug)]
pub(super) struct OwnLoops {
    key: Secret<K>,
    /// The random half of the last one that was begun.
    begun: [u8; HALF],
    /// By the time until which each should be back.
    awaited: VecDeque<(Instant, [u8; HALF])>,
    /// For how long each is waited for.
    patience: Duration,
    alarm: LoopAlarm,
}

/// What honest networks lose of their loops, and how often a false alarm may be.
const TEST: LoopTest = LoopTest::USUAL;

impl OwnLoops {
    /// The key of the loops of whoever has this secret.
    pub(super) fn key(secret: &Scalar) -> Secret<K> {
        let hash: Secret<32> = Secret::new(
            Sha256::new().chain_update(LABEL).chain_update(secret.to_be_bytes().expose()).finalize().into(),
        );
        let mut key = Secret::zero();
        key.expose_mut().copy_from_slice(&hash.expose()[..K]);
        key
    }

    /// Loops with this key, each of which is waited for so long.
    pub(super) fn new(key: Secret<K>, patience: Duration) -> Self {
        let awaited = VecDeque::new();
        Self { key, begun: [0; HALF], awaited, patience, alarm: LoopAlarm::new() }
    }

    /// The payload of a new loop.
    pub(super) fn begin(&mut self, core: &Core, rng: &mut impl CryptoRng) -> Vec<u8> {
        let mut random = [0; HALF];
        rng.fill_bytes(&mut random);
        self.begun = random;
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

    /// The loop that was begun last has left.
    pub(super) fn left(&mut self, now: Instant, counters: &mut Counters) {
        counters.loops_sent += 1;
        while let Some((until, _)) = self.awaited.front()
            && *until < now
        {
            self.awaited.pop_front();
            counters.loops_lost += 1;
            counters.loop_alarms += u64::from(self.alarm.lost(&TEST));
        }
        if self.awaited.len() < MOST_AWAITED {
            self.awaited.push_back((now + self.patience, self.begun));
        }
        self.count(counters);
    }

    /// Whether a loop with this noise is ours, which has come back then.
    pub(super) fn take(&mut self, noise: &[u8], counters: &mut Counters) -> bool {
        let Some((random, rest)) = noise.split_first_chunk() else { return false };
        let Some((mac, _)) = rest.split_first_chunk::<HALF>() else { return false };
        // Disclosed: whether it is a loop. Nothing that others see follows from it.
        if !macs_match(&self.mac(*random), mac) {
            return false;
        }
        counters.loops_returned += 1;
        if let Some(place) = self.awaited.iter().position(|(_, awaited)| awaited == random) {
            self.awaited.remove(place);
            self.alarm.returned(&TEST);
        }
        self.count(counters);
        true
    }

    fn count(&self, counters: &mut Counters) {
        counters.loop_evidence_percent = self.alarm.percent(&TEST).into();
        counters.loop_alarm = self.alarm.sounds().into();
    }

    fn mac(&self, random: [u8; HALF]) -> [u8; HALF] {
        let mac = mac(self.key.expose(), &[&random]);
        *mac.first_chunk().expect("a MAC of 16 bytes has 8")
    }
}

/// How long a loop is waited for: long enough for a message there and its acknowledgement back.
pub(super) fn patience(core: &Core) -> Duration {
    core.rates.patience(u32::try_from(core.peers.layers.len()).unwrap_or(u32::MAX))
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
