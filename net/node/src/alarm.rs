//! When a node says that its loops do not come back: a CUSUM test over loops that did and did not.
//!
//! Who drops or holds up packets, or keeps all but his own out of a mix, cannot tell loops from
//! messages, so what he does shows in loops (Danezis and Sassaman, "Heartbeat Traffic to Counter
//! (n-1) Attacks", WPES 2003). Some are lost without him. The test sums up, loop by loop, how much
//! more probable the outcome is under attack than without one, never goes below zero, and raises
//! the alarm at a threshold (Page, "Continuous Inspection Schemes", Biometrika 1954).
//!
//! The false-alarm rate follows from the threshold alone. With a threshold of the logarithm of `n`
//! there are at least `n` loops in the mean until a false alarm, whatever the two shares are
//! (Lorden, "Procedures for Reacting to a Change in Distribution", Annals of Mathematical
//! Statistics 1971, theorem 2), if honest losses are independent and no more frequent than was
//! said.

/// Units in a bit, in which evidence is counted.
const BIT: u32 = 1 << FRACTION;
const FRACTION: u32 = 10;
/// A share of everything.
const ALL: u16 = 1000;

/// What is believed of loops that are lost, and how often a false alarm may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoopTest {
    /// Evidence of a loop that did not come back in time.
    lost: u32,
    /// Evidence against an attack, of one that did.
    returned: u32,
    threshold: u32,
}

impl LoopTest {
    /// What nodes have that are not told otherwise. A mesh of 64 motes on a channel that is nearly
    /// full loses one or two loops in a hundred; attacks that cost less than one in ten are not
    /// noticed.
    pub const USUAL: Self = Self::new(50, 200, 1_000_000);

    /// A test. Without an attacker at most `honest` of 1,000 loops are lost, and then there are
    /// `loops` of them or more between two alarms, in the mean. It is the fastest such test for an
    /// attack that has `attacked` of 1,000 lost.
    ///
    /// # Panics
    /// Unless `0 < honest < attacked < 1000`.
    pub const fn new(honest: u16, attacked: u16, loops: u32) -> Self {
        assert!(0 < honest && honest < attacked && attacked < ALL, "shares of 1,000, in this order");
        // What is rounded is rounded against the alarm.
        Self {
            lost: log2(attacked as u64, honest as u64),
            returned: log2((ALL - honest) as u64, (ALL - attacked) as u64) + 1,
            threshold: log2(if loops > 1 { loops as u64 } else { 2 }, 1) + 1,
        }
    }
}

/// The binary logarithm of a ratio that is no less than one, in units of a [`BIT`], rounded down.
const fn log2(numerator: u64, denominator: u64) -> u32 {
    let mut ratio = ((numerator as u128) << 32) / denominator as u128;
    let mut log = 0;
    while ratio >= 2 << 32 {
        ratio >>= 1;
        log += BIT;
    }
    let mut bit = BIT;
    while bit > 1 {
        bit >>= 1;
        ratio = (ratio * ratio) >> 32;
        if ratio >= 2 << 32 {
            ratio >>= 1;
            log += bit;
        }
    }
    log
}

/// The alarm of one node. It begins at the threshold of its [`LoopTest`], and ends when as much
/// speaks against an attack as spoke for it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LoopAlarm {
    evidence: u32,
    /// A loop has come back: until then a node may be earlier than its network.
    heard: bool,
    sounds: bool,
    /// It has begun or ended, and nobody was told.
    untold: bool,
}

impl LoopAlarm {
    /// No loop was sent yet.
    pub const fn new() -> Self {
        Self { evidence: 0, heard: false, sounds: false, untold: false }
    }

    /// Whether it sounds.
    pub const fn sounds(&self) -> bool {
        self.sounds
    }

    /// Whether a loop has come back: losses before that say nothing.
    pub(crate) const fn has_heard(self) -> bool {
        self.heard
    }

    /// How much speaks for an attack, in per cent of what raises the alarm.
    pub const fn percent(&self, test: &LoopTest) -> u32 {
        self.evidence.saturating_mul(100) / test.threshold
    }

    /// A loop came back in time.
    pub const fn returned(&mut self, test: &LoopTest) {
        self.heard = true;
        self.evidence = self.evidence.saturating_sub(test.returned);
        if self.sounds && self.evidence == 0 {
            (self.sounds, self.untold) = (false, !self.untold);
        }
    }

    /// A loop did not come back in time. Whether the alarm begins.
    pub const fn lost(&mut self, test: &LoopTest) -> bool {
        if !self.heard {
            return false;
        }
        // No more than the threshold, so that it ends as long after a long attack as after a short
        // one.
        self.evidence = self.evidence.saturating_add(test.lost);
        let begins = !self.sounds && self.evidence >= test.threshold;
        if self.evidence > test.threshold {
            self.evidence = test.threshold;
        }
        if begins {
            (self.sounds, self.untold) = (true, !self.untold);
        }
        begins
    }

    /// Whether it has begun or ended since this was asked, and which.
    pub const fn take_change(&mut self) -> Option<bool> {
        if !self.untold {
            return None;
        }
        self.untold = false;
        Some(self.sounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::println;

    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

    const SEED: u64 = 20;

    fn heard(test: &LoopTest) -> LoopAlarm {
        let mut alarm = LoopAlarm::new();
        alarm.returned(test);
        alarm
    }

    /// Loops until the alarm begins, of which so many in 1,000 are lost.
    fn until_alarm(test: &LoopTest, loss: u32, rng: &mut ChaCha20Rng) -> u64 {
        let mut alarm = heard(test);
        for loops in 1.. {
            if rng.next_u32() % 1000 >= loss {
                alarm.returned(test);
            } else if alarm.lost(test) {
                return loops;
            }
        }
        unreachable!("there is no end of loops")
    }

    fn mean_until_alarm(test: &LoopTest, loss: u32, runs: u64) -> u64 {
        let mut rng = ChaCha20Rng::seed_from_u64(SEED);
        (0..runs).map(|_| until_alarm(test, loss, &mut rng)).sum::<u64>() / runs
    }

    #[test]
    fn logarithms_are_rounded_down() {
        assert_eq!((log2(1, 1), log2(2, 1), log2(1 << 20, 1)), (0, BIT, 20 * BIT));
        for (numerator, denominator) in [(4_u32, 3_u32), (200, 50), (950, 800), (999, 998), (1_000_000, 1)] {
            let exact = (f64::from(numerator) / f64::from(denominator)).log2() * f64::from(BIT);
            let found = f64::from(log2(numerator.into(), denominator.into()));
            assert!(found <= exact && exact < found + 1.1, "{numerator}/{denominator}: {found}, {exact}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "27 million loops, and nothing of it is unsafe")]
    fn false_alarms_are_no_more_frequent_than_was_said() {
        for (honest, attacked) in [(10, 100), (50, 200), (200, 400)] {
            let test = LoopTest::new(honest, attacked, 2000);
            let mean = mean_until_alarm(&test, honest.into(), 200);
            println!("seed {SEED}, {honest} and {attacked} of 1,000: {mean} loops until a false alarm");
            assert!(mean > 2000, "{honest}, {attacked}: {mean}");
            // The bound is not reached, because the evidence of one loss leaps over the threshold.
            assert!(mean < 100_000, "{honest}, {attacked}: {mean}");
        }
    }

    #[test]
    fn more_losses_than_were_said_to_be_honest_raise_the_alarm_much_sooner() {
        let test = LoopTest::new(50, 200, 2000);
        assert!(mean_until_alarm(&test, 100, 200) < 1000);
    }

    #[test]
    fn how_many_loops_it_takes_to_notice_an_attack() {
        let (test, losses) = (LoopTest::USUAL, [120, 150, 200, 300, 600, 1000]);
        let means = losses.map(|loss| mean_until_alarm(&test, loss, 400));
        println!("seed {SEED}: {losses:?} of 1,000 lost are noticed after {means:?} loops");
        assert!(means.is_sorted_by(|less, more| less > more), "{means:?}");
        assert_eq!(means[5], 10);
    }

    #[test]
    fn it_is_told_once_and_ends_when_loops_come_back() {
        let (test, mut alarm) = (LoopTest::USUAL, heard(&LoopTest::USUAL));
        let begun = (0..1000).filter(|_| alarm.lost(&test)).count();
        assert_eq!((begun, alarm.take_change(), alarm.take_change()), (1, Some(true), None));
        let loops = (1..1000).find(|_| {
            alarm.returned(&test);
            !alarm.sounds()
        });
        assert_eq!((loops, alarm.take_change(), alarm.take_change()), (Some(81), Some(false), None));
    }

    #[test]
    fn who_was_not_told_of_the_beginning_is_not_told_of_the_end() {
        let (test, mut alarm) = (LoopTest::USUAL, heard(&LoopTest::USUAL));
        while !alarm.lost(&test) {}
        while alarm.sounds() {
            alarm.returned(&test);
        }
        assert_eq!(alarm.take_change(), None);
    }

    #[test]
    fn before_a_loop_has_come_back_the_network_may_not_be_there() {
        let (test, mut alarm) = (LoopTest::USUAL, LoopAlarm::new());
        assert!((0..100).all(|_| !alarm.lost(&test)));
        alarm.returned(&test);
        assert!((0..100).any(|_| alarm.lost(&test)));
    }
}
