//! Bounded numbers of connections that nobody can occupy: a new one takes the place of the one that
//! has been idle for longest.

use std::cell::Cell;
use std::rc::Rc;

use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::Instant;

/// Since when a connection waits for its peer; `None` while the peer waits for the node.
pub(crate) type Idle = Rc<Cell<Option<Instant>>>;

/// A connection that is idle from now on.
pub(crate) fn idle_now() -> Idle {
    Rc::new(Cell::new(Some(Instant::now())))
}

/// The connections of one listener.
#[derive(Debug)]
pub(crate) struct Places {
    most: usize,
    taken: Vec<(AbortHandle, Idle)>,
}

impl Places {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, taken: Vec::new() }
    }

    /// Whether another connection has a place. One that is idle is closed for it if necessary.
    pub(crate) fn make_room(&mut self) -> bool {
        self.taken.retain(|(task, _)| !task.is_finished());
        self.taken.len() < self.most || self.close_one()
    }

    /// Closes the connection that has been idle for longest; `false` if none is idle.
    pub(crate) fn close_one(&mut self) -> bool {
        let idle = self.taken.iter().enumerate().filter_map(|(at, (_, since))| Some((since.get()?, at)));
        let Some((_, at)) = idle.min() else { return false };
        self.taken.swap_remove(at).0.abort();
        true
    }

    pub(crate) fn take(&mut self, task: &JoinHandle<()>, idle: Idle) {
        self.taken.push((task.abort_handle(), idle));
    }
}
