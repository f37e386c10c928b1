//! What is kept between a request and its responses, and why a message is refused.

use super::ContextId;
use super::message::{Message, number};
use super::numbers::NoNumber;
use crate::Code;

/// A server's side of a request: kept until all responses are sent. It cannot be copied, because
/// one response may share the request's nonce.
#[derive(Debug, PartialEq, Eq)]
pub struct Exchange {
    pub(super) context: ContextId,
    /// The request's Partial IV.
    pub(super) request: u64,
    pub(super) may_share_nonce: bool,
    pub(super) observes: bool,
}

impl Exchange {
    /// Under which context the request came.
    pub const fn context(&self) -> ContextId {
        self.context
    }
}

/// A client's side of a request: kept until its response came, or its observation ends.
#[derive(Debug, PartialEq, Eq)]
pub struct Asked {
    pub(super) context: ContextId,
    /// The request's Partial IV.
    pub(super) request: u64,
    /// Whether it registered an observation that still goes on.
    observes: bool,
    /// Whether the response that shares the request's nonce, or the only one, has come.
    had_first: bool,
    /// The Notification Number: the highest Partial IV of a notification.
    newest: Option<u64>,
    /// How many notifications came.
    notifications: u32,
}

impl Asked {
    pub(super) const fn new(context: ContextId, request: u64, observes: bool) -> Self {
        Self { context, request, observes, had_first: false, newest: None, notifications: 0 }
    }

    /// Under which context the request was sent.
    pub const fn context(&self) -> ContextId {
        self.context
    }

    pub(super) const fn observes(&self) -> bool {
        self.observes
    }

    /// A response without a Partial IV comes once, before all others. One with a Partial IV is
    /// newer than all before it (RFC 8613, section 7.4.1).
    pub(super) fn is_new(&self, partial_iv: Option<u64>) -> bool {
        match partial_iv {
            None => !self.had_first && self.newest.is_none(),
            Some(_) if !self.observes => !self.had_first,
            Some(number) => self.newest.is_none_or(|newest| number > newest),
        }
    }

    pub(super) fn accept(&mut self, partial_iv: Option<u64>, notifies: bool) {
        self.had_first = true;
        self.newest = partial_iv.or(self.newest);
        // A response that is no notification ends an observation (RFC 7641, section 4.2).
        self.observes &= notifies;
        if notifies {
            self.notifications = self.notifications.wrapping_add(1);
        }
    }

    /// A value of the Observe option that grows with each notification (RFC 7641, section 3.4).
    pub(super) fn order(&self) -> Vec<u8> {
        let [_, order @ ..] = self.notifications.to_be_bytes();
        let zeros = order.iter().take_while(|byte| **byte == 0).count();
        order[zeros..].to_vec()
    }
}

/// Why a message is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unopened {
    /// The OSCORE option or the plaintext is none, or there is no ciphertext.
    Malformed,
    /// No context has these identifiers.
    UnknownContext,
    /// It was seen before, or is too old to tell.
    Replayed,
    /// It was altered, or is under other keys.
    Altered,
    /// The client is to ask again and give the Echo value back in this protected answer.
    Forgotten(Message),
    /// A response without protection. Anybody may have sent it.
    Unprotected,
    /// There was no number for an answer.
    NoNumber(NoNumber),
    /// The server has answered a client that lost its context: the request is to be sent again,
    /// under this one, which has taken the place of the lost one (appendix B.2).
    Renewed(ContextId),
}

impl Unopened {
    /// What a server answers to a request (RFC 8613, section 8.2). Nothing in it is secret, and
    /// nobody keeps it.
    pub fn answer(&self) -> Message {
        let (code, text) = match self {
            Self::Forgotten(answer) => return answer.clone(),
            Self::Malformed => (Code::BAD_OPTION, "Failed to decode COSE"),
            Self::UnknownContext => (Code::UNAUTHORIZED, "Security context not found"),
            Self::Replayed => (Code::UNAUTHORIZED, "Replay detected"),
            Self::Altered | Self::Unprotected | Self::Renewed(_) => (Code::BAD_REQUEST, "Decryption failed"),
            Self::NoNumber(_) => (Code::SERVICE_UNAVAILABLE, "Try again later"),
        };
        plain_answer(code, text)
    }
}

/// An error without protection, which no cache keeps.
pub(super) fn plain_answer(code: Code, text: &str) -> Message {
    let mut answer = Message::new(code.byte());
    answer.add(number::MAX_AGE, []);
    answer.payload = text.as_bytes().to_vec();
    answer
}

/// Why a message cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unsent {
    /// The context has ended.
    #[error("the security context has ended: make a handshake anew")]
    Gone,
    /// The context has no number left, or none could be reserved.
    #[error("no sequence number for the message: {}", match .0 {
        NoNumber::Exhausted => "all of the context are used; make another context",
        NoNumber::NotStored => "the next ones could not be noted down; look at the disk",
    })]
    NoNumber(NoNumber),
    /// More than AES-CCM takes.
    #[error("the message has more than 65,535 bytes: send it in blocks")]
    TooLong,
    /// The option would show the path to everybody.
    #[error("Proxy-Uri shows the path to everybody: say Proxy-Scheme, Uri-Host and Uri-Path")]
    ProxyUri,
}

impl From<NoNumber> for Unsent {
    fn from(problem: NoNumber) -> Self {
        Self::NoNumber(problem)
    }
}
