//! The handshakes of a node with its neighbours: EDHOC with static keys (method 3), over messages
//! that may be lost, repeated and forged.
//!
//! ```text
//! hello 01                    ─▶
//!                             ◀─  cookie 02 ‖ 8
//! 03 ‖ cookie ‖ message_1     ─▶
//!                             ◀─  04 ‖ echo ‖ message_2
//! 05 ‖ message_3              ─▶
//!                             ◀─  06 ‖ message_4
//! ```
//!
//! Whoever says hello gets a cookie, which costs one keyed hash and is remembered by nobody: only
//! who receives it, at the address that it claims, can take a place. message_2 repeats two bytes of
//! message_1: a forgery of who has not received that is not computed either, nor anything for a
//! peer that is not admitted. One handshake is begun at a time, and one answered.
//!
//! # The loop of whoever drives it
//!
//! 1. [`call`](Handshakes::call) a neighbour to make keys with it, if
//!    [`is_idle`](Handshakes::is_idle).
//! 2. [`handle`](Handshakes::handle) what arrives. It computes no multiplication.
//! 3. [`work`](Handshakes::work): one scalar multiplication, if there is one to do.
//! 4. Send what [`poll_transmit`](Handshakes::poll_transmit) gives, take what
//!    [`poll_event`](Handshakes::poll_event) tells, and come back at
//!    [`poll_timeout`](Handshakes::poll_timeout).
//!
//! # Credentials by name, or by value
//!
//! Boards name their credentials: who a neighbour is, its address says. On a network where it does
//! not, messages hold the credentials themselves ([`Identity::by_value`]), in longer memory
//! ([`Handshakes::with_room`], [`MAX_MESSAGE_BY_VALUE`]), and [`Admission::introduced`] decides.
//!
//! `docs/spec/link/handshakes.md` has the reasons.

mod answer;
mod bytes;
mod call;
mod cookie;
mod credentials;
mod drops;

use core::fmt;

use motemix_crypto::secret::{self, Secret};
use motemix_time::Instant;
use rand_core::CryptoRng;

use crate::edhoc::{CipherSuite, CoseKey, Refused, Role, Session};

use answer::Answer;
use bytes::Bytes;
pub use bytes::{MAX_MESSAGE, MAX_MESSAGE_BY_VALUE};
use call::Call;
use cookie::{COOKIE_LEN, Cookies};
use credentials::{with_own, with_peer};
pub use drops::{HandshakeCounters, HandshakeDrop};

/// Bytes of the key of two neighbours.
pub const KEY_LEN: usize = 16;
/// The highest name of a credential that takes one byte in a message.
pub const MAX_KID: u8 = 0x17;

/// Label of the exporter (RFC 9528, 4.2.1) for keys of IEEE 802.15.9, which distributes the keys of
/// IEEE 802.15.4.
const KEY_LABEL: u16 = 24;
/// The name of a connection. It says nothing, because neighbours have one at a time.
const CONNECTION: [u8; 1] = [0];

const HELLO: u8 = 1;
const COOKIE: u8 = 2;
const MESSAGE_1: u8 = 3;
const MESSAGE_2: u8 = 4;
const MESSAGE_3: u8 = 5;
const MESSAGE_4: u8 = 6;

/// Whether these bytes ask for a handshake. If their cookie is good, that costs multiplications:
/// a caller may bound how many it hands over in a time.
pub const fn is_message_1(message: &[u8]) -> bool {
    matches!(message, [MESSAGE_1, ..])
}

/// Whether these bytes answer message_1. If they are taken, that costs multiplications.
pub const fn is_message_2(message: &[u8]) -> bool {
    matches!(message, [MESSAGE_2, ..])
}

/// Whether these bytes ask for a cookie.
pub const fn is_hello(message: &[u8]) -> bool {
    matches!(message, [HELLO])
}

/// Whether these bytes are what whoever answers says to whoever calls. Where two halves of a node
/// call and answer by themselves, it tells whose a message is.
pub const fn is_for_caller(message: &[u8]) -> bool {
    matches!(message, [COOKIE | MESSAGE_2 | MESSAGE_4, ..])
}

/// Where a neighbour is: its address on the link, whatever that is made of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Peer(pub [u8; 8]);

/// The public key of a neighbour, and the name that messages have for it: 0 to [`MAX_KID`]. The
/// name tells the keys of one neighbour apart, and nothing more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Admitted {
    /// The key that it has to prove.
    pub key: CoseKey,
    /// Its name.
    pub kid: u8,
}

/// Which neighbours are admitted: a list, a network document, or whatever else a caller believes.
pub trait Admission {
    /// The key that a neighbour has to prove; `None` for a stranger.
    fn admitted(&self, peer: Peer) -> Option<Admitted>;

    /// Whether whoever is at this address is answered at all.
    fn is_heard(&self, peer: Peer) -> bool {
        self.admitted(peer).is_some()
    }

    /// Whether the neighbour at this address may have this key, which it says is its own and has
    /// not proved yet. A node's own key is no neighbour's: its own messages may come back to it.
    fn introduced(&self, _peer: Peer, _key: &CoseKey) -> bool {
        false
    }

    /// The neighbour at this address has proved the key that it was introduced with.
    fn proved(&self, _peer: Peer, _key: &CoseKey) {}
}

/// A node's own key.
pub struct Identity<S: CipherSuite> {
    private: S::PrivateKey,
    public: Admitted,
    is_by_value: bool,
}

impl<S: CipherSuite> Identity<S> {
    /// A private key, and what others know of it.
    pub const fn new(private: S::PrivateKey, public: Admitted) -> Self {
        Self { private, public, is_by_value: false }
    }

    /// The same for a network where nobody knows it by its name: messages hold the whole
    /// credential. The handshakes need room for [`MAX_MESSAGE_BY_VALUE`].
    pub const fn by_value(private: S::PrivateKey, public: Admitted) -> Self {
        Self { private, public, is_by_value: true }
    }
}

/// What came of a handshake.
#[derive(Debug)]
pub enum Event {
    /// A neighbour has proved itself, and both have this key.
    Key {
        /// With whom.
        peer: Peer,
        /// The key.
        key: Secret<KEY_LEN>,
        /// Which side of the handshake this node was.
        role: Role,
    },
    /// There will be no key: the neighbour that was called does not answer, or proves nothing.
    Failed {
        /// With whom.
        peer: Peer,
        /// Why.
        reason: Failure,
    },
}

/// Why a call failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// It is a stranger here, or this node has no key of its own.
    NotAdmitted,
    /// It does not answer.
    Silent,
    /// It answered, and never proved that it has the key that is known of it.
    Unproved,
    /// It proved its key, and never said that it takes this node's.
    Unconfirmed,
    /// It uses another of its keys than the one that is known here: it is of another epoch.
    OtherKey,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAdmitted => "the neighbour is not admitted",
            Self::Silent => "the neighbour does not answer",
            Self::Unproved => "the neighbour did not prove its key",
            Self::Unconfirmed => "the neighbour did not confirm the handshake",
            Self::OtherKey => "the neighbour uses another key than the one that is known of it",
        })
    }
}

impl core::error::Error for Failure {}

/// A message that leaves.
#[derive(Clone, Copy, Debug)]
pub struct Transmit<const LEN: usize = MAX_MESSAGE> {
    /// To whom.
    pub to: Peer,
    message: Bytes<LEN>,
}

impl<const LEN: usize> Transmit<LEN> {
    /// The message.
    pub fn as_bytes(&self) -> &[u8] {
        self.message.as_ref()
    }
}

/// The handshakes of one node, with messages of up to `LEN` bytes.
pub struct Handshakes<S: CipherSuite, const LEN: usize = MAX_MESSAGE> {
    suite: S,
    me: Peer,
    identity: Option<Identity<S>>,
    cookies: Cookies,
    /// To whom a cookie is to be sent.
    cookie: Option<Peer>,
    call: Call<S, LEN>,
    answer: Answer<S, LEN>,
    event: Option<Event>,
    /// The other ends compute fast, most of them.
    is_quick: bool,
    counters: HandshakeCounters,
}

impl<S: CipherSuite> Handshakes<S> {
    /// For the node at this address, which has no key yet.
    // Not inlined, so that it is made where it stays.
    #[inline(never)]
    pub fn new<R: CryptoRng + ?Sized>(suite: S, me: Peer, rng: &mut R) -> Self {
        Self::with_room(suite, me, rng)
    }
}

impl<S: CipherSuite, const LEN: usize> Handshakes<S, LEN> {
    /// The same with room for messages of `LEN` bytes, up to 255.
    #[inline]
    pub fn with_room<R: CryptoRng + ?Sized>(suite: S, me: Peer, rng: &mut R) -> Self {
        const { assert!(LEN >= MAX_MESSAGE && LEN <= u8::MAX as usize) };
        Self {
            suite,
            me,
            identity: None,
            cookies: Cookies::draw(rng),
            cookie: None,
            call: Call::IDLE,
            answer: Answer::IDLE,
            event: None,
            is_quick: false,
            counters: HandshakeCounters::default(),
        }
    }

    /// Proves this key from now on; `None`: no handshakes are made. A handshake that is under way
    /// may fail of it, and is made again.
    pub fn set_identity(&mut self, identity: Option<Identity<S>>) {
        if identity.is_some() {
            self.identity = identity;
        } else {
            self.call.end();
            self.answer.end();
            // A constant: what is made on the stack is copied with what lay there.
            self.identity = const { None };
        }
    }

    /// This node is at another address from now on, if it is another: handshakes that are under way
    /// were made with the one before, and end.
    pub fn set_address(&mut self, me: Peer) {
        if me != self.me {
            self.call.end();
            self.answer.end();
            self.me = me;
        }
    }

    /// Sends messages again a quarter as late at first, and then twice as late each time, up to
    /// what it is otherwise: for nodes whose neighbours compute in microseconds, most of them.
    pub const fn be_quick(&mut self) {
        self.is_quick = true;
    }

    /// What happened so far.
    pub const fn counters(&self) -> &HandshakeCounters {
        &self.counters
    }

    /// Whether nobody is being called: then [`call`](Self::call) works.
    pub const fn is_idle(&self) -> bool {
        self.call.peer().is_none() && self.event.is_none()
    }

    /// Begins a handshake with a neighbour, whose outcome [`poll_event`](Self::poll_event) tells.
    /// Does nothing while another one is called.
    pub fn call<A: Admission + ?Sized>(&mut self, now: Instant, peer: Peer, admission: &A) {
        if !self.is_idle() {
            return;
        }
        self.counters.called += 1;
        if self.identity.is_none() || !admission.is_heard(peer) || peer == self.me {
            self.fail(peer, Failure::NotAdmitted);
            return;
        }
        self.call.hello(now, peer);
    }

    /// Takes a message in. It computes a keyed hash at most; what takes longer is left to
    /// [`work`](Self::work).
    ///
    /// # Errors
    /// Why the message is dropped, which is counted as well.
    pub fn handle<A: Admission + ?Sized>(
        &mut self,
        now: Instant,
        peer: Peer,
        message: &[u8],
        admission: &A,
    ) -> Result<(), HandshakeDrop> {
        let handled = self.take_in(now, peer, message, admission);
        if let Err(reason) = handled {
            self.counters.drop(reason);
        }
        handled
    }

    fn take_in<A: Admission + ?Sized>(
        &mut self,
        now: Instant,
        peer: Peer,
        message: &[u8],
        admission: &A,
    ) -> Result<(), HandshakeDrop> {
        if self.identity.is_none() || !admission.is_heard(peer) || peer == self.me {
            return Err(HandshakeDrop::Stranger);
        }
        match message {
            [HELLO] => {
                if self.cookie.is_some() {
                    return Err(HandshakeDrop::Busy);
                }
                self.cookie = Some(peer);
                Ok(())
            }
            [COOKIE, cookie @ ..] => {
                let cookie = cookie.try_into().map_err(|_| HandshakeDrop::Malformed)?;
                self.call.cookie(peer, cookie)
            }
            [MESSAGE_1, rest @ ..] => {
                let (cookie, message_1) =
                    rest.split_first_chunk::<COOKIE_LEN>().ok_or(HandshakeDrop::Malformed)?;
                if !self.cookies.is_good(now, peer, *cookie) {
                    return Err(HandshakeDrop::WrongCookie);
                }
                let message_1 = Bytes::new(message_1)?;
                // Both call each other: the one with the lower address goes on.
                if self.call.is_with(peer) {
                    if self.me < peer {
                        return Err(HandshakeDrop::Busy);
                    }
                    self.call.end();
                }
                self.counters.answered += u32::from(self.answer.message_1(now, peer, message_1)?);
                Ok(())
            }
            [MESSAGE_2, message_2 @ ..] => self.call.message_2(peer, message_2),
            [MESSAGE_3, message_3 @ ..] => self.answer.message_3(peer, message_3),
            [MESSAGE_4, message_4 @ ..] => {
                let key = self.call.message_4(peer, message_4, &mut self.suite)?;
                self.complete(peer, key, Role::Initiator);
                Ok(())
            }
            _ => Err(HandshakeDrop::Unexpected),
        }
    }

    /// One step of a handshake: one scalar multiplication. `false` if there was nothing to do.
    // Not inlined: what a multiplication needs on the stack must not add to what else needs it.
    #[inline(never)]
    pub fn work<A: Admission + ?Sized, R: CryptoRng + ?Sized>(
        &mut self,
        now: Instant,
        admission: &A,
        rng: &mut R,
    ) -> bool {
        let Some(identity) = &self.identity else { return false };
        // An event that nobody has taken yet must not be lost.
        if self.event.is_some() {
            return false;
        }
        if self.answer.has_work() {
            match self.answer.work(now, identity, admission, &mut self.suite, rng) {
                Ok(None) => {}
                Ok(Some((peer, key))) => self.complete(peer, key, Role::Responder),
                Err(reason) => self.counters.drop(reason),
            }
            return true;
        }
        if !self.call.has_work() {
            return false;
        }
        if let Err(reason) = self.call.work(now, identity, admission, &mut self.suite, rng) {
            self.counters.drop(reason);
            if reason == HandshakeDrop::OtherKey
                && let Some(peer) = self.call.peer()
            {
                self.fail(peer, Failure::OtherKey);
            }
        }
        true
    }

    /// Whether [`work`](Self::work) has something to do.
    pub const fn has_work(&self) -> bool {
        self.event.is_none() && (self.answer.has_work() || self.call.has_work())
    }

    /// Ends what has lasted too long.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.answer.time_out(now);
        if self.event.is_none()
            && let Some((peer, failure)) = self.call.time_out(now)
        {
            self.fail(peer, failure);
        }
    }

    /// A message could not be delivered: the peer's radio does not answer.
    pub fn undelivered(&mut self, peer: Peer) {
        if self.event.is_none()
            && let Some(failure) = self.call.undelivered(peer)
        {
            self.fail(peer, failure);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) or [`poll_transmit`](Self::poll_transmit) has
    /// something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.cookie.is_some() {
            return Some(Instant::default());
        }
        self.call.due().into_iter().chain(self.answer.due()).min()
    }

    /// The same while no message can leave: when a handshake has lasted too long.
    pub fn poll_deadline(&self) -> Option<Instant> {
        self.call.deadline().into_iter().chain(self.answer.deadline()).min()
    }

    /// The next message that is to leave.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<LEN>> {
        let cookie = self.cookie.take().and_then(|to| {
            let message = Bytes::of(COOKIE, &self.cookies.bake(now, to)).ok()?;
            Some(Transmit { to, message })
        });
        cookie.or_else(|| self.answer.poll_transmit()).or_else(|| self.call.poll_transmit(now, self.is_quick))
    }

    /// What came of a handshake.
    pub fn poll_event(&mut self) -> Option<Event> {
        let blank = Event::Key { peer: self.me, key: Secret::zero(), role: Role::Initiator };
        secret::take(&mut self.event, blank)
    }

    fn complete(&mut self, peer: Peer, key: Secret<KEY_LEN>, role: Role) {
        self.counters.completed += 1;
        // Of two handshakes that two neighbours make with each other at once, the key of the one
        // that the lower address has begun is the last on both sides.
        match role {
            Role::Responder if peer < self.me && self.call.peer() == Some(peer) => self.call.end(),
            Role::Initiator => self.answer.give_way(peer, self.me < peer),
            Role::Responder => {}
        }
        self.event = Some(Event::Key { peer, key, role });
    }

    fn fail(&mut self, peer: Peer, reason: Failure) {
        self.counters.failed += 1;
        self.call.end();
        self.event = Some(Event::Failed { peer, reason });
    }
}

/// The key that both sides of a session have.
fn key_of(session: &Session) -> Result<Secret<KEY_LEN>, Refused> {
    let mut key = Secret::zero();
    session.exporter(KEY_LABEL, &[], key.expose_mut())?;
    Ok(key)
}
