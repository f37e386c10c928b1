//! The handshakes of a node with its neighbours: EDHOC with static keys (method 3), over messages
//! that may be lost, repeated and forged.
//!
//! ```text
//! hello 01                    ─▶
//!                             ◀─  cookie 02 ‖ 8
//! 03 ‖ cookie ‖ message_1     ─▶
//!                             ◀─  04 ‖ message_2
//! 05 ‖ message_3              ─▶
//!                             ◀─  06 ‖ message_4
//! ```
//!
//! Whoever says hello gets a cookie, which costs one keyed hash and is remembered by nobody: only
//! who receives it, at the address that it claims, can take a place. Nothing is computed for a peer
//! that is not admitted. One handshake is begun at a time, and one answered.
//!
//! # The loop of whoever drives it
//!
//! 1. [`call`](Handshakes::call) a neighbour to make keys with it, if [`is_idle`](Handshakes::is_idle).
//! 2. [`handle`](Handshakes::handle) what arrives. It computes no multiplication.
//! 3. [`work`](Handshakes::work): one scalar multiplication, if there is one to do.
//! 4. Send what [`poll_transmit`](Handshakes::poll_transmit) gives, take what
//!    [`poll_event`](Handshakes::poll_event) tells, and come back at
//!    [`poll_timeout`](Handshakes::poll_timeout).
//!
//! `docs/spec/link-security.md` has the reasons.

mod answer;
mod bytes;
mod call;
mod cookie;

use core::fmt;
use core::time::Duration;

use motemix_crypto::Secret;
use motemix_time::Instant;
use rand_core::CryptoRng;

use crate::edhoc::credential::{Credential, CredentialId, OwnCredential, OwnKey, PeerCredential, PeerKey};
use crate::edhoc::{Ccs, CipherSuite, CoseKey, Refused, Session};

use answer::Answer;
use bytes::Bytes;
pub use bytes::MAX_MESSAGE;
use call::Call;
use cookie::{COOKIE_LEN, Cookies};

/// Bytes of the key of two neighbours.
pub const KEY_LEN: usize = 16;
/// The highest name of a credential that takes one byte in a message.
pub const MAX_KID: u8 = 0x17;

/// Label of the exporter (RFC 9528, 4.2.1) for keys of IEEE 802.15.9, which distributes the keys of
/// IEEE 802.15.4.
const KEY_LABEL: u16 = 24;
/// How this side names a connection. Neighbours have one with each other at a time, so it says
/// nothing.
const CONNECTION: [u8; 1] = [0];
/// Bytes of a Claims Set with a key of 32 bytes, or of twice as many.
const MAX_CREDENTIAL: usize = 96;

const HELLO: u8 = 1;
const COOKIE: u8 = 2;
const MESSAGE_1: u8 = 3;
const MESSAGE_2: u8 = 4;
const MESSAGE_3: u8 = 5;
const MESSAGE_4: u8 = 6;

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
}

/// A node's own key.
pub struct Identity<S: CipherSuite> {
    private: S::PrivateKey,
    public: Admitted,
}

impl<S: CipherSuite> Identity<S> {
    /// A private key, and what others know of it.
    pub const fn new(private: S::PrivateKey, public: Admitted) -> Self {
        Self { private, public }
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
    /// It uses another of its keys than the one that is known here: it is of another epoch.
    OtherKey,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAdmitted => "the neighbour is not admitted",
            Self::Silent => "the neighbour does not answer",
            Self::Unproved => "the neighbour did not prove its key",
            Self::OtherKey => "the neighbour uses another key than the one that is known of it",
        })
    }
}

impl core::error::Error for Failure {}

macro_rules! drops {
    ($($(#[$doc:meta])* $name:ident => $text:literal,)+) => {
        /// Why a message went no further. Whoever sent it never learns which it was.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum HandshakeDrop {
            $($(#[$doc])* $name,)+
        }

        impl HandshakeDrop {
            /// All reasons, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// A name for tables and metrics.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

drops! {
    /// It is none, or of another kind than is waited for.
    Unexpected => "unexpected",
    /// It is of a peer that is not admitted.
    Stranger => "stranger",
    /// Its cookie is wrong or too old.
    WrongCookie => "wrong-cookie",
    /// Another handshake has the place.
    Busy => "busy",
    /// It is malformed.
    Malformed => "malformed",
    /// It offers another method or suite.
    OtherSuite => "other-suite",
    /// A key in it is no point of the curve, or of small order.
    PublicKey => "public-key",
    /// It was altered, or its sender has not the key that is known of it.
    Unproved => "unproved",
    /// It names another key of its sender than is known here.
    OtherKey => "other-key",
}

impl From<Refused> for HandshakeDrop {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Method | Refused::Suite => Self::OtherSuite,
            Refused::PublicKey => Self::PublicKey,
            Refused::Mac | Refused::Signature | Refused::Ciphertext => Self::Unproved,
            _ => Self::Malformed,
        }
    }
}

/// Totals since the start.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HandshakeCounters {
    /// Handshakes that this node began.
    pub called: u32,
    /// Those that it answered.
    pub answered: u32,
    /// Handshakes that ended with a key.
    pub completed: u32,
    /// Calls that failed.
    pub failed: u32,
    dropped: [u32; HandshakeDrop::ALL.len()],
}

impl HandshakeCounters {
    /// How many messages were dropped for this reason.
    pub const fn dropped(&self, reason: HandshakeDrop) -> u32 {
        self.dropped[reason as usize]
    }

    const fn drop(&mut self, reason: HandshakeDrop) {
        let count = &mut self.dropped[reason as usize];
        *count = count.saturating_add(1);
    }
}

/// A message that leaves.
#[derive(Clone, Copy, Debug)]
pub struct Transmit {
    /// To whom.
    pub to: Peer,
    message: Bytes,
}

impl Transmit {
    /// The message.
    pub fn as_bytes(&self) -> &[u8] {
        self.message.as_ref()
    }
}

/// The handshakes of one node.
pub struct Handshakes<S: CipherSuite> {
    suite: S,
    me: Peer,
    identity: Option<Identity<S>>,
    cookies: Cookies,
    /// A cookie that is to be sent.
    cookie: Option<Transmit>,
    call: Call<S>,
    answer: Answer<S>,
    event: Option<Event>,
    counters: HandshakeCounters,
}

impl<S: CipherSuite> Handshakes<S> {
    /// For the node at this address, which has no key yet.
    // Not inlined, so that it is made where it stays.
    #[inline(never)]
    pub fn new<R: CryptoRng + ?Sized>(suite: S, me: Peer, rng: &mut R) -> Self {
        Self {
            suite,
            me,
            identity: None,
            cookies: Cookies::draw(rng),
            cookie: None,
            call: Call::IDLE,
            answer: Answer::IDLE,
            event: None,
            counters: HandshakeCounters::default(),
        }
    }

    /// Proves this key from now on; `None`: no handshakes are made. A handshake that is under way
    /// may fail of it, and is made again.
    pub fn set_identity(&mut self, identity: Option<Identity<S>>) {
        if identity.is_none() {
            self.call.end();
            self.answer.end();
        }
        self.identity = identity;
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
        if self.identity.is_none() || admission.admitted(peer).is_none() || peer == self.me {
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
        if self.identity.is_none() || admission.admitted(peer).is_none() || peer == self.me {
            return Err(HandshakeDrop::Stranger);
        }
        match message {
            [HELLO] => {
                if self.cookie.is_some() {
                    return Err(HandshakeDrop::Busy);
                }
                let cookie = self.cookies.bake(now, peer);
                self.cookie = Bytes::of(COOKIE, &cookie).map(|message| Transmit { to: peer, message });
                Ok(())
            }
            [COOKIE, cookie @ ..] => {
                let cookie = cookie.try_into().map_err(|_| HandshakeDrop::Malformed)?;
                self.call.cookie(peer, cookie)
            }
            [MESSAGE_1, rest @ ..] => {
                let (cookie, message_1) =
                    rest.split_first_chunk::<COOKIE_LEN>().ok_or(HandshakeDrop::Malformed)?;
                if !self.cookies.is_good(now, peer, cookie) {
                    return Err(HandshakeDrop::WrongCookie);
                }
                let message_1 = Bytes::new(message_1).ok_or(HandshakeDrop::Malformed)?;
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
                self.complete(peer, key);
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
                Ok(Some((peer, key))) => self.complete(peer, key),
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
        if self.event.is_none() && self.call.undelivered(peer) {
            self.fail(peer, Failure::Silent);
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
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        let cookie = self.cookie.take();
        cookie.or_else(|| self.answer.poll_transmit()).or_else(|| self.call.poll_transmit(now))
    }

    /// What came of a handshake.
    pub const fn poll_event(&mut self) -> Option<Event> {
        self.event.take()
    }

    fn complete(&mut self, peer: Peer, key: Secret<KEY_LEN>) {
        self.counters.completed += 1;
        self.event = Some(Event::Key { peer, key });
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

/// The credential of a key, written to `out`.
fn credential<'o>(public: &Admitted, out: &'o mut [u8; MAX_CREDENTIAL]) -> Result<Credential<'o>, Refused> {
    let ccs = Ccs { subject: None, kid: Some(&[public.kid]), key: public.key }.emit(out)?;
    Credential::ccs(ccs)
}

/// Calls `then` with this node's own credential.
fn with_own<S: CipherSuite, T>(
    identity: &Identity<S>,
    then: impl FnOnce(&OwnCredential<'_, S>) -> Result<T, Refused>,
) -> Result<T, Refused> {
    let (mut room, kid) = ([0; MAX_CREDENTIAL], [identity.public.kid]);
    then(&OwnCredential {
        id: CredentialId::Kid(&kid),
        credential: credential(&identity.public, &mut room)?,
        key: OwnKey::Static(&identity.private),
    })
}

/// Calls `then` with the credential of a peer, if `id` names the one that is known.
fn with_peer<S: CipherSuite, T>(
    admitted: Option<Admitted>,
    id: CredentialId<'_>,
    then: impl FnOnce(&PeerCredential<'_, S>) -> Result<T, Refused>,
) -> Result<T, HandshakeDrop> {
    let admitted = admitted.ok_or(HandshakeDrop::Stranger)?;
    if id != CredentialId::Kid(&[admitted.kid]) {
        return Err(HandshakeDrop::OtherKey);
    }
    let mut room = [0; MAX_CREDENTIAL];
    let credential = credential(&admitted, &mut room)?;
    let key = PeerKey::Static(S::public_key(&admitted.key)?);
    Ok(then(&PeerCredential { credential, key })?)
}

/// From half to one and a half of a time, so that neighbours that began at once do not go on so.
fn jittered<R: CryptoRng + ?Sized>(time: Duration, rng: &mut R) -> Duration {
    time / 2 + time.saturating_mul(rng.next_u32() >> 24) / 256
}
