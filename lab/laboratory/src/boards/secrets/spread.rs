//! What of an operation differs from one secret to the next.

use motemix_mcu::Run;
use serde::Serialize;
use std::collections::BTreeSet;

/// In what an operation shows its secrets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Leak {
    /// The number of cycles differs.
    Cycles,
    /// The instructions that are executed differ, or their order.
    Branches,
    /// What is loaded or stored lies elsewhere, or in another order.
    Addresses,
    /// An instruction whose time depends on its operands on this core had other operands, whether
    /// or not that made a difference.
    Operands,
}

impl Leak {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::Branches => "branches",
            Self::Addresses => "addresses",
            Self::Operands => "operands",
        }
    }
}

/// How the runs of one operation with many secrets differ.
#[derive(Clone, Debug, Serialize)]
pub struct Spread {
    pub operation: &'static str,
    pub secrets: usize,
    /// Cycles.
    pub least: u64,
    pub most: u64,
    /// Different numbers of cycles.
    pub distinct: usize,
    /// Different ways through the code.
    pub paths: usize,
    /// Different sequences of addresses.
    pub accesses: usize,
    /// The most instructions of one run whose time depends on their operands on this core. What
    /// these operands are may be public: the length of a message is.
    pub operand_timed: u64,
    /// Different sequences of their operands.
    pub operands: usize,
    /// What it shows.
    pub shows: Vec<Leak>,
    /// What it shows on purpose: the check has to notice that.
    pub control: &'static [Leak],
    /// Whether not even public operands may decide the time of an instruction.
    pub strict: bool,
}

impl Spread {
    /// What was seen in the runs of one operation, at least one.
    pub fn new(operation: &'static str, runs: &[Run], control: &'static [Leak], strict: bool) -> Self {
        let cycles: BTreeSet<_> = runs.iter().map(|run| run.cycles).collect();
        let paths: BTreeSet<_> = runs.iter().map(|run| (run.instructions, run.path)).collect();
        let accesses: BTreeSet<_> = runs.iter().map(|run| (run.loads, run.stores, run.accesses)).collect();
        let operand_timed = runs.iter().map(|run| run.operand_timed).max().unwrap_or(0);
        let operands: BTreeSet<_> = runs.iter().map(|run| (run.operand_timed, run.operands)).collect();
        let shows = [
            (Leak::Cycles, cycles.len() > 1),
            (Leak::Branches, paths.len() > 1),
            (Leak::Addresses, accesses.len() > 1),
            (Leak::Operands, operands.len() > 1),
        ];
        Self {
            operation,
            secrets: runs.len(),
            least: cycles.first().copied().unwrap_or(0),
            most: cycles.last().copied().unwrap_or(0),
            distinct: cycles.len(),
            paths: paths.len(),
            accesses: accesses.len(),
            operand_timed,
            operands: operands.len(),
            shows: shows.into_iter().filter(|(_, is_shown)| *is_shown).map(|(leak, _)| leak).collect(),
            control,
            strict,
        }
    }

    /// Whether it leaks on purpose.
    pub fn is_control(&self) -> bool {
        !self.control.is_empty()
    }

    /// What is wrong, if something is: a leak, or one that was not noticed.
    pub fn fault(&self) -> Option<String> {
        let Self { operation, least, most, operand_timed, .. } = *self;
        if self.is_control() {
            let missed: Vec<_> =
                self.control.iter().filter(|leak| !self.shows.contains(leak)).copied().collect();
            let fault =
                format!("the check does not notice what {operation} leaks on purpose: {}", names(&missed));
            return (!missed.is_empty()).then_some(fault);
        }
        if self.strict && operand_timed > 0 {
            return Some(format!(
                "{operation} executes {operand_timed} instructions whose time depends on operands"
            ));
        }
        (!self.shows.is_empty()).then(|| {
            format!("{operation} shows its secrets in {}, from {least} to {most} cycles", names(&self.shows))
        })
    }
}

/// A list of leaks for people.
pub fn names(leaks: &[Leak]) -> String {
    leaks.iter().map(|leak| leak.name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(runs: &[Run], control: &'static [Leak]) -> Spread {
        Spread::new("operation", runs, control, false)
    }

    #[test]
    fn each_difference_is_a_fault_and_equal_runs_are_none() {
        let run = Run { cycles: 10, instructions: 5, loads: 2, ..Run::default() };
        let spread = of(&[run, run], &[]);
        assert_eq!((spread.fault(), spread.paths, spread.accesses, spread.distinct), (None, 1, 1, 1));
        for (other, leak) in [
            (Run { cycles: 11, ..run }, Leak::Cycles),
            (Run { instructions: 6, ..run }, Leak::Branches),
            (Run { loads: 3, ..run }, Leak::Addresses),
            (Run { operand_timed: 1, ..run }, Leak::Operands),
        ] {
            let spread = of(&[run, other], &[]);
            assert_eq!(spread.shows, [leak]);
            assert!(spread.fault().is_some_and(|fault| fault.contains(leak.name())));
        }
    }

    #[test]
    fn public_operands_may_decide_where_none_are_forbidden() {
        let run = Run { operand_timed: 3, ..Run::default() };
        assert_eq!(Spread::new("mac", &[run, run], &[], false).fault(), None);
        assert!(Spread::new("x25519", &[run, run], &[], true).fault().is_some());
        assert_eq!(Spread::new("x25519", &[Run::default()], &[], true).fault(), None);
    }

    #[test]
    fn a_control_that_shows_less_than_it_leaks_is_a_fault() {
        let [run, longer] = [10, 11].map(|cycles| Run { cycles, ..Run::default() });
        assert_eq!(of(&[run, longer], &[Leak::Cycles]).fault(), None);
        let fault = of(&[run, longer], &[Leak::Cycles, Leak::Branches]).fault().unwrap();
        assert!(fault.contains("branches") && !fault.contains("cycles,"), "{fault}");
        assert!(of(&[run, run], &[Leak::Cycles]).fault().is_some());
    }
}
