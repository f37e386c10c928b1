//! The memory that a caller lends to a node: whatever a node keeps is here, and nothing grows.

use motemix_directory::Entry;
use motemix_sphinx::Profile;

use crate::headers::HeaderSlot;
use crate::messages::{MessageSlot, ReturnSlot};
use crate::queue::PacketSlot;

/// Lent memory. Every length is the caller's choice; a table of no length is always full.
pub struct Storage<'s, P: Profile> {
    /// Packets that wait for their delay, received messages that wait for a reply.
    pub packets: &'s mut [PacketSlot<P>],
    /// As many numbers as there are packet slots.
    pub schedule: &'s mut [u32],
    /// Replay filters of two epochs. A filter takes three quarters of its length in packets.
    pub replay: [&'s mut [u64]; 2],
    /// Two tables of messages received. Each takes three quarters of its length in one lifetime of
    /// a message.
    pub window: [&'s mut [u64]; 2],
    /// Messages in flight.
    pub messages: &'s mut [MessageSlot<P>],
    /// Tries in flight, as many as there are messages at least.
    pub returns: &'s mut [ReturnSlot<P>],
    /// The header pool.
    pub headers: &'s mut [HeaderSlot<P>],
    /// Loops under way whose return is counted.
    pub loops: &'s mut [u64],
    /// As many as the network has nodes.
    pub nodes: &'s mut [Entry],
}

/// The memory of a node whose tables have fixed lengths, as on a board.
pub struct Memory<
    P: Profile,
    const PACKETS: usize,
    const TAGS: usize,
    const WINDOW: usize,
    const MESSAGES: usize,
    const RETURNS: usize,
    const HEADERS: usize,
    const NODES: usize,
> {
    packets: [PacketSlot<P>; PACKETS],
    schedule: [u32; PACKETS],
    replay: [[u64; TAGS]; 2],
    window: [[u64; WINDOW]; 2],
    messages: [MessageSlot<P>; MESSAGES],
    returns: [ReturnSlot<P>; RETURNS],
    headers: [HeaderSlot<P>; HEADERS],
    loops: [u64; 4],
    nodes: [Entry; NODES],
}

impl<
    P: Profile,
    const PACKETS: usize,
    const TAGS: usize,
    const WINDOW: usize,
    const MESSAGES: usize,
    const RETURNS: usize,
    const HEADERS: usize,
    const NODES: usize,
> Memory<P, PACKETS, TAGS, WINDOW, MESSAGES, RETURNS, HEADERS, NODES>
{
    /// Empty tables.
    pub fn new() -> Self {
        Self {
            packets: core::array::from_fn(|_| PacketSlot::new()),
            schedule: [0; PACKETS],
            replay: [[0; TAGS]; 2],
            window: [[0; WINDOW]; 2],
            messages: core::array::from_fn(|_| MessageSlot::new()),
            returns: core::array::from_fn(|_| ReturnSlot::new()),
            headers: core::array::from_fn(|_| HeaderSlot::new()),
            loops: [0; 4],
            nodes: core::array::from_fn(|_| Entry::default()),
        }
    }

    /// Lends all of it.
    pub fn lend(&mut self) -> Storage<'_, P> {
        let [replay, replay_of_neighbour] = &mut self.replay;
        let [window, older_window] = &mut self.window;
        Storage {
            packets: &mut self.packets,
            schedule: &mut self.schedule,
            replay: [replay, replay_of_neighbour],
            window: [window, older_window],
            messages: &mut self.messages,
            returns: &mut self.returns,
            headers: &mut self.headers,
            loops: &mut self.loops,
            nodes: &mut self.nodes,
        }
    }
}

impl<
    P: Profile,
    const PACKETS: usize,
    const TAGS: usize,
    const WINDOW: usize,
    const MESSAGES: usize,
    const RETURNS: usize,
    const HEADERS: usize,
    const NODES: usize,
> Default for Memory<P, PACKETS, TAGS, WINDOW, MESSAGES, RETURNS, HEADERS, NODES>
{
    fn default() -> Self {
        Self::new()
    }
}
