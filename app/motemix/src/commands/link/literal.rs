//! The paper's node. It believes the keys that come first from an address.

use super::router::{Heard, PLACES, refused};
use motemix_coap::{Account, FairTable};
use motemix_neighbour::Refused;
use motemix_neighbour::diet::literal::{KEYS_LEN, Node, Peer, message_len};
use motemix_neighbour::suite::P256;
use motemix_os::rng::HostRng;
use motemix_program::failure::Failure;
use motemix_time::Instant;
use std::net::SocketAddr;
use std::time::Duration;

/// For so long keys are not answered again, and each time for twice as long. Steps 1 and 2 look the
/// same: a repeated answer would be answered as well, and that again, however far both are apart.
const ANSWERED: Duration = Duration::from_millis(50);
/// After so long it begins anew.
const FORGOTTEN: Duration = Duration::from_mins(1);

pub struct Literal {
    node: Node,
    peers: FairTable<SocketAddr, Peer>,
    /// When, and for how long they are not answered again.
    answered: FairTable<SocketAddr, (Instant, Duration)>,
}

impl Literal {
    pub fn new(rng: &mut HostRng) -> Result<Self, Failure> {
        let node = Node::generate(&mut P256, rng).map_err(Failure::failed)?;
        Ok(Self { node, peers: FairTable::new(PLACES), answered: FairTable::new(PLACES) })
    }

    pub fn keys(&self) -> [u8; KEYS_LEN] {
        self.node.keys()
    }

    pub fn knows(&self, peer: SocketAddr) -> bool {
        self.peers.get(&peer).is_some()
    }

    /// Steps 1 and 2: the keys of whoever is there.
    pub fn meet(&mut self, keys: &[u8], from: SocketAddr) -> Result<(), Refused> {
        let peer = self.node.meet(keys, &mut P256)?;
        self.peers.insert(from, Account::certain(from.into()), peer);
        Ok(())
    }

    pub fn protect(&self, to: SocketAddr, text: &[u8], rng: &mut HostRng) -> Result<Vec<u8>, Refused> {
        let peer = self.peers.get(&to).ok_or(Refused::Stranger)?;
        let mut room = vec![0; message_len(text.len())];
        self.node.protect(peer, text, &mut room, &mut P256, rng)?;
        Ok(room)
    }

    pub fn handle(
        &mut self,
        datagram: &mut [u8],
        from: SocketAddr,
        now: Instant,
    ) -> (Heard, Option<Vec<u8>>) {
        if datagram.len() == KEYS_LEN {
            return self.answer(datagram, from, now);
        }
        let Some(peer) = self.peers.get_mut(&from) else {
            return (Heard::Refused("no handshake before"), None);
        };
        match peer.open(datagram, &mut P256) {
            Ok(text) => (Heard::Message { text: text.to_vec(), peer: None }, None),
            Err(reason) => (refused(reason), None),
        }
    }

    fn answer(&mut self, keys: &[u8], from: SocketAddr, now: Instant) -> (Heard, Option<Vec<u8>>) {
        self.answered.retain(|_, (answered, _)| now - *answered < FORGOTTEN);
        let before = self.answered.get(&from).copied();
        if before.is_some_and(|(answered, quiet)| now - answered < quiet) {
            return (Heard::Refused("its keys were answered a moment ago"), None);
        }
        match self.meet(keys, from) {
            Ok(()) => {
                let quiet = before.map_or(ANSWERED, |(_, quiet)| 2 * quiet);
                self.answered.insert(from, Account::certain(from.into()), (now, quiet));
                (Heard::Nothing, Some(self.keys().to_vec()))
            }
            Err(reason) => (refused(reason), None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::link::rng;

    /// Two nodes that are farther apart than keys are left unanswered at first.
    #[test]
    fn nodes_do_not_answer_each_other_without_end() {
        let mut rng = rng().expect("random numbers");
        let [mut one, mut other] = [(); 2].map(|()| Literal::new(&mut rng).expect("in software"));
        let [at_one, at_other] = [1, 2].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let mut keys = Some(other.keys().to_vec());
        let (mut answers, mut now) = (0, Instant::from_micros(1));
        while let Some(mut asked) = keys {
            now = now + Duration::from_millis(60);
            let answer = one.handle(&mut asked, at_other, now).1;
            keys = answer.and_then(|mut answer| other.handle(&mut answer, at_one, now).1);
            answers += 1;
            assert!(answers < 6, "there is an end");
        }
    }
}
