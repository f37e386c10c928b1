//! A mote: its node, its radio, its flash, and who calls whom.

use core::time::Duration;

use embedded_storage::nor_flash::MultiwriteNorFlash;
use motemix_crypto::{Compact, Secret};
use motemix_directory::{Epoch, KeyRatchet, UnixTime};
use motemix_link::radio::{Radio, Transceiver};
use motemix_link::serial::ExtendedAddress;
use motemix_link::stack::{Stack, StackMemory};
use motemix_node::{Event, Instant, Node, ReceiptToken, Storage};
use motemix_sphinx::{Mote, NodeId};
use rand_core::CryptoRng;

use crate::console::{Console, Ended, Line, say};
use crate::network::{Network, Route, Trust};
use crate::store::{Layout, MAX_AUTHORITIES, Store, StoreError};

/// The packets of motes.
pub type Packets = Mote<Compact>;

/// What a board lends to its application.
pub struct Parts<'m, F, R, const LEN: usize, const COUNT: usize> {
    /// For the node.
    pub storage: Storage<'m, Packets>,
    /// As many as the storage has nodes.
    pub routes: &'m mut [Route],
    /// For datagrams of at least a packet's length.
    pub stack: &'m mut StackMemory<'m, LEN, COUNT>,
    /// For one datagram, one network document or one record of the flash: 1 KiB serves a dozen nodes.
    pub scratch: &'m mut [u8],
    /// Where keys and tags outlive a restart.
    pub flash: F,
    /// What lies where in the flash.
    pub layout: Layout,
    /// The platform's generator; all clones are handles to the same one.
    pub random: R,
}

/// The application. See the crate's documentation for the run loop.
pub struct Application<'m, F, R: CryptoRng> {
    pub(crate) node: Option<Node<'m, Packets, R>>,
    /// Until there is a node.
    pub(crate) storage: Option<Storage<'m, Packets>>,
    pub(crate) routes: &'m mut [Route],
    pub(crate) network: Option<Network>,
    pub(crate) running: bool,
    pub(crate) stack: Stack<'m>,
    pub(crate) store: Store<F>,
    pub(crate) ratchet: KeyRatchet,
    pub(crate) trust: Option<Trust>,
    pub(crate) address: ExtendedAddress,
    pub(crate) random: R,
    pub(crate) scratch: &'m mut [u8],
    /// How much of a network document has been given.
    pub(crate) document: Option<usize>,
    /// The moment of the board's clock at which it was 1970.
    pub(crate) clock: Option<ClockOffset>,
    pub(crate) line: Line,
    /// Messages that were turned away because the flash has no room, since the last was kept.
    pub(crate) refused: u32,
}

/// Seconds between 1970 and the start of the board's clock.
#[derive(Clone, Copy)]
pub(crate) struct ClockOffset(pub(crate) u64);

impl ClockOffset {
    pub(crate) fn at(self, now: Instant) -> UnixTime {
        UnixTime(self.0 + now.as_micros() / 1_000_000)
    }
}

impl<'m, F: MultiwriteNorFlash, R: CryptoRng + Clone> Application<'m, F, R> {
    /// Opens the flash, and makes address and key if it has none.
    ///
    /// # Errors
    /// The flash does not work, or is full.
    pub fn new<T: Transceiver, const LEN: usize, const COUNT: usize>(
        now: Instant,
        parts: Parts<'m, F, R, LEN, COUNT>,
        radio: &mut Radio<T>,
    ) -> Result<Self, StoreError> {
        let mut random = parts.random;
        let mut store = Store::open(parts.flash, parts.layout)?;
        let address = store.address()?.map_or_else(|| make_address(&mut store, &mut random), Ok)?;
        let ratchet = store.ratchet()?.map_or_else(|| make_ratchet(&mut store, &mut random), Ok)?;
        let mut keys = [[0; 32]; MAX_AUTHORITIES];
        let known = store.authorities(&mut keys)?.map(|(threshold, known)| (threshold, known.len()));
        let trust = known.map(|(threshold, count)| Trust { threshold, keys, count });
        let address = ExtendedAddress(address);
        let seed = random.next_u64();
        let stack = Stack::new(address, seed, parts.stack, radio, duration(now));
        Ok(Self {
            node: None,
            storage: Some(parts.storage),
            routes: parts.routes,
            network: None,
            running: false,
            stack,
            store,
            ratchet,
            trust,
            address,
            random,
            scratch: parts.scratch,
            document: None,
            clock: None,
            line: Line::new(),
            refused: 0,
        })
    }

    /// The radio's address.
    pub const fn address(&self) -> ExtendedAddress {
        self.address
    }

    /// Does what is due, at most one packet and one scalar multiplication of own work. Returns when there is
    /// more to do; before that only if the radio or the console has news.
    pub fn poll<T: Transceiver, C: Console>(
        &mut self,
        now: Instant,
        console: &mut C,
        radio: &mut Radio<T>,
    ) -> Option<Instant> {
        while let Some(character) = console.read() {
            match self.line.push(character) {
                None => {}
                Some(Ended::TooLong) => say!(console, "error: the line is too long and was not read"),
                Some(Ended::Line) => {
                    self.obey(now, console);
                    self.line.clear();
                }
            }
        }
        self.stack.poll(duration(now), radio);
        let mut busy = false;
        if self.document.is_none() {
            busy |= self.take_in(now, console);
        }
        if self.running {
            self.expire(now, console);
            busy |= self.run(now, console);
        }
        self.stack.poll(duration(now), radio);
        if busy {
            return Some(now);
        }
        let stack = self.stack.poll_timeout(duration(now), radio);
        let stack = stack.map(|at| Instant::from_micros(u64::try_from(at.as_micros()).unwrap_or(u64::MAX)));
        // What is due but cannot leave waits for the stack.
        let can_send = self.stack.can_send(duration(now));
        let node = self.node.as_ref().filter(|_| self.running).and_then(Node::poll_timeout);
        let node = node.filter(|due| can_send || *due > now);
        [stack, node].into_iter().flatten().min()
    }

    /// Takes one datagram in. Its tag is kept before anything leaves.
    fn take_in<C: Console>(&mut self, now: Instant, console: &mut C) -> bool {
        let Some(len) = self.stack.receive(self.scratch) else { return false };
        let (Some(node), true) = (&mut self.node, self.running) else { return true };
        let Some(datagram) = self.scratch.get_mut(..len) else { return true };
        // Refusals are counted by the node.
        let _ = node.handle_datagram(now, datagram);
        if let Some(admitted) = node.take_admitted()
            && let Err(error) = self.store.keep_tag(admitted)
        {
            // Without its tag the packet could be sent through again after a restart.
            self.running = false;
            say!(console, "error: stopped, because a replay tag cannot be kept: {error}");
        }
        true
    }

    fn run<C: Console>(&mut self, now: Instant, console: &mut C) -> bool {
        let Some(node) = &mut self.node else { return false };
        if node.poll_timeout().is_some_and(|due| due <= now) {
            node.handle_timeout(now);
        }
        while let Some(node) = &mut self.node {
            let Some(event) = node.poll_event() else { break };
            let (token, kept) = match event {
                Event::Received { token, id, data, .. } => (Some(token), self.store.keep_message(id, data)),
                Event::Delivered { id, data } => (None, self.store.keep_message(id, data)),
                Event::Acknowledged { message, round_trip, tries, .. } => {
                    let (number, millis) = (message.number(), round_trip.as_millis());
                    say!(console, "acknowledged {number} after {millis} ms, {tries} tries");
                    continue;
                }
                Event::Discarded { message, tries } => {
                    say!(console, "discarded {} after {tries} tries", message.number());
                    continue;
                }
            };
            self.receive(now, token, kept, console);
        }
        let Some(node) = &mut self.node else { return false };
        if self.stack.can_send(duration(now))
            && let Some(transmit) = node.poll_transmit(now, self.scratch)
        {
            let to = self.routes.get(usize::from(transmit.to.get())).and_then(Route::address);
            // A node that is not on the radio is as one that is switched off.
            if let (Some(to), Some(packet)) = (to, self.scratch.get(..transmit.len)) {
                let _ = self.stack.send(duration(now), to, packet);
            }
        }
        node.work(now)
    }

    fn receive<C: Console>(
        &mut self,
        now: Instant,
        token: Option<ReceiptToken>,
        kept: Result<(), StoreError>,
        console: &mut C,
    ) {
        let Some(node) = &mut self.node else { return };
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
        let _ = if kept.is_ok() { node.reply(now, token, &[]) } else { node.refuse(token) };
    }

    /// Ends own traffic when the document has expired; what others sent is still forwarded.
    fn expire<C: Console>(&mut self, now: Instant, console: &mut C) {
        let expired =
            self.network.zip(self.clock).is_some_and(|(network, clock)| clock.at(now) >= network.valid_until);
        if expired && let Some(node) = &mut self.node {
            self.network = None;
            node.set_cover(now, false);
            say!(console, "error: the network document has expired; give this node the next one");
        }
    }

    /// The node's id, once a document has told it.
    pub fn id(&self) -> Option<NodeId> {
        self.node.as_ref().map(Node::id)
    }

    /// Whether the node runs.
    pub const fn is_running(&self) -> bool {
        self.running
    }
}

fn make_address<F: MultiwriteNorFlash>(
    store: &mut Store<F>,
    random: &mut impl CryptoRng,
) -> Result<[u8; 8], StoreError> {
    let mut address = [0; 8];
    random.fill_bytes(&mut address);
    let [.., first] = &mut address;
    // Neither a group address nor one that IEEE gave away.
    *first = (*first & !0x01) | 0x02;
    store.keep_address(address)?;
    Ok(address)
}

fn make_ratchet<F: MultiwriteNorFlash>(
    store: &mut Store<F>,
    random: &mut impl CryptoRng,
) -> Result<KeyRatchet, StoreError> {
    let mut seed = Secret::zero();
    random.fill_bytes(seed.expose_mut());
    let ratchet = KeyRatchet::new(Epoch(0), seed);
    store.keep_ratchet(&ratchet)?;
    Ok(ratchet)
}

pub(crate) fn duration(now: Instant) -> Duration {
    Duration::from_micros(now.as_micros())
}
