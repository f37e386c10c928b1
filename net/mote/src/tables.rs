//! The memory of a node that runs, with lengths that are fixed when the program is built. It is on
//! the stack of the functions in `board`, and only while they need it.

use motemix_node::{Array, Empty, Lengths, Memory, Storage};
use motemix_sphinx::Profile;

use crate::limits::Limits;
use crate::network::Route;

/// Tables that a node is lent.
pub trait Tables {
    /// The packets that they hold.
    type Profile: Profile;

    /// Empty tables.
    fn new() -> Self;
    /// Lends all of them: the node's, and where its neighbours are.
    fn lend(&mut self) -> (Storage<'_, Self::Profile>, &mut [Route]);
}

/// Tables of these lengths, for packets of a profile; `lengths!` names those of a board.
pub struct Room<P: Profile, L: Lengths> {
    memory: Memory<P, L>,
    routes: L::Nodes<Route>,
}

/// Names the lengths that a board's [`Limits`](crate::Limits) say, as a type for [`Room`] and for
/// [`Memory`](motemix_node::Memory): `lengths!(pub Shed = LIMITS)`.
#[macro_export]
macro_rules! lengths {
    ($visibility:vis $name:ident = $limits:expr) => {
        #[doc = concat!("The lengths of `", stringify!($limits), "`.")]
        $visibility enum $name {}

        impl $crate::Lengths for $name {
            type Packets<T: $crate::Empty> = [T; $limits.packets];
            type Replay<T: $crate::Empty> = [T; $limits.replay_bytes];
            type Window<T: $crate::Empty> = [T; $limits.window];
            type Messages<T: $crate::Empty> = [T; $limits.messages];
            type Returns<T: $crate::Empty> = [T; $limits.returns];
            type Headers<T: $crate::Empty> = [T; $limits.headers];
            type Loops<T: $crate::Empty> = [T; $limits.loops];
            type Nodes<T: $crate::Empty> = [T; $limits.nodes];
        }
    };
}

impl<P: Profile, L: Lengths> Room<P, L> {
    /// One constant: made where it stays, as [`Memory::EMPTY`] is.
    const EMPTY: Self = Self { memory: Memory::EMPTY, routes: Array::EMPTY };
}

impl Empty for Route {
    const EMPTY: Self = Self::NONE;
}

impl<P: Profile, L: Lengths> Tables for Room<P, L> {
    type Profile = P;

    // Not inlined: what it takes to make them must not stay on the stack with them.
    #[inline(never)]
    fn new() -> Self {
        // Boards whose limits are their own are looked at, too.
        const { assert!(Limits::has_whole_digests(<L::Replay<u8> as Array<u8>>::LEN)) };
        Self::EMPTY
    }

    fn lend(&mut self) -> (Storage<'_, P>, &mut [Route]) {
        (self.memory.lend(), self.routes.as_mut())
    }
}
