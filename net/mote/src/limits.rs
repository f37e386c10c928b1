//! What each board has room for: one constant a board, for its firmware, for the simulator that
//! runs the same code, and for the documents.
//!
//! Full is a state that each table has an outcome for, so a wrong limit loses packets and breaks
//! nothing.

use motemix_crypto::BoardCurve;
use motemix_node::FingerprintBits;
use motemix_sphinx::Mote;

use crate::store::Layout;

/// Packets of a board.
pub type Packets = Mote<BoardCurve>;

/// The tables of a board as built, its flash, and the part that holds them. There will be more of
/// them; a board of one's own begins with the limits of a similar one:
///
/// ```
/// use motemix_mote::limits::{Limits, NRF52840DK};
///
/// const SHED: Limits = {
///     let mut limits = NRF52840DK;
///     limits.board = "shed";
///     limits.packets = 32;
///     limits
/// };
/// motemix_mote::lengths!(Shed = SHED);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// The board's name: that of the thesis' boards, or of QEMU's machine.
    pub board: &'static str,
    /// Packets that wait for their delay, and received messages that wait for a reply.
    pub packets: usize,
    /// Bytes of the replay filter, for the keys of two epochs together.
    pub replay_bytes: usize,
    /// Bits of a fingerprint in it: one valid packet in about 2^(bits - 6) is taken for a replay.
    pub fingerprint_bits: u8,
    /// Places in each of two tables of received messages; three quarters are used in a message's
    /// lifetime.
    pub window: usize,
    /// Messages in flight.
    pub messages: usize,
    /// Tries in flight.
    pub returns: usize,
    /// The header pool.
    pub headers: usize,
    /// Loops under way whose return is counted.
    pub loops: usize,
    /// Nodes of a network.
    pub nodes: usize,
    /// Datagrams that arrive, incomplete ones included.
    pub arrivals: usize,
    /// Datagrams that leave side by side.
    pub departures: usize,
    /// Neighbours with whom this node has keys at a time, where links are protected. When all
    /// places are taken, the neighbour that was silent longest gives way.
    pub neighbours: usize,
    /// Devices whose readings this node checks; 0 if it checks none, and needs no code for that.
    pub devices: usize,
    /// Frames that the radio's interrupt keeps until the run loop takes them.
    pub frames: usize,
    /// Bytes of a network document.
    pub document: usize,
    /// Whether a document can be checked while the node runs: the check needs [`CHECK_STACK`]
    /// besides.
    pub document_while_running: bool,
    /// The store.
    pub flash: FlashLimits,
    /// The part.
    pub part: Part,
}

/// Stack that the check of a document's signatures takes besides what the node and the link take,
/// in bytes.
pub const CHECK_STACK: usize = 8 * 1024;

/// The store's part of a flash, in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlashLimits {
    /// Bytes that are erased at once.
    pub page: u32,
    /// Keys, sequence numbers, address, authorities and network documents.
    pub settings: u32,
    /// Replay tags.
    pub tags: u32,
    /// Messages.
    pub messages: u32,
    /// Own readings that have not been acknowledged; none if the mote signs no readings.
    pub readings: u32,
    /// Devices whose readings this mote checks; none if it checks none.
    pub devices: u32,
}

/// The microcontroller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Bytes of flash.
    pub flash: usize,
    /// Bytes of RAM.
    pub ram: usize,
    /// Cycles a second.
    pub clock_hz: u32,
}

impl FlashLimits {
    /// Bytes of the store.
    pub const fn len(&self) -> u32 {
        (self.settings + self.tags + self.messages + self.readings + self.devices) * self.page
    }

    /// Whether there is no store.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The store's regions, one after the other from `start` on.
    pub const fn layout(&self, start: u32) -> Layout {
        let tags = start + self.settings * self.page;
        let messages = tags + self.tags * self.page;
        let readings = messages + self.messages * self.page;
        let devices = readings + self.readings * self.page;
        let end = start + self.len();
        Layout {
            settings: start..tags,
            tags: tags..messages,
            messages: messages..readings,
            readings: readings..devices,
            devices: devices..end,
        }
    }
}

impl Limits {
    /// All boards.
    pub const ALL: [Self; 6] = [IOTLAB_M3, NRF52840DK, SAMR21_XPRO, MICROBIT, AN385, AN386];

    /// Whether the words that the store keeps of digests say all that a replay filter of so many
    /// bytes looks at.
    ///
    /// They keep twelve bits of the place in a segment, so its number of buckets has to be a power
    /// of two of at most 4,096. A bucket is four fingerprints of 16 bits, and a segment an
    /// eighth of the memory.
    pub const fn has_whole_digests(replay_bytes: usize) -> bool {
        let buckets = replay_bytes / 64;
        buckets.is_power_of_two() && buckets <= 4096
    }

    /// The board of this name.
    pub fn of(board: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|limits| limits.board == board)
    }
}

// A board whose store keeps less than its filter looks at would take packets again after a restart.
const _: () = {
    let mut index = 0;
    while index < Limits::ALL.len() {
        let limits = Limits::ALL[index];
        assert!(limits.fingerprint_bits == FingerprintBits::BOARD.get());
        assert!(Limits::has_whole_digests(limits.replay_bytes));
        index += 1;
    }
};

/// A node of the FIT IoT-LAB testbed: STM32F103REY.
pub const IOTLAB_M3: Limits = Limits {
    board: "iotlab-m3",
    packets: 12,
    replay_bytes: 8192,
    fingerprint_bits: 16,
    // One of nine receivers gets 104 messages on average from 18 nodes with a message every 12 s
    // each, in the ten minutes that it remembers one; three quarters of the places are 204.
    window: 272,
    messages: 4,
    returns: 16,
    headers: 4,
    loops: 8,
    nodes: 64,
    arrivals: 6,
    departures: 1,
    neighbours: 63,
    devices: 8,
    frames: 8,
    document: 4608,
    document_while_running: true,
    flash: FlashLimits { page: 2048, settings: 42, tags: 44, messages: 4, readings: 2, devices: 2 },
    part: Part { flash: 512 * 1024, ram: 64 * 1024, clock_hz: 72_000_000 },
};

/// Nordic's nRF52840 DK. What its RAM has room for goes to packets that wait: they are what a
/// sender hides among. The other tables are as long as many packets with long delays ask for.
pub const NRF52840DK: Limits = Limits {
    board: "nrf52840dk",
    packets: 288,
    replay_bytes: 16_384,
    window: 1792,
    messages: 80,
    returns: 112,
    headers: 6,
    loops: 192,
    nodes: 96,
    neighbours: 95,
    devices: 16,
    document: 6656,
    flash: FlashLimits { page: 4096, settings: 38, tags: 20, messages: 4, readings: 2, devices: 2 },
    part: Part { flash: 1024 * 1024, ram: 256 * 1024, clock_hz: 64_000_000 },
    ..IOTLAB_M3
};

/// Atmel's SAM R21 Xplained Pro: Cortex-M0+, 32 KiB. Its rows of 256 bytes are erased eight at a
/// time.
pub const SAMR21_XPRO: Limits = Limits {
    board: "samr21-xpro",
    packets: 6,
    replay_bytes: 8192,
    window: 48,
    messages: 2,
    returns: 6,
    headers: 3,
    loops: 4,
    nodes: 32,
    arrivals: 4,
    neighbours: 31,
    devices: 0,
    frames: 4,
    document: 2560,
    document_while_running: false,
    flash: FlashLimits { page: 2048, settings: 20, tags: 36, messages: 2, readings: 2, devices: 0 },
    part: Part { flash: 256 * 1024, ram: 32 * 1024, clock_hz: 48_000_000 },
    ..IOTLAB_M3
};

/// The BBC micro:bit: nRF51822, Cortex-M0, 16 KiB.
pub const MICROBIT: Limits = Limits {
    board: "microbit",
    packets: 3,
    replay_bytes: 512,
    window: 16,
    messages: 1,
    returns: 1,
    headers: 1,
    loops: 2,
    nodes: 9,
    // Keys of neighbours take the place of a third.
    arrivals: 2,
    neighbours: 8,
    frames: 2,
    document: 704,
    flash: FlashLimits { page: 1024, settings: 16, tags: 16, messages: 4, readings: 2, devices: 0 },
    part: Part { flash: 256 * 1024, ram: 16 * 1024, clock_hz: 16_000_000 },
    ..SAMR21_XPRO
};

/// ARM's MPS2 board with a Cortex-M3, with the limits of the IoT-LAB M3.
pub const AN385: Limits = Limits {
    board: "an385",
    part: Part { flash: 4 * 1024 * 1024, ram: 4 * 1024 * 1024, clock_hz: 25_000_000 },
    ..IOTLAB_M3
};

/// ARM's MPS2 board with a Cortex-M4, with the limits of the nRF52840.
pub const AN386: Limits = Limits { board: "an386", part: AN385.part, ..NRF52840DK };
