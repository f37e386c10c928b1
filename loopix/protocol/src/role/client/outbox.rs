//! Messages of this client that have not come to their end.

use std::collections::VecDeque;
use std::fmt;

use motemix_node::Instant;

/// Names a message: random, and the same in each try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub [u8; 16]);

/// A message that a builder has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// A user of the directory.
    pub to: String,
    /// What to say.
    pub message: Vec<u8>,
}

/// Why a message is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// The directory does not know the receiver.
    UnknownUser,
    /// The message does not fit into a packet.
    TooLong {
        /// The most bytes that do.
        room: usize,
    },
    /// As many messages wait as may.
    Full,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownUser => f.write_str("the directory knows no such user"),
            Self::TooLong { room } => write!(f, "the message is too long; {room} bytes fit into a packet"),
            Self::Full => f.write_str("the queue is full; wait until messages have left"),
        }
    }
}

impl std::error::Error for SendError {}

/// A message on its way.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) id: MessageId,
    pub(super) to: String,
    pub(super) text: Vec<u8>,
    pub(super) tries: u32,
    /// Not sent (again) before this time.
    pub(super) due: Instant,
}

/// First come, first served among those that are due.
#[derive(Debug)]
pub(super) struct Outbox {
    capacity: usize,
    messages: VecDeque<Message>,
}

impl Outbox {
    pub(super) const fn new(capacity: usize) -> Self {
        Self { capacity, messages: VecDeque::new() }
    }

    pub(super) fn push(&mut self, message: Message) -> Result<(), SendError> {
        if self.messages.len() >= self.capacity {
            return Err(SendError::Full);
        }
        self.messages.push_back(message);
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Takes out the first message that is due.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Message> {
        let place = self.messages.iter().position(|message| message.due <= now)?;
        self.messages.remove(place)
    }

    /// Puts a message back that has been taken out, to wait for its acknowledgement.
    pub(super) fn put_back(&mut self, message: Message) {
        self.messages.push_back(message);
    }

    /// Whether the message was there.
    pub(super) fn remove(&mut self, id: MessageId) -> bool {
        let place = self.messages.iter().position(|message| message.id == id);
        place.and_then(|place| self.messages.remove(place)).is_some()
    }
}
