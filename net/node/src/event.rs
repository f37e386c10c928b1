//! What goes out of a node: packets, events, refusals.

use core::fmt;
use core::time::Duration;

use motemix_sphinx::{MessageId, NodeId};

/// A packet has been written to the caller's buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// Where to send it; the caller knows the address.
    pub to: NodeId,
    /// Its length: the same for all packets of a network.
    pub len: usize,
}

/// Names a message that this node sends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MessageHandle(pub(crate) u64);

impl MessageHandle {
    /// The number of the message since the node was made.
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// Names a received message that waits for its reply.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReceiptToken {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl ReceiptToken {
    /// The token as a number, for a caller who cannot hold a Rust type.
    pub const fn to_bits(self) -> u64 {
        (self.generation as u64) << 32 | self.slot as u64
    }

    /// The token of a number. One that names no message is refused when it is used.
    pub const fn from_bits(bits: u64) -> Self {
        Self { slot: bits as u32, generation: (bits >> 32) as u32 }
    }
}

/// Something the application should know. Data is borrowed from the node until its next call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A message has arrived. Make it safe, then call [`Node::reply`](crate::Node::reply): without
    /// a reply its sender tries again.
    Received {
        /// To reply with.
        token: ReceiptToken,
        /// As its sender chose it.
        id: MessageId,
        /// What it says.
        data: &'a [u8],
        /// The application has replied to this message with data before, and the reply was lost:
        /// give the same reply again, and do not act on the message a second time.
        repeated: bool,
    },
    /// A message without a way to reply has arrived.
    Delivered {
        /// As its sender chose it.
        id: MessageId,
        /// What it says.
        data: &'a [u8],
    },
    /// The receiver has a message, and has replied.
    Acknowledged {
        /// Which message.
        message: MessageHandle,
        /// From sending the try that came back until it came back.
        round_trip: Duration,
        /// From [`Node::send`](crate::Node::send) until now.
        elapsed: Duration,
        /// Tries made.
        tries: u8,
        /// The reply's data; empty for an acknowledgement.
        reply: &'a [u8],
    },
    /// Loops no longer come back as they should, or do again: [`LoopAlarm`](crate::LoopAlarm).
    LoopAlarm {
        /// Whether the alarm begins.
        sounds: bool,
    },
    /// A message was given up after its last try, or because the node is about to stop. It may have
    /// arrived nevertheless.
    Discarded {
        /// Which message.
        message: MessageHandle,
        /// Tries made.
        tries: u8,
    },
}

/// Why a message cannot be sent now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SendError {
    /// As many messages are in flight as the configuration or the memory allows.
    Full,
    /// More data than a packet carries.
    TooLong {
        /// The profile's greatest length in bytes.
        most: usize,
    },
    /// The network has no such node, or the node is this one.
    UnknownReceiver,
    /// The network has too few mixes for a path between this node and the receiver.
    NoPath,
    /// No epoch has begun.
    NoEpoch,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => {
                f.write_str("as many messages are in flight as there is room for; wait for one to end")
            }
            Self::TooLong { most } => write!(f, "the message is too long; the network carries {most} bytes"),
            Self::UnknownReceiver => f.write_str("the receiver is no other node of the network document"),
            Self::NoPath => {
                f.write_str("the network has too few mixes besides the two ends; add mixes or use fewer hops")
            }
            Self::NoEpoch => f.write_str("no network document is in force; get the current one"),
        }
    }
}

impl core::error::Error for SendError {}

/// Why a reply cannot be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReplyError {
    /// The message was replied to before, or waited for too long.
    NotWaiting,
    /// More data than a packet carries.
    TooLong,
}

impl fmt::Display for ReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotWaiting => "the message does not wait for a reply any more",
            Self::TooLong => "the reply is longer than the network's packets carry",
        })
    }
}

impl core::error::Error for ReplyError {}
