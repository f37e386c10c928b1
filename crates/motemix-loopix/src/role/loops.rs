//! Loop cover: packets that a node sends to itself, and knows again.

use std::collections::VecDeque;

use rand_core::CryptoRng;

use super::core::Core;
use super::peers::Peer;
use crate::packet::Format;
use crate::wire::hardened::Payload;
use crate::wire::message::{self, Destination};

/// Loops that are under way and can still be recognised; what is older is taken for lost.
const REMEMBERED: usize = 4096;
/// Bytes of a loop's noise by which it is known.
const MARK_LEN: usize = 16;

type Mark = [u8; MARK_LEN];

/// Loops that are under way.
#[derive(Debug, Default)]
pub(super) struct OwnLoops(VecDeque<Mark>);

impl OwnLoops {
    /// The payload of a new loop.
    pub(super) fn begin(&mut self, core: &Core, rng: &mut impl CryptoRng) -> Vec<u8> {
        let mut mark = [0; MARK_LEN];
        rng.fill_bytes(&mut mark);
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(mark);
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

    /// Whether a loop of ours with this noise is under way; it has ended then.
    pub(super) fn end(&mut self, noise: &[u8]) -> bool {
        // Newer loops are at the end, and the mark is no secret from ourselves.
        let place = self.0.iter().rposition(|mark| noise.starts_with(mark));
        place.and_then(|place| self.0.remove(place)).is_some()
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
pub(super) fn for_me(core: &Core, payload: &[u8]) -> Option<Vec<u8>> {
    let (to, text) = message::parse(payload)?;
    (to == destination(&core.me)).then_some(text)
}
