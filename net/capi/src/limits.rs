//! How large a node is: what the caller chooses, and how many bytes follow from it.

use core::mem::{align_of, size_of};
use core::time::Duration;

use motemix_crypto::BoardCurveWithoutTable;
use motemix_directory::{Entry, MAX_NODES};
use motemix_link::sessions::{MAX_CARRIED, PAYLOAD_OVERHEAD};
use motemix_node::{HeaderSlot, MessageSlot, PacketSlot, ReturnSlot};
use motemix_sphinx::geometry::MOTE;
use motemix_sphinx::{Mote, NodeId, Profile};

use crate::handle::NodeHandle;
use crate::status::Status;

/// Packets of motes. Without the table: a program that signs nothing is not to carry it.
pub(crate) type Motes = Mote<BoardCurveWithoutTable>;
/// Their curve.
pub(crate) type MoteCurve = <Motes as Profile>::Curve;

/// Bytes of every packet, and of every datagram where links are not protected.
pub const PACKET_LEN: usize = 280;
/// Bytes of a mote's longest datagram: a packet, protected.
pub const DATAGRAM_LEN: usize = 296;
const _: () = assert!(DATAGRAM_LEN == PACKET_LEN + PAYLOAD_OVERHEAD && DATAGRAM_LEN > MAX_CARRIED);
/// The most bytes of data in a message or a reply.
pub const DATA_LEN: usize = 103;
/// The most characters of a line for motemix_mote_command.
pub const LINE_LEN: usize = 160;
const _: () = assert!(LINE_LEN == motemix_mote::LINE_LEN);
/// No node: the value of `motemix_config.receiver` when none is foreseen.
pub const NO_NODE: u16 = 0xffff;
/// Alignment of the memory of a node, in bytes.
pub const NODE_ALIGN: usize = 8;
/// Bytes for one node of the network.
pub const ENTRY_SIZE: usize = 34;
/// Bytes for one remembered message, in one of two tables.
pub const WINDOW_SIZE: usize = 8;

const _: () = {
    assert!(PACKET_LEN == MOTE.packet_len() && DATA_LEN == MOTE.data_len());
    assert!(align_of::<NodeHandle>() <= NODE_ALIGN && align_of::<PacketSlot<Motes>>() <= NODE_ALIGN);
    // The end of the last table is rounded up to the alignment.
    assert!(size_of::<NodeHandle>() + LOOPS * size_of::<u64>() + NODE_ALIGN <= NODE_BASE_SIZE);
    assert!(size_of::<PacketSlot<Motes>>() + size_of::<u32>() <= PACKET_SIZE);
    assert!(size_of::<MessageSlot<Motes>>() <= MESSAGE_SIZE);
    assert!(size_of::<ReturnSlot<Motes>>() <= RETURN_SIZE);
    assert!(size_of::<HeaderSlot<Motes>>() <= HEADER_SIZE);
    assert!(size_of::<Entry>() == ENTRY_SIZE && size_of::<u64>() == WINDOW_SIZE);
    assert!(NodeId::new(NO_NODE).is_none());
};

/// What is larger on machines with long pointers, which have room for it.
#[cfg(target_pointer_width = "64")]
mod sizes {
    /// Bytes of a node without its tables, at most.
    pub const NODE_BASE_SIZE: usize = 2232;
    /// Bytes of a mote without its tables, at most.
    pub const MOTE_BASE_SIZE: usize = 3704;
    /// Bytes of what makes keys with neighbours, at most.
    pub const NEIGHBOURS_SIZE: usize = 1688;
    /// Bytes for the session with one neighbour, at most.
    pub const SESSION_SIZE: usize = 64;
    /// Bytes for one packet that waits, at most: its slot and its place in the schedule.
    pub const PACKET_SIZE: usize = 388;
    /// Bytes for one message in flight.
    pub const MESSAGE_SIZE: usize = 168;
    /// Bytes for what opens one reply, at most.
    pub const RETURN_SIZE: usize = 152;
    /// Bytes for one finished header, at most.
    pub const HEADER_SIZE: usize = 408;
}

/// The same on boards.
#[cfg(target_pointer_width = "32")]
mod sizes {
    /// A node.
    pub const NODE_BASE_SIZE: usize = 2096;
    /// A mote.
    pub const MOTE_BASE_SIZE: usize = 3320;
    /// Keys with neighbours.
    pub const NEIGHBOURS_SIZE: usize = 1640;
    /// A session.
    pub const SESSION_SIZE: usize = 64;
    /// A packet.
    pub const PACKET_SIZE: usize = 388;
    /// A message.
    pub const MESSAGE_SIZE: usize = 168;
    /// What opens a reply.
    pub const RETURN_SIZE: usize = 144;
    /// A header.
    pub const HEADER_SIZE: usize = 400;
}

pub use sizes::{
    HEADER_SIZE, MESSAGE_SIZE, MOTE_BASE_SIZE, NEIGHBOURS_SIZE, NODE_BASE_SIZE, PACKET_SIZE, RETURN_SIZE,
    SESSION_SIZE,
};

/// Loops under way whose return is counted.
pub(crate) const LOOPS: usize = 4;

/// How much a node keeps. A table that is full refuses; nothing is lost silently.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Packets that wait for their delay, messages that wait for a reply. 1 or more.
    pub packets: u16,
    /// Bytes of the replay filter. An epoch can have 2 packets in 5 bytes; plan for 7 in 20, so
    /// that bursts fit too. What is left is spread over what is left of the epoch; when nothing
    /// is, the node takes in nothing more until the next epoch, but for replies to its own
    /// messages.
    pub replay: u16,
    /// Places of the memory of received messages. Three quarters of them take one message each in
    /// the time for which the network's senders try.
    pub window: u16,
    /// Messages in flight. 1 or more.
    pub messages: u16,
    /// Tries in flight, `messages` or more: with more, a reply to an earlier try counts as well.
    pub returns: u16,
    /// Finished headers. Two are kept for cover, the others make sending quick. 1 or more.
    pub headers: u16,
    /// Nodes of the network, 1 to 16384.
    pub nodes: u16,
    /// Bytes of a network document: about 67 for each node, and 400. A mote needs it; a node, which
    /// keeps no document, has no use for it.
    pub document: u16,
    /// Neighbours with whom a mote has keys at a time, where the network document turns the
    /// protection of links on; with more, the one that was silent longest gives way. 0: it takes
    /// part in no such network, and needs no memory for it. A node has no use for it.
    pub neighbours: u16,
}

impl Limits {
    pub(crate) fn check(&self) -> Result<(), Status> {
        let least = [self.packets, self.messages, self.returns, self.headers, self.nodes];
        if least.contains(&0) || self.returns < self.messages || usize::from(self.nodes) > MAX_NODES {
            return Err(Status::BadLimits);
        }
        Ok(())
    }
}

/// What a node is to do; what all nodes must agree on comes from the network document.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// For how long the application may keep a received message before it replies, in microseconds.
    /// 0: ten seconds.
    pub answer_within_us: u64,
    /// This node's number in the network document; it keeps it from epoch to epoch.
    pub id: u16,
    /// Build headers for this receiver before the first message, or MOTEMIX_NO_NODE. Afterwards
    /// they are built for the receiver of the last message.
    pub receiver: u16,
}

impl Config {
    pub(crate) fn me(&self) -> Result<NodeId, Status> {
        NodeId::new(self.id).ok_or(Status::BadId)
    }

    pub(crate) fn receiver(&self) -> Result<Option<NodeId>, Status> {
        match self.receiver {
            NO_NODE => Ok(None),
            id => NodeId::new(id).map(Some).ok_or(Status::BadId),
        }
    }

    pub(crate) fn answer_within(&self) -> Duration {
        match self.answer_within_us {
            0 => Duration::from_secs(10),
            micros => Duration::from_micros(micros),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::tables::NodePlan;

    fn bound(limits: &Limits) -> usize {
        let times = |count: u16, size| usize::from(count) * size;
        NODE_BASE_SIZE
            + times(limits.packets, PACKET_SIZE)
            + times(limits.messages, MESSAGE_SIZE)
            + times(limits.returns, RETURN_SIZE)
            + times(limits.headers, HEADER_SIZE)
            + times(limits.nodes, ENTRY_SIZE)
            + usize::from(limits.replay)
            + 2 * times(limits.window, WINDOW_SIZE)
    }

    #[test]
    fn the_size_that_c_computes_is_enough_for_all_limits() {
        for packets in [1, 2, 3, 7, 1000] {
            for nodes in 1..20 {
                let limits = Limits {
                    packets,
                    replay: 65,
                    window: 3,
                    messages: 2,
                    returns: 5,
                    headers: 3,
                    nodes,
                    document: 0,
                    neighbours: 0,
                };
                let size = NodePlan::new(&limits).expect("sound limits").size;
                assert!(size <= bound(&limits), "{limits:?} need {size}");
            }
        }
        let most = Limits {
            packets: u16::MAX,
            replay: u16::MAX,
            window: u16::MAX,
            messages: 1,
            returns: 1,
            headers: 1,
            nodes: 16384,
            document: 0,
            neighbours: 0,
        };
        assert!(NodePlan::new(&most).expect("large, and sound").size <= bound(&most));
    }

    #[test]
    fn limits_that_make_no_node_are_refused() {
        let sound = Limits {
            packets: 1,
            replay: 0,
            window: 0,
            messages: 1,
            returns: 1,
            headers: 1,
            nodes: 1,
            document: 0,
            neighbours: 0,
        };
        assert!(NodePlan::new(&sound).is_ok());
        for broken in [
            Limits { packets: 0, ..sound },
            Limits { messages: 0, ..sound },
            Limits { messages: 2, ..sound },
            Limits { headers: 0, ..sound },
            Limits { nodes: 0, ..sound },
            Limits { nodes: 16385, ..sound },
        ] {
            assert_eq!(NodePlan::new(&broken).err(), Some(Status::BadLimits), "{broken:?}");
        }
    }
}
