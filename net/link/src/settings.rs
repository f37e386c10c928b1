//! What may be chosen of the link. A simulator switches each of it on and off.

use core::time::Duration;

use crate::lowpan::iphc::PORT;

/// How frames and datagrams are sent, and for how long they are waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkSettings {
    /// The UDP port of datagrams here and at the neighbours: one of 61616 to 61631, which 6LoWPAN
    /// writes in four bits (RFC 6282, 4.3.3). Of any other number only these bits count.
    pub port: u16,
    /// How often a frame that found the channel busy, or was not acknowledged, is put back before
    /// it is given up.
    pub requeues: u8,
    /// How long a frame waits after it was put back for the first time; twice as long each further
    /// time. The wait is random, from half to one and a half of that, so that contenders separate.
    pub requeue_after: Duration,
    /// Pauses for the sake of others. `None`: frames follow each other at once.
    pub pacing: Option<Pacing>,
    /// How datagrams longer than a frame are cut, and what happens when a fragment is lost. A
    /// receiver understands both ways.
    pub recovery: Recovery,
    /// If set, the receiver is asked which fragments came (Ack-Request of RFC 8931) only after one
    /// of them was given up, or the receiver lacked one or was silent; a loss that the radio does
    /// not notice is then final. Otherwise the receiver is asked about each datagram in fragments,
    /// which costs a frame.
    pub when_in_doubt: bool,
    /// How often a datagram is taken up again without getting on (compare MaxFragRetries, RFC
    /// 8931): after a fragment that was given up, or when its receiver does not answer or lacks as
    /// many fragments as before.
    pub recovery_tries: u8,
    /// How long the sender waits for an RFRAG-ACK the first time (the retransmission time-out of
    /// RFC 8931, OptARQTimeOut); twice and four times as long later, at random as above. A mote
    /// that computes answers late.
    pub acknowledged_within: Duration,
    /// An incomplete datagram that received no fragment for this time is given up. After half of
    /// it, another datagram that needs its slot may evict it.
    pub reassembled_within: Duration,
    /// How long a datagram waits for keys with its neighbour, on a link that protects frames. A
    /// handshake takes a small board seconds.
    pub keys_within: Duration,
    /// Another key is asked for when this frame counter is reached, and after each 256 frames more.
    /// Frames go on under the key of before until there is one, or all its counters are used.
    pub rekey_at: u32,
    /// For how long a neighbour was neither heard nor sent to, under its key, when a call of that
    /// kind may take its key's place. With less, an attacker decides who has a key where there are
    /// fewer places than neighbours.
    pub idle_after: Duration,
}

/// How often a neighbour is called because of a frame or datagram that nobody vouches for: whoever
/// sends one in the name of a neighbour with whom there is no key can cause a call. Calls for what
/// is to be sent are not counted, and never held back.
///
/// A call costs a mote four scalar multiplications: a second on a slow one. So a flood of forgeries
/// costs a thirtieth of its time, after the first ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeardCalls {
    /// The time for one more.
    pub every: Duration,
    /// As many follow each other after a quiet time: a station that was restarted hears from all
    /// of its neighbours. At least one.
    pub at_once: u8,
}

impl HeardCalls {
    /// Eight at once, and one every thirty seconds.
    pub const fn new() -> Self {
        Self { every: Duration::from_secs(30), at_once: 8 }
    }
}

impl Default for HeardCalls {
    fn default() -> Self {
        Self::new()
    }
}

/// Pauses between the frames of one station: a train of fragments holds the channel longer than the
/// attempts of one waiting frame last, some 18 ms.
///
/// Both pauses grow by what the radio reports: the addition doubles with each failed attempt, and
/// shrinks by a step with each frame that was sent at the first attempt. A pause is random, from
/// half to one and a half of that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pacing {
    /// The least after a frame whose datagram goes on (the inter-frame gap of RFC 8931).
    pub after_frame: Duration,
    /// The least after a datagram.
    pub after_datagram: Duration,
    /// By how much a frame that was sent at the first attempt makes pauses shorter. Also what the
    /// first failed one adds.
    pub step: Duration,
    /// The most that is added to a pause.
    pub most: Duration,
}

/// What becomes of a datagram in fragments of which one is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recovery {
    /// It is lost; FRAG1 and FRAGN of RFC 4944.
    None,
    /// What is missing is sent again; RFRAG of RFC 8931, for neighbours that understand it.
    Selective,
}

impl LinkSettings {
    /// What works best with neighbours of any make.
    pub const fn new() -> Self {
        Self {
            port: PORT,
            requeues: 3,
            requeue_after: Duration::from_millis(20),
            pacing: Some(Pacing::new()),
            recovery: Recovery::None,
            when_in_doubt: true,
            recovery_tries: 4,
            acknowledged_within: Duration::from_millis(600),
            reassembled_within: Duration::from_secs(3),
            keys_within: Duration::from_secs(15),
            rekey_at: u32::MAX - 0xffff,
            idle_after: Duration::from_secs(600),
        }
    }
}

impl Default for LinkSettings {
    fn default() -> Self {
        Self::new()
    }
}

impl Pacing {
    /// Room for about one frame of somebody else.
    pub const fn new() -> Self {
        Self {
            after_frame: Duration::from_millis(4),
            after_datagram: Duration::from_millis(8),
            step: Duration::from_millis(2),
            most: Duration::from_millis(200),
        }
    }
}

impl Default for Pacing {
    fn default() -> Self {
        Self::new()
    }
}
