//! The handshake that this node answers.

use core::mem::replace;
use core::time::Duration;

use motemix_crypto::Secret;
use motemix_time::Instant;
use rand_core::CryptoRng;

use crate::edhoc::responder::{Agreed, AwaitingMessage3, Ephemeral, Message1, Offer};
use crate::edhoc::{CipherSuite, ConnectionId, Ead, Method};

use super::bytes::Bytes;
use super::{
    Admission, CONNECTION, HandshakeDrop, Identity, KEY_LEN, MAX_MESSAGE, MESSAGE_2, MESSAGE_4, Peer,
    Transmit, key_of, with_own, with_peer,
};

/// A handshake whose peer says nothing for so long gives its place to another.
const WITHIN: Duration = Duration::from_secs(10);

#[derive(Default)]
enum Step<S: CipherSuite> {
    /// Between two steps.
    #[default]
    Moving,
    /// An ephemeral key is to be made.
    Message1,
    /// The secret of both ephemeral keys is to be computed.
    Agree(Ephemeral<S>),
    /// message_2 is to be made.
    Prove(Agreed<S>),
    /// message_3 is waited for.
    Message2 { waiting: AwaitingMessage3<S>, message: Bytes },
    /// The initiator is to be verified.
    Verify { waiting: AwaitingMessage3<S>, message: Bytes, received: Bytes },
    /// There is a key. message_4 is sent again if message_3 comes again.
    Message4 { received: Bytes, message: Bytes },
}

/// Whom this node answers.
pub(super) enum Answer<S: CipherSuite> {
    /// Nobody.
    Idle,
    To(To<S>),
}

pub(super) struct To<S: CipherSuite> {
    peer: Peer,
    message_1: Bytes,
    step: Step<S>,
    /// The message of this step is to be sent.
    is_due: bool,
    until: Instant,
}

impl<S: CipherSuite> Answer<S> {
    /// Begins an answer, if there is a place; `true` if it is to another message than before.
    pub(super) fn message_1(
        &mut self,
        now: Instant,
        peer: Peer,
        message_1: Bytes,
    ) -> Result<bool, HandshakeDrop> {
        if let Self::To(to) = self {
            if to.peer == peer && to.message_1 == message_1 {
                // It has not got the answer.
                to.is_due = matches!(to.step, Step::Message2 { .. });
                return Ok(false);
            }
            let is_waiting = matches!(to.step, Step::Message2 { .. });
            let is_over = matches!(to.step, Step::Message4 { .. });
            if now < to.until && !is_over && !(is_waiting && to.peer == peer) {
                return Err(HandshakeDrop::Busy);
            }
        }
        let offer = Offer { methods: &[Method::StaticKeys], suites: &[S::NUMBER], understood: &[] };
        Message1::parse(message_1.as_ref(), &offer)?;
        let until = now + WITHIN;
        *self = Self::To(To { peer, message_1, step: Step::Message1, is_due: false, until });
        Ok(true)
    }

    pub(super) fn message_3(&mut self, peer: Peer, message_3: &[u8]) -> Result<(), HandshakeDrop> {
        let received = Bytes::new(message_3).ok_or(HandshakeDrop::Malformed)?;
        let to = match self {
            Self::To(to) if to.peer == peer => to,
            _ => return Err(HandshakeDrop::Unexpected),
        };
        let (step, outcome) = match replace(&mut to.step, Step::Moving) {
            Step::Message2 { waiting, message } => (Step::Verify { waiting, message, received }, Ok(())),
            Step::Message4 { received: before, message } => {
                to.is_due = before == received;
                let outcome = if to.is_due { Ok(()) } else { Err(HandshakeDrop::Unexpected) };
                (Step::Message4 { received: before, message }, outcome)
            }
            other => (other, Err(HandshakeDrop::Unexpected)),
        };
        to.step = step;
        outcome
    }

    pub(super) const fn has_work(&self) -> bool {
        let Self::To(to) = self else { return false };
        matches!(to.step, Step::Message1 | Step::Agree(_) | Step::Prove(_) | Step::Verify { .. })
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
        let Self::To(to) = self else { return Ok(None) };
        let worked = to.work(now, identity, admission, suite, rng);
        if worked.is_err() && matches!(to.step, Step::Moving) {
            *self = Self::Idle;
        }
        worked
    }

    pub(super) fn time_out(&mut self, now: Instant) {
        if matches!(self, Self::To(to) if to.until <= now) {
            *self = Self::Idle;
        }
    }

    pub(super) const fn due(&self) -> Option<Instant> {
        match self {
            Self::Idle => None,
            Self::To(to) if to.is_due => Some(Instant::from_micros(0)),
            Self::To(to) => Some(to.until),
        }
    }

    pub(super) fn poll_transmit(&mut self) -> Option<Transmit> {
        let Self::To(to) = self else { return None };
        if !core::mem::take(&mut to.is_due) {
            return None;
        }
        match to.step {
            Step::Message2 { message, .. } | Step::Message4 { message, .. } => {
                Some(Transmit { to: to.peer, message })
            }
            _ => None,
        }
    }
}

impl<S: CipherSuite> To<S> {
    fn work<A: Admission + ?Sized, R: CryptoRng + ?Sized>(
        &mut self,
        now: Instant,
        identity: &Identity<S>,
        admission: &A,
        suite: &mut S,
        rng: &mut R,
    ) -> Result<Option<(Peer, Secret<KEY_LEN>)>, HandshakeDrop> {
        match replace(&mut self.step, Step::Moving) {
            Step::Message1 => {
                let offer = Offer { methods: &[Method::StaticKeys], suites: &[S::NUMBER], understood: &[] };
                let message_1 = Message1::parse(self.message_1.as_ref(), &offer)?;
                self.step = Step::Agree(message_1.ephemeral(suite, rng)?);
            }
            Step::Agree(ephemeral) => self.step = Step::Prove(ephemeral.agree(suite)?),
            Step::Prove(agreed) => {
                let (mut room, connection) = ([0; MAX_MESSAGE], ConnectionId::new(&CONNECTION)?);
                let (waiting, message_2) = with_own(identity, |own| {
                    agreed.authenticate(connection, own, Ead::default(), suite, rng, &mut room)
                })?;
                let message = Bytes::of(MESSAGE_2, message_2).ok_or(HandshakeDrop::Malformed)?;
                self.step = Step::Message2 { waiting, message };
                (self.is_due, self.until) = (true, now + WITHIN);
            }
            Step::Verify { waiting, message, received } => {
                let completed = waiting.read_message_3(received, &[], suite).map_err(HandshakeDrop::from);
                let completed = completed.and_then(|read| {
                    with_peer::<S, _>(admission.admitted(self.peer), read.id(), |peer| {
                        read.verify_peer(peer, suite)
                    })
                });
                let completed = match completed {
                    Ok(completed) => completed,
                    // The right one may still come.
                    Err(reason) => {
                        self.step = Step::Message2 { waiting, message };
                        return Err(reason);
                    }
                };
                let mut room = [0; MAX_MESSAGE];
                let (session, message_4) = completed.message_4(Ead::default(), suite, &mut room)?;
                let message = Bytes::of(MESSAGE_4, message_4).ok_or(HandshakeDrop::Malformed)?;
                self.step = Step::Message4 { received, message };
                (self.is_due, self.until) = (true, now + WITHIN);
                return Ok(Some((self.peer, key_of(&session)?)));
            }
            other => self.step = other,
        }
        Ok(None)
    }
}
