//! The memory that a caller lends to a node: whatever a node keeps is here, and nothing grows.

use motemix_crypto::PublicKey;
use motemix_directory::{Entry, Role};
use motemix_sphinx::Profile;

use crate::headers::HeaderSlot;
use crate::messages::{MessageSlot, ReturnSlot};
use crate::paths::NoPaths;
use crate::queue::PacketSlot;
use crate::replay::FingerprintBits;

/// Lent memory. Every length is the caller's choice; a table of no length is always full.
pub struct Storage<'s, P: Profile, L = NoPaths> {
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
    /// Which nodes loops pass, so that it is known through whom they are lost:
    /// [`Paths`](crate::Paths), or [`NoPaths`].
    pub paths: L,
}

/// How long the tables of a [`Memory`] are. Each is an array type, so that every length has its
/// name where it is chosen:
///
/// ```
/// # use motemix_node::{Empty, Lengths, Memory};
/// /// What the node in the shed has room for.
/// enum Shed {}
///
/// impl Lengths for Shed {
///     type Packets<T: Empty> = [T; 12];
///     type Replay<T: Empty> = [T; 8192];
///     type Window<T: Empty> = [T; 64];
///     type Messages<T: Empty> = [T; 4];
///     type Returns<T: Empty> = [T; 16];
///     type Headers<T: Empty> = [T; 4];
///     type Loops<T: Empty> = [T; 8];
///     type Nodes<T: Empty> = [T; 64];
/// }
///
/// let mut memory = Memory::<motemix_sphinx::Mote, Shed>::new();
/// assert_eq!(memory.lend().headers.len(), 4);
/// ```
pub trait Lengths {
    /// Packets that wait for their delay, received messages that wait for a reply.
    type Packets<T: Empty>: Array<T>;
    /// Bytes of the replay filter, see [`Storage::replay`].
    type Replay<T: Empty>: Array<T>;
    /// Each of the two tables of messages received, see [`Storage::window`].
    type Window<T: Empty>: Array<T>;
    /// Messages in flight.
    type Messages<T: Empty>: Array<T>;
    /// Tries in flight, as many as there are messages at least.
    type Returns<T: Empty>: Array<T>;
    /// The header pool.
    type Headers<T: Empty>: Array<T>;
    /// Loops under way. As many as packets suit most nodes: a packet that waits here is on
    /// somebody's way, so as many of one's own wait elsewhere.
    type Loops<T: Empty>: Array<T>;
    /// As many as the network has nodes.
    type Nodes<T: Empty>: Array<T>;
}

/// What a table has in a place that is empty: a constant, so that a table of any length is made
/// where it stays, and not beside its place on a stack that has no room for it twice. The constants
/// here are nothing but zeros, which a program writes down and need not keep a copy of.
pub trait Empty: Sized {
    /// An empty place.
    const EMPTY: Self;
}

impl Empty for u8 {
    const EMPTY: Self = 0;
}

impl Empty for u32 {
    const EMPTY: Self = 0;
}

impl Empty for u64 {
    const EMPTY: Self = 0;
}

impl Empty for Entry {
    const EMPTY: Self = Self { mix_key: PublicKey([0; 32]), role: Role::Mix { layer: 0 } };
}

/// An array, `[T; LEN]`, and nothing else.
pub trait Array<T: Empty>: AsMut<[T]> + private::Sealed {
    /// Its length.
    const LEN: usize;
    /// An array of empty places.
    const EMPTY: Self;
}

impl<T: Empty, const LEN: usize> Array<T> for [T; LEN] {
    const LEN: usize = LEN;
    const EMPTY: Self = [const { T::EMPTY }; LEN];
}

mod private {
    pub trait Sealed {}
    impl<T, const LEN: usize> Sealed for [T; LEN] {}
}

/// The memory of a node whose tables have fixed lengths, as on a board. It remembers no
/// paths of loops.
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
    /// Empty tables: one constant, so that they are made where they stay.
    pub const EMPTY: Self = Self {
        packets: Array::EMPTY,
        schedule: Array::EMPTY,
        replay: Array::EMPTY,
        window: [Array::EMPTY, Array::EMPTY],
        messages: Array::EMPTY,
        returns: Array::EMPTY,
        headers: Array::EMPTY,
        loops: Array::EMPTY,
        nodes: Array::EMPTY,
    };

    /// Empty tables.
    pub const fn new() -> Self {
        Self::EMPTY
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
            paths: NoPaths,
        }
    }
}

impl<P: Profile, L: Lengths> Default for Memory<P, L> {
    fn default() -> Self {
        Self::new()
    }
}
