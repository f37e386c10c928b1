//! Why datagrams were dropped.

use motemix_neighbour::Refused;

/// Why a datagram was dropped. Whoever sent it never learns which it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PairDrop {
    /// It is no message of the protocol.
    NoMessage,
    /// Its sender is not admitted.
    NotAdmitted,
    /// It arrived before, or is too old to tell.
    Replayed,
    /// It was altered, or is of another handshake.
    Altered,
    /// There was no handshake with its sender.
    NoHandshake,
    /// Another handshake is under way.
    UnderWay,
    /// All places for neighbours are taken.
    Full,
    /// This node answers no more handshakes for now.
    TooMany,
    /// A neighbour that was silent for an hour lost its place to another, and its keys.
    Replaced,
}

impl PairDrop {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::NoMessage,
        Self::NotAdmitted,
        Self::Replayed,
        Self::Altered,
        Self::NoHandshake,
        Self::UnderWay,
        Self::Full,
        Self::TooMany,
        Self::Replaced,
    ];

    /// A name for a console.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoMessage => "no-message",
            Self::NotAdmitted => "not-admitted",
            Self::Replayed => "replayed",
            Self::Altered => "altered",
            Self::NoHandshake => "no-handshake",
            Self::UnderWay => "under-way",
            Self::Full => "full",
            Self::TooMany => "too-many",
            Self::Replaced => "replaced",
        }
    }
}

impl From<Refused> for PairDrop {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Stranger => Self::NotAdmitted,
            Refused::Replayed | Refused::Repeated => Self::Replayed,
            Refused::Signature | Refused::Ciphertext => Self::Altered,
            _ => Self::NoMessage,
        }
    }
}
