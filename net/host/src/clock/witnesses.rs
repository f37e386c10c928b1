//! What time it is, by two witnesses: a wall clock that others may set, and a clock that nobody
//! can.
//!
//! A mix key that was erased does not come back, so a wall clock that leaps for four seconds must
//! not erase one. `docs/spec/epochs.md` ("What time it is") is normative. In short:
//!
//! - Epochs go by the *steady time*: what the wall clock would show if nobody had set it since the
//!   start. It goes on with the boot clock, and follows a step of the wall clock once that has
//!   lasted.
//! - Keys go by the *assured time*: the time that has passed at least. It starts at what is known
//!   for sure, goes on with the boot clock alone, and is raised by what other nodes do, never by
//!   the wall clock.

use std::fmt;
use std::time::Duration;

use motemix_directory::UnixTime;

/// Both clocks agree while they are closer than this. Time servers step by less than a second.
const TOLERANCE: Duration = Duration::from_secs(5);
/// The steady time follows the wall clock by one part in this many; clocks of computers go wrong by
/// less than a tenth of that, and kernels slew by half of it.
const SLEW: u32 = 1000;
/// A step of the wall clock that lasts for less is never followed.
const SHORTEST_PATIENCE: Duration = Duration::from_mins(1);

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Time since 1970 by the wall clock, which others may set.
    pub wall: Duration,
    /// Time since the machine was started, suspension included; nobody can set it.
    pub boot: Duration,
}

impl Reading {
    fn start_of_boot(self) -> i64 {
        micros(self.wall).saturating_sub(micros(self.boot))
    }
}

/// What the two clocks say of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockVerdict {
    /// The wall clock goes as the boot clock does.
    Agree {
        /// Since when.
        lasted: Duration,
    },
    /// The wall clock was set, or started wrong: it is ahead of the time that epochs go by.
    Ahead {
        /// By how much.
        by: Duration,
        /// When it is believed, if it stays there.
        believed_in: Duration,
    },
    /// As [`ClockVerdict::Ahead`], but behind.
    Behind {
        /// By how much.
        by: Duration,
        /// When it is believed, if it stays there; never, if that time is known to have passed.
        believed_in: Option<Duration>,
    },
}

impl ClockVerdict {
    /// Whether both clocks agree.
    pub const fn agrees(&self) -> bool {
        matches!(self, Self::Agree { .. })
    }
}

impl fmt::Display for ClockVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = Duration::as_secs;
        match self {
            Self::Agree { .. } => f.write_str("the clocks agree"),
            Self::Ahead { by, believed_in } => write!(
                f,
                "the wall clock leapt {} s ahead; epochs go on without it, no key is erased, and it is \
                 believed in {} s; check the time service",
                seconds(by),
                seconds(believed_in)
            ),
            Self::Behind { by, believed_in: Some(believed_in) } => write!(
                f,
                "the wall clock fell {} s behind; epochs go on without it, no key is erased, and it is \
                 believed in {} s; check the time service",
                seconds(by),
                seconds(believed_in)
            ),
            Self::Behind { by, believed_in: None } => write!(
                f,
                "the wall clock shows a time that has passed for sure, {} s ago; it is not believed; set it",
                seconds(by)
            ),
        }
    }
}

/// Keeps the time that epochs and keys go by. All state that outlives the process is in
/// [`Timekeeper::record`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timekeeper {
    last: Reading,
    /// The steady time is the boot clock's plus this, in microseconds.
    steady: i64,
    /// The assured time is the boot clock's plus this, in microseconds.
    assured: i64,
    agreed_since: Option<Duration>,
    step: Option<Step>,
}

/// What is kept of a [`Timekeeper`] from one run to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The boot clock when it was made.
    pub boot: Duration,
    /// The steady time then, in microseconds since 1970.
    pub steady: i64,
    /// The assured time then, in microseconds since 1970.
    pub assured: i64,
    /// For how long both clocks had agreed.
    pub agreed: Duration,
}

/// A step of the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    start_of_boot: i64,
    since: Duration,
}

impl Timekeeper {
    /// Starts at what the wall clock says, unless an earlier run knows better. `same_boot` tells
    /// whether the machine has run ever since.
    pub fn start(now: Reading, earlier: Option<Record>, same_boot: bool) -> Self {
        let wall = now.start_of_boot();
        let fresh = Self { last: now, steady: wall, assured: i64::MIN, agreed_since: None, step: None };
        let Some(mut earlier) = earlier else { return fresh };
        // A file that says otherwise was damaged, and keys must not go for it.
        earlier.assured = earlier.assured.min(earlier.steady);
        let boot = micros(now.boot);
        if same_boot && earlier.boot <= now.boot {
            // The boot clock has gone on, so it is a witness of the time between the two runs as
            // well.
            let then = micros(earlier.boot);
            let agreed = (!earlier.agreed.is_zero()).then(|| earlier.boot.saturating_sub(earlier.agreed));
            return Self {
                steady: earlier.steady.saturating_sub(then),
                assured: earlier.assured.saturating_sub(then),
                agreed_since: agreed,
                ..fresh
            };
        }
        // How long the machine was off is known to nobody but the wall clock; but time does not go
        // back.
        let passed = earlier.steady.saturating_sub(boot);
        let goes_back = wall < passed.saturating_sub(micros(TOLERANCE));
        let steady = if goes_back { passed } else { wall };
        Self { steady, assured: earlier.assured.saturating_sub(boot), ..fresh }
    }

    /// Looks at both clocks. A step of the wall clock is followed once it has lasted for
    /// `patience`, and for a minute at least.
    pub fn observe(&mut self, now: Reading, patience: Duration) -> ClockVerdict {
        let elapsed = now.boot.saturating_sub(self.last.boot);
        self.last = now;
        let wall = now.start_of_boot();
        if wall.abs_diff(self.steady) <= u64::try_from(TOLERANCE.as_micros()).unwrap_or(0) {
            let most = micros(elapsed / SLEW);
            self.steady = self.steady.saturating_add(wall.saturating_sub(self.steady).clamp(-most, most));
            self.step = None;
            let since = *self.agreed_since.get_or_insert(now.boot);
            return ClockVerdict::Agree { lasted: now.boot.saturating_sub(since) };
        }
        self.agreed_since = None;
        let moved = |step: &Step| wall.abs_diff(step.start_of_boot) > TOLERANCE.as_micros() as u64;
        if self.step.as_ref().is_none_or(moved) {
            self.step = Some(Step { start_of_boot: wall, since: now.boot });
        }
        let since = self.step.map_or(now.boot, |step| step.since);
        let left = patience.max(SHORTEST_PATIENCE).saturating_sub(now.boot.saturating_sub(since));
        // What is known to have passed stays so, whatever the wall clock says.
        let passed = wall < self.assured.saturating_sub(micros(TOLERANCE));
        if left.is_zero() && !passed {
            (self.steady, self.step, self.agreed_since) = (wall, None, Some(now.boot));
            return ClockVerdict::Agree { lasted: Duration::ZERO };
        }
        let by = Duration::from_micros(wall.abs_diff(self.steady));
        if wall > self.steady {
            ClockVerdict::Ahead { by, believed_in: left }
        } else {
            ClockVerdict::Behind { by, believed_in: (!passed).then_some(left) }
        }
    }

    /// The steady time, when [`Timekeeper::observe`] was last called: which document is in force.
    pub fn now(&self) -> UnixTime {
        let micros = micros(self.last.boot).saturating_add(self.steady);
        UnixTime(u64::try_from(micros).unwrap_or(0) / 1_000_000)
    }

    /// Whether `time` has passed for sure and both clocks agree: what must not come before it may
    /// be done.
    pub fn has_passed(&self, time: UnixTime) -> bool {
        let assured = micros(self.last.boot).saturating_add(self.assured);
        self.agreed_since.is_some() && assured >= micros(Duration::from_secs(time.0))
    }

    /// `time` is known to have come: the assured time is not before it.
    pub fn assure(&mut self, time: UnixTime) {
        let here = micros(Duration::from_secs(time.0)).saturating_sub(micros(self.last.boot));
        self.assured = self.assured.max(here);
    }

    /// What the next run has to know.
    pub fn record(&self) -> Record {
        let Reading { boot, .. } = self.last;
        let at = |offset: i64| micros(boot).saturating_add(offset);
        let agreed = self.agreed_since.map_or(Duration::ZERO, |since| boot.saturating_sub(since));
        Record { boot, steady: at(self.steady), assured: at(self.assured), agreed }
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);
    /// An arbitrary Monday.
    const START: u64 = 1_763_000_000;

    /// A machine whose clocks the test turns.
    struct Machine {
        boot: u64,
        /// What the wall clock is ahead of the truth, in seconds.
        ahead: i64,
        keeper: Timekeeper,
        verdict: ClockVerdict,
    }

    impl Machine {
        fn start() -> Self {
            Self::with(0, 0, None, false)
        }

        fn with(boot: u64, ahead: i64, earlier: Option<Record>, same_boot: bool) -> Self {
            let mut keeper = Timekeeper::start(reading(boot, ahead), earlier, same_boot);
            let verdict = keeper.observe(reading(boot, ahead), HOUR);
            Self { boot, ahead, keeper, verdict }
        }

        fn run(&mut self, seconds: u64) {
            for _ in 0..seconds {
                self.boot += 1;
                self.verdict = self.keeper.observe(reading(self.boot, self.ahead), HOUR);
            }
        }

        fn truth(&self) -> u64 {
            START + self.boot
        }
    }

    fn reading(boot: u64, ahead: i64) -> Reading {
        let wall = (START + boot).checked_add_signed(ahead).unwrap();
        Reading { wall: Duration::from_secs(wall), boot: Duration::from_secs(boot) }
    }

    #[test]
    fn four_seconds_of_a_clock_ten_minutes_ahead_are_told_and_not_followed() {
        let mut machine = Machine::start();
        machine.run(1000);
        machine.ahead = 600;
        machine.run(4);
        assert!(matches!(machine.verdict, ClockVerdict::Ahead { by, .. } if by.as_secs() == 600));
        assert_eq!(machine.keeper.now(), UnixTime(machine.truth()));
        assert!(!machine.keeper.has_passed(UnixTime(0)), "nothing is erased while they disagree");
        machine.ahead = 0;
        machine.run(1);
        assert!(machine.verdict.agrees());
        assert_eq!(machine.keeper.now(), UnixTime(machine.truth()));
    }

    #[test]
    fn a_step_that_lasts_is_followed_there_and_back() {
        let mut machine = Machine::start();
        for ahead in [7200, 0, -7200] {
            machine.ahead = ahead;
            machine.run(3600);
            assert!(!machine.verdict.agrees());
            machine.run(1);
            assert!(machine.verdict.agrees());
            assert_eq!(machine.keeper.now(), UnixTime(machine.truth().checked_add_signed(ahead).unwrap()));
        }
    }

    #[test]
    fn a_clock_that_wanders_is_never_followed_for_a_step() {
        let mut machine = Machine::start();
        for minute in 1..600 {
            machine.ahead = minute * 100;
            machine.run(60);
        }
        assert!(!machine.verdict.agrees());
        assert_eq!(machine.keeper.now(), UnixTime(machine.truth()));
    }

    #[test]
    fn a_clock_that_is_pushed_a_little_each_second_gains_a_thousandth_at_most() {
        let mut machine = Machine::start();
        for _ in 0..10_000 {
            machine.ahead += 1;
            machine.run(1);
        }
        assert!(machine.keeper.now().0 <= machine.truth() + 10, "{:?}", machine.keeper.now());
    }

    #[test]
    fn whoever_sets_the_wall_clock_cannot_move_the_assured_time() {
        let mut machine = Machine::start();
        machine.keeper.assure(UnixTime(machine.truth()));
        for ahead in [600, 864_000, 40, 31_536_000] {
            machine.ahead = ahead;
            machine.run(8000);
            assert!(machine.verdict.agrees(), "it is believed by now");
            assert!(!machine.keeper.has_passed(UnixTime(machine.truth() + 1)));
            assert!(machine.keeper.has_passed(UnixTime(machine.truth())));
        }
    }

    #[test]
    fn a_time_that_has_passed_for_sure_does_not_come_back() {
        let mut machine = Machine::start();
        machine.keeper.assure(UnixTime(machine.truth()));
        machine.ahead = -7200;
        machine.run(10_000);
        assert!(matches!(machine.verdict, ClockVerdict::Behind { believed_in: None, .. }));
        assert_eq!(machine.keeper.now(), UnixTime(machine.truth()));
    }

    #[test]
    fn a_restart_of_the_program_changes_nothing() {
        let mut machine = Machine::start();
        machine.keeper.assure(UnixTime(machine.truth() - 50));
        machine.run(100);
        let record = machine.keeper.record();
        // It is started again two minutes later, with the clock an hour ahead.
        let mut machine = Machine::with(machine.boot + 120, 3600, Some(record), true);
        assert!(matches!(machine.verdict, ClockVerdict::Ahead { .. }));
        assert_eq!(machine.keeper.now(), UnixTime(machine.truth()));
        machine.ahead = 0;
        machine.run(1);
        assert!(machine.keeper.has_passed(UnixTime(machine.truth() - 50)));
        assert!(!machine.keeper.has_passed(UnixTime(machine.truth() - 49)));
    }

    #[test]
    fn a_machine_that_was_off_for_a_month_believes_its_wall_clock_and_erases_nothing_for_it() {
        let mut machine = Machine::start();
        machine.keeper.assure(UnixTime(machine.truth()));
        machine.run(1000);
        let record = machine.keeper.record();
        let month = 30 * 86_400;
        let machine = Machine::with(5, month, Some(record), false);
        assert!(machine.verdict.agrees());
        assert_eq!(machine.keeper.now(), UnixTime(START + 5 + month.unsigned_abs()));
        assert!(machine.keeper.has_passed(UnixTime(START + 1000)));
        assert!(!machine.keeper.has_passed(UnixTime(START + 1001)), "how long it was off, nobody knows");
    }

    #[test]
    fn a_machine_that_comes_back_with_an_earlier_clock_goes_on_from_what_it_saw_last() {
        let mut machine = Machine::start();
        machine.run(5000);
        let record = machine.keeper.record();
        let machine = Machine::with(5, -2000, Some(record), false);
        assert!(matches!(machine.verdict, ClockVerdict::Behind { .. }));
        assert_eq!(machine.keeper.now(), UnixTime(START + 5000));
    }

    #[test]
    fn nothing_overflows_at_either_end_of_time() {
        for wall in [Duration::ZERO, Duration::MAX] {
            for boot in [Duration::ZERO, Duration::MAX] {
                let reading = Reading { wall, boot };
                let mut keeper = Timekeeper::start(reading, None, false);
                keeper.observe(reading, Duration::MAX);
                keeper.assure(UnixTime(u64::MAX));
                let record = keeper.record();
                for same_boot in [true, false] {
                    let mut again = Timekeeper::start(reading, Some(record), same_boot);
                    again.observe(Reading { wall: Duration::ZERO, boot: Duration::MAX }, Duration::MAX);
                    let _ = (again.now(), again.has_passed(UnixTime(u64::MAX)));
                }
            }
        }
    }
}
