//! Messages that this node sends: from `send` until they are acknowledged or given up.

use core::mem;
use core::time::Duration;

use motemix_sphinx::{HeaderId, MessageId, NodeId, Profile, ReturnKeys};

use crate::Instant;
use crate::event::MessageHandle;
use crate::storage::Empty;

/// Room for one message in flight.
pub struct MessageSlot<P: Profile> {
    phase: Phase,
    pub(crate) number: u64,
    pub(crate) to: NodeId,
    pub(crate) id: MessageId,
    data: P::Data,
    len: usize,
    pub(crate) tries: u8,
    pub(crate) accepted: Instant,
    first_sent: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Free,
    /// Waits for a header, and for a tick of the payload stream if there is one.
    Ready,
    /// Under way until it is acknowledged or this moment has come.
    Flying(Instant),
    /// The reply is in place of the data; waits to be polled.
    Acknowledged {
        sent: Instant,
        returned: Instant,
    },
    /// Waits to be polled.
    Discarded,
}

impl<P: Profile> MessageSlot<P> {
    /// An empty slot.
    pub const fn new() -> Self {
        Self {
            phase: Phase::Free,
            number: 0,
            to: NodeId::MIN,
            id: MessageId([0; 4]),
            data: P::DATA,
            len: 0,
            tries: 0,
            accepted: Instant::from_micros(0),
            first_sent: Instant::from_micros(0),
        }
    }

    pub(crate) fn data(&self) -> &[u8] {
        &self.data.as_ref()[..self.len]
    }

    pub(crate) const fn handle(&self) -> MessageHandle {
        MessageHandle(self.number)
    }
}

impl<P: Profile> Empty for MessageSlot<P> {
    const EMPTY: Self = Self::new();
}

impl<P: Profile> Default for MessageSlot<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// Room for what opens the reply to one try.
pub struct ReturnSlot<P: Profile>(Option<Return<P>>);

impl<P: Profile> ReturnSlot<P> {
    /// An empty slot.
    pub const fn new() -> Self {
        Self(None)
    }
}

impl<P: Profile> Empty for ReturnSlot<P> {
    const EMPTY: Self = Self::new();
}

impl<P: Profile> Default for ReturnSlot<P> {
    fn default() -> Self {
        Self::new()
    }
}

struct Return<P: Profile> {
    header: HeaderId,
    message: usize,
    sent: Instant,
    /// The delays of its path. A `Duration` has values that it never takes, and one of them would
    /// stand for an empty slot, which is to be nothing but zeros.
    delay_micros: u64,
    keys: ReturnKeys<P>,
}

/// A message that ended.
pub(crate) struct Ended<'m> {
    pub(crate) message: MessageHandle,
    pub(crate) tries: u8,
    pub(crate) accepted: Instant,
    /// When the try that came back was sent, when it came back, and the reply; `None` if discarded.
    pub(crate) reply: Option<(Instant, Instant, &'m [u8])>,
}

/// What a returned packet turns out to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Returned {
    Acknowledged {
        /// What the round trip took besides its delays.
        took: Duration,
        /// Tries made until then.
        tries: u8,
    },
    /// The reply was changed on the way.
    Damaged,
    Unknown,
}

/// What became of tries whose time was over.
#[derive(Default)]
pub(crate) struct Overdue {
    /// Tries.
    pub(crate) lost: usize,
    /// Messages that were given up.
    pub(crate) discarded: usize,
}

/// The table of messages in flight.
pub(crate) struct Messages<'s, P: Profile> {
    slots: &'s mut [MessageSlot<P>],
    returns: &'s mut [ReturnSlot<P>],
    next_number: u64,
    in_flight: usize,
    ended: usize,
    ready: usize,
    /// No message times out earlier.
    deadline: Instant,
}

impl<'s, P: Profile> Messages<'s, P> {
    /// One return slot at least for each message: the later tries of one message replace its
    /// earlier ones where there are no more.
    pub(crate) fn new(slots: &'s mut [MessageSlot<P>], returns: &'s mut [ReturnSlot<P>]) -> Self {
        let capacity = slots.len().min(returns.len());
        let slots = &mut slots[..capacity];
        slots.fill_with(MessageSlot::new);
        returns.fill_with(ReturnSlot::new);
        Self { slots, returns, next_number: 0, in_flight: 0, ended: 0, ready: 0, deadline: Instant::NEVER }
    }

    pub(crate) const fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// How many there is room for.
    pub(crate) const fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// Those that are under way.
    pub(crate) const fn flying(&self) -> usize {
        self.in_flight - self.ready - self.ended
    }

    /// `None` if there is no room. `data` fits.
    pub(crate) fn accept(
        &mut self,
        now: Instant,
        to: NodeId,
        id: MessageId,
        data: &[u8],
    ) -> Option<MessageHandle> {
        let slot = self.slots.iter_mut().find(|slot| slot.phase == Phase::Free)?;
        slot.phase = Phase::Ready;
        slot.number = self.next_number;
        (slot.to, slot.id, slot.len, slot.tries, slot.accepted) = (to, id, data.len(), 0, now);
        slot.data.as_mut()[..data.len()].copy_from_slice(data);
        self.next_number += 1;
        self.in_flight += 1;
        self.ready += 1;
        Some(slot.handle())
    }

    /// The message that has waited longest for a header, among those that `usable` lets through.
    pub(crate) fn first_ready(&self, mut usable: impl FnMut(NodeId) -> bool) -> Option<usize> {
        if self.ready == 0 {
            return None;
        }
        let ready = self.slots.iter().enumerate().filter(|(_, slot)| slot.phase == Phase::Ready);
        ready.filter(|(_, slot)| usable(slot.to)).min_by_key(|(_, slot)| slot.number).map(|(at, _)| at)
    }

    /// Whether a message to this receiver waits for a header.
    pub(crate) fn is_waiting(&self, to: NodeId) -> bool {
        self.ready > 0 && self.slots.iter().any(|slot| slot.phase == Phase::Ready && slot.to == to)
    }

    pub(crate) fn get(&self, at: usize) -> &MessageSlot<P> {
        &self.slots[at]
    }

    /// A try of message `at` leaves at `now`, on a path of these delays, and is waited for until
    /// `deadline`.
    pub(crate) fn sent(
        &mut self,
        at: usize,
        (now, deadline): (Instant, Instant),
        delay: Duration,
        header: HeaderId,
        keys: ReturnKeys<P>,
    ) {
        let slot = &mut self.slots[at];
        slot.phase = Phase::Flying(deadline);
        if slot.tries == 0 {
            slot.first_sent = now;
        }
        slot.tries = slot.tries.saturating_add(1);
        self.ready -= 1;
        self.deadline = self.deadline.min(deadline);
        let place = self.place_for_return(at);
        if let Some(place) = self.returns.get_mut(place) {
            let delay_micros = u64::try_from(delay.as_micros()).unwrap_or(u64::MAX);
            place.0 = Some(Return { header, message: at, sent: now, delay_micros, keys });
        }
    }

    /// A free place, or that of the oldest try of a message that has several, this one's first.
    fn place_for_return(&self, at: usize) -> usize {
        let entries =
            || self.returns.iter().enumerate().filter_map(|(place, slot)| Some((place, slot.0.as_ref()?)));
        let oldest_of = |message: usize| {
            entries().filter(|(_, entry)| entry.message == message).min_by_key(|(_, entry)| entry.sent)
        };
        let tries_of = |message: usize| entries().filter(|(_, entry)| entry.message == message).count();
        self.returns
            .iter()
            .position(|slot| slot.0.is_none())
            .or_else(|| oldest_of(at).map(|(place, _)| place))
            .or_else(|| {
                entries()
                    .filter(|(_, entry)| tries_of(entry.message) > 1)
                    .min_by_key(|(_, entry)| entry.sent)
                    .map(|(place, _)| place)
            })
            .unwrap_or(0)
    }

    /// Whether a try with this header is under way.
    pub(crate) fn is_under_way(&self, header: &HeaderId) -> bool {
        self.returns.iter().any(|slot| slot.0.as_ref().is_some_and(|entry| entry.header == *header))
    }

    /// A packet of this node's own has come back.
    pub(crate) fn returned(&mut self, now: Instant, header: HeaderId, payload: &mut [u8]) -> Returned {
        let matching =
            |slot: &&mut ReturnSlot<P>| slot.0.as_ref().is_some_and(|entry| entry.header == header);
        let Some(entry) = self.returns.iter_mut().find(matching).and_then(|slot| slot.0.take()) else {
            return Returned::Unknown;
        };
        let slot = &mut self.slots[entry.message];
        let Some(reply) = entry.keys.open(payload).filter(|reply| reply.id == slot.id) else {
            return Returned::Damaged;
        };
        slot.len = reply.data.len();
        slot.data.as_mut()[..slot.len].copy_from_slice(reply.data);
        if slot.phase == Phase::Ready {
            // An earlier try has come back while the next one waited for its header.
            self.ready -= 1;
        }
        slot.phase = Phase::Acknowledged { sent: entry.sent, returned: now };
        self.ended += 1;
        let delay = Duration::from_micros(entry.delay_micros);
        let (took, tries) = ((now - entry.sent).saturating_sub(delay), slot.tries);
        self.forget_returns(entry.message);
        Returned::Acknowledged { took, tries }
    }

    fn forget_returns(&mut self, message: usize) {
        for slot in self.returns.iter_mut() {
            if slot.0.as_ref().is_some_and(|entry| entry.message == message) {
                slot.0 = None;
            }
        }
    }

    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        (self.deadline != Instant::NEVER).then_some(self.deadline)
    }

    /// Lets every message whose time is over be tried again, or gives it up after `transmissions`,
    /// or when it is older than `lifetime`.
    pub(crate) fn handle_timeout(&mut self, now: Instant, transmissions: u8, lifetime: Duration) -> Overdue {
        let mut overdue = Overdue::default();
        if self.deadline > now && self.ready == 0 {
            return overdue;
        }
        self.deadline = Instant::NEVER;
        for at in 0..self.slots.len() {
            let slot = &mut self.slots[at];
            match slot.phase {
                Phase::Flying(deadline) if deadline > now => self.deadline = self.deadline.min(deadline),
                Phase::Flying(_) if slot.tries < transmissions => {
                    slot.phase = Phase::Ready;
                    self.ready += 1;
                    overdue.lost += 1;
                }
                Phase::Flying(_) => {
                    slot.phase = Phase::Discarded;
                    self.ended += 1;
                    overdue.lost += 1;
                    overdue.discarded += 1;
                    self.forget_returns(at);
                }
                Phase::Ready if slot.tries > 0 && slot.first_sent + lifetime < now => {
                    slot.phase = Phase::Discarded;
                    self.ready -= 1;
                    self.ended += 1;
                    overdue.discarded += 1;
                    self.forget_returns(at);
                }
                _ => {}
            }
        }
        overdue
    }

    /// Gives up all messages that have not ended. Returns how many.
    pub(crate) fn give_up_all(&mut self) -> usize {
        let mut discarded = 0;
        for at in 0..self.slots.len() {
            let slot = &mut self.slots[at];
            if matches!(slot.phase, Phase::Ready | Phase::Flying(_)) {
                slot.phase = Phase::Discarded;
                discarded += 1;
                self.forget_returns(at);
            }
        }
        (self.ready, self.deadline) = (0, Instant::NEVER);
        self.ended += discarded;
        discarded
    }

    /// Whoever a message is for has this number from now on; it is given up if that is nobody.
    /// Returns how many were.
    pub(crate) fn renumber(&mut self, number: impl Fn(NodeId) -> Option<NodeId>) -> usize {
        let mut discarded = 0;
        for at in 0..self.slots.len() {
            let slot = &mut self.slots[at];
            let is_ready = slot.phase == Phase::Ready;
            if !is_ready && !matches!(slot.phase, Phase::Flying(_)) {
                continue;
            }
            if let Some(to) = number(slot.to) {
                slot.to = to;
                continue;
            }
            slot.phase = Phase::Discarded;
            discarded += 1;
            self.ready -= usize::from(is_ready);
            self.forget_returns(at);
        }
        self.ended += discarded;
        discarded
    }

    /// Gives up all messages to `to` that wait for a header. Returns how many.
    pub(crate) fn give_up(&mut self, to: NodeId) -> usize {
        let mut discarded = 0;
        for at in 0..self.slots.len() {
            let slot = &mut self.slots[at];
            if slot.phase == Phase::Ready && slot.to == to {
                slot.phase = Phase::Discarded;
                discarded += 1;
                self.forget_returns(at);
            }
        }
        self.ready -= discarded;
        self.ended += discarded;
        discarded
    }

    /// The next message that ended and was not polled; its slot is free from now on.
    pub(crate) fn poll_ended(&mut self) -> Option<Ended<'_>> {
        if self.ended == 0 {
            return None;
        }
        let ended =
            |slot: &&mut MessageSlot<P>| matches!(slot.phase, Phase::Acknowledged { .. } | Phase::Discarded);
        let slot = self.slots.iter_mut().filter(ended).min_by_key(|slot| slot.number)?;
        self.ended -= 1;
        self.in_flight -= 1;
        let phase = mem::replace(&mut slot.phase, Phase::Free);
        let reply = match phase {
            Phase::Acknowledged { sent, returned } => Some((sent, returned, slot.data())),
            _ => None,
        };
        Some(Ended { message: slot.handle(), tries: slot.tries, accepted: slot.accepted, reply })
    }
}
