//! One processor, threads with fixed priorities: the first that can run does, and the others stand
//! still.

use motemix_air::Instant;
use std::time::Duration;

/// A thread of RIOT's, highest priority first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Thread {
    Interface,
    Sixlowpan,
    Ipv6,
    Udp,
    Sphinx,
}

impl Thread {
    pub const ALL: [Self; 5] = [Self::Interface, Self::Sixlowpan, Self::Ipv6, Self::Udp, Self::Sphinx];
}

/// What is left to compute of what each thread is at.
#[derive(Default)]
pub struct Cpu {
    left: [Option<Duration>; Thread::ALL.len()],
    running: Option<Thread>,
    since: Instant,
    /// All that was computed.
    pub computed: Duration,
}

impl Cpu {
    /// Time has passed.
    pub fn advance(&mut self, now: Instant) {
        let passed = now - self.since;
        self.since = now;
        if let Some(thread) = self.running
            && let Some(left) = &mut self.left[thread as usize]
        {
            *left = left.saturating_sub(passed);
            self.computed += passed;
        }
    }

    /// Gives a thread something to compute.
    pub fn begin(&mut self, thread: Thread, time: Duration) {
        self.left[thread as usize] = Some(time);
    }

    /// What a thread has left of what it is at.
    pub fn left(&self, thread: Thread) -> Option<Duration> {
        self.left[thread as usize]
    }

    /// A thread is through with what it was at.
    pub fn finish(&mut self, thread: Thread) {
        self.left[thread as usize] = None;
    }

    /// From now on this thread runs, or none.
    pub fn run(&mut self, thread: Option<Thread>) {
        self.running = thread;
    }
}
