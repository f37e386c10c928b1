//! The handshake that this node answers.

use core::mem::{replace, take};
use core::time::Duration;

use motemix_crypto::Secret;
use motemix_time::Instant;
use rand_core::CryptoRng;

use crate::edhoc::responder::{Agreed, AwaitingMessage3, Completed, Ephemeral, Message1, Offer};
use crate::edhoc::{CipherSuite, ConnectionId, Ead, Method, Prk, Proof};

use super::bytes::Bytes;
use super::cookie::echo_of;
use super::{
    Admission, CONNECTION, HandshakeDrop, Identity, KEY_LEN, MESSAGE_2, MESSAGE_4, Peer, Transmit, key_of,
    with_own, with_peer,
};

/// A handshake whose peer says nothing for so long gives its place to another.
const WITHIN: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// An ephemeral key is to be made.
    Message1,
    /// The secret of both ephemeral keys is to be computed.
    Agree,
    /// message_2 is to be made.
    Prove,
    /// message_3 is waited for.
    Message2,
    /// The initiator is to be verified.
    Verify,
    /// There is a key. message_4 is sent again if message_3 comes again.
    Message4,
}

/// The bytes of what is held at most.
const HELD_LEN: usize = 202;

/// What the steps hand to each other.
enum Held<S: CipherSuite> {
    /// As many zeros as the longest of the others has bytes. A shorter one is copied into its place
    /// with what lay behind it on the stack, and that may have been a secret.
    Nothing(#[expect(dead_code, reason = "it is there to take its place")] [u8; HELD_LEN]),
    Ephemeral(Ephemeral<S>),
    Agreed(Agreed<S>),
    Waiting(AwaitingMessage3<S>),
}

impl<S: CipherSuite> Held<S> {
    /// A constant: a value of the moment would be made on the stack first.
    const NOTHING: Self = {
        assert!(size_of::<Self>() == 1 + HELD_LEN, "zeros take the place of all bytes");
        Self::Nothing([0; HELD_LEN])
    };

    const fn agreed(&self) -> Result<&Agreed<S>, HandshakeDrop> {
        if let Self::Agreed(agreed) = self { Ok(agreed) } else { Err(HandshakeDrop::Unexpected) }
    }
}

/// Whom this node answers. What is big stays where it is, because small boards have small stacks.
pub(super) struct Answer<S: CipherSuite, const LEN: usize> {
    /// `None`: nobody, and the rest means nothing.
    peer: Option<Peer>,
    step: Step,
    message_1: Bytes<LEN>,
    /// message_3.
    received: Bytes<LEN>,
    /// message_2, or message_4.
    message: Bytes<LEN>,
    held: Held<S>,
    /// The message is to be sent.
    is_due: bool,
    until: Instant,
}

impl<S: CipherSuite, const LEN: usize> Answer<S, LEN> {
    pub(super) const IDLE: Self = Self {
        peer: None,
        step: Step::Message1,
        message_1: Bytes::EMPTY,
        received: Bytes::EMPTY,
        message: Bytes::EMPTY,
        held: Held::NOTHING,
        is_due: false,
        until: Instant::NEVER,
    };

    /// Ends it, whatever it was.
    pub(super) fn end(&mut self) {
        // One by one, as in a call.
        self.peer = None;
        self.clear();
    }

    /// In a frame of its own: those who call it compute with deep stacks.
    #[inline(never)]
    fn clear(&mut self) {
        self.held = Held::NOTHING;
    }

    /// Ends it if it is to this peer, with which there is a later key. One that is not over goes on
    /// unless `all` are to end: its key will be the later one.
    pub(super) fn give_way(&mut self, peer: Peer, all: bool) {
        if self.peer == Some(peer) && (all || self.step == Step::Message4) {
            self.end();
        }
    }

    /// Begins an answer, if there is a place; `true` if it is to another message than before.
    pub(super) fn message_1(
        &mut self,
        now: Instant,
        peer: Peer,
        message_1: Bytes<LEN>,
    ) -> Result<bool, HandshakeDrop> {
        if self.peer == Some(peer) && self.message_1 == message_1 {
            // It has not got the answer.
            self.is_due = self.step == Step::Message2;
            return Ok(false);
        }
        let is_waiting = self.step == Step::Message2 && self.peer == Some(peer);
        let is_over = self.step == Step::Message4;
        if self.peer.is_some() && now < self.until && !is_over && !is_waiting {
            return Err(HandshakeDrop::Busy);
        }
        parse::<S, LEN>(&message_1)?;
        self.end();
        (self.peer, self.step, self.message_1) = (Some(peer), Step::Message1, message_1);
        (self.is_due, self.until) = (false, now + WITHIN);
        Ok(true)
    }

    pub(super) fn message_3(&mut self, peer: Peer, message_3: &[u8]) -> Result<(), HandshakeDrop> {
        let received = Bytes::new(message_3)?;
        match self.step {
            Step::Message2 if self.peer == Some(peer) => {
                (self.received, self.step) = (received, Step::Verify);
                Ok(())
            }
            Step::Message4 if self.peer == Some(peer) && self.received == received => {
                self.is_due = true;
                Ok(())
            }
            _ => Err(HandshakeDrop::Unexpected),
        }
    }

    pub(super) const fn has_work(&self) -> bool {
        let is_work = matches!(self.step, Step::Message1 | Step::Agree | Step::Prove | Step::Verify);
        self.peer.is_some() && is_work
    }

    /// One multiplication. The key, if the peer has proved itself.
    pub(super) fn work<A: Admission + ?Sized, R: CryptoRng + ?Sized>(
        &mut self,
        now: Instant,
        identity: &Identity<S>,
        admission: &A,
        suite: &mut S,
        rng: &mut R,
    ) -> Result<Option<(Peer, Secret<KEY_LEN>)>, HandshakeDrop> {
        let worked = match self.step {
            Step::Message1 => self.ephemeral(suite, rng),
            Step::Agree => self.agree(suite),
            Step::Prove => self.prove(now, identity, suite, rng),
            Step::Verify => return self.verify(now, admission, suite).map(Some),
            Step::Message2 | Step::Message4 => Ok(()),
        };
        if worked.is_err() {
            self.end();
        }
        worked.map(|()| None)
    }

    // None of these is inlined: what one needs on the stack must not add to what another needs.
    #[inline(never)]
    fn ephemeral<R: CryptoRng + ?Sized>(&mut self, suite: &mut S, rng: &mut R) -> Result<(), HandshakeDrop> {
        self.held = Held::Ephemeral(parse::<S, LEN>(&self.message_1)?.ephemeral(suite, rng)?);
        self.step = Step::Agree;
        Ok(())
    }

    #[inline(never)]
    fn agree(&mut self, suite: &mut S) -> Result<(), HandshakeDrop> {
        let Held::Ephemeral(ephemeral) = &self.held else { return Err(HandshakeDrop::Unexpected) };
        let shared = ephemeral.shared(suite)?;
        self.keep_agreed(&shared);
        self.step = Step::Prove;
        Ok(())
    }

    #[inline(never)]
    fn keep_agreed(&mut self, shared: &Secret<32>) {
        if let Held::Ephemeral(ephemeral) = replace(&mut self.held, Held::NOTHING) {
            self.held = Held::Agreed(ephemeral.agreed(shared));
        }
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
        self.make_message_2(identity, proof)?;
        (self.step, self.is_due, self.until) = (Step::Message2, true, now + WITHIN);
        Ok(())
    }

    #[inline(never)]
    fn proof<R: CryptoRng + ?Sized>(
        &self,
        identity: &Identity<S>,
        suite: &mut S,
        rng: &mut R,
    ) -> Result<(Prk, Proof), HandshakeDrop> {
        let agreed = self.held.agreed()?;
        let connection = ConnectionId::new(&CONNECTION)?;
        Ok(with_own::<S, _, LEN>(identity, |own| agreed.prove(&connection, own, Ead::default(), suite, rng))?)
    }

    #[inline(never)]
    fn make_message_2(&mut self, identity: &Identity<S>, proof: (Prk, Proof)) -> Result<(), HandshakeDrop> {
        let agreed = self.held.agreed()?;
        let (mut room, connection) = ([0; LEN], ConnectionId::new(&CONNECTION)?);
        let (waiting, message_2) = with_own::<S, _, LEN>(identity, |own| {
            agreed.seal(connection, own, Ead::default(), proof, &mut room)
        })?;
        self.held = Held::Waiting(waiting);
        let echo = echo_of(self.message_1.as_ref()).ok_or(HandshakeDrop::Malformed)?;
        self.message = Bytes::of(MESSAGE_2, &echo)?;
        self.message.append(message_2)?;
        Ok(())
    }

    #[inline(never)]
    fn verify<A: Admission + ?Sized>(
        &mut self,
        now: Instant,
        admission: &A,
        suite: &mut S,
    ) -> Result<(Peer, Secret<KEY_LEN>), HandshakeDrop> {
        // If this one is wrong, the right one may still come.
        self.step = Step::Message2;
        let peer = self.peer.ok_or(HandshakeDrop::Unexpected)?;
        let completed = self.check(peer, admission, suite)?;
        let key = self.make_message_4(completed, suite)?;
        (self.step, self.is_due, self.until) = (Step::Message4, true, now + WITHIN);
        Ok((peer, key))
    }

    #[inline(never)]
    fn check<A: Admission + ?Sized>(
        &self,
        peer: Peer,
        admission: &A,
        suite: &mut S,
    ) -> Result<Completed, HandshakeDrop> {
        let Held::Waiting(waiting) = &self.held else { return Err(HandshakeDrop::Unexpected) };
        let read = waiting.read_message_3(self.received, &[], suite)?;
        with_peer::<S, A, _, LEN>(admission, peer, read.id(), |peer| read.verify_peer(peer, suite))
    }

    #[inline(never)]
    fn make_message_4(
        &mut self,
        completed: Completed,
        suite: &mut S,
    ) -> Result<Secret<KEY_LEN>, HandshakeDrop> {
        let mut room = [0; LEN];
        let (session, message_4) = completed.message_4(Ead::default(), suite, &mut room)?;
        self.message = Bytes::of(MESSAGE_4, message_4)?;
        self.clear();
        Ok(key_of(&session)?)
    }

    pub(super) fn time_out(&mut self, now: Instant) {
        if self.until <= now {
            self.end();
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.peer?;
        Some(if self.is_due { Instant::default() } else { self.until })
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.peer.map(|_| self.until)
    }

    pub(super) fn poll_transmit(&mut self) -> Option<Transmit<LEN>> {
        let to = self.peer?;
        let is_message = matches!(self.step, Step::Message2 | Step::Message4);
        (take(&mut self.is_due) && is_message).then_some(Transmit { to, message: self.message })
    }
}

fn parse<S: CipherSuite, const LEN: usize>(message_1: &Bytes<LEN>) -> Result<Message1<'_>, HandshakeDrop> {
    let offer = Offer { methods: &[Method::StaticKeys], suites: &[S::NUMBER], understood: &[] };
    Ok(Message1::parse(message_1.as_ref(), &offer)?)
}
