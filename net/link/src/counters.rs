//! What a link did, counted. There are no log lines here: they would tell what the network hides.

use core::fmt;

macro_rules! drops {
    ($($(#[$doc:meta])* $name:ident => $text:literal,)+) => {
        /// Why a frame or datagram went no further. Whoever sent it never learns which it was.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum LinkDrop {
            $($(#[$doc])* $name,)+
        }

        impl LinkDrop {
            /// All reasons, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// A name for tables and metrics.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

drops! {
    /// A frame that is not of this network, or not for this station.
    Foreign => "foreign",
    /// A frame of a station that the network document does not name, or whose datagrams the owner
    /// of the link refuses.
    Stranger => "stranger",
    /// A datagram that was not read, because too much that came from its neighbour was no packet.
    OverShare => "over-share",
    /// A frame or datagram that is cut off, contradicts itself, or says what no neighbour has to
    /// say.
    BadHeader => "bad-header",
    /// A datagram for another port or another IPv6 address.
    OtherPort => "other-port",
    /// A datagram that was changed on the way, or put together of two.
    BadChecksum => "bad-checksum",
    /// A datagram that is longer than the memory for it, arriving or leaving.
    TooLong => "too-long",
    /// A fragment or datagram that found no place.
    ReassemblyFull => "reassembly-full",
    /// An incomplete datagram of which nothing came any more.
    TimedOut => "timed-out",
    /// An incomplete datagram whose place another one took.
    Replaced => "replaced",
    /// A fragment that was here already.
    Duplicate => "duplicate",
    /// An incomplete datagram that its sender gave up.
    AbortedByPeer => "aborted-by-peer",
    /// A datagram that was to leave while all places were taken.
    QueueFull => "outgoing-full",
    /// A datagram for an address that is no neighbour's.
    NoNeighbour => "no-neighbour",
    /// A datagram that was given up because the channel was busy.
    ChannelBusy => "channel-busy",
    /// A datagram that was given up because its neighbour does not acknowledge frames.
    Unacknowledged => "unacknowledged",
    /// A datagram of which the radio refused a frame.
    Refused => "refused",
    /// A datagram of which the radio never said what became of a frame.
    NoOutcome => "no-outcome",
    /// A datagram whose receiver did not say which fragments it has, or never had all of them.
    Unconfirmed => "unconfirmed",
    /// A datagram that its receiver refused.
    Unwanted => "unwanted",
    /// An answer to a neighbour for which there was no place, or which could not be sent.
    Unanswered => "unanswered",
    /// A frame that is not protected, where all but handshakes have to be.
    Unprotected => "unprotected",
    /// A protected frame of a station for which there is no key.
    NoKey => "no-key",
    /// A datagram for a neighbour with whom no handshake succeeded in time.
    NoHandshake => "no-handshake",
    /// A protected frame that was altered, or was made with another key.
    Forged => "forged",
    /// A protected frame whose counter is not above that of the one before it: it was repeated, or
    /// came too late.
    RepeatedFrame => "repeated-frame",
    /// A message of a handshake that came while another one was waiting.
    HandshakeBusy => "handshake-busy",
}

impl LinkDrop {
    /// Whether it is the end of a datagram that had begun to leave.
    const fn is_given_up(self) -> bool {
        matches!(
            self,
            Self::ChannelBusy
                | Self::Unacknowledged
                | Self::Refused
                | Self::NoOutcome
                | Self::Unconfirmed
                | Self::Unwanted
                | Self::NoHandshake
        )
    }
}

impl fmt::Display for LinkDrop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Totals since the link was made.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LinkCounters {
    /// Datagrams that arrived whole.
    pub received: u32,
    /// Datagrams accepted for sending.
    pub sent: u32,
    /// Fragments that were not sent because their datagram had been given up.
    pub spared: u32,
    /// Fragments that were sent again because their receiver did not have them.
    pub recovered: u32,
    /// Keys of neighbours that had to go for another's, because all places were taken.
    pub keys_replaced: u32,
    dropped: [u32; LinkDrop::ALL.len()],
}

impl LinkCounters {
    /// How many were dropped for this reason.
    pub const fn dropped(&self, reason: LinkDrop) -> u32 {
        self.dropped[reason as usize]
    }

    /// Datagrams that had begun to leave and did not arrive, as far as one can tell.
    pub fn given_up(&self) -> u32 {
        LinkDrop::ALL.iter().filter(|reason| reason.is_given_up()).map(|&reason| self.dropped(reason)).sum()
    }

    /// Counts one.
    pub fn drop(&mut self, reason: LinkDrop) {
        self.dropped[reason as usize] += 1;
    }
}
