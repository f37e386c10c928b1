//! Packets of the node's own: messages and cover, and the headers that they need.

use motemix_directory::Topology;
use motemix_sphinx::geometry::MAX_HOPS;
use motemix_sphinx::{Header, MessageId, NodeId, Profile};
use rand_core::CryptoRng;

use super::Node;
use crate::Instant;
use crate::config::OWN_SHARE_OF_TICKS;
use crate::cover::Streams;
use crate::event::{MessageHandle, SendError};
use crate::headers::{Headers, Needs, Purpose};
use crate::paths::LoopPaths;

/// Headers of one kind are pressing when there are fewer than one part of so many of what the pool
/// keeps of them.
const PRESSING_SHARE: usize = 4;

/// What a call of [`Node::work_counted`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Worked {
    /// Scalar multiplications.
    pub multiplications: usize,
    /// Whether there is more to do.
    pub more: bool,
}

/// Which missing headers count.
#[derive(Clone, Copy)]
enum Wanted {
    /// Whatever the pool has room for.
    Any,
    /// What a message waits for, and what is running out.
    Pressing,
}

impl<P: Profile, R: CryptoRng, L: LoopPaths> Node<'_, P, R, L> {
    /// Accepts a message for `to`. It leaves as soon as a header is ready ([`work`](Self::work)),
    /// and on a tick of the payload stream if the network has one.
    pub fn send(&mut self, now: Instant, to: NodeId, data: &[u8]) -> Result<MessageHandle, SendError> {
        if self.epochs.current().is_none() {
            return Err(SendError::NoEpoch);
        }
        if to == self.me || !self.nodes.knows(to) {
            return Err(SendError::UnknownReceiver);
        }
        let most = P::GEOMETRY.data_len();
        if data.len() > most {
            return Err(SendError::TooLong { most });
        }
        if self.messages.in_flight() >= self.config.in_flight {
            return Err(SendError::Full);
        }
        if !self.has_path(to) {
            return Err(SendError::NoPath);
        }
        let mut id = MessageId([0; 4]);
        self.rng.fill_bytes(&mut id.0);
        let handle = self.messages.accept(now, to, id, data).ok_or(SendError::Full)?;
        self.counters.sent += 1;
        self.receiver = Some(to);
        if !self.streams.payload.is_on() {
            self.dispatch(now);
        }
        Ok(handle)
    }

    /// Builds headers while there is nothing else to do: one scalar multiplication a call, or one
    /// for each lane of the curve, side by side. `true` if there is more to do.
    pub fn work(&mut self, now: Instant) -> bool {
        self.work_counted(now).more
    }

    /// The same for callers that give this node a share of what else there is to do.
    pub fn work_counted(&mut self, now: Instant) -> Worked {
        if self.epochs.current().is_none() {
            return Worked { multiplications: 0, more: false };
        }
        if Headers::<P, L>::lanes() > 1 {
            return self.work_side_by_side(now);
        }
        if !self.headers.is_making() && !self.begin_header() {
            return Worked { multiplications: 0, more: false };
        }
        let waiting = |to| self.messages.is_waiting(to);
        if let Some(purpose) = self.headers.step(&needs(&waiting, &self.streams)) {
            self.counters.headers_built += 1;
            if matches!(purpose, Purpose::Message(_)) && !self.streams.payload.is_on() {
                self.dispatch(now);
            }
        }
        Worked { multiplications: 1, more: self.headers.is_making() || self.wanted(Wanted::Any).is_some() }
    }

    /// A few headers cost nearly what as many as there are lanes cost. So only one that is pressing
    /// begins work, and all others that are missing are made beside it.
    fn work_side_by_side(&mut self, now: Instant) -> Worked {
        if self.wanted(Wanted::Pressing).is_some() {
            while self.headers.side_by_side() < Headers::<P, L>::lanes() && self.begin_header() {}
        }
        let (mut built, mut for_message) = (0, false);
        let multiplications = self.headers.step_side_by_side(|purpose| {
            built += 1;
            for_message |= matches!(purpose, Purpose::Message(_));
        });
        self.counters.headers_built += built;
        if for_message && !self.streams.payload.is_on() {
            self.dispatch(now);
        }
        let more = self.headers.side_by_side() > 0
            || (multiplications > 0 && self.wanted(Wanted::Pressing).is_some());
        Worked { multiplications, more }
    }

    /// What header is missing most: for a message that waits, for cover, for the next message.
    fn wanted(&self, wanted: Wanted) -> Option<Purpose> {
        let waiting = |to| self.messages.is_waiting(to);
        let needs = needs(&waiting, &self.streams);
        let missing = |purpose, most: usize| {
            let enough = match wanted {
                Wanted::Any => most,
                Wanted::Pressing => most.div_ceil(PRESSING_SHARE),
            };
            self.headers.stock(purpose) < enough && self.headers.has_place(purpose, &needs)
        };
        if let Some(at) = self.messages.first_ready(|to| missing(Purpose::Message(to), 1)) {
            return Some(Purpose::Message(self.messages.get(at).to));
        }
        let most_cover = self.headers.most_cover();
        if needs.loops && missing(Purpose::Loop, most_cover) {
            return Some(Purpose::Loop);
        }
        if needs.drops && missing(Purpose::Drop, most_cover) {
            return Some(Purpose::Drop);
        }
        if missing(Purpose::Filler, self.headers.most_fillers(&needs)) {
            return Some(Purpose::Filler);
        }
        let purpose = Purpose::Message(self.receiver.filter(|to| self.nodes.knows(*to))?);
        // The places of cover are kept for it.
        missing(purpose, self.headers.capacity().saturating_sub(2 * most_cover)).then_some(purpose)
    }

    // In a frame of its own: on a board, its path must not lie on the stack during a
    // multiplication.
    #[inline(never)]
    fn begin_header(&mut self) -> bool {
        let Some(purpose) = self.wanted(Wanted::Any) else { return false };
        let Ok(topology) = Topology::new(self.nodes.get()) else { return false };
        let ways = self.config.parameters.draw_way_lengths(&mut self.rng);
        let place = if Headers::<P, L>::lanes() > 1 {
            let waiting = |to| self.messages.is_waiting(to);
            let Some(place) = self.headers.place(purpose, &needs(&waiting, &self.streams)) else {
                return false;
            };
            Some(place)
        } else {
            None
        };
        let begun = self.headers.begin(purpose, place, self.me, &topology, ways, &mut self.rng).is_ok();
        if let (false, Purpose::Message(to)) = (begun, purpose) {
            // The network has changed since the message was accepted.
            if !self.has_path(to) {
                self.counters.discarded += self.messages.give_up(to) as u64;
                self.receiver = self.receiver.filter(|receiver| *receiver != to);
            }
        }
        begun
    }

    /// Whether `to` is in the network, with enough mixes for any path to it. What this refuses, the
    /// network refuses until its next epoch.
    fn has_path(&mut self, to: NodeId) -> bool {
        if !self.nodes.knows(to) {
            return false;
        }
        let mixes = usize::from(self.config.parameters.max_hops).saturating_sub(1);
        let mut path = [self.me; MAX_HOPS];
        match (Topology::new(self.nodes.get()), path.get_mut(..mixes)) {
            (Ok(topology), Some(path)) => topology.draw_mixes(&mut self.rng, path, self.me, to).is_ok(),
            _ => false,
        }
    }

    /// Sends what is ready and has a header.
    // In a frame of its own, as `begin_header`.
    #[inline(never)]
    pub(super) fn dispatch(&mut self, now: Instant) {
        while self.transmit_one(now) {}
    }

    pub(super) fn transmit_one(&mut self, now: Instant) -> bool {
        if self.silent || !self.queue.has_room() {
            return false;
        }
        // What is forwarded goes first: whoever adds to a line that grows fills it for all. On a
        // tick, filler would add as much, and a message that is held back relieves nobody.
        if !self.streams.payload.is_on() {
            let crowded = self.rate.yields() && self.queue.next_due().is_some_and(|due| due <= now);
            if crowded || !self.rate.admits(self.messages.flying()) {
                return false;
            }
        }
        let has_header = |to| self.headers.count(Purpose::Message(to)) > 0;
        let Some(at) = self.messages.first_ready(has_header) else { return false };
        let message = self.messages.get(at);
        let Some(header) = self.headers.take(Purpose::Message(message.to)) else { return false };
        let deadline = self.deadline(now, &header, message.tries.saturating_add(1));
        let delay = header.delay().of_mean(self.config.parameters.mean_delay);
        let (first, mut departure) = (header.first(), None);
        let write = |packet: &mut [u8]| departure = header.seal(message.id, message.data(), packet).ok();
        if self.queue.leave(now, first, write).is_err() {
            return false;
        }
        self.counters.retransmitted += u64::from(message.tries > 0);
        if let Some((header_id, Some(keys))) = departure.map(|left| (left.header_id, left.return_keys)) {
            self.messages.sent(at, (now, deadline), delay, header_id, keys);
        }
        true
    }

    fn deadline(&self, now: Instant, header: &Header<P>, tries: u8) -> Instant {
        let delay = header.delay().of_mean(self.config.parameters.mean_delay);
        now + self.config.time_for_try(tries, header.hops(), delay, self.rate.allowance())
    }

    /// What leaves on a tick of the payload stream: one packet, and one whose path is half a round
    /// trip. A packet turned round does the second half of somebody's, a message or filler does
    /// the first half of this node's own.
    ///
    /// Turned packets go first: what is under way ends before something new begins, so nodes that
    /// all have much to say do not wait for each other. Own messages get one tick in four even
    /// so, or strangers could silence a node.
    pub(super) fn use_tick(&mut self, now: Instant) {
        let turns = self.turned_in_a_row + 1 < OWN_SHARE_OF_TICKS;
        if turns && self.queue.take_tick(now) {
            self.turned_in_a_row += 1;
            return;
        }
        self.turned_in_a_row = 0;
        let used = self.transmit_one(now) || (!turns && self.queue.take_tick(now));
        if !used {
            self.cover(now, Purpose::Filler);
        }
    }

    pub(super) fn cover(&mut self, now: Instant, purpose: Purpose) {
        let header = if self.queue.has_room() { self.headers.take(purpose) } else { None };
        let Some(header) = header else {
            self.counters.cover_missed += 1;
            return;
        };
        let deadline = self.deadline(now, &header, 1);
        let (first, mut header_id) = (header.first(), None);
        let rng = &mut self.rng;
        let write = |packet: &mut [u8]| {
            header_id = Some(header.cover(packet, |payload| rng.fill_bytes(payload)).header_id);
        };
        if self.queue.leave(now, first, write).is_err() {
            return;
        }
        if purpose == Purpose::Drop {
            self.counters.drops_sent += 1;
            return;
        }
        self.counters.loops_sent += 1;
        let (lost, begins) = self.loops.look(now, &self.config.loop_test, &mut self.headers.paths);
        self.counters.loops_lost += lost;
        self.counters.loop_alarms += u64::from(begins);
        if let Some(id) = header_id {
            self.loops.sent(&id, now, deadline, &mut self.headers.paths);
        }
    }
}

fn needs<'n>(waiting: &'n dyn Fn(NodeId) -> bool, streams: &Streams) -> Needs<'n> {
    Needs {
        waiting,
        loops: streams.loops.is_on(),
        drops: streams.drops.is_on(),
        fillers: streams.payload.is_on(),
    }
}
