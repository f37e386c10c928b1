//! The tables of a board, as long as its limits say, from the heap.

use motemix_directory::Entry;
use motemix_link::stack::{ArrivalSlot, DepartureSlot, StackStorage};
use motemix_mote::Route;
use motemix_mote::limits::Limits;
use motemix_node::{FingerprintBits, HeaderSlot, MessageSlot, NoPaths, PacketSlot, ReturnSlot, Storage};
use motemix_sphinx::Profile;

/// What `motemix_mote::Room` has on a board.
pub(super) struct Memory<P: Profile> {
    packets: Vec<PacketSlot<P>>,
    schedule: Vec<u32>,
    replay: Vec<u8>,
    fingerprint: FingerprintBits,
    window: [Vec<u64>; 2],
    messages: Vec<MessageSlot<P>>,
    returns: Vec<ReturnSlot<P>>,
    headers: Vec<HeaderSlot<P>>,
    loops: Vec<u64>,
    nodes: Vec<Entry>,
    routes: Vec<Route>,
}

impl<P: Profile> Memory<P> {
    pub fn new(limits: &Limits) -> Self {
        Self {
            packets: slots(limits.packets, PacketSlot::new),
            schedule: vec![0; limits.packets],
            replay: vec![0; limits.replay_bytes],
            fingerprint: FingerprintBits::new(limits.fingerprint_bits).unwrap_or(FingerprintBits::BOARD),
            window: [vec![0; limits.window], vec![0; limits.window]],
            messages: slots(limits.messages, MessageSlot::new),
            returns: slots(limits.returns, ReturnSlot::new),
            headers: slots(limits.headers, HeaderSlot::new),
            loops: vec![0; limits.loops],
            nodes: slots(limits.nodes, Entry::default),
            routes: vec![Route::NONE; limits.nodes],
        }
    }

    pub fn lend(&mut self) -> (Storage<'_, P>, &mut [Route]) {
        let [window, older_window] = &mut self.window;
        let storage = Storage {
            packets: &mut self.packets,
            schedule: &mut self.schedule,
            replay: &mut self.replay,
            fingerprint: self.fingerprint,
            window: [window, older_window],
            messages: &mut self.messages,
            returns: &mut self.returns,
            headers: &mut self.headers,
            loops: &mut self.loops,
            nodes: &mut self.nodes,
            paths: NoPaths,
        };
        (storage, &mut self.routes)
    }
}

/// Datagrams that arrive and leave.
pub(super) struct StackMemory {
    arrivals: Vec<ArrivalSlot>,
    arriving: Vec<u8>,
    departures: Vec<DepartureSlot>,
    departing: Vec<u8>,
}

impl StackMemory {
    pub fn new(limits: &Limits, packet: usize) -> Self {
        Self {
            arrivals: vec![ArrivalSlot::FREE; limits.arrivals],
            arriving: vec![0; limits.arrivals * packet],
            departures: vec![DepartureSlot::FREE; limits.departures],
            departing: vec![0; limits.departures * packet],
        }
    }

    pub fn lend(&mut self) -> StackStorage<'_> {
        StackStorage {
            arrivals: &mut self.arrivals,
            arriving: &mut self.arriving,
            departures: &mut self.departures,
            departing: &mut self.departing,
        }
    }
}

fn slots<T>(count: usize, make: impl FnMut() -> T) -> Vec<T> {
    std::iter::repeat_with(make).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::Modelled;

    #[test]
    fn what_is_lent_is_as_long_as_the_limits_of_each_board_say() {
        for limits in Limits::ALL {
            let mut memory = Memory::<motemix_sphinx::Mote<Modelled>>::new(&limits);
            let (storage, routes) = memory.lend();
            let name = limits.board;
            assert_eq!(
                (storage.packets.len(), storage.schedule.len()),
                (limits.packets, limits.packets),
                "{name}"
            );
            assert_eq!(storage.replay.len(), limits.replay_bytes, "{name}");
            assert_eq!(storage.fingerprint.get(), limits.fingerprint_bits, "{name}");
            assert_eq!(storage.window.map(|table| table.len()), [limits.window; 2], "{name}");
            assert_eq!(
                (storage.messages.len(), storage.returns.len()),
                (limits.messages, limits.returns),
                "{name}"
            );
            assert_eq!(
                (storage.headers.len(), storage.loops.len()),
                (limits.headers, limits.loops),
                "{name}"
            );
            assert_eq!((storage.nodes.len(), routes.len()), (limits.nodes, limits.nodes), "{name}");
            let mut memory = StackMemory::new(&limits, 280);
            let stack = memory.lend();
            assert_eq!(
                (stack.arrivals.len(), stack.departures.len()),
                (limits.arrivals, limits.departures),
                "{name}"
            );
        }
    }
}
