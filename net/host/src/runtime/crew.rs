//! Threads that process packets for the node's own thread, which alone decides.
//!
//! ```text
//! fair queue ─ batch ─ line ─ any thread: authenticate ─ node: own return, filter, journal
//!                       ┌────────────────────────────────────────────────────────┘
//!                      line ─ any thread: unwrap ─ node: delay queue, messages
//! ```
//!
//! The node's thread does not wait for the others: while they multiply it reads, sends and seals,
//! and when it has nothing else to do it takes work from the line as they do. A thread that has a
//! batch in hand has clones of its mix keys, for one step; once the node has no key of an epoch,
//! those are the last.

mod line;

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use motemix_directory::Epoch;
use motemix_node::{Batch, Instant, Journal, LoopPaths, Node};
use motemix_sphinx::{MixKey, Profile};
use rand_core::CryptoRng;

use super::pace::Pace;
use super::rounds;
use crate::link::FairQueue;
use line::{Done, Line, Work};

/// Batches in the line for each thread: one to begin when the one in hand is done, and one for
/// while the node's thread is elsewhere.
const FOR_EACH: usize = 2;

/// What was done together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CrewCounters {
    /// Batches of more than one packet.
    pub(super) batches: u64,
    /// Packets in them.
    pub(super) batched: u64,
    /// Threads that process packets, the node's own among them.
    pub(super) threads: u64,
}

/// The threads, and batches that are under way between them.
pub(super) struct Crew<P: Profile> {
    pace: Pace,
    line: Arc<Line<P>>,
    threads: Vec<JoinHandle<()>>,
    /// Besides the node's own.
    most_threads: usize,
    keys: Vec<(Epoch, Arc<MixKey>)>,
    spare: Vec<Box<Batch<P>>>,
    /// What has come back, in memory that is used again.
    back: Vec<Done<P>>,
    /// Batches that are in the line, in hand or done.
    under_way: usize,
    counters: CrewCounters,
}

impl<P: Profile + 'static> Crew<P> {
    /// At most so many threads, the caller's among them. They start when there is work for them.
    pub(super) fn new(threads: usize, pace: Pace) -> Self {
        Self {
            pace,
            line: Arc::default(),
            threads: Vec::new(),
            most_threads: threads.saturating_sub(1),
            keys: Vec::new(),
            spare: Vec::new(),
            back: Vec::new(),
            under_way: 0,
            counters: CrewCounters { threads: 1, ..CrewCounters::default() },
        }
    }

    pub(super) const fn counters(&self) -> CrewCounters {
        self.counters
    }

    /// A copy of a mix key that the node has.
    pub(super) fn add_key(&mut self, epoch: Epoch, key: Arc<MixKey>) {
        self.keys.retain(|(other, _)| *other != epoch);
        self.keys.push((epoch, key));
    }

    /// Wipes the copies of keys that the node has no more. A thread that has a clone in hand wipes
    /// it with the step that it is at.
    pub(super) fn keep_keys(&mut self, of: &(impl Iterator<Item = Epoch> + Clone)) {
        self.keys.retain(|(epoch, _)| of.clone().any(|other| other == *epoch));
    }

    /// Waits until another thread has done something.
    pub(super) async fn has_done(&self) {
        self.line.done().await;
    }

    /// Gives the node its share of the datagrams that wait, and takes in what other threads have
    /// done. `true` if there is more to do now.
    pub(super) fn take_in<R: CryptoRng, L: LoopPaths>(
        &mut self,
        node: &mut Node<'_, P, R, L>,
        waiting: &mut FairQueue,
        journal: &mut impl Journal,
        now: impl Fn() -> Instant,
    ) -> bool {
        if self.under_way == 0 && (self.most_threads == 0 || waiting.len() < self.pace.least) {
            let mut batch = self.spare.pop().unwrap_or_default();
            let count = |packets| self.counters.count(packets);
            rounds::take_in(node, waiting, (&mut batch, self.pace, count), journal, now);
            self.spare.push(batch);
            return !waiting.is_empty();
        }
        let others_did = self.take_back(node, journal, &now);
        self.hand_out(node, waiting);
        self.lend_a_hand(others_did, node, journal, &now);
        self.line.waiting() > 0 || (!waiting.is_empty() && self.has_room())
    }

    /// Goes on with what is under way, and begins nothing. `true` if there is more to do now.
    ///
    /// A node that does not read any more calls this: what is under way has keys, which are wiped
    /// when it ends.
    pub(super) fn go_on<R: CryptoRng, L: LoopPaths>(
        &mut self,
        node: &mut Node<'_, P, R, L>,
        journal: &mut impl Journal,
        now: impl Fn() -> Instant,
    ) -> bool {
        let others_did = self.take_back(node, journal, &now);
        self.lend_a_hand(others_did, node, journal, &now);
        self.line.waiting() > 0
    }

    /// Takes in what other threads have done. `true` if there was anything.
    fn take_back<R: CryptoRng, L: LoopPaths>(
        &mut self,
        node: &mut Node<'_, P, R, L>,
        journal: &mut impl Journal,
        now: &impl Fn() -> Instant,
    ) -> bool {
        let mut back = std::mem::take(&mut self.back);
        self.line.take_done(&mut back);
        let others_did = !back.is_empty();
        for done in back.drain(..) {
            self.decide(node, done, journal, now());
        }
        self.back = back;
        others_did
    }

    /// Does one piece of work of the line, if others have done nothing meanwhile: what came back
    /// may have to leave, which goes first.
    fn lend_a_hand<R: CryptoRng, L: LoopPaths>(
        &mut self,
        others_did: bool,
        node: &mut Node<'_, P, R, L>,
        journal: &mut impl Journal,
        now: &impl Fn() -> Instant,
    ) {
        if !others_did && let Some(work) = self.line.take_work() {
            self.decide(node, work.done(), journal, now());
        }
    }

    /// Does what is the node's alone, and puts back into the line what is not done with.
    fn decide<R: CryptoRng, L: LoopPaths>(
        &mut self,
        node: &mut Node<'_, P, R, L>,
        done: Done<P>,
        journal: &mut impl Journal,
        now: Instant,
    ) {
        match done {
            Done::Authentic(batch) => {
                self.line.begin_with(Work::Unwrap(node.admit_batch(now, batch, journal)));
            }
            Done::Unwrapped(batch) => {
                self.spare.push(node.settle_batch(now, batch));
                self.under_way -= 1;
            }
        }
    }

    /// Puts what waits into the line, as far as somebody will soon be free for it.
    fn hand_out<R: CryptoRng, L: LoopPaths>(&mut self, node: &Node<'_, P, R, L>, waiting: &mut FairQueue) {
        while !waiting.is_empty() && self.has_room() {
            let mut batch = self.spare.pop().unwrap_or_default();
            self.counters.count(rounds::fill(&mut batch, waiting, self.pace.most));
            let copy = |epoch| self.keys.iter().find(|(other, _)| *other == epoch).cloned();
            let keys = node.epochs_with_keys().filter_map(copy).collect();
            self.line.end_with(Work::Authenticate(batch, keys));
            self.under_way += 1;
        }
        if self.line.is_short_of_threads() && self.threads.len() < self.most_threads {
            self.start_thread();
        }
    }

    fn has_room(&self) -> bool {
        self.line.waiting() < FOR_EACH * self.most_threads + 1
    }

    fn start_thread(&mut self) {
        let line = Arc::clone(&self.line);
        match thread::Builder::new().name("motemix-packets".to_owned()).spawn(move || line.serve()) {
            Ok(thread) => {
                self.threads.push(thread);
                self.counters.threads += 1;
            }
            Err(error) => {
                tracing::warn!("no further thread processes packets: {error}");
                self.most_threads = self.threads.len();
            }
        }
    }
}

impl CrewCounters {
    fn count(&mut self, packets: usize) {
        if packets > 1 {
            self.batches += 1;
            self.batched += packets as u64;
        }
    }
}

impl<P: Profile> Drop for Crew<P> {
    fn drop(&mut self) {
        self.line.end();
        for thread in self.threads.drain(..) {
            // What it says of a panic has been told by now.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
