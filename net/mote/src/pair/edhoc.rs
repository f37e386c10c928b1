//! EDHOC (RFC 9528), then datagrams of one length under its key: the mode `edhoc` of
//! `motemix link`. One key serves both directions.

use core::cell::Cell;

use motemix_neighbour::PublicKey;
use motemix_neighbour::Refused;
use motemix_neighbour::datagram::{Acknowledged, Content, Datagram, Name, Protected, SecurityContext, carry};
use motemix_neighbour::edhoc::{CipherSuite, CoseKey, Role, Suite2};
use motemix_neighbour::handshakes::{
    Admission, Admitted, Event, HandshakeCounters, HandshakeDrop, Handshakes, Identity, MAX_MESSAGE_BY_VALUE,
    Peer, is_message_1,
};
use motemix_neighbour::suite::HalfWordsP256;
use motemix_node::Instant;
use rand_core::CryptoRng;

use super::budget::Budget;
use super::own::Own;
use super::{Buffer, Heard, IDLE_AFTER, PairDrop, Reply};

/// Bytes of each datagram, whatever is in it: two frames. `motemix link` is told with `--length`.
pub const LENGTH: usize = 160;

/// Credentials travel by value, so their names tell nothing.
const KID: u8 = 0;

type Suite = Suite2<HalfWordsP256>;
type Shakes = Handshakes<Suite, MAX_MESSAGE_BY_VALUE>;

pub(super) struct Edhoc<const PLACES: usize> {
    handshakes: Shakes,
    neighbours: [Option<Neighbour>; PLACES],
    answers: Budget,
    /// Who was called and has proved itself.
    called: Option<PublicKey>,
    /// The number under which the text left that waits for its receipt, and with which key.
    sent: Option<(u32, PublicKey)>,
}

/// A key with a neighbour, and the receipt of the last text under it. If the text comes once more,
/// so does the receipt: whoever repeats a text has nothing sealed.
struct Keyed {
    context: SecurityContext,
    receipt: Option<Acknowledged>,
}

/// A neighbour that has proved itself.
struct Neighbour {
    at: u64,
    identity: PublicKey,
    current: Option<Keyed>,
    /// Made by a later handshake. It takes the place of the other when a datagram comes under it.
    next: Option<Keyed>,
    /// The last text, so that it is recognised under another key.
    name: Option<Name>,
    /// When it was heard last, under its key.
    heard: Instant,
}

/// What came of a handshake.
pub(super) enum Outcome {
    /// There are keys with this neighbour, which may have taken the place of another.
    Keys { at: u64, replaces: bool },
    /// There would be, and all places are taken.
    NoPlace(u64),
    /// There will be none.
    Failed(u64),
    /// A message was dropped.
    Dropped(PairDrop),
}

/// What is asked and proved in one step of a handshake.
struct Asking<'o> {
    own: &'o Own,
    proved: Cell<Option<PublicKey>>,
}

impl<'o> Asking<'o> {
    const fn new(own: &'o Own) -> Self {
        Self { own, proved: Cell::new(None) }
    }
}

impl Admission for Asking<'_> {
    /// Nobody is known by an address.
    fn admitted(&self, _: Peer) -> Option<Admitted> {
        None
    }

    fn is_heard(&self, _: Peer) -> bool {
        true
    }

    fn introduced(&self, _: Peer, key: &CoseKey) -> bool {
        Suite::public_key(key).is_ok_and(|identity| self.own.admits(&identity))
    }

    fn proved(&self, _: Peer, key: &CoseKey) {
        self.proved.set(Suite::public_key(key).ok());
    }
}

const fn peer(at: u64) -> Peer {
    Peer(at.to_be_bytes())
}

impl<const PLACES: usize> Edhoc<PLACES> {
    #[inline(never)]
    pub(super) fn new<R: CryptoRng>(now: Instant, me: u64, own: &Own, rng: &mut R) -> Self {
        let mut handshakes = Shakes::with_room(Suite2(HalfWordsP256), peer(me), rng);
        let public = Admitted { key: CoseKey::p256(&own.identity.public_key()), kid: KID };
        handshakes.set_identity(Some(Identity::by_value(own.identity.private_key().duplicate(), public)));
        Self {
            handshakes,
            neighbours: [const { None }; PLACES],
            answers: Budget::new(now),
            called: None,
            sent: None,
        }
    }

    pub(super) fn knows(&self, neighbour: u64) -> bool {
        self.peer(neighbour).is_some()
    }

    /// Who is there.
    pub(super) fn peer(&self, neighbour: u64) -> Option<PublicKey> {
        let found = self.neighbours.iter().flatten().find(|found| found.at == neighbour)?;
        (found.current.is_some() || found.next.is_some()).then_some(found.identity)
    }

    /// Makes other keys before the next text.
    pub(super) fn forget(&mut self, neighbour: u64) {
        for found in self.neighbours.iter_mut().flatten().filter(|found| found.at == neighbour) {
            (found.current, found.next) = (None, None);
        }
    }

    pub(super) fn call(&mut self, now: Instant, own: &Own, neighbour: u64) {
        self.handshakes.call(now, peer(neighbour), &Asking::new(own));
    }

    /// Puts a text into a datagram. Its name is the same each time that it is sealed.
    pub(super) fn seal(&mut self, to: u64, name: Name, text: &[u8], out: &mut Buffer) -> bool {
        let Some(found) = self.neighbours.iter_mut().flatten().find(|found| found.at == to) else {
            return false;
        };
        let identity = found.identity;
        let Some(Keyed { context, .. }) = found.current.as_mut().or(found.next.as_mut()) else {
            return false;
        };
        let mut number = None;
        let sealed = out.fill(LENGTH, |room| {
            number = context.seal(&Content::Text { name, text }, room).ok();
            number.is_some()
        });
        self.sent = number.map(|number| (number, identity));
        sealed
    }

    pub(super) fn handle(
        &mut self,
        now: Instant,
        own: &Own,
        from: u64,
        datagram: &[u8],
        heard: &mut Buffer,
        reply: &mut Reply,
    ) -> Heard {
        let parsed = if datagram.len() == LENGTH { Datagram::parse(datagram) } else { Err(Refused::Length) };
        match parsed {
            Ok(Datagram::Handshake(message)) => self.handshake(now, own, from, message),
            Ok(Datagram::Protected(protected)) => self.protected(now, from, &protected, heard, reply),
            Err(_) => Heard::Dropped(PairDrop::NoMessage),
        }
    }

    #[inline(never)]
    fn handshake(&mut self, now: Instant, own: &Own, from: u64, message: &[u8]) -> Heard {
        if is_message_1(message) && !self.answers.may_spend(now) {
            return Heard::Dropped(PairDrop::TooMany);
        }
        let before = self.handshakes.counters().answered;
        let handled = self.handshakes.handle(now, peer(from), message, &Asking::new(own));
        if self.handshakes.counters().answered > before {
            // Wrong cookies use up no answers.
            self.answers.spend();
        }
        match handled {
            Ok(()) => Heard::Nothing,
            Err(reason) => Heard::Dropped(reason.into()),
        }
    }

    /// Whether there is a scalar multiplication to do.
    pub(super) const fn has_work(&self) -> bool {
        self.handshakes.has_work()
    }

    /// One step of a handshake: one scalar multiplication. What came of it. The neighbour that is
    /// `awaited` keeps its place.
    #[inline(never)]
    pub(super) fn work<R: CryptoRng>(
        &mut self,
        now: Instant,
        own: &Own,
        awaited: Option<u64>,
        rng: &mut R,
    ) -> Option<Outcome> {
        let asking = Asking::new(own);
        self.handshakes.handle_timeout(now);
        let before = *self.handshakes.counters();
        self.handshakes.work(now, &asking, rng);
        self.outcome(now, own, &asking, &before, awaited)
    }

    /// What came of the last step; `before` was counted before it.
    // Not inlined: what it needs on the stack must not lie beneath a multiplication.
    #[inline(never)]
    fn outcome(
        &mut self,
        now: Instant,
        own: &Own,
        asking: &Asking<'_>,
        before: &HandshakeCounters,
        awaited: Option<u64>,
    ) -> Option<Outcome> {
        match self.handshakes.poll_event() {
            Some(Event::Key { peer, key, role }) => {
                let at = u64::from_be_bytes(peer.0);
                let identity = match role {
                    Role::Initiator => self.called.take(),
                    Role::Responder => asking.proved.get(),
                };
                let context = SecurityContext::new(key, role);
                let Some((place, replaces)) = self.place(now, &identity?, own, awaited) else {
                    return Some(Outcome::NoPlace(at));
                };
                self.settle(now, place, at, identity?, context, role);
                Some(Outcome::Keys { at, replaces })
            }
            Some(Event::Failed { peer, .. }) => Some(Outcome::Failed(u64::from_be_bytes(peer.0))),
            None => {
                // Who is called proves itself a step before it confirms.
                self.called = asking.proved.get().or(self.called);
                let counters = self.handshakes.counters();
                let dropped = |reason: &&HandshakeDrop| counters.dropped(**reason) > before.dropped(**reason);
                HandshakeDrop::ALL.iter().find(dropped).map(|reason| Outcome::Dropped((*reason).into()))
            }
        }
    }

    /// The next message of a handshake that is to leave.
    pub(super) fn poll_transmit(&mut self, now: Instant, out: &mut Reply) -> Option<u64> {
        let transmit = self.handshakes.poll_transmit(now)?;
        out.fill(LENGTH, |room| carry(transmit.as_bytes(), room).is_ok())
            .then(|| u64::from_be_bytes(transmit.to.0))
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.handshakes.poll_timeout()
    }

    /// The place of a neighbour, and whether another one loses it: its own, a free one, or that of
    /// the neighbour that was silent longest, for an hour at least. One that was named gives way to
    /// none that was not.
    fn place(
        &mut self,
        now: Instant,
        identity: &PublicKey,
        own: &Own,
        awaited: Option<u64>,
    ) -> Option<(usize, bool)> {
        let is_its = |place: &Option<Neighbour>| place.as_ref().is_some_and(|it| it.identity == *identity);
        let its = self.neighbours.iter().position(is_its);
        if let Some(place) = its.or_else(|| self.neighbours.iter().position(Option::is_none)) {
            return Some((place, false));
        }
        let gives_way = |neighbour: &&mut Neighbour| {
            now >= neighbour.heard + IDLE_AFTER
                && Some(neighbour.at) != awaited
                && (own.names(identity) || !own.names(&neighbour.identity))
        };
        let places = self.neighbours.iter_mut().enumerate();
        let neighbours = places.filter_map(|(place, neighbour)| Some((place, neighbour.as_mut()?)));
        let idle = neighbours.filter(|(_, neighbour)| gives_way(neighbour));
        let (place, _) = idle.min_by_key(|(_, neighbour)| neighbour.heard)?;
        Some((place, true))
    }

    /// Gives keys their place.
    fn settle(
        &mut self,
        now: Instant,
        place: usize,
        at: u64,
        identity: PublicKey,
        context: SecurityContext,
        role: Role,
    ) {
        let Some(place) = self.neighbours.get_mut(place) else { return };
        if place.as_ref().is_some_and(|before| before.identity != identity) {
            *place = None;
        }
        let neighbour = place.get_or_insert(Neighbour {
            at,
            identity,
            current: None,
            next: None,
            name: None,
            heard: now,
        });
        (neighbour.at, neighbour.heard) = (at, now);
        let keyed = Keyed { context, receipt: None };
        match role {
            // The peer has shown that it has the key.
            Role::Initiator => (neighbour.current, neighbour.next) = (Some(keyed), None),
            Role::Responder => neighbour.next = Some(keyed),
        }
    }

    #[inline(never)]
    fn protected(
        &mut self,
        now: Instant,
        from: u64,
        protected: &Protected<'_>,
        heard: &mut Buffer,
        reply: &mut Reply,
    ) -> Heard {
        let mut reason = PairDrop::NoHandshake;
        for neighbour in self.neighbours.iter_mut().flatten().filter(|neighbour| neighbour.at == from) {
            let opened = neighbour.open(protected, heard, reply);
            if opened.is_ok() {
                neighbour.heard = now;
            }
            match opened {
                Ok(Opened::Text) => return Heard::Text(Some(neighbour.identity)),
                Ok(Opened::Receipt(number)) if self.sent == Some((number, neighbour.identity)) => {
                    self.sent = None;
                    return Heard::Receipt;
                }
                Ok(Opened::Receipt(_)) => return Heard::Dropped(PairDrop::Replayed),
                Err(because) => reason = because,
            }
        }
        Heard::Dropped(reason)
    }
}

enum Opened {
    Text,
    Receipt(u32),
}

impl Neighbour {
    fn open(
        &mut self,
        protected: &Protected<'_>,
        heard: &mut Buffer,
        reply: &mut Reply,
    ) -> Result<Opened, PairDrop> {
        let mut reason = PairDrop::NoHandshake;
        for is_next in [false, true] {
            let place = if is_next { &mut self.next } else { &mut self.current };
            let Some(Keyed { context, receipt }) = place else { continue };
            let mut room = [0; LENGTH];
            match context.open(protected, &mut room) {
                Ok((number, opened)) => {
                    let opened = match opened {
                        Content::Receipt(number) => Opened::Receipt(number),
                        // Nodes of a network say that, and these are none.
                        Content::Payload(_) => return Err(PairDrop::NoMessage),
                        Content::Text { name, text } => {
                            heard.set(text);
                            let is_again = self.name.replace(name) == Some(name);
                            reply.fill(LENGTH, |room| {
                                *receipt = context.acknowledge(number, room).ok();
                                receipt.is_some()
                            });
                            if is_again {
                                return Err(PairDrop::Replayed);
                            }
                            Opened::Text
                        }
                    };
                    if is_next {
                        self.current = self.next.take();
                    }
                    return Ok(opened);
                }
                Err(Refused::Replayed) => {
                    if let Some(receipt) = receipt.filter(|receipt| receipt.of() == protected.number()) {
                        reply.fill(LENGTH, |room| context.acknowledge_again(receipt, room).is_ok());
                    }
                    return Err(PairDrop::Replayed);
                }
                Err(Refused::Exhausted) => *place = None,
                Err(refused) => reason = refused.into(),
            }
        }
        Err(reason)
    }
}

impl From<HandshakeDrop> for PairDrop {
    fn from(reason: HandshakeDrop) -> Self {
        match reason {
            HandshakeDrop::Stranger => Self::NotAdmitted,
            HandshakeDrop::Busy => Self::UnderWay,
            HandshakeDrop::Unproved | HandshakeDrop::WrongCookie | HandshakeDrop::WrongEcho => Self::Altered,
            _ => Self::NoMessage,
        }
    }
}
