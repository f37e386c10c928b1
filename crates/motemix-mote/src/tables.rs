//! The memory of a node that runs, with lengths that are fixed when the program is built. It is on the stack of
//! the functions in `board`, and only while they need it.

use motemix_node::{Memory, Storage};
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

/// Tables as long as a board's [`Limits`](crate::Limits) say; `room!` names the type.
pub struct Room<
    P: Profile,
    const PACKETS: usize,
    const REPLAY: usize,
    const WINDOW: usize,
    const MESSAGES: usize,
    const RETURNS: usize,
    const HEADERS: usize,
    const LOOPS: usize,
    const NODES: usize,
> {
    memory: Memory<P, PACKETS, REPLAY, WINDOW, MESSAGES, RETURNS, HEADERS, NODES, LOOPS>,
    routes: [Route; NODES],
}

/// The type of the tables that a board's limits describe, for packets of a profile.
#[macro_export]
macro_rules! room {
    ($profile:ty, $limits:expr) => {
        $crate::Room<
            $profile,
            { $limits.packets },
            { $limits.replay_bytes },
            { $limits.window },
            { $limits.messages },
            { $limits.returns },
            { $limits.headers },
            { $limits.loops },
            { $limits.nodes },
        >
    };
}

impl<
    P: Profile,
    const PACKETS: usize,
    const REPLAY: usize,
    const WINDOW: usize,
    const MESSAGES: usize,
    const RETURNS: usize,
    const HEADERS: usize,
    const LOOPS: usize,
    const NODES: usize,
> Tables for Room<P, PACKETS, REPLAY, WINDOW, MESSAGES, RETURNS, HEADERS, LOOPS, NODES>
{
    type Profile = P;

    // Not inlined: what it takes to make them must not stay on the stack with them.
    #[inline(never)]
    fn new() -> Self {
        // Of boards whose limits are their own, too.
        const { assert!(Limits::has_whole_digests(REPLAY)) };
        Self { memory: Memory::new(), routes: [Route::NONE; NODES] }
    }

    fn lend(&mut self) -> (Storage<'_, P>, &mut [Route]) {
        (self.memory.lend(), &mut self.routes)
    }
}
