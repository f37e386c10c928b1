//! What a running node is asked, and what it tells.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{mpsc, oneshot};

use crate::files::{Profile, Role as RoleName};
use crate::role::Counters;
use crate::wire::message::Encoding;

/// Something that whoever runs the node may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The socket is open.
    Ready {
        /// What the node is.
        role: RoleName,
        /// Its name in the directory.
        name: Arc<str>,
        /// Its UDP port.
        port: u16,
        /// Which Loopix it speaks.
        profile: Profile,
        /// The users of the directory.
        users: Vec<Arc<str>>,
    },
    /// A message is safe on disk and will be sent.
    Queued {
        /// Tells the messages of this node apart, across restarts.
        number: u64,
        /// Its receiver.
        to: Arc<str>,
    },
    /// A message was not taken.
    Refused {
        /// Its receiver.
        to: Arc<str>,
        /// Why.
        reason: Refusal,
    },
    /// A packet with the message has left; with a profile that acknowledges, further ones may
    /// follow.
    Sent {
        /// See [`Event::Queued`].
        number: u64,
    },
    /// The receiver has the message.
    Acknowledged {
        /// See [`Event::Queued`].
        number: u64,
    },
    /// No try was acknowledged, or the directory has no such user any more; the message is given
    /// up.
    GaveUp {
        /// See [`Event::Queued`].
        number: u64,
    },
    /// A message has arrived and is safe on disk.
    Received {
        /// The application's bytes, or the msgpack of what is no byte string.
        message: Vec<u8>,
        /// Which of the two.
        encoding: Encoding,
    },
    /// Loop cover has come back: the way is open.
    Loop,
    /// A message that the client sent itself has come back; see
    /// [`Options::probe`](super::Options::probe).
    Probe {
        /// When it left, since the node's start.
        left: Duration,
        /// From then to its arrival.
        took: Duration,
    },
    /// The directory has changed, and the new one is in force.
    Directory {
        /// Its users.
        users: Vec<Arc<str>>,
    },
    /// Somebody whom this node serves, or is served by, speaks another profile; said once.
    OtherProfile {
        /// What this node speaks.
        runs: Profile,
        /// What the other one does.
        heard: Profile,
    },
    /// A client hears nothing from its provider; said once, until something comes.
    ProviderSilent {
        /// Requests for mail since then.
        unanswered: u64,
    },
    /// The provider is heard again.
    ProviderAnswers,
    /// Loops no longer come back as they should, or do again.
    LoopAlarm {
        /// Whether the alarm begins.
        sounds: bool,
        /// Loops that were lost since the start.
        lost: u64,
        /// Loops that were sent.
        sent: u64,
    },
    /// The record of replay tags of a hardened mix or provider will be full soon, or is; each is
    /// said once.
    ReplayRecord {
        /// Tags that are kept.
        held: u64,
        /// Tags that can be kept.
        most: u64,
        /// When no more fit, at the rate of the last hours; zero if that is now.
        full_in: Option<Duration>,
    },
    /// How the node is doing.
    Counters(Box<Totals>),
}

impl Event {
    /// Its name, as programs print it; the Python nodes' word where they tell the same.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Ready { .. } => "ready",
            Self::Queued { .. } => "queued",
            Self::Refused { .. } => "refused",
            Self::Sent { .. } => "sent",
            Self::Acknowledged { .. } => "acknowledged",
            Self::GaveUp { .. } => "gave_up",
            Self::Received { .. } => "received",
            Self::Loop => "loop",
            Self::Probe { .. } => "probe",
            Self::Directory { .. } => "directory",
            Self::OtherProfile { .. } => "other_profile",
            Self::ProviderSilent { .. } => "provider_silent",
            Self::ProviderAnswers => "provider_answers",
            Self::LoopAlarm { .. } => "loop_alarm",
            Self::ReplayRecord { .. } => "replay_record",
            Self::Counters(_) => "counters",
        }
    }
}

/// Why a message was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The directory has no such user.
    NoSuchUser,
    /// It does not fit into a packet.
    TooLong,
    /// As many messages wait as this node takes.
    Full,
    /// The disk does not work.
    CannotBeKept,
    /// A mix or provider sends nothing of its own.
    NotAClient,
}

impl Refusal {
    /// In a few words.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NoSuchUser => "no such user",
            Self::TooLong => "too long",
            Self::Full => "full",
            Self::CannotBeKept => "cannot be kept",
            Self::NotAClient => "not a client",
        }
    }

    /// What to do about it.
    const fn remedy(self) -> &'static str {
        match self {
            Self::NoSuchUser => "`motemix loopix directory show DIR` lists the users",
            Self::TooLong => "a message must fit into one packet; send a shorter one",
            Self::Full => "messages wait for packets to leave; send again later",
            Self::CannotBeKept => "see whether the disk is full",
            Self::NotAClient => "send from the folder of a client",
        }
    }
}

/// The reason and what to do.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.reason(), self.remedy())
    }
}

/// Everything that a node counts since its start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// What the role counts.
    #[serde(flatten)]
    pub role: Counters,
    /// Datagrams that the kernel refused to send, or whose host has no address.
    pub unsendable: u64,
    /// Packets for which it is not time yet, mail in mailboxes, messages that were not
    /// acknowledged.
    pub waiting: u64,
    /// Hosts of the directory, by name, that have no address now; packets for them use what was
    /// found before, if anything.
    pub hosts_missing: u64,
    /// 1 if replay tags of the key are gone, so that packets that passed before could pass again.
    pub replay_tags_lost: u64,
    /// When the record of replay tags is full and nothing more is taken, in seconds; `None` if that
    /// is not known, or the node forgets old tags.
    pub replay_full_in_s: Option<u64>,
}

/// Hears that a message is safe, with its number, or why it was not taken.
pub(super) type Told = oneshot::Sender<Result<u64, Refusal>>;

/// What a node is asked.
#[derive(Debug)]
pub(super) enum Request {
    Send {
        to: String,
        message: Vec<u8>,
        told: Option<Told>,
    },
    Counters(oneshot::Sender<Totals>),
    /// When nothing waits any more.
    Finish,
    Stop,
}

/// Asks a running node, from any thread.
#[derive(Debug, Clone)]
pub struct Handle(mpsc::Sender<Request>);

/// The node's end of a [`Handle`].
#[derive(Debug)]
pub struct Requests {
    pub(super) asks: mpsc::Sender<Request>,
    pub(super) heeds: mpsc::Receiver<Request>,
}

/// Requests that wait for the node; who asks more waits.
const MOST_WAITING: usize = 64;

/// A handle, and what [`run`](super::run) needs to heed it.
pub fn handle() -> (Handle, Requests) {
    let (asks, heeds) = mpsc::channel(MOST_WAITING);
    (Handle(asks.clone()), Requests { asks, heeds })
}

impl Handle {
    /// Has a message sent. [`Event::Queued`] or [`Event::Refused`] follows.
    ///
    /// # Errors
    /// The node has stopped.
    ///
    /// # Panics
    /// On the thread that runs the node.
    pub fn send(&self, to: String, message: Vec<u8>) -> Result<(), Stopped> {
        self.0.blocking_send(Request::Send { to, message, told: None }).map_err(|_| Stopped)
    }

    /// Stops the node when nothing waits any more: with a profile that acknowledges, when every
    /// message is acknowledged or given up, else when all have left.
    ///
    /// # Panics
    /// On the thread that runs the node.
    pub fn finish(&self) {
        // The only way to fail is that there is nothing left to do.
        let _ = self.0.blocking_send(Request::Finish);
    }

    /// Stops the node; nothing happens if it has stopped already.
    ///
    /// # Panics
    /// On the thread that runs the node.
    pub fn stop(&self) {
        // The only way to fail is that there is nothing left to do.
        let _ = self.0.blocking_send(Request::Stop);
    }
}

/// The node has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the node has stopped")]
pub struct Stopped;
