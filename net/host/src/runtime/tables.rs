//! The memory that a host lends to its node.

use motemix_crypto::Curve as _;
use motemix_directory::{Entry, MAX_NODES};
use motemix_node::{
    FingerprintBits, HeaderSlot, LoopPath, LoopTally, MessageSlot, PacketSlot, Paths, ReturnSlot, Storage,
};
use motemix_sphinx::Profile;

use crate::config::Limits;

/// Tries of one message that may be under way at a time; later ones take the place of the oldest.
const TRIES: usize = 4;
/// Kinds of cover that have their places in the pool, besides the headers for messages.
const COVERS: usize = 2;
/// Loops under way.
const LOOPS: usize = 256;

/// Tables on the heap, as long as the limits say.
pub(super) struct Tables<P: Profile> {
    packets: Vec<PacketSlot<P>>,
    schedule: Vec<u32>,
    replay: Vec<u8>,
    window: [Vec<u64>; 2],
    messages: Vec<MessageSlot<P>>,
    returns: Vec<ReturnSlot<P>>,
    headers: Vec<HeaderSlot<P>>,
    loops: Vec<u64>,
    nodes: Vec<Entry>,
    paths_of_headers: Vec<LoopPath>,
    paths_of_loops: Vec<LoopPath>,
    tallies: Vec<LoopTally>,
}

impl<P: Profile> Tables<P> {
    pub(super) fn new(limits: &Limits) -> Self {
        let [queue, in_flight, headers] =
            [limits.queue, limits.in_flight, limits.headers].map(|limit| limit as usize);
        let tags = |limit| vec![0; places(limit)];
        let headers = pool(headers, P::Curve::lanes());
        Self {
            packets: slots(queue, PacketSlot::new),
            schedule: vec![0; queue],
            replay: vec![0; replay_bytes(limits.replay_tags)],
            window: [tags(limits.inbox_window), tags(limits.inbox_window)],
            messages: slots(in_flight, MessageSlot::new),
            returns: slots(in_flight * TRIES, ReturnSlot::new),
            headers: slots(headers, HeaderSlot::new),
            loops: vec![0; LOOPS],
            nodes: vec![Entry::default(); MAX_NODES],
            paths_of_headers: vec![LoopPath::NONE; headers],
            paths_of_loops: vec![LoopPath::NONE; LOOPS],
            tallies: vec![LoopTally::NONE; MAX_NODES],
        }
    }

    pub(super) fn lend(&mut self) -> Storage<'_, P, Paths<'_>> {
        let [window, older_window] = &mut self.window;
        Storage {
            packets: &mut self.packets,
            schedule: &mut self.schedule,
            replay: &mut self.replay,
            fingerprint: FingerprintBits::HOST,
            window: [window, older_window],
            messages: &mut self.messages,
            returns: &mut self.returns,
            headers: &mut self.headers,
            loops: &mut self.loops,
            nodes: &mut self.nodes,
            paths: Paths::new(&mut self.paths_of_headers, &mut self.paths_of_loops, &mut self.tallies),
        }
    }
}

/// Places for so many headers for messages, and for each kind of cover as many as are made side by
/// side. Messages have as many as that at least, or their batches would never be full.
fn pool(headers: usize, lanes: usize) -> usize {
    headers.max(lanes) + COVERS * lanes
}

fn slots<T>(count: usize, make: impl Fn() -> T) -> Vec<T> {
    std::iter::repeat_with(make).take(count).collect()
}

/// Memory for an epoch of so many packets.
fn replay_bytes(packets: u32) -> usize {
    FingerprintBits::HOST.bytes_for(packets as usize).expect("24 bits reach beyond 2^28 packets")
}

/// A table takes three quarters of its length.
fn places(tags: u32) -> usize {
    (tags as usize * 4).div_ceil(3)
}
