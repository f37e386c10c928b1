//! Packets that come in.

use motemix_sphinx::{Forward, Hop, Message, Packet, Profile, TurnRound};
use rand_core::CryptoRng;

use super::{Node, loop_name};
use crate::counters::DropReason;
use crate::event::Admitted;
use crate::messages::Returned;
use crate::queue::{Arrival, Receipt};
use crate::receive::Fate;
use crate::replay::shorten;
use crate::time::Instant;

impl<P: Profile, R: CryptoRng> Node<'_, P, R> {
    /// The tag that the last [`handle_datagram`](Self::handle_datagram) admitted, once.
    pub fn take_admitted(&mut self) -> Option<Admitted> {
        self.admitted.take()
    }

    /// Takes a datagram in. Two scalar multiplications at most, three at an epoch's boundary.
    /// The buffer is overwritten. Whatever is refused is counted; the peer must not learn why.
    pub fn handle_datagram(&mut self, now: Instant, bytes: &mut [u8]) -> Result<(), DropReason> {
        self.counters.datagrams += 1;
        self.take_in(now, bytes).map_err(|reason| self.counters.drop(reason))
    }

    fn take_in(&mut self, now: Instant, bytes: &mut [u8]) -> Result<(), DropReason> {
        self.admitted = None;
        if self.epochs.current().is_none() {
            return Err(DropReason::NoEpoch);
        }
        let packet = Packet::<P>::parse(&mut *bytes)?;
        let (which, authentic) = packet.authenticate(self.epochs.candidates())?;
        let tag = shorten(&authentic.replay_tag());
        let key = self.epochs.get_mut(which);
        let fresh = authentic.admit(&mut key.seen)?;
        self.admitted = Some(Admitted { epoch: key.epoch, tag });
        let (turn_round, arrival, digest) = match fresh.unwrap_layer()? {
            Hop::Forward(forward) => return self.forward(now, forward, bytes),
            Hop::Drop => {
                self.counters.drops_received += 1;
                return Ok(());
            }
            Hop::Yours(yours) => {
                return match self.messages.returned(now, yours.header_id, yours.payload) {
                    Returned::Acknowledged { took, tries } => {
                        self.rate.came_back(took, tries, self.messages.capacity().min(self.config.in_flight));
                        self.counters.acknowledged += 1;
                        Ok(())
                    }
                    Returned::Damaged => Err(DropReason::BadPayload),
                    Returned::Unknown => self.loop_returned(&yours.header_id.0),
                };
            }
            Hop::Deliver(Message { id, data }) => {
                let arrival = Arrival { id, len: data.len() };
                return self.queue.deliver(bytes, arrival).map_err(|_| DropReason::QueueFull);
            }
            Hop::TurnRound(TurnRound { forward, turn_key, message }) => {
                let digest = self.window.digest(&message);
                let arrival = Arrival { id: message.id, len: message.data.len() };
                ((forward, turn_key), arrival, digest)
            }
        };
        let (forward, turn_key) = turn_round;
        self.check_next(forward)?;
        let fate = self.window.fate(digest).map_err(|_| DropReason::WindowFull)?;
        self.counters.duplicates +=
            u64::from(matches!(fate, Some(Fate::Pending | Fate::Acknowledged | Fate::Answered)));
        match fate {
            // The first try is still with the application; its reply serves for both.
            Some(Fate::Pending) => Ok(()),
            Some(Fate::Acknowledged) => {
                turn_key.reply::<P>(bytes, arrival.id, &[]).map_err(|_| DropReason::BadPayload)?;
                self.counters.replied += 1;
                self.forward(now, forward, bytes)
            }
            None | Some(Fate::Unanswered | Fate::Answered) => {
                let repeated = fate == Some(Fate::Answered);
                let receipt = Receipt { arrival, turn_key, forward, arrived: now, digest, repeated };
                let expires = now + self.config.answer_within;
                self.queue.receive(expires, bytes, receipt).map_err(|_| DropReason::QueueFull)?;
                if !repeated {
                    self.window.set(digest, Fate::Pending);
                }
                Ok(())
            }
        }
    }

    fn check_next(&self, forward: Forward) -> Result<(), DropReason> {
        self.nodes.knows(forward.next).then_some(()).ok_or(DropReason::UnknownNextHop)
    }

    fn forward(&mut self, now: Instant, forward: Forward, packet: &[u8]) -> Result<(), DropReason> {
        self.check_next(forward)?;
        let due = now + forward.delay.of_mean(self.config.parameters.mean_delay);
        let write = |slot: &mut [u8]| slot.copy_from_slice(packet);
        self.queue.leave(due, forward.next, write).map_err(|_| DropReason::QueueFull)?;
        self.counters.forwarded += 1;
        Ok(())
    }

    fn loop_returned(&mut self, header_id: &[u8]) -> Result<(), DropReason> {
        let name = loop_name(header_id);
        let place = self.loops.iter_mut().find(|place| **place == name).ok_or(DropReason::UnknownHeader)?;
        *place = 0;
        self.counters.loops_returned += 1;
        Ok(())
    }
}
