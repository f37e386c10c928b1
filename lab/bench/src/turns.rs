//! Two pieces of work, timed in turns: A B A B … Whatever disturbs the machine disturbs both.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long to go on.
#[derive(Clone, Copy)]
pub struct Effort {
    /// For each comparison.
    pub time: Duration,
    /// Turns of each side, even if the time is up.
    pub least_turns: usize,
}

impl Effort {
    /// Enough for stable minima and medians.
    pub const FULL: Self = Self { time: Duration::from_secs(4), least_turns: 500 };
    /// Enough to see that everything runs.
    pub const QUICK: Self = Self { time: Duration::from_millis(200), least_turns: 20 };
}

/// Work whose preparation is not timed; nor is the end of what it returns.
pub trait Work {
    /// What one turn consumes.
    type Input;
    /// What one turn makes.
    type Output;
    /// Makes the input of one turn.
    fn prepare(&mut self) -> Self::Input;
    /// One turn.
    fn run(&mut self, input: Self::Input) -> Self::Output;
}

/// A pair of closures is work.
impl<I, O, P: FnMut() -> I, R: FnMut(I) -> O> Work for (P, R) {
    type Input = I;
    type Output = O;

    fn prepare(&mut self) -> I {
        self.0()
    }

    fn run(&mut self, input: I) -> O {
        self.1(input)
    }
}

/// The times of one side, in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The shortest turn: what the work costs when nothing disturbs it.
    pub minimum: f64,
    /// The turn in the middle.
    pub median: f64,
}

impl Times {
    /// The time for each, when a turn does so many.
    #[must_use]
    pub fn for_each(self, many: usize) -> Self {
        let many = many as f64;
        Self { minimum: self.minimum / many, median: self.median / many }
    }

    fn of(mut turns: Vec<Duration>) -> Self {
        turns.sort_unstable();
        let micros = |turn: Option<&Duration>| turn.map_or(f64::NAN, |turn| turn.as_secs_f64() * 1e6);
        Self { minimum: micros(turns.first()), median: micros(turns.get(turns.len() / 2)) }
    }
}

/// Lets both sides take turns until the effort is spent.
pub fn take_turns(effort: Effort, mut ours: impl Work, mut theirs: impl Work) -> (Times, Times) {
    // The first turns fill caches and wake the vector units.
    for _ in 0..effort.least_turns / 10 {
        time(&mut ours);
        time(&mut theirs);
    }
    let (mut our_turns, mut their_turns) = (Vec::new(), Vec::new());
    let begin = Instant::now();
    while our_turns.len() < effort.least_turns || begin.elapsed() < effort.time {
        our_turns.push(time(&mut ours));
        their_turns.push(time(&mut theirs));
    }
    (Times::of(our_turns), Times::of(their_turns))
}

fn time<W: Work>(work: &mut W) -> Duration {
    let input = black_box(work.prepare());
    let begin = Instant::now();
    let output = black_box(work.run(input));
    let turn = begin.elapsed();
    drop(output);
    turn
}
