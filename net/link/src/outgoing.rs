//! Everything that leaves: answers and frames of datagrams in turn. Datagrams leave side by side,
//! but one neighbour's one after the other. Which frame is next, and what becomes of it.

use motemix_time::Instant;

use crate::answers::{Answer, Answers, Reply};
use crate::counters::LinkDrop;
use crate::departure::{DepartureSlot, Fragmentation, Progress, State};
use crate::lowpan::iphc::{HANDSHAKE_PORT, compress, compress_protected};
use crate::lowpan::rfrag::{NULL, RfragAck};
use crate::mac::{Envelope, Frame, LinkAddress};
use crate::pacing::{Attempt, Pace};
use crate::protection::{HandshakeMessage, Protection};
use crate::radio::Ending;
use crate::serial::ExtendedAddress;
use crate::settings::LinkSettings;
use crate::slots::Slots;
use crate::stack::SendError;
use crate::tags::Tags;

/// A datagram in its slot, however often the slot is used again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct DatagramId {
    index: usize,
    number: u32,
}

/// What the frame under way belongs to.
enum InFlight {
    Datagram(DatagramId),
    Answer(Answer),
    Handshake,
}

/// A message of a handshake that leaves.
struct Leaving {
    message: HandshakeMessage,
    /// How often it was put back.
    requeues: u8,
    /// It may leave from then on.
    ready: Instant,
    sequence: u8,
}

/// What became of the frame that was under way, and of what it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(crate) struct Attempted {
    pub(crate) attempt: Attempt,
    pub(crate) progress: Progress,
}

/// All that leaves, and the pace at which it does.
pub(crate) struct Outgoing<'s> {
    address: ExtendedAddress,
    settings: LinkSettings,
    pace: Pace,
    answers: Answers,
    handshake: Option<Leaving>,
    /// To whom one could not be delivered.
    undelivered: Option<ExtendedAddress>,
    slots: Slots<'s, DepartureSlot>,
    in_flight: Option<InFlight>,
    /// The number of the last datagram.
    number: u32,
    tags: Tags,
    /// Whether the last frame was an answer, so that a datagram's is next.
    answered: bool,
    /// The sequence number of the last data frame (IEEE 802.15.4-2020, 7.2.2).
    sequence: u8,
}

impl<'s> Outgoing<'s> {
    /// `seed` is a random number: what is sent now is told from what a stack before this one sent.
    ///
    /// # Panics
    /// As [`Slots::new`].
    pub(crate) fn new(
        address: ExtendedAddress,
        seed: u64,
        settings: &LinkSettings,
        slots: &'s mut [DepartureSlot],
        bytes: &'s mut [u8],
    ) -> Self {
        let mut pace = Pace::new(settings, seed);
        let [_, _, sequence, _] = pace.draw().to_be_bytes();
        // A stack before this one may have left datagrams in it.
        slots.fill(DepartureSlot::FREE);
        Self {
            address,
            settings: *settings,
            pace,
            answers: Answers::NONE,
            handshake: None,
            undelivered: None,
            slots: Slots::new(slots, bytes),
            in_flight: None,
            number: 0,
            tags: Tags::new(seed),
            answered: false,
            sequence,
        }
    }

    /// From now on it is this time.
    pub(crate) const fn advance(&mut self, now: Instant) {
        self.pace.advance(now);
    }

    pub(crate) fn has_room(&self) -> bool {
        self.slots.position(DepartureSlot::is_free).is_some()
    }

    /// Takes a datagram in. On a link that protects frames it waits for keys, if there are none.
    pub(crate) fn push(
        &mut self,
        to: LinkAddress,
        payload: &[u8],
        protection: Option<&Protection<'_>>,
    ) -> Result<(), SendError> {
        let index = self.slots.position(DepartureSlot::is_free).ok_or(SendError::Full)?;
        let envelope = match (protection, to) {
            (None, _) => Some(Envelope::Plain),
            (Some(protection), LinkAddress::Extended(peer)) => protection.envelope(peer),
            (Some(_), LinkAddress::Short(_)) => return Err(SendError::NoNeighbour),
        };
        let buffer = self.slots.buffer_mut(index).get_mut(..payload.len());
        buffer.ok_or(SendError::TooLong)?.copy_from_slice(payload);
        self.number = self.number.wrapping_add(1);
        self.slots[index] = DepartureSlot {
            state: State::AwaitingKeys(self.pace.now() + self.settings.keys_within),
            to,
            payload_len: payload.len() as u16,
            datagram_tag: self.tags.next(),
            number: self.number,
            asks: !self.settings.when_in_doubt,
            ..DepartureSlot::FREE
        };
        if let Some(envelope) = envelope {
            self.cut(index, envelope);
        }
        Ok(())
    }

    /// Cuts a datagram for frames of this kind. It may leave from now on.
    fn cut(&mut self, index: usize, envelope: Envelope) {
        let payload_len = usize::from(self.slots[index].payload_len);
        let headers = match envelope {
            Envelope::Plain => {
                let payload = self.slots.buffer(index).get(..payload_len).unwrap_or_default();
                compress(
                    LinkAddress::Extended(self.address),
                    self.slots[index].to,
                    self.settings.port,
                    payload,
                )
            }
            Envelope::Protected | Envelope::ProtectedToExtended => {
                let [base, addressing, form, ports] = compress_protected(self.settings.port);
                [base, addressing, form, ports, 0, 0]
            }
        };
        let (now, recovery) = (self.pace.now(), self.settings.recovery);
        let slot = &mut self.slots[index];
        (slot.headers, slot.envelope) = (headers, envelope);
        slot.fragmentation = Fragmentation::of(payload_len, recovery, envelope);
        slot.pending = slot.all();
        slot.state = State::Sending(now);
    }

    /// There are keys with a neighbour: what waited for them leaves.
    pub(crate) fn keys_set(&mut self, peer: ExtendedAddress, envelope: Envelope) {
        while let Some(index) = self.awaiting_keys(peer) {
            self.cut(index, envelope);
        }
    }

    /// There will be no keys with a neighbour: what waits for them is dropped, one with each call.
    pub(crate) fn keys_refused(&mut self, peer: ExtendedAddress) -> Option<Progress> {
        let index = self.awaiting_keys(peer)?;
        Some(self.slots[index].dropped(LinkDrop::NoHandshake))
    }

    /// For whose keys a datagram waits.
    pub(crate) fn awaits_keys_of(&self) -> Option<ExtendedAddress> {
        self.slots.iter().find_map(|slot| match (slot.state, slot.to) {
            (State::AwaitingKeys(_), LinkAddress::Extended(peer)) => Some(peer),
            _ => None,
        })
    }

    fn awaiting_keys(&self, peer: ExtendedAddress) -> Option<usize> {
        let to = LinkAddress::Extended(peer);
        self.slots.position(|slot| matches!(slot.state, State::AwaitingKeys(_)) && slot.to == to)
    }

    pub(crate) const fn can_send_handshake(&self) -> bool {
        self.handshake.is_none()
    }

    /// Takes a message of a handshake in; `false` if another one is leaving.
    pub(crate) fn send_handshake(&mut self, message: HandshakeMessage) -> bool {
        if self.handshake.is_some() {
            return false;
        }
        let sequence = self.next_sequence();
        self.handshake = Some(Leaving { message, requeues: 0, ready: self.pace.now(), sequence });
        true
    }

    pub(crate) const fn poll_undelivered(&mut self) -> Option<ExtendedAddress> {
        self.undelivered.take()
    }

    /// Takes an answer in.
    ///
    /// # Errors
    /// [`LinkDrop::Unanswered`]: there is no place for it.
    pub(crate) fn answer(&mut self, to: LinkAddress, reply: Reply) -> Result<(), LinkDrop> {
        let sequence = self.next_sequence();
        self.answers.push(Answer { to, reply, sequence, requeues: 0, ready: self.pace.now() })
    }

    /// The frame that leaves now, if one may. It is under way until [`attempted`](Self::attempted).
    pub(crate) fn next_frame(&mut self, mut protection: Option<&mut Protection<'_>>) -> Option<Frame> {
        let protection = &mut protection;
        // In turn: whoever asks without end must not keep datagrams from leaving.
        if self.answered {
            self.next_datagram_frame(protection).or_else(|| self.next_answer(protection))
        } else {
            self.next_answer(protection).or_else(|| self.next_datagram_frame(protection))
        }
    }

    fn next_answer(&mut self, protection: &mut Option<&mut Protection<'_>>) -> Option<Frame> {
        while let Some(answer) = self.answers.next(self.pace.now()) {
            // The key that it came under may be gone.
            let Some(mut frame) = self.begin(answer.to, None, answer.sequence, protection) else { continue };
            answer.write(self.address, &mut frame);
            let frame = finish(frame, answer.to, protection)?;
            self.answered = true;
            self.in_flight = Some(InFlight::Answer(answer));
            return Some(frame);
        }
        let leaving = self.handshake.as_ref().filter(|leaving| leaving.ready <= self.pace.now())?;
        self.answered = true;
        self.in_flight = Some(InFlight::Handshake);
        Some(leaving.frame(self.address))
    }

    fn next_datagram_frame(&mut self, protection: &mut Option<&mut Protection<'_>>) -> Option<Frame> {
        if self.pace.is_quiet() {
            return None;
        }
        let now = self.pace.now();
        let ready =
            self.next_to_each().filter(|(_, slot)| matches!(slot.state, State::Sending(at) if at <= now));
        let (index, _) = ready.max_by_key(|(_, slot)| self.age(slot))?;
        if self.slots[index].requeues == 0 {
            self.slots[index].sequence = self.next_sequence();
        }
        let DepartureSlot { to, envelope, sequence, number, .. } = self.slots[index];
        let Some(mut frame) = self.begin(to, Some(envelope), sequence, protection) else {
            // The key is gone: another one is waited for, and all of the datagram is sent under it.
            self.slots[index].requeues = 0;
            self.slots[index].state = State::AwaitingKeys(now + self.settings.keys_within);
            return None;
        };
        self.slots[index].write(&mut frame, self.slots.buffer(index));
        let frame = finish(frame, to, protection)?;
        self.answered = false;
        self.in_flight = Some(InFlight::Datagram(DatagramId { index, number }));
        Some(frame)
    }

    /// The header of a frame. `None`: it is to be protected, and there is no key for it.
    fn begin(
        &self,
        to: LinkAddress,
        envelope: Option<Envelope>,
        sequence: u8,
        protection: &mut Option<&mut Protection<'_>>,
    ) -> Option<Frame> {
        match (protection, to) {
            (None, _) => Some(Frame::new(self.address, to, sequence)),
            (Some(protection), LinkAddress::Extended(peer)) => {
                let envelope = envelope.or_else(|| protection.envelope(peer))?;
                protection.begin(peer, envelope, sequence)
            }
            (Some(_), LinkAddress::Short(_)) => None,
        }
    }

    /// When the next frame may leave, or the next receiver is waited for no longer.
    pub(crate) fn due(&self) -> Option<Instant> {
        let datagrams = self.next_to_each().filter_map(|(_, slot)| match slot.state {
            State::Free => None,
            State::Sending(at) => Some(at.max(self.pace.quiet_until())),
            State::AwaitingAck(until) | State::AwaitingKeys(until) => Some(until),
        });
        let handshake = self.handshake.as_ref().map(|leaving| leaving.ready);
        datagrams.chain(self.answers.due()).chain(handshake).min()
    }

    /// The frame under way has ended. `None`: it was none of this stack's.
    pub(crate) fn attempted(&mut self, ending: Ending) -> Option<Attempted> {
        Some(match self.in_flight.take()? {
            InFlight::Datagram(id) => {
                // Its receiver may have said in between that it has it, or does not want it.
                let is_here = self.slots[id.index].number == id.number && !self.slots[id.index].is_free();
                let requeues = if is_here { self.slots[id.index].requeues } else { 0 };
                let attempt = self.pace.attempted(ending, requeues);
                let progress =
                    if is_here { self.datagram_attempted(id.index, attempt) } else { Progress::Continues };
                if !matches!(attempt, Attempt::Requeued(_)) {
                    self.pace.pause(progress != Progress::Continues);
                }
                Attempted { attempt, progress }
            }
            InFlight::Answer(answer) => {
                let attempt = self.pace.answer_attempted(ending, answer.requeues);
                Attempted { attempt, progress: self.answer_attempted(answer, attempt) }
            }
            InFlight::Handshake => {
                let requeues = self.handshake.as_ref().map_or(0, |leaving| leaving.requeues);
                let attempt = self.pace.attempted(ending, requeues);
                self.handshake_attempted(attempt);
                Attempted { attempt, progress: Progress::Continues }
            }
        })
    }

    fn datagram_attempted(&mut self, index: usize, attempt: Attempt) -> Progress {
        let slot = &mut self.slots[index];
        match attempt {
            Attempt::Requeued(at) => {
                slot.state = State::Sending(at);
                slot.requeues = slot.requeues.saturating_add(1);
                Progress::Continues
            }
            Attempt::GivenUp(reason) => {
                slot.requeues = 0;
                self.retry(index, reason)
            }
            Attempt::Sent => {
                let asked = slot.ack_request();
                slot.requeues = 0;
                slot.pending &= slot.pending.wrapping_sub(1);
                if asked {
                    slot.state = State::AwaitingAck(self.pace.ack_timeout(slot.retries));
                } else if slot.pending == 0 {
                    slot.state = State::Free;
                    return Progress::Completed;
                } else {
                    slot.state = State::Sending(self.pace.now());
                }
                Progress::Continues
            }
        }
    }

    fn answer_attempted(&mut self, answer: Answer, attempt: Attempt) -> Progress {
        let unanswered = match attempt {
            Attempt::Sent => return Progress::Completed,
            Attempt::GivenUp(_) => Err(LinkDrop::Unanswered),
            Attempt::Requeued(ready) => {
                self.answers.put_back(Answer { ready, requeues: answer.requeues + 1, ..answer })
            }
        };
        match unanswered {
            Ok(()) => Progress::Continues,
            Err(reason) => Progress::Dropped { reason, unsent: 0 },
        }
    }

    fn handshake_attempted(&mut self, attempt: Attempt) {
        let Some(leaving) = self.handshake.as_mut() else { return };
        match attempt {
            Attempt::Sent => self.handshake = None,
            Attempt::Requeued(at) => (leaving.ready, leaving.requeues) = (at, leaving.requeues + 1),
            Attempt::GivenUp(_) => {
                self.undelivered = Some(leaving.message.peer);
                self.handshake = None;
            }
        }
    }

    /// A receiver says which fragments it has. `None`: it speaks of no datagram of this stack.
    pub(crate) fn acknowledged(&mut self, from: LinkAddress, ack: RfragAck) -> Option<Progress> {
        let is_meant = |slot: &&mut DepartureSlot| {
            let is_theirs = slot.to == from && slot.datagram_tag as u8 == ack.datagram_tag;
            is_theirs && slot.fragmentation == Fragmentation::Rfc8931 && !slot.is_free()
        };
        let slot = self.slots.iter_mut().find(is_meant)?;
        if ack.bitmap == NULL {
            return Some(slot.dropped(LinkDrop::Unwanted));
        }
        let missing = slot.all() & !ack.bitmap.reverse_bits();
        if missing == 0 {
            slot.state = State::Free;
            return Some(Progress::Completed);
        }
        // One that overtook a fragment, or was asked for twice, says nothing new.
        if !matches!(slot.state, State::AwaitingAck(_)) {
            return Some(Progress::Continues);
        }
        // As long as it gets on it is worth another round, and there are no more than fragments.
        if missing.count_ones() < slot.missing {
            slot.missing = missing.count_ones();
            slot.retries = 0;
        } else if slot.retries < self.settings.recovery_tries {
            slot.retries += 1;
        } else {
            return Some(slot.dropped(LinkDrop::Unconfirmed));
        }
        slot.asks = true;
        slot.pending = missing;
        slot.state = State::Sending(self.pace.now());
        Some(Progress::Resends { fragments: missing.count_ones() })
    }

    /// Asks a receiver again that did not answer in time, by its last fragment, or drops a datagram
    /// that waited for keys in vain; `None` if there is neither.
    pub(crate) fn time_out(&mut self) -> Option<Progress> {
        let now = self.pace.now();
        let is_refused =
            |slot: &DepartureSlot| matches!(slot.state, State::AwaitingKeys(until) if until <= now);
        if let Some(index) = self.slots.position(is_refused) {
            return Some(self.slots[index].dropped(LinkDrop::NoHandshake));
        }
        let is_late = |slot: &DepartureSlot| matches!(slot.state, State::AwaitingAck(until) if until <= now);
        let index = self.slots.position(is_late)?;
        let all = self.slots[index].all();
        self.slots[index].pending = all & !(all >> 1);
        let progress = self.retry(index, LinkDrop::Unconfirmed);
        if progress == Progress::Continues {
            // The answer was waited for already.
            self.slots[index].state = State::Sending(now);
        }
        Some(progress)
    }

    /// Takes a datagram up again later, unless it was too often.
    fn retry(&mut self, index: usize, or: LinkDrop) -> Progress {
        let slot = &mut self.slots[index];
        if slot.fragmentation != Fragmentation::Rfc8931 || slot.retries >= self.settings.recovery_tries {
            return slot.dropped(or);
        }
        slot.state = State::Sending(self.pace.ack_timeout(slot.retries));
        slot.retries += 1;
        slot.asks = true;
        Progress::Continues
    }

    /// The oldest datagram to each neighbour.
    fn next_to_each(&self) -> impl Iterator<Item = (usize, &DepartureSlot)> {
        let is_behind = |slot: &DepartureSlot, other: &DepartureSlot| {
            !other.is_free() && other.to == slot.to && self.age(other) > self.age(slot)
        };
        let taken = self.slots.iter().enumerate().filter(|(_, slot)| !slot.is_free());
        taken.filter(move |(_, slot)| !self.slots.iter().any(|other| is_behind(slot, other)))
    }

    const fn age(&self, slot: &DepartureSlot) -> u32 {
        self.number.wrapping_sub(slot.number)
    }

    const fn next_sequence(&mut self) -> u8 {
        self.sequence = self.sequence.wrapping_add(1);
        self.sequence
    }
}

impl Leaving {
    fn frame(&self, me: ExtendedAddress) -> Frame {
        let to = LinkAddress::Extended(self.message.peer);
        let message = self.message.as_bytes();
        let mut frame = Frame::new(me, to, self.sequence);
        frame.push(&compress(LinkAddress::Extended(me), to, HANDSHAKE_PORT, message));
        frame.push(message);
        frame
    }
}

/// Protects a frame that was begun, if the link does. `None`: it cannot, and nothing leaves.
fn finish(frame: Frame, to: LinkAddress, protection: &Option<&mut Protection<'_>>) -> Option<Frame> {
    match (protection, to) {
        (None, _) => Some(frame),
        (Some(protection), LinkAddress::Extended(peer)) => protection.seal(peer, frame),
        (Some(_), LinkAddress::Short(_)) => None,
    }
}
