//! The handshake that this node begins.

use core::time::Duration;

use motemix_crypto::Secret;
use motemix_time::Instant;
use rand_core::CryptoRng;

use crate::edhoc::initiator::{
    AwaitingMessage2, Completed, Opening, ReceivedMessage2, VerifiedResponder, begin,
};
use crate::edhoc::{CipherSuite, ConnectionId, Ead, Method, Prk, Proof};

use super::bytes::Bytes;
use super::cookie::{COOKIE_LEN, ECHO_LEN, echo_of};
use super::{
    Admission, CONNECTION, Failure, HELLO, HandshakeDrop, Identity, KEY_LEN, MESSAGE_1, MESSAGE_3, Peer,
    Transmit, key_of, with_own, with_peer,
};

/// A hello is sent again after this time, then each time after twice as long.
const HELLO_AFTER: Duration = Duration::from_millis(400);
/// The same of the others. A small board computes the answer for seconds, and takes no notice then.
const MESSAGE_AFTER: Duration = Duration::from_millis(1500);
/// How often a message is sent.
const TRIES: u8 = 6;
/// All of it.
const WITHIN: Duration = Duration::from_secs(14);

/// What is waited for, or is to be computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A cookie is waited for.
    Hello,
    /// message_1 is to be made.
    Begin,
    /// message_2 is waited for.
    Message1,
    /// message_2 is to be decrypted.
    Read,
    /// The responder is to be verified.
    Verify,
    /// message_3 is to be made.
    Prove,
    /// message_4 is waited for.
    Message3,
}

/// The bytes of what is held at most, beside a message and where its parts are.
const HELD_LEN: usize = 142 + 2 * size_of::<usize>();
const PLACES: usize = 9;

/// What the steps hand to each other.
enum Held<S: CipherSuite, const LEN: usize> {
    /// As many zeros as the longest of the others has bytes, as in an answer.
    #[expect(dead_code, reason = "they are there to take their place")]
    Nothing {
        held: [u8; HELD_LEN],
        message: Bytes<LEN>,
        places: [usize; PLACES],
    },
    Received(ReceivedMessage2<S, Bytes<LEN>>),
    Verified(VerifiedResponder<S>),
    Completed(Completed),
}

impl<S: CipherSuite, const LEN: usize> Held<S, LEN> {
    /// A constant: a value of the moment would be made on the stack first.
    const NOTHING: Self = {
        let zeros = HELD_LEN + size_of::<Bytes<LEN>>() + size_of::<[usize; PLACES]>();
        assert!(size_of::<Self>() == 1 + zeros, "zeros take the place of all bytes");
        Self::Nothing { held: [0; HELD_LEN], message: Bytes::EMPTY, places: [0; PLACES] }
    };

    const fn verified(&self) -> Result<&VerifiedResponder<S>, HandshakeDrop> {
        if let Self::Verified(verified) = self { Ok(verified) } else { Err(HandshakeDrop::Unexpected) }
    }
}

/// Whom this node calls. What is big stays where it is, because small boards have small stacks.
pub(super) struct Call<S: CipherSuite, const LEN: usize> {
    /// `None`: nobody, and the rest means nothing.
    peer: Option<Peer>,
    step: Step,
    cookie: [u8; COOKIE_LEN],
    /// What has arrived and was not read yet: message_2, and before it more cookies, each of which
    /// is shown in its turn.
    received: Bytes<LEN>,
    /// Cookies that differ came, so all but one of them are forged.
    is_contested: bool,
    /// The message of this step, or of the step before.
    message: Bytes<LEN>,
    /// Kept until a responder has proved itself.
    waiting: Option<AwaitingMessage2<S>>,
    held: Held<S, LEN>,
    /// The message is to be sent then.
    due: Instant,
    /// How often it was sent.
    sent: u8,
    deadline: Instant,
}

impl<S: CipherSuite, const LEN: usize> Call<S, LEN> {
    pub(super) const IDLE: Self = Self {
        peer: None,
        step: Step::Hello,
        cookie: [0; COOKIE_LEN],
        received: Bytes::EMPTY,
        is_contested: false,
        message: Bytes::EMPTY,
        waiting: None,
        held: Held::NOTHING,
        due: Instant::NEVER,
        sent: 0,
        deadline: Instant::NEVER,
    };

    pub(super) fn hello(&mut self, now: Instant, peer: Peer) {
        self.end();
        self.message = Bytes::new(&[HELLO]).unwrap_or(Bytes::EMPTY);
        self.wait(now, Step::Hello);
        (self.received, self.is_contested) = (Bytes::EMPTY, false);
        (self.peer, self.deadline) = (Some(peer), now + WITHIN);
    }

    /// Ends it, whatever it was.
    pub(super) fn end(&mut self) {
        // One by one: a tuple would be made on the stack first, and what lay there before it would
        // be copied along with it.
        self.peer = None;
        // A constant, as that of `held`.
        self.waiting = const { None };
        self.clear();
    }

    /// In a frame of its own: those who call it compute with deep stacks.
    #[inline(never)]
    fn clear(&mut self) {
        self.held = Held::NOTHING;
    }

    pub(super) const fn peer(&self) -> Option<Peer> {
        self.peer
    }

    /// Whether this peer is called, and has not proved itself yet.
    pub(super) fn is_with(&self, peer: Peer) -> bool {
        self.peer == Some(peer) && !matches!(self.step, Step::Prove | Step::Message3)
    }

    fn expects(&self, peer: Peer, step: Step) -> Result<(), HandshakeDrop> {
        if self.peer == Some(peer) && self.step == step { Ok(()) } else { Err(HandshakeDrop::Unexpected) }
    }

    pub(super) fn cookie(&mut self, peer: Peer, cookie: [u8; COOKIE_LEN]) -> Result<(), HandshakeDrop> {
        if self.peer == Some(peer) && matches!(self.step, Step::Begin | Step::Message1) {
            return self.another_cookie(cookie);
        }
        self.expects(peer, Step::Hello)?;
        (self.cookie, self.step) = (cookie, Step::Begin);
        Ok(())
    }

    /// Keeps a cookie that came after the first one. Nothing tells which of them is the peer's, so
    /// all are shown as they come: each costs a message, and nothing is computed.
    fn another_cookie(&mut self, cookie: [u8; COOKIE_LEN]) -> Result<(), HandshakeDrop> {
        if self.cookie == cookie && !self.is_contested {
            return Err(HandshakeDrop::Unexpected);
        }
        self.is_contested = true;
        let (waiting, _) = self.received.as_ref().as_chunks();
        if waiting.contains(&cookie) {
            Ok(())
        } else {
            self.received.append(&cookie).map_err(|_| HandshakeDrop::Busy)
        }
    }

    /// Whether another cookie is to be shown. The first one is shown in its time.
    fn has_cookie(&self) -> bool {
        self.step == Step::Message1 && self.sent > 0 && !self.received.as_ref().is_empty()
    }

    /// Has message_1 show the cookie that has waited longest.
    fn show_cookie(&mut self) -> Option<()> {
        let (cookie, rest) = self.received.as_ref().split_first_chunk()?;
        (self.cookie, self.received) = (*cookie, Bytes::new(rest).ok()?);
        self.message.as_mut().get_mut(1..=COOKIE_LEN)?.copy_from_slice(&self.cookie);
        Some(())
    }

    pub(super) fn message_2(&mut self, peer: Peer, message: &[u8]) -> Result<(), HandshakeDrop> {
        self.expects(peer, Step::Message1)?;
        let (echo, message_2) = message.split_first_chunk::<ECHO_LEN>().ok_or(HandshakeDrop::Malformed)?;
        let message_1 = self.message.as_ref().get(1 + COOKIE_LEN..).unwrap_or_default();
        if echo_of(message_1) != Some(*echo) {
            return Err(HandshakeDrop::WrongEcho);
        }
        self.received = Bytes::new(message_2)?;
        self.step = Step::Read;
        Ok(())
    }

    /// The key, if the peer says that it has message_3.
    pub(super) fn message_4(
        &mut self,
        peer: Peer,
        message_4: &[u8],
        suite: &mut S,
    ) -> Result<Secret<KEY_LEN>, HandshakeDrop> {
        self.expects(peer, Step::Message3)?;
        let mut received = Bytes::<LEN>::new(message_4)?;
        let Held::Completed(completed) = &self.held else { return Err(HandshakeDrop::Unexpected) };
        completed.read_message_4(received.as_mut(), &[], suite)?;
        let key = key_of(completed.session());
        // Dropped where it lies: what is moved out of its place stays readable there.
        self.end();
        Ok(key?)
    }

    pub(super) const fn has_work(&self) -> bool {
        self.peer.is_some() && matches!(self.step, Step::Begin | Step::Read | Step::Verify | Step::Prove)
    }

    /// One multiplication.
    pub(super) fn work<A: Admission + ?Sized, R: CryptoRng + ?Sized>(
        &mut self,
        now: Instant,
        identity: &Identity<S>,
        admission: &A,
        suite: &mut S,
        rng: &mut R,
    ) -> Result<(), HandshakeDrop> {
        let step = self.step;
        let worked = match step {
            Step::Begin => self.begin(now, suite, rng),
            Step::Read => self.read(suite),
            Step::Verify => self.verify(admission, suite),
            Step::Prove => self.prove(now, identity, suite, rng),
            Step::Hello | Step::Message1 | Step::Message3 => Ok(()),
        };
        if worked.is_err() {
            // The right message may still come; before message_1 that is a cookie.
            let back_to = if step == Step::Begin { Step::Hello } else { Step::Message1 };
            self.clear();
            (self.step, self.received) = (back_to, Bytes::EMPTY);
        }
        worked
    }

    // None of these is inlined: what one needs on the stack must not add to what another needs.
    #[inline(never)]
    fn begin<R: CryptoRng + ?Sized>(
        &mut self,
        now: Instant,
        suite: &mut S,
        rng: &mut R,
    ) -> Result<(), HandshakeDrop> {
        let opening = Opening {
            method: Method::StaticKeys,
            passed_over: &[],
            connection: ConnectionId::new(&CONNECTION)?,
            ead_1: Ead::default(),
        };
        let mut room = [0; LEN];
        let (waiting, message_1) = begin(&opening, suite, rng, &mut room)?;
        self.waiting = Some(waiting);
        self.message = Bytes::of(MESSAGE_1, &self.cookie)?;
        self.message.append(message_1)?;
        // Neighbours that were started together do not stay in step.
        self.wait(now + jittered(Duration::from_millis(20), rng), Step::Message1);
        Ok(())
    }

    #[inline(never)]
    fn read(&mut self, suite: &mut S) -> Result<(), HandshakeDrop> {
        let waiting = self.waiting.as_ref().ok_or(HandshakeDrop::Unexpected)?;
        self.held = Held::Received(waiting.read_message_2(self.received, &[], suite)?);
        self.step = Step::Verify;
        Ok(())
    }

    #[inline(never)]
    fn verify<A: Admission + ?Sized>(&mut self, admission: &A, suite: &mut S) -> Result<(), HandshakeDrop> {
        let (Held::Received(received), Some(peer)) = (&self.held, self.peer) else {
            return Err(HandshakeDrop::Unexpected);
        };
        let verified = with_peer::<S, A, _, LEN>(admission, peer, received.id(), |peer| {
            received.verify_peer(peer, suite)
        })?;
        self.held = Held::Verified(verified);
        self.step = Step::Prove;
        Ok(())
    }

    #[inline(never)]
    fn prove<R: CryptoRng + ?Sized>(
        &mut self,
        now: Instant,
        identity: &Identity<S>,
        suite: &mut S,
        rng: &mut R,
    ) -> Result<(), HandshakeDrop> {
        let proof = self.proof(identity, suite, rng)?;
        self.make_message_3(identity, proof, suite)?;
        self.wait(now, Step::Message3);
        Ok(())
    }

    #[inline(never)]
    fn proof<R: CryptoRng + ?Sized>(
        &self,
        identity: &Identity<S>,
        suite: &mut S,
        rng: &mut R,
    ) -> Result<(Prk, Proof), HandshakeDrop> {
        let verified = self.held.verified()?;
        Ok(with_own::<S, _, LEN>(identity, |own| verified.prove(own, Ead::default(), suite, rng))?)
    }

    #[inline(never)]
    fn make_message_3(
        &mut self,
        identity: &Identity<S>,
        proof: (Prk, Proof),
        suite: &mut S,
    ) -> Result<(), HandshakeDrop> {
        let verified = self.held.verified()?;
        let mut room = [0; LEN];
        let (completed, message_3) = with_own::<S, _, LEN>(identity, |own| {
            verified.seal(own, Ead::default(), proof, suite, &mut room)
        })?;
        // Not before: what fails here may be tried again with another message_2.
        self.waiting = const { None };
        self.held = Held::Completed(completed);
        self.message = Bytes::of(MESSAGE_3, message_3)?;
        Ok(())
    }

    /// Ends a call that lasts too long, or whose message was sent often enough.
    pub(super) fn time_out(&mut self, now: Instant) -> Option<(Peer, Failure)> {
        let peer = self.peer?;
        let is_tried = self.sent >= TRIES && self.due <= now && self.is_waiting();
        (is_tried || self.deadline <= now).then_some((peer, self.failure()))
    }

    /// What it means if nothing more comes.
    const fn failure(&self) -> Failure {
        match self.step {
            Step::Hello => Failure::Silent,
            Step::Message3 => Failure::Unconfirmed,
            _ => Failure::Unproved,
        }
    }

    /// Its radio does not answer: why the call has failed, if it has.
    pub(super) fn undelivered(&self, peer: Peer) -> Option<Failure> {
        // One more try: it may have been busy with something else.
        let has_failed = self.peer == Some(peer) && self.sent > 1;
        // Who has sent message_3 does not know whether it arrived.
        let failure = if self.step == Step::Message3 { Failure::Unconfirmed } else { Failure::Silent };
        has_failed.then_some(failure)
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.peer?;
        if self.has_cookie() {
            return Some(Instant::default());
        }
        Some(if self.is_waiting() { self.due.min(self.deadline) } else { self.deadline })
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.peer.map(|_| self.deadline)
    }

    pub(super) fn poll_transmit(&mut self, now: Instant, is_quick: bool) -> Option<Transmit<LEN>> {
        let to = self.peer?;
        if self.has_cookie() {
            self.show_cookie()?;
            return Some(Transmit { to, message: self.message });
        }
        if self.due > now || self.sent >= TRIES || !self.is_waiting() {
            return None;
        }
        let after = if self.step == Step::Hello { HELLO_AFTER } else { MESSAGE_AFTER };
        let first = if is_quick { after / 4 } else { after };
        self.due = now + first.saturating_mul(1 << self.sent).min(after * 2);
        self.sent += 1;
        if self.step == Step::Message1 && self.sent > 1 && self.is_contested {
            // The peer's cookie may have found no place: it says it again.
            return Some(Transmit { to, message: Bytes::new(&[HELLO]).ok()? });
        }
        Some(Transmit { to, message: self.message })
    }

    /// Has the message sent, and an answer waited for.
    fn wait(&mut self, due: Instant, step: Step) {
        (self.step, self.due, self.sent) = (step, due, 0);
    }

    /// Whether the message's answer is waited for.
    const fn is_waiting(&self) -> bool {
        matches!(self.step, Step::Hello | Step::Message1 | Step::Message3)
    }
}

/// From half to one and a half of a time, so that neighbours that began at once do not go on so.
fn jittered<R: CryptoRng + ?Sized>(time: Duration, rng: &mut R) -> Duration {
    time / 2 + time.saturating_mul(rng.next_u32() >> 24) / 256
}
