//! A mote that runs: its node, its radio, its flash, and who calls whom.

use core::fmt::Write as _;
use core::time::Duration;

use embedded_storage::nor_flash::MultiwriteNorFlash;
use motemix_crypto::Compact;
use motemix_directory::Entry;
use motemix_link::counters::LinkDrop;
use motemix_link::radio::{Radio, Transceiver};
use motemix_link::stack::Stack;
use motemix_node::{Config, DropReason, Event, Instant, Node, ReceiptToken, SendError, Storage, Window};
use motemix_sphinx::{MixKey, NodeId, Profile as _};
use rand_core::CryptoRng;

use crate::command::Command;
use crate::console::{Console, Ended, LINE_LEN, or_say, say};
use crate::mote::Mote;
use crate::network::{Network, PlaceInNetwork, Refusal, Route};
use crate::store::StoreError;

/// The packets of motes.
pub type Packets = motemix_sphinx::Mote<Compact>;

const DATA_LEN: usize = Packets::GEOMETRY.data_len();

/// What the board is to do next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Call again at this time, or earlier if the radio or the console has news; `None`: only then.
    Wait(Option<Instant>),
    /// Somebody typed `stop`, or the flash does not work any more: let go of the node.
    Stop,
}

/// A mote between `start` and `stop`.
pub struct Running<'m, F, R: CryptoRng> {
    mote: &'m mut Mote<F, R>,
    node: Node<'m, Packets, R>,
    network: Network,
    routes: &'m mut [Route],
    expired: bool,
    /// Messages that were turned away because the flash has no room, since the last was kept.
    refused: u32,
    stopped: bool,
}

impl<'m, F: MultiwriteNorFlash, R: CryptoRng + Clone> Running<'m, F, R> {
    /// Begins the epoch of the network document. Replay tags that the mote admitted before a restart are admitted no
    /// more, and the keys of epochs that have passed are gone. `routes` are as many as the storage has nodes.
    ///
    /// # Errors
    /// The board has no memory for the network's nodes, or the flash does not work.
    #[inline(never)]
    pub fn new(
        mote: &'m mut Mote<F, R>,
        now: Instant,
        place: &PlaceInNetwork<'_>,
        storage: Storage<'m, Packets>,
        routes: &'m mut [Route],
    ) -> Result<Self, Refusal> {
        let document = &place.document;
        let epoch = document.epoch();
        let network = Network::of(document, routes)?;
        // The channel is shared with all neighbours.
        let config =
            Config { window: Window::Adaptive { first: 2 }, ..Config::of_network(document.parameters()) };
        let mut node = Node::new(place.me, config, mote.random.clone(), storage);
        node.prepare_epoch(epoch, MixKey::new(place.secret.duplicate()))?;
        let entries = document.nodes().map(|node| Entry { mix_key: node.mix_key, role: node.role });
        node.begin_epoch(now, epoch, entries, config)?;
        mote.store.each_tag(epoch, |admitted| {
            // As many as the filter takes were kept.
            let _ = node.restore_tag(admitted);
        })?;
        // The keys of epochs that have passed must not be found by who takes the board.
        mote.ratchet.advance_to(epoch)?;
        mote.store.keep_ratchet(&mote.ratchet)?;
        mote.store.forget_tags_before(epoch)?;
        Ok(Self { mote, node, network, routes, expired: false, refused: 0, stopped: false })
    }

    /// The node's id in this epoch.
    pub const fn id(&self) -> NodeId {
        self.node.id()
    }

    /// Does what is due: at most one packet taken in, one sent, and one scalar multiplication of own work.
    /// `scratch` holds a packet meanwhile.
    // Not inlined, nor are those that it calls: what one of them needs on the stack must not add to what
    // another needs.
    #[inline(never)]
    pub fn poll<T: Transceiver, C: Console>(
        &mut self,
        now: Instant,
        console: &mut C,
        stack: &mut Stack<'_>,
        radio: &mut Radio<T>,
        scratch: &mut [u8],
    ) -> Next {
        self.expire(now, console);
        let mut busy = self.heed(now, console, stack, scratch);
        stack.poll(duration(now), radio);
        busy |= self.take_in(now, console, stack, scratch);
        self.handle_timeout(now);
        self.handle_events(now, console);
        self.transmit(now, stack, scratch);
        stack.poll(duration(now), radio);
        busy |= self.work(now);
        if self.stopped {
            return Next::Stop;
        }
        if busy {
            return Next::Wait(Some(now));
        }
        let link = stack.poll_timeout(duration(now), radio);
        let link = link.map(|at| Instant::from_micros(u64::try_from(at.as_micros()).unwrap_or(u64::MAX)));
        // What is due but cannot leave waits for the stack.
        let can_send = stack.can_send(duration(now));
        let node = self.node.poll_timeout().filter(|due| can_send || *due > now);
        Next::Wait([link, node].into_iter().flatten().min())
    }

    #[inline(never)]
    fn handle_timeout(&mut self, now: Instant) {
        if self.node.poll_timeout().is_some_and(|due| due <= now) {
            self.node.handle_timeout(now);
        }
    }

    #[inline(never)]
    fn work(&mut self, now: Instant) -> bool {
        self.node.work(now)
    }

    /// Takes one datagram in. Its tag is in flash before anything leaves.
    #[inline(never)]
    fn take_in<C: Console>(
        &mut self,
        now: Instant,
        console: &mut C,
        stack: &mut Stack<'_>,
        scratch: &mut [u8],
    ) -> bool {
        let Some(len) = stack.receive(scratch) else { return false };
        // Refusals are counted by the node.
        let _ = self.node.handle_datagram(now, scratch.get_mut(..len).unwrap_or_default());
        if let Some(admitted) = self.node.take_admitted()
            && let Err(error) = self.mote.store.keep_tag(admitted)
        {
            // Without its tag the packet could be sent through again after a restart.
            self.stopped = true;
            say!(console, "error: stops, because a replay tag cannot be kept: {error}");
        }
        true
    }

    #[inline(never)]
    fn handle_events<C: Console>(&mut self, now: Instant, console: &mut C) {
        while let Some(event) = self.node.poll_event() {
            let (token, kept) = match event {
                Event::Received { token, id, data, .. } => {
                    (Some(token), self.mote.store.keep_message(id, data))
                }
                Event::Delivered { id, data } => (None, self.mote.store.keep_message(id, data)),
                Event::Acknowledged { message, round_trip, tries, .. } => {
                    let (number, millis) = (message.number(), round_trip.as_millis());
                    say!(console, "acknowledged {number} after {millis} ms, tries {tries}");
                    continue;
                }
                Event::Discarded { message, tries } => {
                    say!(console, "discarded {} after tries {tries}", message.number());
                    continue;
                }
            };
            self.received(now, token, kept, console);
        }
    }

    /// Acknowledges a message that is in flash, and turns one away that is not.
    fn received<C: Console>(
        &mut self,
        now: Instant,
        token: Option<ReceiptToken>,
        kept: Result<(), StoreError>,
        console: &mut C,
    ) {
        match kept {
            Ok(()) => {
                self.refused = 0;
                say!(console, "received a message; `inbox` prints it");
            }
            Err(error) => {
                if self.refused == 0 {
                    say!(console, "error: messages are turned away: {error}; `inbox` makes room");
                }
                self.refused += 1;
            }
        }
        let Some(token) = token else { return };
        // One that waited for too long is tried again by its sender, and is known then.
        let _ = if kept.is_ok() { self.node.reply(now, token, &[]) } else { self.node.refuse(token) };
    }

    #[inline(never)]
    fn transmit(&mut self, now: Instant, stack: &mut Stack<'_>, scratch: &mut [u8]) {
        // Without its tag in flash no packet leaves.
        if self.stopped || !stack.can_send(duration(now)) {
            return;
        }
        let Some(transmit) = self.node.poll_transmit(now, scratch) else { return };
        let to = self.routes.get(usize::from(transmit.to.get())).and_then(Route::address);
        // A node that is not on the radio is as one that is switched off.
        if let (Some(to), Some(packet)) = (to, scratch.get(..transmit.len)) {
            let _ = stack.send(duration(now), to, packet);
        }
    }

    /// Ends own traffic when the document has expired; what others sent is still forwarded.
    fn expire<C: Console>(&mut self, now: Instant, console: &mut C) {
        let time = self.mote.clock.map(|clock| clock.at(now));
        if !self.expired && time.is_some_and(|time| time >= self.network.valid_until) {
            self.expired = true;
            self.node.set_cover(now, false);
            say!(console, "error: the network document has expired; `stop`, and give this node the next one");
        }
    }

    /// Does what one line of the console says; what was typed behind it may be meant for a mote that stands
    /// still. `true` if there was a line.
    #[inline(never)]
    fn heed<C: Console>(
        &mut self,
        now: Instant,
        console: &mut C,
        stack: &mut Stack<'_>,
        scratch: &mut [u8],
    ) -> bool {
        for _ in 0..=LINE_LEN {
            let Some(character) = console.read() else { return false };
            match self.mote.line.push(character) {
                None => continue,
                Some(Ended::TooLong) => say!(console, "error: the line is too long and was not read"),
                Some(Ended::Line) => {
                    let line = self.mote.line.take();
                    match Command::read(line.text()) {
                        Ok(Command::Stop) => {
                            self.stopped = true;
                            say!(console, "ok");
                        }
                        Ok(Command::Start) => say!(console, "ok"),
                        Ok(Command::Send { to, text }) => self.send(now, to, text, console),
                        Ok(Command::Inbox) => self.mote.inbox(console, scratch),
                        Ok(Command::Status) => self.status(console, stack),
                        Ok(Command::Help) => say!(console, "{}", crate::command::HELP),
                        Ok(_) => say!(console, "error: the node runs; `stop` it first"),
                        Err(misread) => say!(console, "error: {misread}"),
                    }
                }
            }
            break;
        }
        true
    }

    #[inline(never)]
    fn send<C: Console>(&mut self, now: Instant, to: &str, text: &str, console: &mut C) {
        if self.expired {
            return say!(
                console,
                "error: the network document has expired; `stop`, and give this node the next one"
            );
        }
        let mut routes = self.routes.iter().take(self.network.nodes);
        let receiver = routes.position(|route| route.is_named(to)).and_then(|id| NodeId::new(id as u16));
        let Some(receiver) = receiver else {
            return say!(console, "error: the network has no node {to}; `stop` and `network` list them");
        };
        // A number is used up even if the message is refused: it must never come twice.
        let sequence = or_say!(console, self.mote.store.next_sequence());
        let mut message = heapless::String::<128>::new();
        // One that is too long for the memory here is longer than a packet carries.
        let whole = write!(message, "{sequence} {text}").map_err(|_| SendError::TooLong { most: DATA_LEN });
        match whole.and_then(|()| self.node.send(now, receiver, message.as_bytes())) {
            Ok(handle) => say!(console, "sent {} with sequence number {sequence}", handle.number()),
            Err(error) => say!(console, "error: {error}"),
        }
    }

    #[inline(never)]
    fn status<C: Console>(&mut self, console: &mut C, stack: &Stack<'_>) {
        let link = stack.counters();
        say!(console, "the node runs");
        let (received, sent, given_up) = (link.received, link.sent, link.given_up());
        say!(console, "datagrams {received} in, {sent} out, {given_up} given up");
        for &reason in LinkDrop::ALL {
            let dropped = link.dropped(reason);
            if dropped > 0 {
                say!(console, "link dropped {reason} {dropped}");
            }
        }
        let counters = self.node.counters();
        for (name, count) in [
            ("sent", counters.sent),
            ("acknowledged", counters.acknowledged),
            ("retransmitted", counters.retransmitted),
            ("discarded", counters.discarded),
            ("forwarded", counters.forwarded),
            ("delivered", counters.delivered),
            ("headers built", counters.headers_built),
        ] {
            say!(console, "{name} {count}");
        }
        for &reason in DropReason::ALL {
            let dropped = counters.dropped(reason);
            if dropped > 0 {
                say!(console, "dropped {reason} {dropped}");
            }
        }
        let (tags, most) = self.node.replay_filter_fill();
        say!(console, "ok replay tags {tags} of {most}");
    }
}

pub(crate) fn duration(now: Instant) -> Duration {
    Duration::from_micros(now.as_micros())
}
