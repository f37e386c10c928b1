//! The memory that a caller lends to a node: whatever a node keeps is here, and nothing grows.

use motemix_directory::Entry;
use motemix_sphinx::Profile;

use crate::headers::HeaderSlot;
use crate::messages::{MessageSlot, ReturnSlot};
use crate::queue::PacketSlot;
use crate::replay::FingerprintBits;

/// Lent memory. Every length is the caller's choice; a table of no length is always full.
pub struct Storage<'s, P: Profile> {
    /// Packets that wait for their delay, received messages that wait for a reply.
    pub packets: &'s mut [PacketSlot<P>],
    /// As many numbers as there are packet slots.
    pub schedule: &'s mut [u32],
    /// The replay filter, shared by two epochs; [`FingerprintBits::packets_of`] tells for how many packets an
    /// epoch should be planned.
    pub replay: &'s mut [u8],
    /// The replay filter's bits: how often a packet that is new is taken for one that was seen.
    pub fingerprint: FingerprintBits,
    /// Two tables of messages received. Each takes three quarters of its length in one lifetime of
    /// a message.
    pub window: [&'s mut [u64]; 2],
    /// Messages in flight.
    pub messages: &'s mut [MessageSlot<P>],
    /// Tries in flight, as many as there are messages at least.
    pub returns: &'s mut [ReturnSlot<P>],
    /// The header pool.
    pub headers: &'s mut [HeaderSlot<P>],
    /// Loops under way, whose return is counted; a later one takes the place of the oldest. With a payload stream
    /// they are as many as ticks in half a round trip: `round trip / (2 · payload_mean)` on average.
    pub loops: &'s mut [u64],
    /// As many as the network has nodes.
    pub nodes: &'s mut [Entry],
}

/// The memory of a node whose tables have fixed lengths, as on a board. `REPLAY` is in bytes.
// As many loops as packets where nobody says: a packet that waits here is on somebody's way, so as
// many of one's own wait elsewhere.
pub struct Memory<
    P: Profile,
    const PACKETS: usize,
    const REPLAY: usize,
    const WINDOW: usize,
    const MESSAGES: usize,
    const RETURNS: usize,
    const HEADERS: usize,
    const NODES: usize,
    const LOOPS: usize = PACKETS,
> {
    packets: [PacketSlot<P>; PACKETS],
    schedule: [u32; PACKETS],
    replay: [u8; REPLAY],
    window: [[u64; WINDOW]; 2],
    messages: [MessageSlot<P>; MESSAGES],
    returns: [ReturnSlot<P>; RETURNS],
    headers: [HeaderSlot<P>; HEADERS],
    loops: [u64; LOOPS],
    nodes: [Entry; NODES],
}

impl<
    P: Profile,
    const PACKETS: usize,
    const REPLAY: usize,
    const WINDOW: usize,
    const MESSAGES: usize,
    const RETURNS: usize,
    const HEADERS: usize,
    const NODES: usize,
    const LOOPS: usize,
> Memory<P, PACKETS, REPLAY, WINDOW, MESSAGES, RETURNS, HEADERS, NODES, LOOPS>
{
    /// Empty tables.
    #[expect(clippy::inline_always, reason = "or they are made beside their place: a kilobyte of stack")]
    #[inline(always)]
    pub fn new() -> Self {
        Self {
            packets: core::array::from_fn(|_| PacketSlot::new()),
            schedule: [0; PACKETS],
            replay: [0; REPLAY],
            window: [[0; WINDOW]; 2],
            messages: core::array::from_fn(|_| MessageSlot::new()),
            returns: core::array::from_fn(|_| ReturnSlot::new()),
            headers: core::array::from_fn(|_| HeaderSlot::new()),
            loops: [0; LOOPS],
            nodes: core::array::from_fn(|_| Entry::default()),
        }
    }

    /// Lends all of it.
    pub fn lend(&mut self) -> Storage<'_, P> {
        let [window, older_window] = &mut self.window;
        Storage {
            packets: &mut self.packets,
            schedule: &mut self.schedule,
            replay: &mut self.replay,
            fingerprint: FingerprintBits::BOARD,
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
    const REPLAY: usize,
    const WINDOW: usize,
    const MESSAGES: usize,
    const RETURNS: usize,
    const HEADERS: usize,
    const NODES: usize,
    const LOOPS: usize,
> Default for Memory<P, PACKETS, REPLAY, WINDOW, MESSAGES, RETURNS, HEADERS, NODES, LOOPS>
{
    fn default() -> Self {
        Self::new()
    }
}
