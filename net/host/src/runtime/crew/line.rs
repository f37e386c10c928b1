//! Where batches wait for a thread, and those that are done for the node.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use motemix_directory::Epoch;
use motemix_node::Batch;
use motemix_sphinx::{AuthenticBatch, FreshBatch, MixKey, Profile, UnwrappedBatch};
use tokio::sync::Notify;

use motemix_os::memory;

/// One step of a batch.
pub(super) enum Work<P: Profile> {
    /// With the keys to try, likeliest first.
    Authenticate(Box<Batch<P>>, Vec<(Epoch, Arc<MixKey>)>),
    Unwrap(FreshBatch<Box<Batch<P>>>),
}

/// A step that was done.
pub(super) enum Done<P: Profile> {
    Authentic(AuthenticBatch<Box<Batch<P>>>),
    Unwrapped(UnwrappedBatch<Box<Batch<P>>>),
}

impl<P: Profile> Work<P> {
    pub(super) fn done(self) -> Done<P> {
        match self {
            Self::Authenticate(batch, keys) => {
                let candidates = keys.iter().map(|(epoch, key)| (*epoch, &**key));
                Done::Authentic(AuthenticBatch::authenticate(batch, candidates))
            }
            Self::Unwrap(batch) => Done::Unwrapped(batch.unwrap_layers()),
        }
    }
}

/// The line, which all threads share.
pub(super) struct Line<P: Profile> {
    state: Mutex<State<P>>,
    /// For threads without work.
    work_waits: Condvar,
    /// For the node's thread when it sleeps.
    done: Notify,
}

struct State<P: Profile> {
    work: VecDeque<Work<P>>,
    done: Vec<Done<P>>,
    /// Threads without work.
    idle: usize,
    ended: bool,
    /// A thread has panicked.
    broken: bool,
}

impl<P: Profile> Default for Line<P> {
    fn default() -> Self {
        let state = State { work: VecDeque::new(), done: Vec::new(), idle: 0, ended: false, broken: false };
        Self { state: Mutex::new(state), work_waits: Condvar::new(), done: Notify::new() }
    }
}

impl<P: Profile> Line<P> {
    fn state(&self) -> MutexGuard<'_, State<P>> {
        // Nothing under the lock panics half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Work that goes before all other: it began earlier.
    pub(super) fn begin_with(&self, work: Work<P>) {
        let mut state = self.state();
        state.work.push_front(work);
        self.wake(&state);
    }

    /// Work that waits its turn.
    pub(super) fn end_with(&self, work: Work<P>) {
        let mut state = self.state();
        state.work.push_back(work);
        self.wake(&state);
    }

    /// The first piece of work is for the thread that put it here, which is awake.
    fn wake(&self, state: &State<P>) {
        if state.work.len() > 1 && state.idle > 0 {
            self.work_waits.notify_one();
        }
    }

    pub(super) fn take_work(&self) -> Option<Work<P>> {
        self.state().work.pop_front()
    }

    /// Moves what was done to the end of `back`.
    ///
    /// # Panics
    /// If a thread has panicked: its batch would be under way for ever.
    pub(super) fn take_done(&self, back: &mut Vec<Done<P>>) {
        let mut state = self.state();
        assert!(!state.broken, "a thread that processes packets has panicked");
        back.append(&mut state.done);
    }

    /// How much work waits.
    pub(super) fn waiting(&self) -> usize {
        self.state().work.len()
    }

    /// Whether work waits for which nobody is free.
    pub(super) fn is_short_of_threads(&self) -> bool {
        let state = self.state();
        state.work.len() > 1 && state.idle == 0
    }

    /// Waits until something was done by another thread.
    pub(super) async fn done(&self) {
        self.done.notified().await;
    }

    /// Lets the threads end when they have done what they have in hand.
    pub(super) fn end(&self) {
        self.state().ended = true;
        self.work_waits.notify_all();
    }

    /// Does one piece of work after the other until [`end`](Self::end).
    pub(super) fn serve(&self) {
        let _alarm = Alarm(self);
        let mut state = self.state();
        while !state.ended {
            let Some(work) = state.work.pop_front() else {
                state.idle += 1;
                state = self.work_waits.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
                continue;
            };
            drop(state);
            // A thread without work has no key on its stack that may end meanwhile.
            let done = memory::wiped(|| work.done());
            self.state().done.push(done);
            self.done.notify_one();
            state = self.state();
        }
    }
}

/// Tells the node's thread when this one panics.
struct Alarm<'l, P: Profile>(&'l Line<P>);

impl<P: Profile> Drop for Alarm<'_, P> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state().broken = true;
            self.0.done.notify_one();
        }
    }
}
