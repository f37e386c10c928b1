//! Why messages of handshakes go no further, and how often.

use crate::edhoc::Refused;

macro_rules! drops {
    ($($(#[$doc:meta])* $name:ident => $text:literal,)+) => {
        /// Why a message went no further. Whoever sent it never learns which it was.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum HandshakeDrop {
            $($(#[$doc])* $name,)+
        }

        impl HandshakeDrop {
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
    /// It is none, or of another kind than is waited for.
    Unexpected => "unexpected",
    /// It is of a peer that is not admitted.
    Stranger => "stranger",
    /// Its cookie is wrong or too old.
    WrongCookie => "wrong-cookie",
    /// It answers another message_1 than this node's.
    WrongEcho => "wrong-echo",
    /// Another handshake has the place.
    Busy => "busy",
    /// It is malformed.
    Malformed => "malformed",
    /// It offers another method or suite.
    OtherSuite => "other-suite",
    /// A key in it is no point of the curve, or of small order.
    PublicKey => "public-key",
    /// It was altered, or its sender has not the key that is known of it.
    Unproved => "unproved",
    /// It names another key of its sender than is known here.
    OtherKey => "other-key",
    /// It could not be worked on: the accelerator failed.
    Engine => "engine",
}

impl From<Refused> for HandshakeDrop {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Method | Refused::Suite => Self::OtherSuite,
            Refused::PublicKey => Self::PublicKey,
            Refused::Engine => Self::Engine,
            Refused::Mac | Refused::Signature | Refused::Ciphertext => Self::Unproved,
            _ => Self::Malformed,
        }
    }
}

/// Totals since the start.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HandshakeCounters {
    /// Handshakes that this node began.
    pub called: u32,
    /// Those that it answered.
    pub answered: u32,
    /// Handshakes that ended with a key.
    pub completed: u32,
    /// Calls that failed.
    pub failed: u32,
    dropped: [u32; HandshakeDrop::ALL.len()],
}

impl HandshakeCounters {
    /// How many messages were dropped for this reason.
    pub const fn dropped(&self, reason: HandshakeDrop) -> u32 {
        self.dropped[reason as usize]
    }

    pub(super) const fn drop(&mut self, reason: HandshakeDrop) {
        let count = &mut self.dropped[reason as usize];
        *count = count.saturating_add(1);
    }
}
