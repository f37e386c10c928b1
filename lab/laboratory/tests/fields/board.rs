//! The program for boards that computes, on the stopwatch.

use super::{Element, bytes, words};
use crate::program::lab;
use motemix_mcu::{Core, FlashTiming, Image, Machine, Run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Elements of the program's buffer: `MOST` of `boards/firmware/fields`.
const MOST: usize = 512;
/// Above what any call needs, so that a wrong branch does not run for minutes.
const MOST_INSTRUCTIONS: u64 = 2_000_000_000;

/// What two calls of one function that do as much have to have in common.
type Trace = (u64, u64, motemix_mcu::Trace, u64, u64, motemix_mcu::Trace, u64, motemix_mcu::Trace);

fn trace(run: &Run) -> Trace {
    let Run { cycles, instructions, path, loads, stores, accesses, operand_timed, operands, .. } = *run;
    (cycles, instructions, path, loads, stores, accesses, operand_timed, operands)
}

/// A core with the program for it.
pub(super) struct Board {
    pub core: Core,
    image: Image,
    machine: Machine,
    buffer: u32,
    /// The first call of each function that did so many operations.
    first: BTreeMap<(String, usize), Run>,
}

impl Board {
    /// The core of this board with a program for it, both as the table of programs calls them.
    pub(super) fn new((purpose, name, core): (&str, &str, Core)) -> Self {
        static BUILT: OnceLock<Value> = OnceLock::new();
        let built = BUILT.get_or_init(|| {
            let list = lab(["boards", "build", "fields", "fields-small", "--json"]).succeeds();
            serde_json::from_str(&list).expect("JSON")
        });
        let is_it = |program: &&Value| program["board"] == name && program["purpose"] == purpose;
        let program = built.as_array().expect("a list").iter().find(is_it);
        let path: PathBuf =
            program.expect("a program for that board")["image"].as_str().expect("text").into();
        let image = Image::parse(&std::fs::read(path).expect("the image")).expect("an image");
        Self::of(core, image)
    }

    fn of(core: Core, image: Image) -> Self {
        let mut machine = Machine::new(&image, core, FlashTiming::ZERO_WAIT);
        machine.limit(MOST_INSTRUCTIONS);
        let function = image.function("mote_buffer").expect("the program's buffer");
        let buffer = machine.call(function, [0; 4]).expect("the buffer's place").result;
        Self { core, image, machine, buffer, first: BTreeMap::new() }
    }

    /// The same core with the same program, as it was before any call.
    pub(super) fn another(&self) -> Self {
        Self::of(self.core, self.image.clone())
    }

    /// Changes an instruction of the program.
    pub(super) fn patch(&mut self, address: u32, code: &[u8]) {
        self.machine.write(address, code).expect("code");
    }

    /// So many bytes of the program.
    pub(super) fn code(&self, address: u32, len: usize) -> Vec<u8> {
        let mut code = vec![0; len];
        self.machine.read(address, &mut code).expect("code");
        code
    }

    /// Addresses of the instructions that were executed.
    pub(super) fn executed(&self) -> Vec<u32> {
        self.machine.executed().collect()
    }

    /// Calls a function on all operands, as many at once as there is room for; what it makes of
    /// them takes their place. Each operation has `N` elements.
    ///
    /// # Errors
    /// If a call faults, or if it differs from an earlier one that did as much: in its time, or in
    /// what it executed, loaded and stored.
    pub(super) fn run<const N: usize>(
        &mut self,
        function: &str,
        operands: &mut [[Element; N]],
    ) -> Result<(), String> {
        operands.chunks_mut(MOST / N).try_for_each(|operands| self.same(function, operands))
    }

    /// The same, whatever the calls take.
    ///
    /// # Errors
    /// If a call faults.
    pub(super) fn run_anyhow<const N: usize>(
        &mut self,
        function: &str,
        operands: &mut [[Element; N]],
    ) -> Result<(), String> {
        operands.chunks_mut(MOST / N).try_for_each(|operands| self.call(function, operands).map(|_| ()))
    }

    /// The same with one call for each.
    ///
    /// # Errors
    /// As for [`Self::run`].
    pub(super) fn run_singly<const N: usize>(
        &mut self,
        function: &str,
        operands: &mut [[Element; N]],
    ) -> Result<(), String> {
        operands.chunks_mut(1).try_for_each(|operands| self.same(function, operands))
    }

    fn same<const N: usize>(&mut self, name: &str, operands: &mut [[Element; N]]) -> Result<(), String> {
        let run = self.call(name, operands)?;
        let first = *self.first.entry((name.to_owned(), operands.len())).or_insert(run);
        if trace(&first) == trace(&run) {
            return Ok(());
        }
        Err(format!("{}: {name} is not the same for other operands: {first:?}, then {run:?}", self.core))
    }

    fn call<const N: usize>(&mut self, name: &str, operands: &mut [[Element; N]]) -> Result<Run, String> {
        let function = self.image.function(&format!("mote_{name}")).expect("the function is in the program");
        let input: Vec<u8> = operands.as_flattened().iter().flat_map(bytes).collect();
        self.machine.write(self.buffer, &input).expect("the buffer");
        let run = self.machine.call(function, [operands.len() as u32, 0, 0, 0]);
        let run = run.map_err(|fault| format!("{}: {name}: {fault}", self.core))?;
        if run.result != 0 {
            return Err(format!("{}: {name} did not do its work", self.core));
        }
        let mut output = vec![0; input.len()];
        self.machine.read(self.buffer, &mut output).expect("the buffer");
        let (elements, _) = output.as_chunks::<32>();
        operands.as_flattened_mut().iter_mut().zip(elements).for_each(|(to, from)| *to = words(from));
        Ok(run)
    }

    /// Whether no call that was compared had an instruction whose time depends on its operands.
    pub(super) fn has_no_time_of_operands(&self) -> bool {
        self.first.values().all(|run| run.operand_timed == 0)
    }

    /// What one operation costs, without the loop around it.
    pub(super) fn print_cycles(&self) {
        let single = |name: &str| self.first.get(&(name.to_owned(), 1)).map_or(0, |run| run.cycles);
        let around = single("nothing");
        for name in self.first.iter().filter(|((_, count), _)| *count == 1).map(|((name, _), _)| name) {
            println!("{}: {name} {} cycles", self.core, single(name) - around);
        }
    }
}
