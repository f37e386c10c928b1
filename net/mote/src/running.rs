//! A mote that runs: its node, its radio, its flash, and who calls whom.

mod exchange;
mod expiry;
mod fill;
mod neighbours;
mod next;
mod talk;

use core::net::SocketAddrV6;

use embedded_storage::nor_flash::MultiwriteNorFlash;
use motemix_crypto::{PublicKey, Secret};
use motemix_directory::Epoch;
use motemix_link::counters::LinkDrop;
use motemix_node::{
    Admitted, DropReason, Event, Instant, Journal, LinkId, MessageHandle, Node, ReadingShares, ReceiptToken,
    SendError, Storage, Window, WindowKey,
};
use motemix_object::Identity;
use motemix_sphinx::{MessageId, NodeId, Profile};
use rand_core::CryptoRng;

use crate::console::{Console, News, Warning, say};
use crate::link::Link;
use crate::mote::Mote;
use crate::mote::device::INTRODUCTION_LEN;
use crate::network::{Network, PlaceInNetwork, Refusal, Route};
use crate::store::{Store, StoreError};

use exchange::Exchange;
use expiry::Expiry;
use fill::Fill;
use neighbours::OwnKey;
use next::NextEpoch;
pub use talk::NotSent;

/// What is said while loops do not come back as they should.
const LOOPS_LOST: &str = "own packets do not come back: they are dropped or held up on their way";

/// What the board is to do next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Call again: a packet was taken in, which took up to three scalar multiplications, and the
    /// rest of the round is still to be done, at the time that it is by now.
    TookIn,
    /// Call again: there is more to do.
    Again,
    /// Call again at this time, or earlier if the radio or the console has news; `None`: only then.
    Wait(Option<Instant>),
    /// Somebody typed `stop`, or the flash does not work any more: let go of the node.
    Stop,
}

/// Where a round of the run loop goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    TakeIn,
    /// What was taken in has been computed.
    SendOn {
        busy: bool,
    },
}

/// A mote between `start` and `stop`.
pub struct Running<'m, P: Profile, F, R: CryptoRng> {
    mote: &'m mut Mote<P, F, R>,
    node: Node<'m, P, R>,
    network: Network,
    routes: &'m mut [Route],
    window: Window,
    expiry: Expiry,
    /// Messages that were turned away because the flash has no room, since the last was kept.
    refused: u32,
    /// Why what was admitted could not be written down.
    failed: Option<StoreError>,
    stopped: bool,
    phase: Phase,
    /// Where a network document is while it is given, and when its epoch begins. Nowhere on a small
    /// board.
    document: &'m mut [u8],
    /// How much of one has been given.
    given: Option<usize>,
    next: Option<NextEpoch>,
    exchange: Exchange,
    fill: Fill,
    /// What each neighbour may have read of packets that are none.
    shares: ReadingShares,
    /// What the link was not told yet.
    own_key: Option<OwnKey>,
}

/// The journal of the node: each packet that is admitted is in flash at once.
struct InFlash<'m, F> {
    store: &'m mut Store<F>,
    /// The earliest epoch whose key is in flash. Packets of one before it cannot come again after a
    /// restart.
    oldest: Epoch,
    failed: &'m mut Option<StoreError>,
}

impl<F: MultiwriteNorFlash> Journal for InFlash<'_, F> {
    type Error = StoreError;

    fn admit(&mut self, admitted: Admitted) {
        if admitted.epoch >= self.oldest
            && let Err(error) = self.store.keep_tag(admitted)
        {
            *self.failed = Some(error);
        }
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        (*self.failed).map_or(Ok(()), Err)
    }
}

impl<'m, P: Profile, F: MultiwriteNorFlash, R: CryptoRng + Clone> Running<'m, P, F, R> {
    /// A node that is in no epoch yet. `routes` are as many as the storage has nodes.
    // It returns no `Result`: what it makes is a fifth of a small board's memory, and would be
    // there twice.
    #[inline(never)]
    pub fn new(
        mote: &'m mut Mote<P, F, R>,
        place: &PlaceInNetwork<'_>,
        storage: Storage<'m, P>,
        routes: &'m mut [Route],
    ) -> Self {
        Self::with_window(mote, place, storage, routes, Window::SHARED_CHANNEL)
    }

    /// The same with another window than that of a shared channel, to see what that one is worth.
    pub fn with_window(
        mote: &'m mut Mote<P, F, R>,
        place: &PlaceInNetwork<'_>,
        storage: Storage<'m, P>,
        routes: &'m mut [Route],
        window: Window,
    ) -> Self {
        let key = mote.draw_window_key();
        Self::with_window_key(mote, place, storage, routes, window, key)
    }

    /// The same with a key that was drawn before, as in [`Node::with_window_key`].
    pub fn with_window_key(
        mote: &'m mut Mote<P, F, R>,
        place: &PlaceInNetwork<'_>,
        storage: Storage<'m, P>,
        routes: &'m mut [Route],
        window: Window,
        key: WindowKey,
    ) -> Self {
        Self {
            node: Node::with_window_key(place.me, mote.random.clone(), storage, key),
            network: Network::NONE,
            mote,
            routes,
            window,
            expiry: Expiry::InForce,
            refused: 0,
            failed: None,
            stopped: false,
            phase: Phase::TakeIn,
            document: &mut [],
            given: None,
            next: None,
            exchange: Exchange::new(),
            fill: Fill::new(),
            shares: ReadingShares::new(key),
            own_key: None,
        }
    }

    /// Begins the epoch of the network document. Replay tags that the mote admitted before a
    /// restart are admitted no more, and the keys of epochs that have passed are gone.
    ///
    /// # Errors
    /// The board has no memory for the network's nodes, or the flash does not work.
    #[inline(never)]
    pub fn start(&mut self, now: Instant, place: &PlaceInNetwork<'_>) -> Result<(), Refusal> {
        self.begin(now, place)?;
        self.next = self.mote.store.next_document_head()?.and_then(|head| NextEpoch::of(head, place));
        Ok(())
    }

    /// Lends memory for the next epoch's network document, so that it can be given while the node
    /// runs.
    pub fn lend_document(&mut self, memory: &'m mut [u8]) {
        self.document = memory;
    }

    /// The node's id in this epoch.
    pub const fn id(&self) -> NodeId {
        self.node.id()
    }

    /// The node: what it counted, how full it is.
    pub const fn node(&self) -> &Node<'m, P, R> {
        &self.node
    }

    /// Whether a node of the network document, or of the one before, is at this address and port.
    pub fn has_node_at(&self, address: SocketAddrV6) -> bool {
        let mut addresses = self.routes.iter().filter_map(Route::address);
        addresses.any(|at| at.ip() == address.ip() && at.port() == address.port())
    }

    /// Sends a message of the application's own, as [`Node::send`] does.
    ///
    /// # Errors
    /// The node refuses it, or the network document has expired ([`SendError::NoEpoch`]).
    pub fn send(&mut self, now: Instant, to: NodeId, data: &[u8]) -> Result<MessageHandle, SendError> {
        if self.expiry.is_silent() {
            return Err(SendError::NoEpoch);
        }
        self.node.send(now, to, data)
    }

    /// Whether neighbours protect what passes between them.
    pub(crate) const fn protects_links(&self) -> bool {
        self.network.protected_links
    }

    /// The network that it is in.
    pub(crate) fn network_name(&self) -> &str {
        &self.network.name
    }

    pub(crate) const fn store(&mut self) -> &mut Store<F> {
        &mut self.mote.store
    }

    pub(crate) fn device_seed(&mut self) -> Result<Secret<32>, StoreError> {
        self.mote.device_seed()
    }

    /// The identity of this device, as [`Mote::introduction`] tells it.
    ///
    /// # Errors
    /// The flash does not work, or is full.
    pub fn introduction(&mut self) -> Result<(Identity, [u8; INTRODUCTION_LEN]), StoreError> {
        self.mote.introduction()
    }

    pub(crate) fn random_u64(&mut self) -> u64 {
        self.mote.random.next_u64()
    }

    /// Seconds since 1970, if the clock was set.
    pub(crate) fn unix_time(&self, now: Instant) -> Option<u64> {
        self.mote.clock.map(|clock| clock.at(now).0)
    }

    /// The public key of an epoch, as [`Mote::public_key`]: an authority asks for the next one's
    /// while the node runs.
    ///
    /// # Errors
    /// As for [`Mote::public_key`].
    pub fn public_key(&mut self, epoch: Epoch) -> Result<PublicKey, Refusal> {
        self.mote.public_key(epoch)
    }

    /// Takes the message that has been in flash longest out of it; its data is in `out`.
    ///
    /// # Errors
    /// The flash does not work, or `out` is too short.
    pub fn take_message<'b>(
        &mut self,
        out: &'b mut [u8],
    ) -> Result<Option<(MessageId, &'b [u8])>, StoreError> {
        self.mote.take_message(out)
    }

    /// The message that has been in flash longest, as [`Mote::message`].
    ///
    /// # Errors
    /// As for [`take_message`](Self::take_message).
    pub fn message<'b>(&mut self, out: &'b mut [u8]) -> Result<Option<(MessageId, &'b [u8])>, StoreError> {
        self.mote.message(out)
    }

    /// Removes it, as [`Mote::forget_message`].
    ///
    /// # Errors
    /// The flash does not work.
    pub fn forget_message(&mut self) -> Result<(), StoreError> {
        self.mote.forget_message()
    }

    /// Whether somebody typed `stop`, or the flash failed.
    pub const fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Gives up all messages under way before the node is dropped. The console notices how each
    /// message ended, and prints nothing.
    #[inline(never)]
    pub fn give_up_messages<C: Console>(&mut self, console: &mut C) {
        self.node.give_up_messages();
        // The ends of messages come before everything else.
        while let Some(event @ (Event::Acknowledged { .. } | Event::Discarded { .. })) =
            self.node.poll_event()
        {
            console.notice(News::Event(&event));
        }
    }

    /// Does what is due: at most one packet taken in, one sent, and one scalar multiplication of
    /// own work. `scratch` holds a packet meanwhile. A round takes two calls if a packet came:
    /// the time at which it goes on is that of the second, whose `scratch` may be another.
    // Not inlined, nor are those that it calls: what one of them needs on the stack must not add to
    // what another needs.
    #[inline(never)]
    pub fn poll<L: Link, C: Console>(
        &mut self,
        now: Instant,
        console: &mut C,
        link: &mut L,
        scratch: &mut [u8],
    ) -> Next {
        let busy = match self.phase {
            Phase::SendOn { busy } => busy,
            Phase::TakeIn => {
                self.turn(now, console);
                self.watch_fill(now, console);
                let heeded = self.attend(now, console, link, scratch);
                link.poll(now, &|from| self.routes.iter().any(|route| L::is_from(route, from)));
                if self.take_in(now, console, link, scratch) {
                    self.phase = Phase::SendOn { busy: true };
                    return Next::TookIn;
                }
                heeded
            }
        };
        self.phase = Phase::TakeIn;
        self.handle_timeout(now);
        self.handle_events(now, console);
        self.transmit(now, console, link, scratch);
        self.exchange::<L, C>(now, link, scratch);
        let met = self.meet(now, link);
        link.poll(now, &|from| self.routes.iter().any(|route| L::is_from(route, from)));
        let more = met || self.work(now);
        if self.stopped {
            return Next::Stop;
        }
        // What became whole just now is no news of the radio any more.
        if busy || more || link.has_datagram() || self.has_whole_document() {
            return Next::Again;
        }
        // What is due but cannot leave waits for the link.
        let can_send = link.can_send();
        let to_send = [self.node.poll_timeout(), self.exchange_due()].into_iter().flatten();
        let to_send = to_send.filter(|due| can_send || *due > now).min();
        Next::Wait([link.poll_timeout(), to_send, self.turn_due(now)].into_iter().flatten().min())
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
    fn take_in<L: Link, C: Console>(
        &mut self,
        now: Instant,
        console: &mut C,
        link: &mut L,
        scratch: &mut [u8],
    ) -> bool {
        let received = loop {
            let Some(received) = link.receive(scratch) else { return false };
            if self.shares.admits(now, LinkId(received.from)) {
                break received;
            }
            link.refuse(LinkDrop::OverShare);
        };
        let datagram = scratch.get_mut(..received.len).unwrap_or_default();
        if C::EXCHANGES && self.hears_of_documents::<L>(now, received.from, datagram) {
            return true;
        }
        console.notice(News::Datagram(datagram));
        let from = LinkId(received.from);
        let mut journal = InFlash {
            store: &mut self.mote.store,
            oldest: self.mote.ratchet.epoch(),
            failed: &mut self.failed,
        };
        // Refusals are counted by the node.
        if let Err(reason) = self.node.handle_datagram(now, from, datagram, &mut journal) {
            if matches!(reason, DropReason::BadHeaderMac | DropReason::NonContributory | DropReason::Replayed)
            {
                self.shares.was_in_vain(from);
            }
            console.notice(News::Dropped(reason));
        }
        if let (Some(error), false) = (self.failed, self.stopped) {
            // Without its tag the packet could be sent through again after a restart.
            self.stopped = true;
            console.notice(News::Warning(Warning::TagNotKept(error)));
            say!(console, "warning: stops, because a replay tag cannot be kept: {error}");
        }
        true
    }

    #[inline(never)]
    fn handle_events<C: Console>(&mut self, now: Instant, console: &mut C) {
        while let Some(event) = self.node.poll_event() {
            console.notice(News::Event(&event));
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
                Event::LoopAlarm { sounds: true } => {
                    console.notice(News::Warning(Warning::LoopsLost));
                    say!(console, "warning: {LOOPS_LOST}");
                    continue;
                }
                Event::LoopAlarm { sounds: false } => {
                    say!(console, "loops come back again");
                    continue;
                }
                _ => {
                    debug_assert!(false, "an event that nobody handles");
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
                console.notice(News::Kept);
                say!(console, "received a message; `inbox` prints it");
            }
            Err(error) => {
                if self.refused == 0 {
                    console.notice(News::Warning(Warning::MessagesTurnedAway(error)));
                    say!(console, "warning: messages are turned away: {error}; `inbox` makes room");
                }
                self.refused += 1;
            }
        }
        let Some(token) = token else { return };
        // One that waited for too long is tried again by its sender, and is known then.
        let _ = if kept.is_ok() { self.node.reply(now, token, &[]) } else { self.node.refuse(token) };
    }

    #[inline(never)]
    fn transmit<L: Link, C: Console>(
        &mut self,
        now: Instant,
        console: &mut C,
        link: &mut L,
        scratch: &mut [u8],
    ) {
        // Without its tag in flash no packet leaves.
        if self.stopped || !link.can_send() {
            return;
        }
        let mut journal = InFlash {
            store: &mut self.mote.store,
            oldest: self.mote.ratchet.epoch(),
            failed: &mut self.failed,
        };
        let Ok(Some(transmit)) = self.node.poll_transmit(now, &mut journal, scratch) else { return };
        let to = self.routes.get(usize::from(transmit.to.get())).and_then(Route::address);
        // A node that has no address here is as one that is switched off.
        let packet = scratch.get(..transmit.len).unwrap_or_default();
        let accepted = to.is_some_and(|to| link.send(to, packet));
        console.notice(News::Left { to: transmit.to, accepted });
    }
}
