//! What may not grow: `budgets.toml`.

use super::report::grouped;
use crate::failure::Failure;
use crate::report::{self, Table};
use anyhow::Context;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// What was measured of a board, or of a program.
pub trait Measured {
    /// Its name in the budgets: that of a board, or of a program.
    fn budgeted(&self) -> &str;
    /// A figure by its name in the budgets.
    fn figure(&self, name: &str) -> Option<u64>;
}

/// For each board, the most that a figure may be.
pub struct Budgets(BTreeMap<String, BTreeMap<String, u64>>);

/// A figure beside its budget.
#[derive(Debug, Serialize)]
pub struct Verdict {
    pub board: String,
    pub figure: String,
    pub measured: u64,
    pub budget: u64,
}

impl Verdict {
    pub const fn holds(&self) -> bool {
        self.measured <= self.budget
    }
}

impl Budgets {
    pub fn load(path: &Path) -> Result<Self, Failure> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).map_err(|error| Failure::broken(format!("{}: {error}", path.display())))
    }

    fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text).map(Self)
    }

    /// Each budget of the boards that were measured. A budget for a figure that there is not is a
    /// mistake.
    pub fn compare(&self, reports: &[impl Measured]) -> Result<Vec<Verdict>, Failure> {
        let mut verdicts = Vec::new();
        for report in reports {
            for (figure, budget) in self.0.get(report.budgeted()).into_iter().flatten() {
                let measured = report.figure(figure).ok_or_else(|| {
                    Failure::broken(format!(
                        "the budget {}.{figure}: nothing has this name",
                        report.budgeted()
                    ))
                })?;
                verdicts.push(Verdict {
                    board: report.budgeted().to_owned(),
                    figure: figure.clone(),
                    measured,
                    budget: *budget,
                });
            }
        }
        if verdicts.is_empty() {
            return Err(Failure::broken("the budgets name none of the boards that were measured"));
        }
        Ok(verdicts)
    }
}

/// Prints each figure beside its budget.
pub fn print(verdicts: &[Verdict]) -> Result<(), Failure> {
    if verdicts.is_empty() {
        return Ok(());
    }
    report::print(b"\n")?;
    let mut table = Table::new(["board", "figure", "measured", "budget", ""]);
    for verdict in verdicts {
        table.row([
            verdict.board.clone(),
            verdict.figure.clone(),
            grouped(verdict.measured),
            grouped(verdict.budget),
            if verdict.holds() { "within" } else { "BEYOND" }.to_owned(),
        ]);
    }
    Ok(table.print()?)
}

/// Fails if a budget does not hold.
pub fn judge(verdicts: &[Verdict]) -> Result<(), Failure> {
    let beyond: Vec<_> = verdicts
        .iter()
        .filter(|verdict| !verdict.holds())
        .map(|verdict| {
            let Verdict { board, figure, measured, budget } = verdict;
            format!("{board} {figure} is {measured}, its budget {budget}")
        })
        .collect();
    if beyond.is_empty() {
        Ok(())
    } else {
        Err(Failure::failed(format!("beyond the budgets: {}", beyond.join("; "))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boards::board::BOARDS;
    use crate::boards::operation::{Figure, Figures, Operation};
    use crate::boards::report::BoardReport;
    use crate::boards::session::Needs;

    fn report() -> BoardReport {
        let mut mote = Figures::default();
        mote.push(Operation::Forward, Figure { cycles: 500, stack: 10 });
        let needs = Needs { flash: 40_000, ram: 8000, stack: 3000 };
        BoardReport { board: &BOARDS[1], zero_wait: false, mote, needs, baseline: None }
    }

    #[test]
    fn a_figure_on_its_budget_holds_and_one_beyond_does_not() {
        let budgets = Budgets::parse("[iotlab-m3]\nflash = 40000\nforward = 499\n").unwrap();
        let verdicts = budgets.compare(&[report()]).unwrap();
        let held: Vec<_> = verdicts.iter().map(|v| (v.figure.as_str(), v.measured, v.holds())).collect();
        assert_eq!(held, [("flash", 40_000, true), ("forward", 500, false)]);
    }

    #[test]
    fn a_budget_for_nothing_is_a_mistake() {
        for text in ["[iotlab-m3]\nforwards = 1\n", "[another-board]\nflash = 1\n"] {
            assert!(Budgets::parse(text).unwrap().compare(&[report()]).is_err());
        }
    }
}
