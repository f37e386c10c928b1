//! A run as others see it while it goes on: how far it has come, and what happens.

use crate::adversary::Findings;
use motemix_air::frame::Frame;
use motemix_link::protection::KEY_LEN;
use motemix_link::serial::{ExtendedAddress, Outcome as FrameOutcome};
use std::ops::ControlFlow;
use std::time::Duration;

/// Who looks on. Nothing that they do changes the run, but that it can be stopped.
#[derive(Default)]
pub struct Observers<'o> {
    /// Is told the virtual time now and then, many times a second, and may stop the run.
    pub progress: Option<&'o mut dyn FnMut(Duration) -> ControlFlow<()>>,
    /// Sees everything that happens.
    pub witness: Option<&'o mut dyn Witness>,
    /// Gets what the observer of the channel heard and concluded, if the scenario has one.
    pub findings: Option<&'o mut Findings>,
}

/// Sees everything that happens, in the order of time; but a frame on the air is seen when it ends.
pub trait Witness {
    /// This happened, so long after the beginning.
    fn see(&mut self, at: Duration, sight: &Sight<'_>);
}

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub enum Sight<'s> {
    /// A frame or an acknowledgement was on the air.
    OnAir {
        /// Who sent it.
        from: u16,
        /// The one that it is for, if it names one of the network. An acknowledgement names nobody.
        to: Option<u16>,
        /// Its first byte of synchronisation.
        begin: Duration,
        /// Another one was on the air at the same time.
        collided: bool,
        /// Its bytes.
        frame: &'s Frame,
    },
    /// A frame reached the one it was for.
    Arrived {
        /// Who has it.
        to: u16,
        /// Who sent it.
        from: u16,
        /// Its bytes.
        frame: &'s Frame,
    },
    /// A transceiver is done with a frame.
    Ended {
        /// Whose.
        node: u16,
        /// What became of it.
        outcome: FrameOutcome,
    },
    /// A node has something to say of itself.
    Told {
        /// Which.
        node: u16,
        /// What.
        news: News,
    },
}

/// What a node says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum News {
    /// It was given a message.
    Message {
        /// The receiver.
        to: u16,
    },
    /// It was given a message and had no room for it.
    Refused {
        /// The receiver.
        to: u16,
    },
    /// A packet leaves: an own one, or another's.
    Packet {
        /// The next node on its path.
        to: u16,
    },
    /// A message arrived.
    Received,
    /// A message of its own was acknowledged.
    Acknowledged {
        /// Since it was given.
        after: Duration,
        /// Tries made.
        tries: u8,
    },
    /// It gave a message of its own up.
    Discarded {
        /// Tries made.
        tries: u8,
    },
    /// It has a key with another one, for the frames between them. The keys of a simulation are
    /// secrets of nobody.
    Key {
        /// Its own address on the radio, and the other one's.
        stations: [ExtendedAddress; 2],
        /// The key.
        key: [u8; KEY_LEN],
    },
    /// It dropped a packet or a datagram.
    Dropped {
        /// Why.
        reason: &'static str,
    },
}
