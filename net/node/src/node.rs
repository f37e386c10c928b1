//! The node itself: which call leads where.

mod arrive;
mod depart;
pub(crate) mod together;

pub use depart::Worked;

use core::time::Duration;

use motemix_directory::{Entry, Epoch, Topology, TopologyError};
use motemix_sphinx::{MixKey, NodeId, Profile, ReplayError};
use rand_core::CryptoRng;

use crate::Instant;
use crate::admission::Classes;
use crate::alarm::LoopAlarm;
use crate::config::{BEFORE_THE_FIRST_EPOCH, Config, MOST_FOR_TICKS};
use crate::counters::{Counters, DropReason};
use crate::cover::Streams;
use crate::epoch::{EpochError, Epochs, ReplayFill};
use crate::event::{Event, ReceiptToken, ReplyError, Transmit};
use crate::headers::{Headers, Purpose};
use crate::journal::{Admitted, Journal};
use crate::loops::Loops;
use crate::messages::Messages;
use crate::paths::{LoopPaths, LoopTally, NoPaths};
use crate::queue::{Due, Leave, Polled, Queue};
use crate::rate::Rate;
use crate::receive::{Fate, Window};
use crate::replay::Fingerprints;
use crate::storage::Storage;
use crate::tag_table::{TagTable, WindowKey};

/// A node of one network: mix, mote and receiver in one. See the crate's documentation for the run
/// loop.
pub struct Node<'s, P: Profile, R: CryptoRng, L = NoPaths> {
    me: NodeId,
    config: Config,
    rng: R,
    epochs: Epochs<'s>,
    queue: Queue<'s, P>,
    window: Window<'s>,
    messages: Messages<'s, P>,
    headers: Headers<'s, P, L>,
    streams: Streams,
    rate: Rate,
    loops: Loops<'s>,
    /// Ticks that turned packets took since one was offered to this node's own messages.
    turned_in_a_row: u32,
    /// How long the application took for its last reply. Packets without a reply wait as long, so
    /// that they leave when one with a reply might.
    answer_took: Duration,
    nodes: Nodes<'s>,
    receiver: Option<NodeId>,
    /// Nothing of its own leaves until the next epoch begins.
    silent: bool,
    /// See [`Node::answers`].
    answers: u32,
    counters: Counters,
}

/// The nodes of the current epoch.
struct Nodes<'s> {
    own: &'s mut [Entry],
    /// How many of its own places are in use.
    count: usize,
    /// Somebody else's, if they were lent.
    lent: Option<&'s [Entry]>,
}

impl Nodes<'_> {
    fn get(&self) -> &[Entry] {
        self.lent.unwrap_or(&self.own[..self.count])
    }

    /// The node of this id, if one has it.
    fn find(&self, id: NodeId) -> Option<&Entry> {
        self.get().get(usize::from(id.get())).filter(|entry| !entry.is_vacant())
    }

    fn knows(&self, id: NodeId) -> bool {
        self.find(id).is_some()
    }

    fn keep(&mut self, nodes: impl Iterator<Item = Entry> + Clone) -> Result<(), EpochError> {
        let (count, lent) = (nodes.clone().count(), self.own.len());
        if count > lent {
            return Err(EpochError::Topology(TopologyError::TooSmall { needed: count, lent }));
        }
        for (place, entry) in self.own.iter_mut().zip(nodes) {
            *place = entry;
        }
        (self.count, self.lent) = (count, None);
        Ok(())
    }
}

impl<'s, P: Profile, R: CryptoRng, L: LoopPaths> Node<'s, P, R, L> {
    /// A node that waits for its first epoch, which brings its [`Config`].
    pub fn new(me: NodeId, mut rng: R, storage: Storage<'s, P, L>) -> Self {
        let key = WindowKey::draw(&mut rng);
        Self::with_window_key(me, rng, storage, key)
    }

    /// The same with a key that was drawn before: on a board with little stack nothing is drawn
    /// while a node lies there.
    pub fn with_window_key(me: NodeId, rng: R, storage: Storage<'s, P, L>, key: WindowKey) -> Self {
        // The compiler is not to know what is in there: it would make the values on the stack,
        // beside the node, and a board's stack would be a kilobyte deeper.
        let config = core::hint::black_box(&BEFORE_THE_FIRST_EPOCH);
        Self {
            me,
            receiver: config.receiver,
            config: *config,
            rng,
            epochs: Epochs::new(Fingerprints::new(storage.replay, storage.fingerprint)),
            queue: Queue::new(storage.packets, storage.schedule),
            window: Window::new(storage.window.map(|places| TagTable::new(places, key)), key),
            messages: Messages::new(storage.messages, storage.returns),
            headers: Headers::new(storage.headers, storage.paths),
            streams: Streams::off(),
            rate: Rate::new(config.window),
            loops: Loops::new(storage.loops),
            turned_in_a_row: 0,
            answer_took: Duration::ZERO,
            nodes: Nodes { own: storage.nodes, count: 0, lent: None },
            silent: false,
            answers: 0,
            counters: Counters::default(),
        }
    }

    /// This node's id.
    pub const fn id(&self) -> NodeId {
        self.me
    }

    /// Another node, as the network document of the current epoch has it.
    pub fn entry(&self, id: NodeId) -> Option<&Entry> {
        self.nodes.find(id)
    }

    /// What happened so far.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Whether loops come back as they should. [`Event::LoopAlarm`] tells when that changes.
    pub const fn loop_alarm(&self) -> &LoopAlarm {
        self.loops.alarm()
    }

    /// How much speaks for loops that are dropped, in per cent of what raises the alarm.
    pub const fn loop_evidence(&self) -> u32 {
        self.loops.alarm().percent(&self.config.loop_test)
    }

    /// How many of this node's loops that passed `id`, there or back, came back in their time, and
    /// how many were lost, since `id` is in the documents. A loop counts once for each node on its
    /// path. `None` without memory for it, see [`Storage::paths`].
    ///
    /// Loops that are lost before any has come back do not count, nor do those that were under way
    /// when keys changed.
    pub fn loops_through(&self, id: NodeId) -> Option<LoopTally> {
        self.headers.paths.through(id)
    }

    /// Counts loops through `id` anew, for callers that know that another node has it now. An id
    /// that was vacant in between has been counted anew already.
    pub fn forget_loops_through(&mut self, id: NodeId) {
        self.headers.paths.forget(id);
    }

    /// How full the replay filter is. Before the first epoch the current one is 0.
    pub fn replay_fill(&self) -> ReplayFill {
        self.epochs.fill()
    }

    /// Messages that were received in the present lifetime of a message, and how many the window
    /// remembers of one. A full window hands over no new message.
    pub fn window_fill(&self) -> (usize, usize) {
        self.window.fill()
    }

    /// Packets that wait until they may leave, and how many the queue holds.
    pub const fn queue_fill(&self) -> (usize, usize) {
        self.queue.occupied()
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

    /// Makes the prepared epoch the current one, until about `ends`: the places of the replay
    /// filter are made to last until then. With [`Instant::NEVER`] they go to whoever comes
    /// first. `nodes` are those of its network document, in the order of their ids, checked by
    /// the document; `config` follows its parameters. Pooled headers are forgotten; messages in
    /// flight stay, and the key of the epoch before serves for the overlap of the parameters.
    pub fn begin_epoch(
        &mut self,
        now: Instant,
        epoch: Epoch,
        ends: Instant,
        nodes: impl Iterator<Item = Entry> + Clone,
        config: Config,
    ) -> Result<(), EpochError> {
        if !self.epochs.is_prepared(epoch) {
            return Err(EpochError::NotPrepared);
        }
        self.nodes.keep(nodes)?;
        self.begin(now, ends, config)
    }

    /// The same with nodes that many share, as in a simulation: they are read where they are.
    pub fn begin_epoch_among(
        &mut self,
        now: Instant,
        epoch: Epoch,
        ends: Instant,
        nodes: &'s [Entry],
        config: Config,
    ) -> Result<(), EpochError> {
        if !self.epochs.is_prepared(epoch) {
            return Err(EpochError::NotPrepared);
        }
        self.nodes.lent = Some(nodes);
        self.begin(now, ends, config)
    }

    fn begin(&mut self, now: Instant, ends: Instant, config: Config) -> Result<(), EpochError> {
        let nodes = self.nodes.get();
        Topology::new(nodes).map_err(EpochError::Topology)?;
        self.headers.paths.keep(nodes);
        self.headers.clear();
        self.loops.excuse();
        let classes = Classes::new([self.rng.next_u64(), self.rng.next_u64()]);
        self.epochs.begin(now, ends, now + config.parameters.overlap, classes);
        (self.silent, self.answers) = (false, 0);
        let parameters = &config.parameters;
        self.streams.loops.set(now, parameters.loop_mean, &mut self.rng);
        self.streams.drops.set(now, parameters.drop_mean, &mut self.rng);
        self.streams.payload.set(now, parameters.payload_mean, &mut self.rng);
        // Nothing waits for ticks that do not come.
        while !self.streams.payload.is_on() && self.queue.take_tick(now) {}
        if config.receiver.is_some() {
            self.receiver = config.receiver;
        }
        if config.window != self.config.window {
            self.rate = Rate::new(config.window);
        }
        self.config = config;
        Ok(())
    }

    /// Nodes have other numbers from the next epoch that begins on: this one has `me`, and whoever
    /// has a number until then has what `number` gives. What is not sent yet goes to whom it was
    /// for, and is given up if that is nobody. To be called right before [`Self::begin_epoch`].
    ///
    /// A node keeps its number, but for one that is new in two documents which were made out of
    /// their order.
    pub fn renumber(&mut self, me: NodeId, number: impl Fn(NodeId) -> Option<NodeId>) {
        self.me = me;
        self.counters.discarded += self.messages.renumber(number) as u64;
    }

    /// Stops or resumes this node's own cover; what it forwards goes on.
    pub fn set_cover(&mut self, now: Instant, on: bool) {
        let parameters = self.config.parameters;
        self.streams.loops.set(now, parameters.loop_mean.filter(|_| on), &mut self.rng);
        self.streams.drops.set(now, parameters.drop_mean.filter(|_| on), &mut self.rng);
    }

    /// Stops all that this node sends of its own until the next epoch begins: cover, the ticks of
    /// the payload stream, and messages, which wait. What it forwards and replies to goes on.
    /// For a network document that has expired.
    pub fn fall_silent(&mut self) {
        self.streams = Streams::off();
        self.silent = true;
    }

    /// Wipes all mix keys with their replay filters: no packet is taken in until an epoch is
    /// prepared and begun again, which may be an earlier one. What waits for its delay still
    /// leaves.
    pub fn end_epoch(&mut self) {
        self.fall_silent();
        self.epochs.end();
        self.headers.clear();
    }

    /// Gives up all messages under way, for a node that is about to stop: each ends with an event.
    pub fn give_up_messages(&mut self) {
        self.counters.discarded += self.messages.give_up_all() as u64;
    }

    /// How many own loops and tries have come back under the current epoch's keys since it began.
    /// Each went through mixes that have the keys of this epoch, which says more about the time
    /// than any one clock.
    pub const fn answers(&self) -> u32 {
        self.answers
    }

    /// Puts back what was admitted before a restart; call after the epoch is prepared or begun.
    /// Digests of epochs without a key are passed over.
    ///
    /// # Errors
    /// [`ReplayError::Full`] if the memory is smaller than it was, and has no room for it. Packets
    /// that are not put back could pass again, so the node must not run.
    pub fn restore_admitted(&mut self, admitted: Admitted) -> Result<(), ReplayError> {
        self.epochs.restore(admitted)
    }

    /// What the journal would have of a packet whose replay tag begins with these eight bytes, to
    /// convert journals of tags. `None` if the node does not have the epoch's key.
    pub fn admitted_of_tag(&self, epoch: Epoch, start: &[u8; 8]) -> Option<Admitted> {
        Some(Admitted { epoch, digest: self.epochs.digest(epoch, *start)? })
    }

    /// Does what has become due: retries, cover, the end of an overlap.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.epochs.handle_timeout(now);
        if self.window.next_timeout().is_none_or(|due| due <= now) {
            self.window.handle_timeout(now, self.config.memory());
        }
        let lifetime = self.config.message_lifetime();
        let overdue = self.messages.handle_timeout(now, self.config.parameters.transmissions, lifetime);
        self.counters.discarded += overdue.discarded as u64;
        if overdue.lost > 0 {
            let hops = usize::from(self.config.parameters.max_hops) * 2;
            self.rate.lost(now, self.config.time_for_try(1, hops, Duration::ZERO, self.rate.allowance()));
        }
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
        } else if self.streams.payload.tick(now, &mut self.rng) {
            self.use_tick(now);
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

    /// The next packet that is due, written to the beginning of `out`. Before anything leaves,
    /// `journal` has all that was admitted.
    ///
    /// # Errors
    /// The journal's. Then nothing leaves; what is due stays so.
    ///
    /// # Panics
    /// If `out` is shorter than a packet of the profile.
    pub fn poll_transmit<J: Journal>(
        &mut self,
        now: Instant,
        journal: &mut J,
        out: &mut [u8],
    ) -> Result<Option<Transmit>, J::Error> {
        journal.commit()?;
        loop {
            let Some(due) = self.queue.pop_due(now, self.turned_leave()) else {
                // Nothing of others' waits, so it is the turn of messages that have a header.
                let own = self.rate.yields() && !self.streams.payload.is_on() && self.transmit_one(now);
                if own {
                    continue;
                }
                return Ok(None);
            };
            match due {
                Due::Send(to, packet) => {
                    out[..packet.len()].copy_from_slice(packet);
                    self.counters.transmitted += 1;
                    return Ok(Some(Transmit { to, len: packet.len() }));
                }
                Due::Unanswered(token) => self.turn_unanswered(token),
                Due::NoTick => {
                    self.counters.drop(DropReason::NoTick);
                }
            }
        }
    }

    /// When packets that were turned round leave.
    const fn turned_leave(&self) -> Leave {
        if self.streams.payload.is_on() { Leave::OnTicks { most: MOST_FOR_TICKS } } else { Leave::WhenDue }
    }

    /// The application has no reply: the packet leaves all the same.
    fn turn_unanswered(&mut self, token: ReceiptToken) {
        let Some(digest) = self.queue.receipt(token).map(|receipt| receipt.digest) else { return };
        if self.window.fate(digest) == Ok(Some(Fate::Pending)) {
            self.window.set(digest, Fate::Unanswered);
        }
        self.counters.drop(DropReason::Unanswered);
        let (mean_delay, rng) = (self.config.parameters.mean_delay, &mut self.rng);
        self.queue.turn_round(token, |packet, receipt| {
            receipt.turn_key.refuse::<P>(packet, |payload| rng.fill_bytes(payload));
            (receipt.forward.next, receipt.arrived + receipt.forward.delay.of_mean(mean_delay))
        });
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
        if let Some(sounds) = self.loops.alarm_mut().take_change() {
            return Some(Event::LoopAlarm { sounds });
        }
        let polled = self.queue.next_arrival()?;
        self.counters.delivered += u64::from(!matches!(polled, Polled::Received { repeated: true, .. }));
        Some(match polled {
            Polled::Received { token, id, data, repeated } => Event::Received { token, id, data, repeated },
            Polled::Delivered(arrival, data) => Event::Delivered { id: arrival.id, data },
        })
    }

    /// Replies to a received message: without data it is an acknowledgement. Only now does the
    /// sender learn that the message arrived, so make it safe first.
    pub fn reply(&mut self, now: Instant, token: ReceiptToken, data: &[u8]) -> Result<(), ReplyError> {
        if data.len() > P::GEOMETRY.data_len() {
            return Err(ReplyError::TooLong);
        }
        let receipt = self.queue.receipt(token).ok_or(ReplyError::NotWaiting)?;
        let (digest, arrived) = (receipt.digest, receipt.arrived);
        self.answer_took = now - arrived;
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

    /// Lets go of a received message without a reply, when it cannot be made safe. Its packet
    /// leaves as if it had one; its sender tries again.
    pub fn refuse(&mut self, token: ReceiptToken) -> Result<(), ReplyError> {
        self.queue.receipt(token).ok_or(ReplyError::NotWaiting)?;
        self.turn_unanswered(token);
        Ok(())
    }
}
