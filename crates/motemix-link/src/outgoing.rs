//! Datagrams that leave, each as one frame or as fragments.
//!
//! They leave side by side, but one neighbour's one after the other. A frame is made when it is its turn, so
//! only the payload is kept.

use core::time::Duration;

use crate::counters::LinkDrop;
use crate::frame::{Frame, LinkAddress, ROOM};
use crate::lowpan::fragment::{self, Frag1, FragN};
use crate::lowpan::header::{COMPRESSED, UNCOMPRESSED, compress};
use crate::lowpan::recover::{self, Acknowledgement, NULL, Recoverable};
use crate::pacing::Pace;
use crate::radio::Fate;
use crate::serial::{ExtendedAddress, Outcome};
use crate::settings::{LinkSettings, Recovery};

/// A receiver is waited for at most four times as long as at first, or it would have forgotten the datagram.
const MOST_DOUBLINGS: u8 = 2;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Free,
    /// Its next frame may leave from then on.
    Sending(Duration),
    /// Its receiver is to say what it has, by then.
    Asking(Duration),
}

/// How a datagram is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    Whole,
    /// RFC 4944.
    Sized,
    /// RFC 8931.
    Recoverable,
}

impl Cut {
    /// The payload's bytes in the first frame, and in each of the others.
    const fn pieces(self) -> (usize, usize) {
        match self {
            Self::Whole => (ROOM - COMPRESSED, ROOM),
            Self::Sized => (fragment::IN_FRAG1, fragment::IN_FRAGN),
            Self::Recoverable => (recover::IN_FIRST, recover::IN_FRAGMENT),
        }
    }

    /// Where the piece begins and ends in a payload of this length.
    fn piece(self, index: usize, len: usize) -> (usize, usize) {
        let (first, other) = self.pieces();
        let end = first + index * other;
        (if index == 0 { 0 } else { (end - other).min(len) }, end.min(len))
    }

    /// One bit for each piece.
    fn all(self, len: usize) -> u32 {
        let (first, other) = self.pieces();
        let others = len.saturating_sub(first).div_ceil(other);
        u32::MAX >> (31 - others.min(31))
    }
}

/// A place for a datagram that leaves.
#[derive(Clone, Copy)]
pub struct Leaving {
    state: State,
    cut: Cut,
    to: LinkAddress,
    /// The compressed headers.
    head: [u8; COMPRESSED],
    /// Bytes of the payload.
    len: u16,
    tag: u16,
    /// The datagram with the lowest number leaves first.
    number: u32,
    /// The pieces that are still to be sent, one bit each.
    pending: u32,
    /// Whether one of them may be lost.
    in_doubt: bool,
    /// How many pieces its receiver lacked when it was heard last.
    missing: u32,
    /// How often it was taken up again since then.
    tries: u8,
    /// How often the frame that is next was put back, and its sequence number: the same each time, so that a
    /// radio can tell.
    requeues: u8,
    sequence: u8,
}

impl Leaving {
    /// A place without a datagram.
    pub const FREE: Self = Self {
        state: State::Free,
        cut: Cut::Whole,
        to: LinkAddress::BROADCAST,
        head: [0; COMPRESSED],
        len: 0,
        tag: 0,
        number: 0,
        pending: 0,
        in_doubt: false,
        missing: u32::MAX,
        tries: 0,
        requeues: 0,
        sequence: 0,
    };

    const fn next_piece(&self) -> usize {
        self.pending.trailing_zeros() as usize
    }

    /// Whether the next frame asks what its receiver has.
    const fn asks(&self, settings: &LinkSettings) -> bool {
        let is_last = self.pending.is_power_of_two();
        matches!(self.cut, Cut::Recoverable) && is_last && (self.in_doubt || !settings.when_in_doubt)
    }

    /// Taken up again later, unless it was too often.
    fn retry(&mut self, now: Duration, settings: &LinkSettings, pace: &mut Pace, or: LinkDrop) -> Ended {
        if self.cut != Cut::Recoverable || self.tries >= settings.recovery_tries {
            return self.dropped(or);
        }
        let after = pace.backoff(settings.acknowledged_within, self.tries.min(MOST_DOUBLINGS));
        self.state = State::Sending(now.saturating_add(after));
        self.tries += 1;
        self.in_doubt = true;
        Ended::GoesOn
    }

    fn dropped(&mut self, reason: LinkDrop) -> Ended {
        self.state = State::Free;
        // The one that was given up was sent.
        Ended::Dropped { reason, spared: self.pending.count_ones().saturating_sub(1) }
    }
}

/// A datagram in its place, however often the place is used again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Handle {
    index: usize,
    number: u32,
}

/// Where a datagram is after one of its frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    /// It has more to send or waits for its receiver.
    GoesOn,
    Sent,
    /// It is given up, with so many pieces not sent.
    Dropped {
        reason: LinkDrop,
        spared: u32,
    },
}

/// All places.
pub(crate) struct Outgoing<'s> {
    places: &'s mut [Leaving],
    /// The payloads of all places, one after the other.
    bytes: &'s mut [u8],
    number: u32,
    tag: u16,
}

impl<'s> Outgoing<'s> {
    /// `first` is a random number: datagrams of a former life are told apart by it.
    pub(crate) const fn new(places: &'s mut [Leaving], bytes: &'s mut [u8], first: u16) -> Self {
        Self { places, bytes, number: 0, tag: first }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.places.iter().any(|place| place.state == State::Free)
    }

    /// Takes a datagram in.
    pub(crate) fn push(
        &mut self,
        now: Duration,
        me: LinkAddress,
        to: LinkAddress,
        payload: &[u8],
        recovery: Recovery,
    ) -> Result<(), LinkDrop> {
        let room = self.bytes.len().checked_div(self.places.len()).unwrap_or(0);
        let mut places = self.places.iter_mut().zip(self.bytes.chunks_exact_mut(room.max(1)));
        let free = places.find(|(place, _)| place.state == State::Free);
        let (place, bytes) = free.ok_or(LinkDrop::QueueFull)?;
        bytes.get_mut(..payload.len()).ok_or(LinkDrop::TooLong)?.copy_from_slice(payload);
        let cut = match recovery {
            _ if payload.len() <= ROOM - COMPRESSED => Cut::Whole,
            Recovery::None => Cut::Sized,
            Recovery::Selective => Cut::Recoverable,
        };
        self.number = self.number.wrapping_add(1);
        self.tag = self.tag.wrapping_add(1);
        *place = Leaving {
            state: State::Sending(now),
            cut,
            to,
            head: compress(me, to, payload),
            len: payload.len() as u16,
            tag: self.tag,
            number: self.number,
            pending: cut.all(payload.len()),
            ..Leaving::FREE
        };
        Ok(())
    }

    /// The datagram whose frame may leave now, the oldest first.
    pub(crate) fn next(&self, now: Duration) -> Option<Handle> {
        let ready = self.firsts().filter(|(_, place)| matches!(place.state, State::Sending(at) if at <= now));
        let oldest = ready.max_by_key(|(_, place)| self.age(place));
        oldest.map(|(index, place)| Handle { index, number: place.number })
    }

    /// When the first frame may leave, pauses apart, and when the first receiver is waited for no longer.
    pub(crate) fn due(&self) -> (Option<Duration>, Option<Duration>) {
        let sending = self.firsts().filter_map(|(_, place)| match place.state {
            State::Sending(at) => Some(at),
            _ => None,
        });
        let asking = self.firsts().filter_map(|(_, place)| match place.state {
            State::Asking(until) => Some(until),
            _ => None,
        });
        (sending.min(), asking.min())
    }

    /// The next frame of a datagram.
    pub(crate) fn frame(
        &mut self,
        handle: Handle,
        me: ExtendedAddress,
        sequence: &mut u8,
        settings: &LinkSettings,
    ) -> Option<Frame> {
        let room = self.bytes.len().checked_div(self.places.len()).unwrap_or(0);
        let payload = self.bytes.chunks_exact(room.max(1)).nth(handle.index)?;
        let place = self.places.get_mut(handle.index)?;
        if place.requeues == 0 {
            *sequence = sequence.wrapping_add(1);
            place.sequence = *sequence;
        }
        let index = place.next_piece();
        let len = usize::from(place.len);
        let (begin, end) = place.cut.piece(index, len);
        let piece = payload.get(begin..end)?;
        let mut frame = Frame::new(me, place.to, place.sequence);
        let size = place.len + UNCOMPRESSED as u16;
        match place.cut {
            Cut::Whole => {}
            Cut::Sized if index == 0 => Frag1 { size, tag: place.tag, rest: &[] }.write(&mut frame),
            Cut::Sized => {
                FragN { size, tag: place.tag, offset: UNCOMPRESSED + begin, rest: &[] }.write(&mut frame)
            }
            Cut::Recoverable => {
                let compressed = |at: usize| (at + COMPRESSED) as u16;
                let fragment = Recoverable {
                    tag: place.tag as u8,
                    asks: place.asks(settings),
                    sequence: index as u8,
                    offset: if index == 0 { compressed(len) } else { compressed(begin) },
                    rest: &[],
                };
                let head = if index == 0 { COMPRESSED } else { 0 };
                fragment.write(&mut frame, head + piece.len());
            }
        }
        if index == 0 {
            frame.push(&place.head);
        }
        frame.push(piece);
        Some(frame)
    }

    /// How often the datagram's next frame was put back.
    pub(crate) fn requeues(&self, handle: Handle) -> u8 {
        self.get(handle).map_or(0, |place| place.requeues)
    }

    /// Hears what became of a datagram's frame.
    pub(crate) fn ended(
        &mut self,
        now: Duration,
        handle: Handle,
        fate: Fate,
        settings: &LinkSettings,
        pace: &mut Pace,
    ) -> Ended {
        // Its receiver may have said in between that it has it, or does not want it.
        let Some(leaving) = self.get_mut(handle) else { return Ended::GoesOn };
        match fate {
            Fate::PutBack(again) => {
                leaving.state = State::Sending(again);
                leaving.requeues = leaving.requeues.saturating_add(1);
                Ended::GoesOn
            }
            Fate::GivenUp(outcome) => {
                leaving.requeues = 0;
                let reason = match outcome {
                    Outcome::ChannelBusy => LinkDrop::ChannelBusy,
                    Outcome::NoAcknowledgement => LinkDrop::Unacknowledged,
                    Outcome::Sent | Outcome::Refused => LinkDrop::Refused,
                };
                leaving.retry(now, settings, pace, reason)
            }
            Fate::Sent => {
                let asked = leaving.asks(settings);
                leaving.requeues = 0;
                leaving.pending &= leaving.pending.wrapping_sub(1);
                if asked {
                    let times = leaving.tries.min(MOST_DOUBLINGS);
                    let within = pace.backoff(settings.acknowledged_within, times);
                    leaving.state = State::Asking(now.saturating_add(within));
                } else if leaving.pending == 0 {
                    leaving.state = State::Free;
                    return Ended::Sent;
                } else {
                    leaving.state = State::Sending(now);
                }
                Ended::GoesOn
            }
        }
    }

    /// Hears from a receiver which fragments it has. How many are sent again.
    pub(crate) fn acknowledged(
        &mut self,
        now: Duration,
        from: LinkAddress,
        acknowledgement: Acknowledgement,
        settings: &LinkSettings,
    ) -> (Ended, u32) {
        let is_meant = |place: &&mut Leaving| {
            let is_theirs = place.to == from && place.tag as u8 == acknowledgement.tag;
            is_theirs && place.cut == Cut::Recoverable && place.state != State::Free
        };
        let Some(place) = self.places.iter_mut().find(is_meant) else { return (Ended::GoesOn, 0) };
        if acknowledgement.bitmap == NULL {
            return (place.dropped(LinkDrop::Unwanted), 0);
        }
        let missing = place.cut.all(place.len.into()) & !acknowledgement.bitmap.reverse_bits();
        if missing == 0 {
            place.state = State::Free;
            return (Ended::Sent, 0);
        }
        // One that overtook a fragment, or was asked for twice, says nothing new.
        if !matches!(place.state, State::Asking(_)) {
            return (Ended::GoesOn, 0);
        }
        // As long as it gets on it is worth another round, and there are no more than pieces.
        if missing.count_ones() < place.missing {
            place.missing = missing.count_ones();
            place.tries = 0;
        } else if place.tries < settings.recovery_tries {
            place.tries += 1;
        } else {
            return (place.dropped(LinkDrop::Unconfirmed), 0);
        }
        place.in_doubt = true;
        place.pending = missing;
        place.state = State::Sending(now);
        (Ended::GoesOn, missing.count_ones())
    }

    /// Asks a receiver again that does not answer, by its last fragment; `Some` if there was one.
    pub(crate) fn late(&mut self, now: Duration, settings: &LinkSettings, pace: &mut Pace) -> Option<Ended> {
        let is_late = |leaving: &&mut Leaving| matches!(leaving.state, State::Asking(until) if until <= now);
        let leaving = self.places.iter_mut().find(is_late)?;
        let all = leaving.cut.all(leaving.len.into());
        leaving.pending = all & !(all >> 1);
        let ended = leaving.retry(now, settings, pace, LinkDrop::Unconfirmed);
        if ended == Ended::GoesOn {
            // The answer was waited for already.
            leaving.state = State::Sending(now);
        }
        Some(ended)
    }

    /// Each neighbour's oldest.
    fn firsts(&self) -> impl Iterator<Item = (usize, &Leaving)> {
        let is_behind = |place: &Leaving, other: &Leaving| {
            other.state != State::Free && other.to == place.to && self.age(other) > self.age(place)
        };
        let taken = self.places.iter().enumerate().filter(|(_, place)| place.state != State::Free);
        taken.filter(move |(_, place)| !self.places.iter().any(|other| is_behind(place, other)))
    }

    const fn age(&self, place: &Leaving) -> u32 {
        self.number.wrapping_sub(place.number)
    }

    fn get(&self, handle: Handle) -> Option<&Leaving> {
        let place = self.places.get(handle.index)?;
        (place.number == handle.number && place.state != State::Free).then_some(place)
    }

    fn get_mut(&mut self, handle: Handle) -> Option<&mut Leaving> {
        let place = self.places.get_mut(handle.index)?;
        (place.number == handle.number && place.state != State::Free).then_some(place)
    }
}
