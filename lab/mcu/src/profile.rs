//! Where the cycles of a run went.

use crate::image::Function;

/// What one function did in one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionProfile {
    /// Its symbol; `?` for code that no symbol covers.
    pub name: String,
    /// How often it was entered at its first instruction.
    pub calls: u64,
    /// Cycles of its own instructions, without those of the functions that it called.
    pub cycles: u64,
    /// Instructions of its own.
    pub instructions: u64,
    /// Deepest stack while it ran itself, in bytes below the stack pointer with which the run
    /// began.
    pub stack: u32,
}

/// Follows a run from function to function.
pub(crate) struct Profiler {
    functions: Vec<Function>,
    rows: Vec<FunctionProfile>,
    current: usize,
    /// Addresses of the current function.
    span: std::ops::Range<u32>,
    cycles_then: u64,
    entered: bool,
}

impl Profiler {
    pub fn new(functions: &[Function]) -> Self {
        let name = |function: &Function| function.name.clone();
        let names = functions.iter().map(name).chain(["?".to_owned()]);
        let row = |name| FunctionProfile { name, calls: 0, cycles: 0, instructions: 0, stack: 0 };
        let rows = names.map(row).collect();
        Self {
            functions: functions.to_vec(),
            rows,
            current: functions.len(),
            span: 0..0,
            cycles_then: 0,
            entered: true,
        }
    }

    pub fn begin(&mut self) {
        for row in &mut self.rows {
            *row = FunctionProfile {
                name: std::mem::take(&mut row.name),
                calls: 0,
                cycles: 0,
                instructions: 0,
                stack: 0,
            };
        }
        self.span = 0..0;
        self.current = self.functions.len();
        self.cycles_then = 0;
        self.entered = true;
    }

    /// An instruction is about to run; `cycles` and `stack` are those of the run so far.
    pub fn step(&mut self, pc: u32, is_call: bool, cycles: u64, stack: u32) {
        if !self.span.contains(&pc) {
            self.charge(cycles);
            let after = self.functions.partition_point(|function| function.address <= pc);
            let covers = |function: &Function| pc - function.address < function.size.max(2);
            let found = after.checked_sub(1).filter(|at| covers(&self.functions[*at]));
            self.current = found.unwrap_or(self.functions.len());
            self.span = found.map_or(pc..pc + 1, |at| {
                let function = &self.functions[at];
                function.address..function.address.saturating_add(function.size.max(2))
            });
            self.entered = true;
        }
        let row = &mut self.rows[self.current];
        row.instructions += 1;
        row.stack = row.stack.max(stack);
        row.calls += u64::from(self.entered && pc == self.span.start);
        self.entered = is_call;
    }

    /// Gives the cycles since the last change of functions to the current one.
    pub fn charge(&mut self, cycles: u64) {
        self.rows[self.current].cycles += cycles - self.cycles_then;
        self.cycles_then = cycles;
    }

    /// The functions that ran, the most expensive first.
    pub fn rows(&self) -> Vec<FunctionProfile> {
        let mut rows: Vec<_> = self.rows.iter().filter(|row| row.instructions > 0).cloned().collect();
        rows.sort_by(|a, b| b.cycles.cmp(&a.cycles).then_with(|| a.name.cmp(&b.name)));
        rows
    }
}
