//! The handshake that this node begins.

use core::mem::replace;
use core::time::Duration;

use motemix_crypto::Secret;
use motemix_time::Instant;
use rand_core::CryptoRng;

use crate::edhoc::initiator::{
    AwaitingMessage2, Completed, Opening, ReceivedMessage2, VerifiedResponder, begin,
};
use crate::edhoc::{CipherSuite, ConnectionId, Ead, Method};

use super::bytes::Bytes;
use super::cookie::COOKIE_LEN;
use super::{
    Admission, CONNECTION, Failure, HELLO, HandshakeDrop, Identity, KEY_LEN, MAX_MESSAGE, MESSAGE_1,
    MESSAGE_3, Peer, Transmit, jittered, key_of, with_own, with_peer,
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
#[derive(Default)]
enum Step<S: CipherSuite> {
    /// Between two steps.
    #[default]
    Moving,
    /// A cookie is waited for.
    Hello,
    /// message_1 is to be made.
    Begin { cookie: [u8; COOKIE_LEN] },
    /// message_2 is waited for.
    Message1 { waiting: AwaitingMessage2<S>, message: Bytes },
    /// message_2 is to be decrypted.
    Read { waiting: AwaitingMessage2<S>, message: Bytes, received: Bytes },
    /// The responder is to be verified.
    Verify { waiting: AwaitingMessage2<S>, message: Bytes, received: ReceivedMessage2<S, Bytes> },
    /// message_3 is to be made.
    Prove { verified: VerifiedResponder<S> },
    /// message_4 is waited for.
    Message3 { completed: Completed, message: Bytes },
}

/// Whom this node calls.
pub(super) enum Call<S: CipherSuite> {
    /// Nobody.
    Idle,
    With(With<S>),
}

pub(super) struct With<S: CipherSuite> {
    peer: Peer,
    step: Step<S>,
    /// Its message is to be sent then.
    due: Instant,
    /// How often it was sent.
    sent: u8,
    deadline: Instant,
}

impl<S: CipherSuite> Call<S> {
    pub(super) const fn hello(now: Instant, peer: Peer) -> Self {
        let micros = now.as_micros().saturating_add(WITHIN.as_micros() as u64);
        Self::With(With {
            peer,
            step: Step::Hello,
            due: now,
            sent: 0,
            deadline: Instant::from_micros(micros),
        })
    }

    pub(super) const fn peer(&self) -> Option<Peer> {
        match self {
            Self::Idle => None,
            Self::With(with) => Some(with.peer),
        }
    }

    /// Whether this peer is called, and has not proved itself yet.
    pub(super) fn is_with(&self, peer: Peer) -> bool {
        let Self::With(with) = self else { return false };
        with.peer == peer && !matches!(with.step, Step::Prove { .. } | Step::Message3 { .. })
    }

    fn with(&mut self, peer: Peer) -> Result<&mut With<S>, HandshakeDrop> {
        match self {
            Self::With(with) if with.peer == peer => Ok(with),
            _ => Err(HandshakeDrop::Unexpected),
        }
    }

    pub(super) fn cookie(&mut self, peer: Peer, cookie: [u8; COOKIE_LEN]) -> Result<(), HandshakeDrop> {
        let with = self.with(peer)?;
        if !matches!(with.step, Step::Hello) {
            return Err(HandshakeDrop::Unexpected);
        }
        with.step = Step::Begin { cookie };
        Ok(())
    }

    pub(super) fn message_2(&mut self, peer: Peer, message_2: &[u8]) -> Result<(), HandshakeDrop> {
        let received = Bytes::new(message_2).ok_or(HandshakeDrop::Malformed)?;
        let with = self.with(peer)?;
        let (step, outcome) = match replace(&mut with.step, Step::Moving) {
            Step::Message1 { waiting, message } => (Step::Read { waiting, message, received }, Ok(())),
            other => (other, Err(HandshakeDrop::Unexpected)),
        };
        with.step = step;
        outcome
    }

    /// The key, if the peer says that it has message_3.
    pub(super) fn message_4(
        &mut self,
        peer: Peer,
        message_4: &[u8],
        suite: &mut S,
    ) -> Result<Secret<KEY_LEN>, HandshakeDrop> {
        let mut received = Bytes::new(message_4).ok_or(HandshakeDrop::Malformed)?;
        let with = self.with(peer)?;
        let Step::Message3 { completed, .. } = &with.step else { return Err(HandshakeDrop::Unexpected) };
        completed.read_message_4(received.as_mut(), &[], suite)?;
        let Step::Message3 { completed, .. } = replace(&mut with.step, Step::Moving) else {
            return Err(HandshakeDrop::Unexpected);
        };
        *self = Self::Idle;
        Ok(key_of(&completed.into_session())?)
    }

    pub(super) const fn has_work(&self) -> bool {
        use Step::{Begin, Prove, Read, Verify};
        let Self::With(with) = self else { return false };
        matches!(with.step, Begin { .. } | Read { .. } | Verify { .. } | Prove { .. })
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
        let Self::With(with) = self else { return Ok(()) };
        match replace(&mut with.step, Step::Moving) {
            Step::Begin { cookie } => {
                let opening = Opening {
                    method: Method::StaticKeys,
                    passed_over: &[],
                    connection: ConnectionId::new(&CONNECTION)?,
                    ead_1: Ead::default(),
                };
                let mut room = [0; MAX_MESSAGE];
                let (waiting, message_1) = begin(&opening, suite, rng, &mut room)?;
                let mut message = Bytes::of(MESSAGE_1, &cookie).ok_or(HandshakeDrop::Malformed)?;
                message.append(message_1).ok_or(HandshakeDrop::Malformed)?;
                with.wait(now, Step::Message1 { waiting, message });
            }
            Step::Read { waiting, message, received } => match waiting.read_message_2(received, &[], suite) {
                Ok(received) => with.step = Step::Verify { waiting, message, received },
                Err(refused) => {
                    with.step = Step::Message1 { waiting, message };
                    return Err(refused.into());
                }
            },
            Step::Verify { waiting, message, received } => {
                let verified = with_peer::<S, _>(admission.admitted(with.peer), received.id(), |peer| {
                    received.verify_peer(peer, suite)
                });
                match verified {
                    Ok(verified) => with.step = Step::Prove { verified },
                    Err(reason) => {
                        with.step = Step::Message1 { waiting, message };
                        return Err(reason);
                    }
                }
            }
            Step::Prove { verified } => {
                let mut room = [0; MAX_MESSAGE];
                let (completed, message_3) =
                    with_own(identity, |own| verified.message_3(own, Ead::default(), suite, rng, &mut room))?;
                let message = Bytes::of(MESSAGE_3, message_3).ok_or(HandshakeDrop::Malformed)?;
                with.wait(now, Step::Message3 { completed, message });
            }
            other => with.step = other,
        }
        // Neighbours that were started together do not stay in step.
        if with.sent > 0 {
            with.due = with.due + jittered(Duration::from_millis(100), rng);
        }
        Ok(())
    }

    /// Ends a call that lasts too long, or whose message was sent often enough.
    pub(super) fn time_out(&mut self, now: Instant) -> Option<(Peer, Failure)> {
        let Self::With(with) = self else { return None };
        let is_tried = with.sent >= TRIES && with.due <= now && with.message().is_some();
        let failure = if matches!(with.step, Step::Hello) { Failure::Silent } else { Failure::Unproved };
        (is_tried || with.deadline <= now).then_some((with.peer, failure))
    }

    /// Its radio does not answer: `true` if it is not called any more.
    pub(super) fn undelivered(&self, peer: Peer) -> bool {
        // One more try: it may have been busy with something else.
        matches!(self, Self::With(with) if with.peer == peer && with.sent > 1)
    }

    pub(super) fn due(&self) -> Option<Instant> {
        let Self::With(with) = self else { return None };
        Some(if with.message().is_some() { with.due.min(with.deadline) } else { with.deadline })
    }

    pub(super) fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        let Self::With(with) = self else { return None };
        if with.due > now || with.sent >= TRIES {
            return None;
        }
        let message = with.message()?;
        let after = if matches!(with.step, Step::Hello) { HELLO_AFTER } else { MESSAGE_AFTER };
        with.due = now + after.saturating_mul(if with.sent == 0 { 1 } else { 2 });
        with.sent += 1;
        Some(Transmit { to: with.peer, message })
    }
}

impl<S: CipherSuite> With<S> {
    /// Has a message sent, and an answer waited for.
    fn wait(&mut self, now: Instant, step: Step<S>) {
        (self.step, self.due, self.sent) = (step, now, 0);
    }

    /// The message whose answer is waited for.
    fn message(&self) -> Option<Bytes> {
        match &self.step {
            Step::Hello => Bytes::new(&[HELLO]),
            Step::Message1 { message, .. } | Step::Message3 { message, .. } => Some(*message),
            _ => None,
        }
    }
}
