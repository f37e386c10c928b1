//! What a session may take, how it ends, and what it counts.

use std::fmt;
use std::time::Duration;

use super::frame::NoFrame;
use super::options::NoOptions;
use super::signal::{BadSignal, Signal};

/// What a session takes, and how long it waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The longest message that it takes, in bytes. The peer is told.
    pub max_message_size: u32,
    /// Requests of the peer that are not answered; while there are as many, no more are read.
    pub requests: usize,
    /// Observations of the peer.
    pub observations: usize,
    /// Requests to the peer that have no answer, and observations at the peer.
    pub calls: usize,
    /// Bytes that wait for the peer to read them; while there are as many, nothing more is read.
    pub unsent: usize,
    /// From the beginning of the connection to the peer's first message, its CSM.
    pub csm_timeout: Duration,
    /// From the first byte of a message to its last.
    pub message_timeout: Duration,
    /// Until the peer reads anything of what waits for it.
    pub unread_timeout: Duration,
    /// After so long without a message, a Ping asks whether the peer is there.
    pub ping_after: Duration,
    /// From a Ping to anything that comes.
    pub pong_timeout: Duration,
    /// From a request to its response.
    pub answer_timeout: Duration,
    /// From our Release to the end, if something is still to be answered.
    pub release_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_message_size: 1 << 20,
            requests: 64,
            observations: 1_000,
            calls: 64,
            unsent: 1 << 18,
            csm_timeout: Duration::from_secs(10),
            message_timeout: Duration::from_secs(60),
            unread_timeout: Duration::from_secs(60),
            ping_after: Duration::from_secs(240),
            pong_timeout: Duration::from_secs(30),
            answer_timeout: Duration::from_secs(90),
            release_timeout: Duration::from_secs(10),
        }
    }
}

/// Why a session is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// What came is no message.
    NoFrame(NoFrame),
    /// What came has no options, or they cannot be told apart.
    NoOptions(NoOptions),
    /// A signalling message that this side must not ignore.
    Signal(BadSignal),
    /// A code that neither asks nor answers.
    Code(u8),
    /// The first message was no CSM.
    NoCsm,
    /// Nothing came that could be a CSM.
    CsmTimeout,
    /// A message did not become whole.
    MessageTimeout,
    /// The peer reads nothing.
    Unread,
    /// The peer does not answer a Ping.
    NoPong,
    /// Who drives the session gave it more than it asked for.
    Overrun,
    /// A WebSocket message on a stream of bytes, or the other way round.
    WrongCarriage,
    /// The peer ended it: 7.05.
    Aborted {
        /// The option of our CSM that it did not understand.
        bad_csm_option: Option<u16>,
        /// Its reason, for people.
        diagnostic: String,
    },
    /// The peer asked to end it: 7.04.
    Released {
        /// Addresses to connect to instead.
        alternatives: Vec<String>,
        /// Seconds in which not to connect again.
        hold_off: Option<u32>,
    },
    /// This side ended it.
    Closed,
    /// The connection is gone.
    Lost,
}

impl End {
    /// The Abort that tells the peer, if it is told.
    pub(super) fn abort(&self) -> Option<Signal> {
        let bad_csm_option = match self {
            Self::Aborted { .. } | Self::Released { .. } | Self::Closed | Self::Lost => return None,
            Self::Signal(bad) => bad.csm_option(),
            _ => None,
        };
        Some(Signal::Abort { bad_csm_option, diagnostic: self.to_string() })
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFrame(why) => fmt::Display::fmt(why, f),
            Self::NoOptions(why) => fmt::Display::fmt(why, f),
            Self::Signal(why) => fmt::Display::fmt(why, f),
            Self::Code(code) => write!(f, "no message has the code {}.{:02}", code >> 5, code & 0x1f),
            Self::NoCsm => f.write_str("the first message must be a CSM (7.01)"),
            Self::CsmTimeout => f.write_str("no CSM (7.01) came"),
            Self::MessageTimeout => f.write_str("a message did not become whole in time"),
            Self::Unread => f.write_str("nothing of what was sent is read"),
            Self::NoPong => f.write_str("no answer to a Ping"),
            Self::Overrun => f.write_str("more came than was asked for"),
            Self::WrongCarriage => f.write_str("a WebSocket message and a stream's bytes are not the same"),
            Self::Aborted { diagnostic, .. } => write!(f, "the peer aborted the connection: {diagnostic}"),
            Self::Released { .. } => f.write_str("the peer released the connection"),
            Self::Closed => f.write_str("closed by this side"),
            Self::Lost => f.write_str("the connection is gone"),
        }
    }
}

impl std::error::Error for End {}

/// What a session counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages that came.
    pub received: u64,
    /// Messages that were sent.
    pub sent: u64,
    /// Requests that were refused before anybody saw them: unknown options, unknown methods.
    pub refused: u64,
    /// Responses that nobody asked for.
    pub strange: u64,
    /// Notifications that a newer one took the place of, because the peer reads slowly.
    pub coalesced: u64,
    /// Observations that there was no room for.
    pub not_observed: u64,
    /// Signalling messages of an unknown code.
    pub unknown_signals: u64,
    /// Answers and requests that are longer than the peer takes.
    pub too_long: u64,
}
