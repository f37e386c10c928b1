//! The memory of a node that runs. It is on the stack of the functions in `run`, and only while they need it:
//! a board with 16 KiB checks a network document in the same place before.

use motemix_mote::{Entry, Packets, Route};
use motemix_node::{HeaderSlot, MessageSlot, PacketSlot, ReturnSlot, Storage};

/// Digests of received messages, in each of two tables.
const WINDOW: usize = 16;

/// Tables for so many packets that wait, replay tags of an epoch, messages under way, and nodes of a network.
pub(crate) struct Tables<const PACKETS: usize, const TAGS: usize, const MESSAGES: usize, const NODES: usize> {
    packets: [PacketSlot<Packets>; PACKETS],
    schedule: [u32; PACKETS],
    replay: [u64; TAGS],
    window: [[u64; WINDOW]; 2],
    messages: [MessageSlot<Packets>; MESSAGES],
    returns: [ReturnSlot<Packets>; MESSAGES],
    headers: [HeaderSlot<Packets>; MESSAGES],
    loops: [u64; 4],
    nodes: [Entry; NODES],
    routes: [Route; NODES],
}

impl<const PACKETS: usize, const TAGS: usize, const MESSAGES: usize, const NODES: usize>
    Tables<PACKETS, TAGS, MESSAGES, NODES>
{
    /// Empty tables.
    // Not inlined: what it takes to make them must not stay on the stack with them.
    #[inline(never)]
    pub(crate) fn new() -> Self {
        use core::array::from_fn;
        Self {
            packets: from_fn(|_| PacketSlot::new()),
            schedule: [0; PACKETS],
            replay: [0; TAGS],
            window: [[0; WINDOW]; 2],
            messages: from_fn(|_| MessageSlot::new()),
            returns: from_fn(|_| ReturnSlot::new()),
            headers: from_fn(|_| HeaderSlot::new()),
            loops: [0; 4],
            nodes: from_fn(|_| Entry::default()),
            routes: [Route::NONE; NODES],
        }
    }

    /// Lends all of it.
    pub(crate) fn lend(&mut self) -> (Storage<'_, Packets>, &mut [Route]) {
        let [window, older_window] = &mut self.window;
        let storage = Storage {
            packets: &mut self.packets,
            schedule: &mut self.schedule,
            // A node here serves one epoch: it is begun by the second filter, and no other follows.
            replay: [&mut [], &mut self.replay],
            window: [window, older_window],
            messages: &mut self.messages,
            returns: &mut self.returns,
            headers: &mut self.headers,
            loops: &mut self.loops,
            nodes: &mut self.nodes,
        };
        (storage, &mut self.routes)
    }
}
