//! The node itself: which call leads where.

use motemix_crypto::Secret;
use motemix_directory::{Entry, Epoch, Topology, TopologyError};
use motemix_sphinx::geometry::MAX_HOPS;
use motemix_sphinx::{
    Forward, Header, Hop, Message, MessageId, MixKey, NodeId, Packet, Profile, ReplayError, TurnRound,
};
use rand_core::CryptoRng;
use siphasher::sip::SipHasher13;

use crate::config::Config;
use crate::counters::{Counters, DropReason};
use crate::cover::Streams;
use crate::epoch::{EpochError, Epochs};
use crate::event::{Admitted, Event, MessageHandle, ReceiptToken, ReplyError, SendError, Transmit};
use crate::headers::{Headers, Purpose};
use crate::messages::{Messages, Returned};
use crate::queue::{Arrival, Due, Polled, Queue, Receipt};
use crate::receive::{Fate, Window};
use crate::replay::{TagTable, shorten};
use crate::storage::Storage;
use crate::time::Instant;

/// A node of one network: mix, mote and receiver in one. See the crate's documentation for the run loop.
pub struct Node<'s, P: Profile, R: CryptoRng> {
    me: NodeId,
    config: Config,
    rng: R,
    epochs: Epochs<'s>,
    queue: Queue<'s, P>,
    window: Window<'s>,
    messages: Messages<'s, P>,
    headers: Headers<'s, P>,
    streams: Streams,
    /// First bytes of the header ids of loops under way, oldest overwritten.
    loops: &'s mut [u64],
    next_loop: usize,
    nodes: &'s mut [Entry],
    node_count: usize,
    receiver: Option<NodeId>,
    admitted: Option<Admitted>,
    counters: Counters,
}

impl<'s, P: Profile, R: CryptoRng> Node<'s, P, R> {
    /// A node that waits for its first epoch.
    pub fn new(me: NodeId, config: Config, mut rng: R, storage: Storage<'s, P>) -> Self {
        let mut key = Secret::<16>::zero();
        rng.fill_bytes(key.expose_mut());
        let key = SipHasher13::new_with_key(key.expose());
        let [current, neighbour] = storage.replay.map(|places| TagTable::new(places, key));
        storage.loops.fill(0);
        Self {
            me,
            receiver: config.receiver,
            config,
            rng,
            epochs: Epochs::new(current, neighbour),
            queue: Queue::new(storage.packets, storage.schedule),
            window: Window::new(storage.window.map(|places| TagTable::new(places, key)), key),
            messages: Messages::new(storage.messages, storage.returns),
            headers: Headers::new(storage.headers),
            streams: Streams::off(),
            loops: storage.loops,
            next_loop: 0,
            nodes: storage.nodes,
            node_count: 0,
            admitted: None,
            counters: Counters::default(),
        }
    }

    /// This node's id.
    pub const fn id(&self) -> NodeId {
        self.me
    }

    /// What happened so far.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Tags in the current epoch's replay filter, and how many it takes.
    pub const fn replay_filter_fill(&self) -> (usize, usize) {
        self.epochs.fill()
    }

    /// Messages that were accepted by [`send`](Self::send) and whose end was not polled yet.
    pub const fn in_flight(&self) -> usize {
        self.messages.in_flight()
    }

    /// The current epoch.
    pub fn epoch(&self) -> Option<Epoch> {
        self.epochs.current()
    }

    /// Accepts packets for a later epoch from now on; senders' clocks may be ahead. Takes the place
    /// of the key of the epoch before.
    pub fn prepare_epoch(&mut self, epoch: Epoch, key: MixKey) -> Result<(), EpochError> {
        self.epochs.prepare(epoch, key)
    }

    /// Makes the prepared epoch the current one. `nodes` are those of its network document, in the
    /// order of their ids, checked by the document; `config` follows its parameters. Pooled headers are forgotten; messages in
    /// flight stay, and the key of the epoch before serves for the overlap of the parameters.
    pub fn begin_epoch(
        &mut self,
        now: Instant,
        epoch: Epoch,
        nodes: impl Iterator<Item = Entry> + Clone,
        config: Config,
    ) -> Result<(), EpochError> {
        if !self.epochs.is_prepared(epoch) {
            return Err(EpochError::NotPrepared);
        }
        let (count, lent) = (nodes.clone().count(), self.nodes.len());
        if count > lent {
            return Err(EpochError::Topology(TopologyError::TooSmall { needed: count, lent }));
        }
        for (place, entry) in self.nodes.iter_mut().zip(nodes) {
            *place = entry;
        }
        self.node_count = count;
        Topology::new(&self.nodes[..count]).map_err(EpochError::Topology)?;
        self.headers.clear();
        self.epochs.begin(now + config.parameters.overlap);
        let parameters = &config.parameters;
        self.streams.loops.set(now, parameters.loop_mean, &mut self.rng);
        self.streams.drops.set(now, parameters.drop_mean, &mut self.rng);
        self.streams.payload.set(now, parameters.payload_mean, &mut self.rng);
        if config.receiver.is_some() {
            self.receiver = config.receiver;
        }
        self.config = config;
        Ok(())
    }

    /// Stops or resumes this node's own cover; what it forwards goes on.
    pub fn set_cover(&mut self, now: Instant, on: bool) {
        let parameters = self.config.parameters;
        self.streams.loops.set(now, parameters.loop_mean.filter(|_| on), &mut self.rng);
        self.streams.drops.set(now, parameters.drop_mean.filter(|_| on), &mut self.rng);
    }

    /// Puts back a tag that was admitted before a restart; call after the epoch is prepared or begun.
    pub fn restore_tag(&mut self, admitted: Admitted) -> Result<(), ReplayError> {
        self.epochs.restore(admitted.epoch, admitted.tag)
    }

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
                    Returned::Acknowledged => {
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
        let known = usize::from(forward.next.get()) < self.node_count;
        known.then_some(()).ok_or(DropReason::UnknownNextHop)
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

    /// Accepts a message for `to`. It leaves as soon as a header is ready ([`work`](Self::work)), and on
    /// a tick of the payload stream if the network has one.
    pub fn send(&mut self, now: Instant, to: NodeId, data: &[u8]) -> Result<MessageHandle, SendError> {
        if self.epochs.current().is_none() {
            return Err(SendError::NoEpoch);
        }
        if to == self.me || usize::from(to.get()) >= self.node_count {
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

    /// Does what has become due: retries, cover, the end of an overlap.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.epochs.handle_timeout(now);
        if self.window.next_timeout().is_none_or(|due| due <= now) {
            self.window.handle_timeout(now, self.config.message_lifetime());
        }
        let discarded = self.messages.handle_timeout(now, self.config.parameters.transmissions);
        self.counters.discarded += discarded as u64;
        if self.epochs.current().is_none() {
            return;
        }
        if self.streams.loops.tick(now, &mut self.rng) {
            self.cover(now, Purpose::Loop);
        }
        if self.streams.drops.tick(now, &mut self.rng) {
            self.cover(now, Purpose::Drop);
        }
        if !self.streams.payload.is_on() {
            self.dispatch(now);
        } else if self.streams.payload.tick(now, &mut self.rng) && !self.transmit_one(now) {
            self.cover(now, Purpose::Drop);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) or [`poll_transmit`](Self::poll_transmit) has
    /// something to do next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        [
            self.queue.next_due(),
            self.messages.next_timeout(),
            self.streams.next_timeout(),
            self.epochs.next_timeout(),
            self.window.next_timeout(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// The next packet that is due, written to the beginning of `out`.
    ///
    /// # Panics
    /// If `out` is shorter than a packet of the profile.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut [u8]) -> Option<Transmit> {
        loop {
            match self.queue.pop_due(now)? {
                Due::Send(to, packet) => {
                    out[..packet.len()].copy_from_slice(packet);
                    self.counters.transmitted += 1;
                    return Some(Transmit { to, len: packet.len() });
                }
                Due::Unanswered { digest } => self.unanswered(digest),
            }
        }
    }

    fn unanswered(&mut self, digest: u64) {
        if self.window.fate(digest) == Ok(Some(Fate::Pending)) {
            self.window.set(digest, Fate::Unanswered);
        }
        self.counters.drop(DropReason::Unanswered);
    }

    /// The next thing that the application should know.
    pub fn poll_event(&mut self) -> Option<Event<'_>> {
        if let Some(ended) = self.messages.poll_ended() {
            let (message, tries) = (ended.message, ended.tries);
            return Some(match ended.reply {
                None => Event::Discarded { message, tries },
                Some((sent, returned, reply)) => Event::Acknowledged {
                    message,
                    round_trip: returned - sent,
                    elapsed: returned - ended.accepted,
                    tries,
                    reply,
                },
            });
        }
        let polled = self.queue.next_arrival()?;
        self.counters.delivered += u64::from(!matches!(polled, Polled::Received { repeated: true, .. }));
        Some(match polled {
            Polled::Received { token, id, data, repeated } => Event::Received { token, id, data, repeated },
            Polled::Delivered(arrival, data) => Event::Delivered { id: arrival.id, data },
        })
    }

    /// Replies to a received message: without data it is an acknowledgement. Only now does the sender
    /// learn that the message arrived, so make it safe first.
    pub fn reply(&mut self, now: Instant, token: ReceiptToken, data: &[u8]) -> Result<(), ReplyError> {
        if data.len() > P::GEOMETRY.data_len() {
            return Err(ReplyError::TooLong);
        }
        let digest = self.queue.receipt(token).ok_or(ReplyError::NotWaiting)?.digest;
        let mean_delay = self.config.parameters.mean_delay;
        self.queue.turn_round(token, |packet, receipt| {
            // The hop's delay counts from the arrival; what the application took is part of it.
            let due = receipt.arrived + receipt.forward.delay.of_mean(mean_delay);
            let fits = receipt.turn_key.reply::<P>(packet, receipt.arrival.id, data);
            debug_assert!(fits.is_ok(), "the length was checked above");
            (receipt.forward.next, due.max(now))
        });
        self.window.set(digest, if data.is_empty() { Fate::Acknowledged } else { Fate::Answered });
        self.counters.replied += 1;
        Ok(())
    }

    /// Lets go of a received message without a reply, when it cannot be made safe. Its sender tries again.
    pub fn refuse(&mut self, token: ReceiptToken) -> Result<(), ReplyError> {
        let digest = self.queue.receipt(token).ok_or(ReplyError::NotWaiting)?.digest;
        self.queue.refuse(token);
        self.unanswered(digest);
        Ok(())
    }

    /// Builds headers while there is nothing else to do: one scalar multiplication a call. `true` if
    /// there is more to do.
    pub fn work(&mut self, now: Instant) -> bool {
        if self.epochs.current().is_none() {
            return false;
        }
        if !self.headers.is_making() && !self.begin_header() {
            return false;
        }
        if let Some(purpose) = self.headers.step() {
            self.counters.headers_built += 1;
            if matches!(purpose, Purpose::Message(_)) && !self.streams.payload.is_on() {
                self.dispatch(now);
            }
        }
        self.headers.is_making() || self.wanted().is_some()
    }

    /// What header is missing most: for a message that waits, for cover, for the next message.
    fn wanted(&self) -> Option<Purpose> {
        let lacking = |to| self.headers.count(Purpose::Message(to)) == 0;
        if let Some(at) = self.messages.first_ready(lacking) {
            return Some(Purpose::Message(self.messages.get(at).to));
        }
        let missing = |purpose, wanted: bool| wanted && self.headers.count(purpose) == 0;
        if missing(Purpose::Loop, self.streams.loops.is_on()) {
            return Some(Purpose::Loop);
        }
        if missing(Purpose::Drop, self.streams.drops.is_on() || self.streams.payload.is_on()) {
            return Some(Purpose::Drop);
        }
        let receiver = self.receiver.filter(|to| usize::from(to.get()) < self.node_count)?;
        let purpose = Purpose::Message(receiver);
        // Two places are kept for cover.
        (self.headers.count(purpose) + 2 < self.headers.capacity()).then_some(purpose)
    }

    fn begin_header(&mut self) -> bool {
        let Some(purpose) = self.wanted() else { return false };
        let Ok(topology) = Topology::new(&self.nodes[..self.node_count]) else { return false };
        let ways = self.config.parameters.draw_way_lengths(&mut self.rng);
        let begun = self.headers.begin(purpose, self.me, &topology, ways, &mut self.rng).is_ok();
        if let (false, Purpose::Message(to)) = (begun, purpose) {
            // The network has changed since the message was accepted.
            if !self.has_path(to) {
                self.counters.discarded += self.messages.give_up(to) as u64;
                self.receiver = self.receiver.filter(|receiver| *receiver != to);
            }
        }
        begun
    }

    /// Whether the network has enough mixes for any path to `to`. What it refuses, it always refuses.
    fn has_path(&mut self, to: NodeId) -> bool {
        let nodes = &self.nodes[..self.node_count];
        let mixes = usize::from(self.config.parameters.max_hops).saturating_sub(1);
        let mut path = [self.me; MAX_HOPS];
        match (Topology::new(nodes), path.get_mut(..mixes)) {
            (Ok(topology), Some(path)) => topology.draw_mixes(&mut self.rng, path, &[self.me, to]).is_ok(),
            _ => false,
        }
    }

    /// Sends what is ready and has a header.
    fn dispatch(&mut self, now: Instant) {
        while self.transmit_one(now) {}
    }

    fn transmit_one(&mut self, now: Instant) -> bool {
        if !self.queue.has_room() {
            return false;
        }
        let has_header = |to| self.headers.count(Purpose::Message(to)) > 0;
        let Some(at) = self.messages.first_ready(has_header) else { return false };
        let message = self.messages.get(at);
        let Some(header) = self.headers.take(Purpose::Message(message.to)) else { return false };
        let deadline = self.deadline(now, &header, message.tries.saturating_add(1));
        let (first, mut departure) = (header.first(), None);
        let write = |packet: &mut [u8]| departure = header.seal(message.id, message.data(), packet).ok();
        if self.queue.leave(now, first, write).is_err() {
            return false;
        }
        self.counters.retransmitted += u64::from(message.tries > 0);
        if let Some((header_id, Some(keys))) = departure.map(|left| (left.header_id, left.return_keys)) {
            self.messages.sent(at, now, deadline, header_id, keys);
        }
        true
    }

    fn deadline(&self, now: Instant, header: &Header<P>, tries: u8) -> Instant {
        let delay = header.delay().of_mean(self.config.parameters.mean_delay);
        now + self.config.time_for_try(tries, header.hops(), delay)
    }

    fn cover(&mut self, now: Instant, purpose: Purpose) {
        let header = if self.queue.has_room() { self.headers.take(purpose) } else { None };
        let Some(header) = header else {
            self.counters.cover_missed += 1;
            return;
        };
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
        if let (Some(id), false) = (header_id, self.loops.is_empty()) {
            self.loops[self.next_loop] = loop_name(&id.0);
            self.next_loop = (self.next_loop + 1) % self.loops.len();
        }
    }
}

/// Eight bytes of a header id tell loops under way apart; zero is no loop.
fn loop_name(header_id: &[u8]) -> u64 {
    header_id.first_chunk().map_or(1, |bytes| u64::from_le_bytes(*bytes).max(1))
}
