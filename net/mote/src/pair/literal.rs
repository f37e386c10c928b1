//! The paper's protocol to the letter. Not for use: see `docs/spec/link/diet.md`.

use core::time::Duration;

use motemix_neighbour::diet::literal::{KEYS_LEN, Node, Peer, message_len};
use motemix_neighbour::suite::HalfWordsP256;
use motemix_node::Instant;
use rand_core::CryptoRng;

use super::own::made;
use super::{Buffer, Heard, PairDrop, Reply};

/// For so long keys are not answered again. A repeated answer would be answered otherwise, and that
/// again, for steps 1 and 2 look the same.
const ANSWERED: Duration = Duration::from_secs(2);

/// A node of the paper, and those that it has met. It believes the keys that come first from an
/// address.
pub(super) struct Literal<const PLACES: usize> {
    node: Node,
    peers: [Option<Met>; PLACES],
}

struct Met {
    at: u64,
    peer: Peer,
    /// When its keys were answered.
    answered: Option<Instant>,
}

impl<const PLACES: usize> Literal<PLACES> {
    /// New keys.
    #[inline(never)]
    pub(super) fn generate<R: CryptoRng>(rng: &mut R) -> Node {
        made(Node::generate(&mut HalfWordsP256, rng))
    }

    pub(super) const fn new(node: Node) -> Self {
        Self { node, peers: [const { None }; PLACES] }
    }

    pub(super) fn knows(&self, neighbour: u64) -> bool {
        self.peers.iter().flatten().any(|met| met.at == neighbour)
    }

    pub(super) fn forget(&mut self, neighbour: u64) {
        for place in &mut self.peers {
            if place.as_ref().is_some_and(|met| met.at == neighbour) {
                *place = None;
            }
        }
    }

    pub(super) fn ask(&self, out: &mut Buffer) {
        out.set(&self.node.keys());
    }

    #[inline(never)]
    pub(super) fn seal<R: CryptoRng>(&self, to: u64, text: &[u8], out: &mut Buffer, rng: &mut R) -> bool {
        let Some(met) = self.peers.iter().flatten().find(|met| met.at == to) else { return false };
        out.fill(message_len(text.len()), |room| {
            self.node.protect(&met.peer, text, room, &mut HalfWordsP256, rng).is_ok()
        })
    }

    /// `is_asked`: this node waits for the keys of whoever sent it.
    #[inline(never)]
    pub(super) fn handle(
        &mut self,
        now: Instant,
        from: u64,
        is_asked: bool,
        datagram: &mut [u8],
        heard: &mut Buffer,
        reply: &mut Reply,
    ) -> Heard {
        if datagram.len() == KEYS_LEN {
            return match self.meet(now, from, is_asked, datagram, reply) {
                Ok(heard) => heard,
                Err(reason) => Heard::Dropped(reason),
            };
        }
        let Some(met) = self.peers.iter_mut().flatten().find(|met| met.at == from) else {
            return Heard::Dropped(PairDrop::NoHandshake);
        };
        match met.peer.open(datagram, &mut HalfWordsP256) {
            Ok(text) => {
                heard.set(text);
                Heard::Text(None)
            }
            Err(reason) => Heard::Dropped(reason.into()),
        }
    }

    fn meet(
        &mut self,
        now: Instant,
        from: u64,
        is_asked: bool,
        keys: &[u8],
        reply: &mut Reply,
    ) -> Result<Heard, PairDrop> {
        let before = self.peers.iter().flatten().find(|met| met.at == from).and_then(|met| met.answered);
        if !is_asked && before.is_some_and(|answered| now < answered + ANSWERED) {
            return Err(PairDrop::UnderWay);
        }
        self.find_place(from)?;
        let peer = self.node.meet(keys, &mut HalfWordsP256)?;
        self.forget(from);
        let answered = (!is_asked).then_some(now);
        if let Some(place) = self.peers.iter_mut().find(|place| place.is_none()) {
            *place = Some(Met { at: from, peer, answered });
        }
        if is_asked {
            return Ok(Heard::Met);
        }
        reply.set(&self.node.keys());
        Ok(Heard::Nothing)
    }

    /// Whether there is a place: its own, or a free one.
    fn find_place(&self, from: u64) -> Result<(), PairDrop> {
        let has_place = self.knows(from) || self.peers.iter().any(Option::is_none);
        if has_place { Ok(()) } else { Err(PairDrop::Full) }
    }
}
