//! An emulated board.

use super::air::Air;
use super::console::Console;
use super::emulator::Emulator;
use crate::firmware::Program;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// A running board. Dropping it ends it.
pub struct Board {
    pub name: String,
    console: Console,
    emulator: Emulator,
}

impl Board {
    /// Starts the emulator with a new flash, and waits for the board's first word.
    pub fn start(model: &Program, image: &Path, name: &str, root: &Path, air: &Air) -> Result<Self> {
        let folder = root.join("boards").join(name);
        let console = Console::connect(name, &air.console(name))?;
        let machine = model.machine.with_context(|| format!("no emulator has a {}", model.board))?;
        let emulator = Emulator::start(name, machine, image, &air.line(name), &folder)?;
        let mut board = Self { name: name.to_owned(), console, emulator };
        board.console.wait_for("motemix ", &mut || board.emulator.check())?;
        Ok(board)
    }

    /// Types a line, and returns the lines of the answer; the last one is `ok…` or begins with
    /// `last`.
    pub fn ask(&mut self, line: &str, last: &str) -> Result<Vec<String>> {
        self.console.ask(line, last, &mut || self.emulator.check())
    }

    /// What it said by itself since the last call.
    pub fn news(&mut self) -> Result<Vec<String>> {
        self.emulator.check()?;
        Ok(self.console.news())
    }

    /// What it has counted.
    pub fn status(&mut self) -> Result<BTreeMap<String, u64>> {
        let answer = self.ask("status", "ok")?;
        Ok(answer.iter().flat_map(|line| counts(line)).collect())
    }

    /// The memory that its stack may take, and how many bytes of it the stack never reached. The
    /// board stands still from now on.
    pub fn memory(&mut self) -> Result<(Vec<u8>, u64)> {
        let memory = self.emulator.memory()?;
        let unused = self.emulator.unused(&memory)?;
        Ok((memory, unused))
    }
}

/// The same command, to end with this process however that ends. Ctrl-C is for this process alone,
/// which then ends the others in order.
pub fn with_this_process(command: &Command) -> Command {
    use std::os::unix::process::CommandExt;
    let mut bound = Command::new("setpriv");
    bound.args(["--pdeathsig", "KILL", "--"]).arg(command.get_program()).args(command.get_args());
    bound.process_group(0);
    bound
}

/// What a line of a board's status has counted, by names for programs: `headers built 7` as
/// `headers_built`, and of `ok replay tags 23 of 183` both numbers.
fn counts(line: &str) -> Vec<(String, u64)> {
    let named = |line: &str| {
        let (name, count) = line.rsplit_once(' ')?;
        Some((name.replace([' ', '-'], "_"), count.parse().ok()?))
    };
    let line = line.strip_prefix("ok ").unwrap_or(line);
    let Some((tags, most)) = line.split_once(" of ") else { return named(line).into_iter().collect() };
    let tags = named(tags);
    let most = tags.as_ref().and_then(|(name, _)| Some((format!("{name}_most"), most.parse().ok()?)));
    tags.into_iter().chain(most).collect()
}

#[cfg(test)]
mod tests {
    use super::counts;

    #[test]
    fn what_boards_count_has_names_for_programs() {
        let told = |line: &str| -> Vec<_> {
            counts(line).into_iter().map(|(name, count)| format!("{name} {count}")).collect()
        };
        assert_eq!(told("headers built 7"), ["headers_built 7"]);
        assert_eq!(told("dropped no-epoch 2"), ["dropped_no_epoch 2"]);
        assert_eq!(told("ok replay tags 23 of 183"), ["replay_tags 23", "replay_tags_most 183"]);
        assert!(told("datagrams 3 in, 4 out, 0 given up").is_empty());
        assert!(told("ok").is_empty());
    }
}
