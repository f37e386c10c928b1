//! What a node did, counted. There are no log lines here: they would tell what the network hides.

use core::fmt;

use motemix_sphinx::{ProcessError, ReplayError};

macro_rules! drop_reasons {
    ($($(#[$doc:meta])* $name:ident => $text:literal,)+) => {
        /// Why a datagram or packet went no further. The peer never learns which it was.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[non_exhaustive]
        pub enum DropReason {
            $($(#[$doc])* $name,)+
        }

        impl DropReason {
            /// All reasons, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// A name for tables and metrics.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

drop_reasons! {
    /// Not the profile's length: truncated, oversized or another protocol.
    WrongLength => "wrong-length",
    /// A group element of small order.
    NonContributory => "non-contributory",
    /// Not made for this node and epoch, forged, or damaged.
    BadHeaderMac => "bad-header-mac",
    /// Seen before under the same mix key.
    Replayed => "replayed",
    /// The epoch's replay filter has no room; nothing is admitted until the next epoch.
    ReplayFilterFull => "replay-filter-full",
    /// The replay filter has room, and keeps it for later in the epoch or for other neighbours.
    AdmissionRate => "admission-rate",
    /// A reserved command.
    UnknownCommand => "unknown-command",
    /// The payload of a message without a way to reply was changed on the way.
    BadPayload => "bad-payload",
    /// The packet names a next node that the network does not have.
    UnknownNextHop => "unknown-next-hop",
    /// No room for another packet that waits.
    QueueFull => "queue-full",
    /// No room to remember another message. Its packet is turned round without an acknowledgement,
    /// so its sender tries again.
    WindowFull => "window-full",
    /// A returned packet whose header is not in flight: its message was acknowledged or given up.
    UnknownHeader => "unknown-header",
    /// The application did not reply in time, or refused. The packet is turned round without an
    /// acknowledgement, so the sender tries again.
    Unanswered => "unanswered",
    /// No epoch has begun.
    NoEpoch => "no-epoch",
    /// Messages and loops come faster than ticks of the payload stream, on which they are turned
    /// round.
    NoTick => "no-tick",
}

impl From<ProcessError> for DropReason {
    fn from(error: ProcessError) -> Self {
        match error {
            ProcessError::WrongLength => Self::WrongLength,
            ProcessError::NonContributory => Self::NonContributory,
            ProcessError::BadHeaderMac => Self::BadHeaderMac,
            ProcessError::UnknownCommand => Self::UnknownCommand,
            ProcessError::BadPayload => Self::BadPayload,
        }
    }
}

impl From<ReplayError> for DropReason {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Replayed => Self::Replayed,
            ReplayError::Full => Self::ReplayFilterFull,
            ReplayError::Rationed => Self::AdmissionRate,
        }
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl core::error::Error for DropReason {}

/// Totals since the node was made.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Datagrams handed to the node.
    pub datagrams: u64,
    /// Packets sent, of all kinds.
    pub transmitted: u64,
    /// Packets taken in to be sent on.
    pub forwarded: u64,
    /// Messages handed to the application, each once.
    pub delivered: u64,
    /// Tries of messages that had been handed over before.
    pub duplicates: u64,
    /// Replies and acknowledgements put into packets that were turned round.
    pub replied: u64,
    /// Packets turned round that brought no message: filler of payload streams, or a payload that
    /// was changed on the way. Nobody but the sender can tell which.
    pub turned_empty: u64,
    /// Messages accepted for sending.
    pub sent: u64,
    /// Tries after the first.
    pub retransmitted: u64,
    /// Tries that came back without a reply: refused, or changed on the way. They count as lost
    /// when their time is over.
    pub returned_empty: u64,
    /// Messages whose reply came back.
    pub acknowledged: u64,
    /// Messages given up after the last try.
    pub discarded: u64,
    /// Loop cover sent, filler of the payload stream included.
    pub loops_sent: u64,
    /// Loop cover that came back, filler included.
    pub loops_returned: u64,
    /// Loop cover that was not back when a message would be sent again. It may have come later.
    pub loops_lost: u64,
    /// How often the alarm began because of it: [`LoopAlarm`](crate::LoopAlarm).
    pub loop_alarms: u64,
    /// Drop cover sent.
    pub drops_sent: u64,
    /// Drop cover that ended here.
    pub drops_received: u64,
    /// Times at which cover was due and no header was ready, or no room in the queue.
    pub cover_missed: u64,
    /// Headers built.
    pub headers_built: u64,
    /// Packets dropped, by number of [`DropReason`].
    dropped: [u64; DropReason::ALL.len()],
}

impl Counters {
    /// How many packets were dropped for `reason`.
    pub const fn dropped(&self, reason: DropReason) -> u64 {
        self.dropped[reason as usize]
    }

    pub(crate) fn drop(&mut self, reason: DropReason) -> DropReason {
        self.dropped[reason as usize] += 1;
        reason
    }
}
