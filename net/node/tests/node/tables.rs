//! The memory of nodes in these tests: from the heap, for good, as long as a story wants.

use motemix_directory::Entry;
use motemix_node::{
    FingerprintBits, HeaderSlot, LoopPath, LoopTally, MessageSlot, PacketSlot, Paths, ReturnSlot, Storage,
};
use motemix_sphinx::Profile;

/// How long the tables are, with as many loops as packets.
#[derive(Clone, Copy)]
pub struct Tables {
    pub packets: usize,
    pub replay: usize,
    pub window: usize,
    pub messages: usize,
    pub returns: usize,
    pub headers: usize,
    pub nodes: usize,
}

/// Room for whatever a story does.
pub const LARGE: Tables =
    Tables { packets: 64, replay: 65536, window: 256, messages: 16, returns: 64, headers: 6, nodes: 16 };

/// Room for little.
pub const SMALL: Tables =
    Tables { packets: 8, replay: 1024, window: 16, messages: 2, returns: 2, headers: 3, nodes: 16 };

impl Tables {
    /// Lends tables of these lengths.
    pub fn lend<P: Profile>(self) -> Storage<'static, P, Paths<'static>> {
        Storage {
            packets: slots(self.packets, PacketSlot::new),
            schedule: slots(self.packets, || 0),
            replay: slots(self.replay, || 0),
            fingerprint: FingerprintBits::BOARD,
            window: [slots(self.window, || 0), slots(self.window, || 0)],
            messages: slots(self.messages, MessageSlot::new),
            returns: slots(self.returns, ReturnSlot::new),
            headers: slots(self.headers, HeaderSlot::new),
            loops: slots(self.packets, || 0),
            nodes: slots(self.nodes, Entry::default),
            paths: Paths::new(
                slots(self.headers, || LoopPath::NONE),
                slots(self.packets, || LoopPath::NONE),
                slots(self.nodes, || LoopTally::NONE),
            ),
        }
    }
}

fn slots<T>(count: usize, make: impl FnMut() -> T) -> &'static mut [T] {
    std::iter::repeat_with(make).take(count).collect::<Vec<_>>().leak()
}
