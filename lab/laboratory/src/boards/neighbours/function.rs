//! The six functions of IoT-CryptoDiet on the stopwatch, many times each.

use super::published::{FUNCTIONS, PAPER_MILLIWATTS, PaperFunction};
use crate::boards::board::Board;
use crate::boards::measure::good;
use crate::failure::Failure;
use motemix_mcu::{FlashTiming, Image, Machine};
use serde::Serialize;

/// One of the six; `bench_` and its name is the function in the image.
#[derive(Debug)]
pub struct Function {
    pub name: &'static str,
    /// In words.
    pub label: &'static str,
    pub paper: &'static PaperFunction,
}

/// In the order of the paper's tables.
pub static ALL: [Function; 6] = [
    Function { name: "generate", label: "generate a key pair", paper: &FUNCTIONS[0] },
    Function { name: "shared_key", label: "shared key", paper: &FUNCTIONS[1] },
    Function { name: "encrypt", label: "encrypt a block", paper: &FUNCTIONS[2] },
    Function { name: "decrypt", label: "decrypt it", paper: &FUNCTIONS[3] },
    Function { name: "sign", label: "sign", paper: &FUNCTIONS[4] },
    Function { name: "verify", label: "verify", paper: &FUNCTIONS[5] },
];

/// What the runs of a function took; each had other keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Runs {
    pub count: u32,
    pub least: u64,
    pub median: u64,
    pub most: u64,
    /// Bytes, the deepest.
    pub stack: u32,
}

impl Runs {
    /// `None` if there was no run.
    fn of(mut cycles: Vec<u64>, stack: u32) -> Option<Self> {
        cycles.sort_unstable();
        let count = cycles.len();
        // The lower of the two in the middle, so that it is one of the counts.
        let median = *cycles.get(count.checked_sub(1)? / 2)?;
        Some(Self { count: count as u32, least: *cycles.first()?, median, most: *cycles.last()?, stack })
    }
}

/// A function on a board.
#[derive(Debug)]
pub struct Measured {
    pub function: &'static Function,
    pub runs: Runs,
}

impl Measured {
    pub fn seconds(&self, board: &Board) -> f64 {
        board.time(self.runs.median).as_secs_f64()
    }

    /// At the power that the paper takes.
    pub fn millijoules_of_paper(&self, board: &Board) -> f64 {
        self.seconds(board) * PAPER_MILLIWATTS
    }
}

/// Runs each function so often, each time on a machine that was just switched on.
pub fn measure(
    board: &Board,
    image: &Image,
    flash: FlashTiming,
    count: u32,
    done: impl Fn(&str),
) -> Result<Vec<Measured>, Failure> {
    let measure = |function: &'static Function| {
        let (mut cycles, mut stack) = (Vec::new(), 0);
        for run in 1..=count {
            let mut machine = Machine::new(image, board.core, flash);
            let prepare = format!("prepare_{}", function.name);
            if image.function(&prepare).is_some() {
                good(board, image, &mut machine, &prepare, run)?;
            }
            let taken = good(board, image, &mut machine, &format!("bench_{}", function.name), run)?;
            cycles.push(taken.cycles);
            stack = stack.max(taken.stack);
        }
        done(function.label);
        let runs = Runs::of(cycles, stack).ok_or_else(|| Failure::broken("there has to be a run"))?;
        Ok(Measured { function, runs })
    };
    ALL.iter().map(measure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_one_of_the_counts() {
        let runs =
            |cycles: &[u64]| Runs::of(cycles.to_vec(), 0).map(|runs| (runs.least, runs.median, runs.most));
        assert_eq!(runs(&[]), None);
        assert_eq!(runs(&[7]), Some((7, 7, 7)));
        assert_eq!(runs(&[9, 1, 5, 3]), Some((1, 3, 9)));
        assert_eq!(runs(&[9, 1, 5]), Some((1, 5, 9)));
    }
}
