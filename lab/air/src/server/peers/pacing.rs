//! When a peer is given a frame: when a radio in its place could receive one.
//!
//! A peer's socket keeps datagrams, as no radio does, and RIOT 2026.07 on `native` cannot do with
//! two at a time. Its driver drops what comes while it works on a frame (`_socket_isr` in
//! `socket_zep.c`). But if two frames come before its process runs, there is one signal for both,
//! and it takes the second one as soon as it has acknowledged the first. The acknowledgement was
//! sent inside the call that reads the frame, and its end is still to be told. So the radio thread
//! ends (`assert(!netdev_submac->dispatch)` in `submac_rx_done`, `netdev_ieee802154_submac.c`).
//!
//! A sender repeats a frame 864 µs after it. So that happens if the air or a peer waits for a
//! processor that long. RIOT's own dispatcher gives a peer both frames, which ends it just so.
//! 2023.01 has no such assertion.
//!
//! Therefore a peer that is to acknowledge a frame is given the next one after it has sent
//! something, and what is repeated meanwhile is left out. A peer that awaits an acknowledgement is
//! given no other frame either: RIOT would drop it, and takes every acknowledgement for its own.
//!
//! A peer is known by the addresses that it sent from. What is for others, it hears at once.

use crate::Instant;
use crate::channel::timing::{ACKNOWLEDGEMENT_WAIT, ASSESSMENT, TURNAROUND};
use crate::frame::{BROADCAST, Frame, Header, To, Type};
use std::collections::VecDeque;
use std::time::Duration;

/// Between what a peer sends or is given and the next frame for it: no radio that listens before it
/// sends begins sooner. RIOT has not told the end of an acknowledgement at once when it is sent.
const GAP: Duration = ASSESSMENT.saturating_add(TURNAROUND);
/// As long as RIOT repeats a frame: five times the longest one's airtime and the wait for its
/// acknowledgement. A peer that has not said anything by then has lost the frame.
const PATIENCE: Duration = Duration::from_millis(30);
/// The third repeat is given to the peer. RIOT may have dropped the frame because it worked on
/// something else, and a sender that keeps to the standard gives up after the third repeat. A peer
/// that is given fewer repeats can wait longer for a processor.
const REPEATS: u8 = 3;
/// Frames that wait for a peer.
const QUEUE: usize = 8;

/// A frame on its way to a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Heard {
    /// The number of the station that sent it.
    pub from: u16,
    /// When its last byte arrived, since the beginning of 1970.
    pub at: Duration,
    pub frame: Frame,
    pub header: Header,
}

/// What becomes of a frame that a peer heard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Offered {
    /// The peer is to have it now.
    Now,
    /// It waits for [`Pacing::next`].
    Waits,
    /// The peer has it, and is yet to acknowledge it.
    Repeated,
    /// It acknowledges what somebody else sent.
    NotAwaited,
    /// Too many wait.
    Full,
}

/// What a peer has to do before it can be given a frame.
#[derive(Default)]
pub(super) struct Pacing {
    /// What it sent from: its extended address and its short one.
    names: [Option<To>; 2],
    /// What it is to acknowledge.
    owed: Option<Owed>,
    /// The number of the frame whose acknowledgement it awaits, and until when.
    awaited: Option<(u8, Instant)>,
    /// It works on the last frame until then.
    free_at: Instant,
    waiting: VecDeque<Heard>,
}

/// A frame that a peer was given.
struct Owed {
    frame: Frame,
    given_at: Instant,
    /// How often it was repeated since.
    repeats: u8,
}

impl Pacing {
    /// The peer sent a frame.
    pub fn sent(&mut self, now: Instant, frame: &Frame, header: &Header) {
        // Its acknowledgement, or it was sending when the frame came and has lost it.
        self.owed = None;
        self.free_at = now + GAP;
        match header.from {
            To::Extended(..) => self.names[0] = Some(header.from),
            To::Short(..) => self.names[1] = Some(header.from),
            To::Pan(_) | To::Nobody => {}
        }
        // It repeats the frame if nothing comes, and hears nothing until that is over.
        let until = now + ACKNOWLEDGEMENT_WAIT + frame.airtime();
        if header.kind != Type::Acknowledgement {
            self.awaited = header.wants_acknowledgement.then_some((header.sequence, until));
        }
    }

    /// A frame reached the peer.
    pub fn offer(&mut self, now: Instant, heard: &Heard) -> Offered {
        let Heard { frame, header, .. } = heard;
        if header.kind == Type::Acknowledgement {
            return self.acknowledged(now, header.sequence);
        }
        if !self.is_for_it(header.to) {
            return Offered::Now;
        }
        if self.waiting.iter().any(|other| other.frame == *frame) {
            return Offered::Repeated;
        }
        if let Some(owed) = self.owed.as_mut().filter(|owed| owed.frame == *frame) {
            owed.repeats = owed.repeats.saturating_add(1);
            // Repeats that came all at once say nothing of the peer.
            let lost = owed.repeats >= REPEATS && now >= owed.given_at + ACKNOWLEDGEMENT_WAIT * 2;
            if !lost && now < owed.given_at + PATIENCE {
                return Offered::Repeated;
            }
            self.owed = None;
            self.waiting.push_front(*heard);
            return Offered::Waits;
        }
        if self.waiting.len() >= QUEUE {
            return Offered::Full;
        }
        self.waiting.push_back(*heard);
        Offered::Waits
    }

    fn acknowledged(&mut self, now: Instant, sequence: u8) -> Offered {
        match self.awaited.filter(|(_, until)| now < *until) {
            Some((awaited, _)) if awaited != sequence => Offered::NotAwaited,
            Some(_) => {
                self.awaited = None;
                self.free_at = now + GAP;
                Offered::Now
            }
            None => Offered::Now,
        }
    }

    /// The next frame that waited, if the peer can receive one.
    pub fn next(&mut self, now: Instant) -> Option<Heard> {
        if now < self.ready_at() {
            return None;
        }
        let heard = self.waiting.pop_front()?;
        let acknowledges = heard.header.wants_acknowledgement && !is_for_many(heard.header.to);
        self.owed = acknowledges.then_some(Owed { frame: heard.frame, given_at: now, repeats: 0 });
        self.awaited = None;
        self.free_at = now + GAP;
        Some(heard)
    }

    /// When [`Pacing::next`] is to be called if the peer says nothing before.
    pub fn poll_timeout(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then(|| self.ready_at())
    }

    fn ready_at(&self) -> Instant {
        let owed = self.owed.as_ref().map_or(self.free_at, |owed| owed.given_at + PATIENCE);
        let awaited = self.awaited.map_or(self.free_at, |(_, until)| until);
        self.free_at.max(owed).max(awaited)
    }

    fn is_for_it(&self, to: To) -> bool {
        let known = self.names.iter().flatten().next().is_some();
        known && is_for_many(to) || self.names.contains(&Some(to))
    }
}

fn is_for_many(to: To) -> bool {
    matches!(to, To::Pan(_) | To::Short(_, BROADCAST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame;
    use motemix_link::serial::ExtendedAddress;

    const PEER: u8 = 8;
    const MILLISECOND: Duration = Duration::from_millis(1);

    fn heard(bytes: &[u8]) -> Heard {
        let (frame, header) = frame::read(bytes).expect("a frame");
        Heard { from: 0, at: Duration::ZERO, frame, header }
    }

    fn address(number: u8) -> [u8; 8] {
        ExtendedAddress([number, 0, 0, 0, 0, 0, 0, 2]).0
    }

    /// A frame that is to be acknowledged.
    fn data(from: u8, to: u8, sequence: u8) -> Heard {
        heard(&[&[0x61, 0xdc, sequence, 0x23, 0][..], &address(to), &address(from), b"reading"].concat())
    }

    fn broadcast(from: u8, sequence: u8) -> Heard {
        heard(&[&[0x41, 0xd8, sequence, 0x23, 0, 0xff, 0xff][..], &address(from), b"reading"].concat())
    }

    fn acknowledgement(sequence: u8) -> Heard {
        heard(&[0x02, 0x00, sequence])
    }

    /// A peer and the time.
    struct Story {
        pacing: Pacing,
        now: Instant,
    }

    impl Story {
        /// The peer is known, and has nothing to do.
        fn begin() -> Self {
            let mut story = Self { pacing: Pacing::default(), now: Instant::default() };
            story.sends(broadcast(PEER, 0));
            story.waits(MILLISECOND);
            story
        }

        fn waits(&mut self, time: Duration) {
            self.now = self.now + time;
        }

        fn sends(&mut self, sent: Heard) {
            self.pacing.sent(self.now, &sent.frame, &sent.header);
        }

        fn is_offered(&mut self, heard: Heard) -> Offered {
            self.pacing.offer(self.now, &heard)
        }

        fn is_given(&mut self) -> Option<Heard> {
            self.pacing.next(self.now)
        }

        /// Waits until the next frame is due, which must be this one.
        fn is_given_after(&mut self, time: Duration, expected: Heard) {
            assert_eq!(self.pacing.poll_timeout(), Some(self.now + time));
            self.waits(time);
            assert_eq!(self.is_given(), Some(expected));
        }
    }

    #[test]
    fn what_is_repeated_before_the_acknowledgement_is_left_out() {
        let mut story = Story::begin();
        assert_eq!(story.is_offered(data(1, PEER, 5)), Offered::Waits);
        assert_eq!(story.is_given(), Some(data(1, PEER, 5)));
        assert_eq!(story.is_offered(data(1, PEER, 5)), Offered::Repeated);
        assert_eq!(story.pacing.poll_timeout(), None);
        // The acknowledgement was lost after that. Its sender needs another one.
        story.sends(acknowledgement(5));
        story.waits(MILLISECOND);
        assert_eq!(story.is_offered(data(1, PEER, 5)), Offered::Waits);
        assert_eq!(story.is_given(), Some(data(1, PEER, 5)));
    }

    #[test]
    fn the_next_frame_waits_for_the_acknowledgement() {
        let mut story = Story::begin();
        story.is_offered(data(1, PEER, 5));
        story.is_given();
        assert_eq!(story.is_offered(broadcast(2, 6)), Offered::Waits);
        assert_eq!(story.is_offered(data(3, PEER, 7)), Offered::Waits);
        story.waits(MILLISECOND);
        assert_eq!(story.is_given(), None);
        story.sends(acknowledgement(5));
        story.is_given_after(GAP, broadcast(2, 6));
        story.is_given_after(GAP, data(3, PEER, 7));
    }

    #[test]
    fn a_frame_that_the_peer_lost_reaches_it_with_the_third_repeat() {
        let mut story = Story::begin();
        story.is_offered(data(1, PEER, 5));
        story.is_given();
        let mut repeat = || {
            story.waits(MILLISECOND);
            (story.is_offered(data(1, PEER, 5)), story.is_given())
        };
        assert_eq!(repeat(), (Offered::Repeated, None));
        assert_eq!(repeat(), (Offered::Repeated, None));
        assert_eq!(repeat(), (Offered::Waits, Some(data(1, PEER, 5))));
        assert_eq!(repeat(), (Offered::Repeated, None));
    }

    #[test]
    fn repeats_that_came_all_at_once_are_left_out() {
        let mut story = Story::begin();
        story.is_offered(data(1, PEER, 5));
        story.is_given();
        assert_eq!([(); 4].map(|()| story.is_offered(data(1, PEER, 5))), [Offered::Repeated; 4]);
    }

    #[test]
    fn a_peer_that_says_nothing_gets_the_next_frame_in_the_end() {
        let mut story = Story::begin();
        story.is_offered(data(1, PEER, 5));
        story.is_given();
        story.is_offered(data(2, PEER, 6));
        story.is_given_after(PATIENCE, data(2, PEER, 6));
    }

    #[test]
    fn a_peer_that_awaits_an_acknowledgement_hears_only_that() {
        let mut story = Story::begin();
        story.sends(data(PEER, 1, 5));
        assert_eq!(story.is_offered(data(2, PEER, 6)), Offered::Waits);
        assert_eq!(story.is_offered(acknowledgement(4)), Offered::NotAwaited);
        assert_eq!(story.is_given(), None);
        assert_eq!(story.is_offered(acknowledgement(5)), Offered::Now);
        story.is_given_after(GAP, data(2, PEER, 6));
    }

    #[test]
    fn a_peer_whom_nobody_acknowledged_may_repeat_its_frame_first() {
        let mut story = Story::begin();
        let own = data(PEER, 1, 5);
        story.sends(own);
        story.is_offered(data(2, PEER, 6));
        story.is_given_after(ACKNOWLEDGEMENT_WAIT + own.frame.airtime(), data(2, PEER, 6));
        // Nothing is awaited any more.
        assert_eq!(story.is_offered(acknowledgement(4)), Offered::Now);
    }

    #[test]
    fn what_is_for_others_is_heard_at_once() {
        let mut story = Story::begin();
        story.is_offered(data(1, PEER, 5));
        story.is_given();
        assert_eq!(story.is_offered(data(1, 2, 6)), Offered::Now);
        assert_eq!(story.is_offered(acknowledgement(6)), Offered::Now);
        // One who only listens has no address, and waits for nothing.
        let mut listener = Story { pacing: Pacing::default(), now: story.now };
        assert_eq!([(); 9].map(|()| listener.is_offered(broadcast(1, 7))), [Offered::Now; 9]);
    }

    #[test]
    fn eight_frames_wait_for_a_peer() {
        let mut story = Story::begin();
        story.is_offered(data(1, PEER, 5));
        story.is_given();
        let offered = [6, 7, 8, 9, 10, 11, 12, 13, 14].map(|number| story.is_offered(broadcast(1, number)));
        assert_eq!(offered[..8], [Offered::Waits; 8]);
        assert_eq!(offered[8], Offered::Full);
    }
}
