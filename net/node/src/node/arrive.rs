//! Packets that come in.

use motemix_sphinx::{
    Authenticated, Forward, HeaderId, Hop, Origin, Packet, Profile, ReplayError, ReplayFilter, ReplayTag,
    TurnKey, TurnRound, Yours,
};
use rand_core::CryptoRng;

use super::Node;
use crate::Instant;
use crate::admission::LinkId;
use crate::counters::DropReason;
use crate::epoch::{Epochs, Which};
use crate::journal::Journal;
use crate::messages::Returned;
use crate::paths::LoopPaths;
use crate::queue::{Arrival, Receipt};
use crate::receive::Fate;

/// What a packet is, and what is to be done with the buffer that it is in.
pub(super) enum Told {
    Forward(Forward),
    /// With the digest of its message, if it is one.
    TurnRound {
        forward: Forward,
        turn_key: TurnKey,
        message: Option<(u64, Arrival)>,
    },
    Deliver(Arrival),
    Drop,
    /// This node's own, come back.
    Own {
        which: Which,
        header_id: HeaderId,
    },
}

impl<P: Profile, R: CryptoRng, L: LoopPaths> Node<'_, P, R, L> {
    /// Takes in a datagram that came from a neighbour. Two scalar multiplications at most, three at
    /// an epoch's boundary. The buffer is overwritten. Whatever is refused is counted; the peer
    /// must not learn why. What the replay filter admits is told to `journal`.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        from: LinkId,
        bytes: &mut [u8],
        journal: &mut impl Journal,
    ) -> Result<(), DropReason> {
        self.counters.datagrams += 1;
        self.take_in(now, from, bytes, journal).map_err(|reason| self.counters.drop(reason))
    }

    #[inline(never)]
    fn take_in(
        &mut self,
        now: Instant,
        from: LinkId,
        bytes: &mut [u8],
        journal: &mut impl Journal,
    ) -> Result<(), DropReason> {
        if self.epochs.current().is_none() {
            return Err(DropReason::NoEpoch);
        }
        let packet = Packet::<P>::parse(&mut *bytes)?;
        let told = self.unwrap(now, from, packet, journal)?;
        self.settle(now, told, bytes)
    }

    /// Does what the packet in `bytes` said.
    pub(super) fn settle(&mut self, now: Instant, told: Told, bytes: &mut [u8]) -> Result<(), DropReason> {
        match told {
            Told::Forward(forward) => self.forward(now, forward, bytes),
            Told::TurnRound { forward, turn_key, message } => {
                self.turn_round(now, forward, turn_key, message, bytes)
            }
            Told::Deliver(arrival) => self.queue.deliver(bytes, arrival).map_err(|_| DropReason::QueueFull),
            Told::Drop => {
                self.counters.drops_received += 1;
                Ok(())
            }
            Told::Own { which, header_id } => {
                let (_, payload) = bytes.split_at_mut(P::GEOMETRY.header_len());
                self.came_back(now, which, header_id, payload)
            }
        }
    }

    // Not inlined, nor are the other parts: on a board what one of them needs on the stack must not
    // lie beneath the multiplications of another.
    #[inline(never)]
    fn unwrap(
        &mut self,
        now: Instant,
        from: LinkId,
        packet: Packet<'_, P>,
        journal: &mut impl Journal,
    ) -> Result<Told, DropReason> {
        let (which, authentic) = packet.authenticate(self.epochs.candidates())?;
        self.unwrap_authentic(now, from, which, authentic, journal)
    }

    #[inline(never)]
    fn unwrap_authentic(
        &mut self,
        now: Instant,
        from: LinkId,
        which: Which,
        authentic: Authenticated<'_, P>,
        journal: &mut impl Journal,
    ) -> Result<Told, DropReason> {
        let under_way = |id: &HeaderId| self.messages.is_under_way(id) || self.loops.is_under_way(id);
        let authentic = match authentic.own_return(under_way) {
            Origin::Own(Yours { header_id, .. }) => return Ok(Told::Own { which, header_id }),
            Origin::Other(authentic) => authentic,
        };
        let fresh = authentic.admit(&mut Gate { epochs: &mut self.epochs, now, from, which, journal })?;
        self.told(fresh.unwrap_layer()?)
    }

    pub(super) fn told(&self, hop: Hop<'_>) -> Result<Told, DropReason> {
        Ok(match hop {
            Hop::Forward(forward) => Told::Forward(forward),
            Hop::TurnRound(TurnRound { forward, turn_key, message }) => {
                let seen = |message| (self.window.digest(&message), Arrival::of(&message));
                Told::TurnRound { forward, turn_key, message: message.map(seen) }
            }
            Hop::Deliver(message) => Told::Deliver(Arrival::of(&message)),
            Hop::Drop => Told::Drop,
            // Come back before, or given up: it would have been taken above.
            Hop::Yours(_) => return Err(DropReason::UnknownHeader),
        })
    }

    /// Leaves a message for the application, or answers for it at once.
    #[inline(never)]
    fn turn_round(
        &mut self,
        now: Instant,
        forward: Forward,
        turn_key: TurnKey,
        message: Option<(u64, Arrival)>,
        bytes: &mut [u8],
    ) -> Result<(), DropReason> {
        self.check_next(forward)?;
        // Asked for all alike, before anything tells them apart.
        if !self.queue.has_room_to_turn(self.turned_leave()) {
            return Err(DropReason::QueueFull);
        }
        let Some((digest, arrival)) = message else {
            self.counters.turned_empty += 1;
            return self.turn_empty(now, forward, turn_key, bytes);
        };
        let Ok(fate) = self.window.fate(digest) else {
            self.counters.drop(DropReason::WindowFull);
            return self.turn_empty(now, forward, turn_key, bytes);
        };
        self.counters.duplicates +=
            u64::from(matches!(fate, Some(Fate::Pending | Fate::Acknowledged | Fate::Answered)));
        match fate {
            // The first try is still with the application; its reply serves for both.
            Some(Fate::Pending) => self.turn_empty(now, forward, turn_key, bytes),
            Some(Fate::Acknowledged) => {
                let fits = turn_key.reply::<P>(bytes, arrival.id, &[]);
                debug_assert!(fits.is_ok(), "no data fits any payload");
                self.counters.replied += 1;
                self.turn(now, forward, bytes)
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

    /// Sends a packet on whose message there is no reply to, as if there were one.
    fn turn_empty(
        &mut self,
        now: Instant,
        forward: Forward,
        turn_key: TurnKey,
        packet: &mut [u8],
    ) -> Result<(), DropReason> {
        turn_key.refuse::<P>(packet, |payload| self.rng.fill_bytes(payload));
        self.turn(now, forward, packet)
    }

    /// Sends a packet on that was turned round at once.
    fn turn(&mut self, now: Instant, forward: Forward, packet: &[u8]) -> Result<(), DropReason> {
        let delay = forward.delay.of_mean(self.config.parameters.mean_delay).max(self.answer_took);
        let write = |slot: &mut [u8]| slot.copy_from_slice(packet);
        self.queue.turn(now + delay, forward.next, write).map_err(|_| DropReason::QueueFull)
    }

    /// A packet of this node's own that is under way, which it is no more.
    pub(super) fn came_back(
        &mut self,
        now: Instant,
        which: Which,
        id: HeaderId,
        payload: &mut [u8],
    ) -> Result<(), DropReason> {
        match self.messages.returned(now, id, payload) {
            Returned::Acknowledged { took, tries } => {
                self.rate.came_back(took, tries, self.messages.capacity().min(self.config.in_flight));
                self.counters.acknowledged += 1;
                self.answered(which);
                Ok(())
            }
            // Nothing is sent again before the try's time is over: an observer would see that what
            // came back was a message's.
            Returned::Damaged => {
                self.counters.returned_empty += 1;
                Ok(())
            }
            Returned::Unknown => self.loop_returned(which, &id),
        }
    }

    /// Counts what proves that others use this epoch's keys.
    fn answered(&mut self, which: Which) {
        self.answers = self.answers.saturating_add(u32::from(which == Which::Current));
    }

    fn loop_returned(&mut self, which: Which, id: &HeaderId) -> Result<(), DropReason> {
        let (test, paths) = (&self.config.loop_test, &mut self.headers.paths);
        self.loops.returned(id, test, paths).ok_or(DropReason::UnknownHeader)?;
        self.counters.loops_returned += 1;
        self.answered(which);
        Ok(())
    }
}

/// What stands between an authentic packet and its processing: it was not seen before, it is its
/// sender's turn, and the journal knows.
pub(super) struct Gate<'g, 's, J> {
    pub(super) epochs: &'g mut Epochs<'s>,
    pub(super) now: Instant,
    pub(super) from: LinkId,
    pub(super) which: Which,
    pub(super) journal: &'g mut J,
}

impl<J: Journal> ReplayFilter for Gate<'_, '_, J> {
    fn admit(&mut self, tag: &ReplayTag) -> Result<(), ReplayError> {
        let admitted = self.epochs.admit(self.now, self.from, self.which, tag)?;
        self.journal.admit(admitted);
        Ok(())
    }
}
