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
    /// The replay filter, shared by two epochs; [`FingerprintBits::packets_of`] tells for how many
    /// packets an epoch should be planned.
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
    /// The header pool. Where the curve has lanes, headers are made in their places in it, so it
    /// should have a few places for each lane.
    pub headers: &'s mut [HeaderSlot<P>],
    /// Loops under way, whose return is counted and whose loss is noticed. One that finds no place
    /// is not watched. With a payload stream they are as many as ticks in half a round trip:
    /// `round trip / (2 · payload_mean)` on average.
    pub loops: &'s mut [u64],
    /// As many as the network has nodes.
    pub nodes: &'s mut [Entry],
}

/// How long the tables of a [`Memory`] are. Each is an array type, so that every length has its
/// name where it is chosen:
///
/// ```
/// # use motemix_node::{Lengths, Memory};
/// /// What the node in the shed has room for.
/// enum Shed {}
///
/// impl Lengths for Shed {
///     type Packets<T> = [T; 12];
///     type Replay<T> = [T; 8192];
///     type Window<T> = [T; 64];
///     type Messages<T> = [T; 4];
///     type Returns<T> = [T; 16];
///     type Headers<T> = [T; 4];
///     type Loops<T> = [T; 8];
///     type Nodes<T> = [T; 64];
/// }
///
/// let mut memory = Memory::<motemix_sphinx::Mote, Shed>::new();
/// assert_eq!(memory.lend().headers.len(), 4);
/// ```
pub trait Lengths {
    /// Packets that wait for their delay, received messages that wait for a reply.
    type Packets<T>: Array<T>;
    /// Bytes of the replay filter, see [`Storage::replay`].
    type Replay<T>: Array<T>;
    /// Each of the two tables of messages received, see [`Storage::window`].
    type Window<T>: Array<T>;
    /// Messages in flight.
    type Messages<T>: Array<T>;
    /// Tries in flight, as many as there are messages at least.
    type Returns<T>: Array<T>;
    /// The header pool.
    type Headers<T>: Array<T>;
    /// Loops under way. As many as packets suit most nodes: a packet that waits here is on
    /// somebody's way, so as many of one's own wait elsewhere.
    type Loops<T>: Array<T>;
    /// As many as the network has nodes.
    type Nodes<T>: Array<T>;
}

/// An array, `[T; LEN]`, and nothing else.
pub trait Array<T>: AsMut<[T]> + private::Sealed {
    /// Its length.
    const LEN: usize;

    /// An array of what `make` makes.
    fn of(make: impl FnMut() -> T) -> Self;
}

impl<T, const LEN: usize> Array<T> for [T; LEN] {
    const LEN: usize = LEN;

    #[expect(clippy::inline_always, reason = "as for `Memory::new`")]
    #[inline(always)]
    fn of(mut make: impl FnMut() -> T) -> Self {
        core::array::from_fn(|_| make())
    }
}

mod private {
    pub trait Sealed {}
    impl<T, const LEN: usize> Sealed for [T; LEN] {}
}

/// The memory of a node whose tables have fixed lengths, as on a board.
pub struct Memory<P: Profile, L: Lengths> {
    packets: L::Packets<PacketSlot<P>>,
    schedule: L::Packets<u32>,
    replay: L::Replay<u8>,
    window: [L::Window<u64>; 2],
    messages: L::Messages<MessageSlot<P>>,
    returns: L::Returns<ReturnSlot<P>>,
    headers: L::Headers<HeaderSlot<P>>,
    loops: L::Loops<u64>,
    nodes: L::Nodes<Entry>,
}

impl<P: Profile, L: Lengths> Memory<P, L> {
    /// Empty tables.
    #[expect(clippy::inline_always, reason = "or they are made beside their place: a kilobyte of stack")]
    #[inline(always)]
    pub fn new() -> Self {
        Self {
            packets: Array::of(PacketSlot::new),
            schedule: Array::of(|| 0),
            replay: Array::of(|| 0),
            window: [Array::of(|| 0), Array::of(|| 0)],
            messages: Array::of(MessageSlot::new),
            returns: Array::of(ReturnSlot::new),
            headers: Array::of(HeaderSlot::new),
            loops: Array::of(|| 0),
            nodes: Array::of(Entry::default),
        }
    }

    /// Lends all of it.
    pub fn lend(&mut self) -> Storage<'_, P> {
        let [window, older_window] = &mut self.window;
        Storage {
            packets: self.packets.as_mut(),
            schedule: self.schedule.as_mut(),
            replay: self.replay.as_mut(),
            fingerprint: FingerprintBits::BOARD,
            window: [window.as_mut(), older_window.as_mut()],
            messages: self.messages.as_mut(),
            returns: self.returns.as_mut(),
            headers: self.headers.as_mut(),
            loops: self.loops.as_mut(),
            nodes: self.nodes.as_mut(),
        }
    }
}

impl<P: Profile, L: Lengths> Default for Memory<P, L> {
    fn default() -> Self {
        Self::new()
    }
}
