//! A core with its memory, and runs of functions on it.

use crate::cores::Core;
use crate::decode::decode;
use crate::fault::{Fault, FaultKind};
use crate::image::{Function, Image};
use crate::memory::{Memory, Region};
use crate::op::Op;
use crate::profile::{FunctionProfile, Profiler};
use crate::timing::{FlashTiming, Multiplier, Refill, cost};
use crate::trace::Trace;

/// Instructions of a run unless [`Machine::limit`] sets another number: minutes of a board's time.
const DEFAULT_LIMIT: u64 = 20_000_000_000;
/// Where a run returns to. No code can be there: ARM reserves the addresses above for returns from
/// exceptions.
const RETURN: u32 = 0xFFFF_FFFE;

/// What one run cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Run {
    /// R0 at the return.
    pub result: u32,
    /// Cycles from the function's first instruction to its return, both included.
    pub cycles: u64,
    /// Instructions, those skipped in IT blocks included.
    pub instructions: u64,
    /// Deepest stack, in bytes below the stack pointer at the call.
    pub stack: u32,
    /// Words, halfwords and bytes loaded.
    pub loads: u64,
    /// Words, halfwords and bytes stored.
    pub stores: u64,
    /// Multiplications of all kinds.
    pub multiplications: u64,
    /// Branches that were taken: calls and returns too.
    pub branches_taken: u64,
    /// Instructions whose time depends on their operands on this core: long multiplications of a
    /// Cortex-M3, and divisions.
    pub operand_timed: u64,
    /// What these instructions multiplied and divided, in which order. Two factors of 64 K and more
    /// in magnitude are as good as any other two: a long multiplication does not end early then.
    pub operands: Trace,
    /// Which way the run took. Two runs of one function with this and the number of instructions
    /// equal executed the same addresses in the same order.
    pub path: Trace,
    /// Where the run loaded and stored, in which order.
    pub accesses: Trace,
}

/// One core with its memory.
///
/// Memory stays from one call to the next. Registers do not: each call begins with zeros.
#[allow(clippy::struct_excessive_bools)] // the core's flags
pub struct Machine {
    pub(crate) core: Core,
    pub(crate) timing: FlashTiming,
    multiplier: Multiplier,
    pub(crate) refill: Refill,
    pub(crate) memory: Memory,
    /// R0 to R15, then [`crate::op::ZERO`] and [`crate::op::SINK`]; as long as an index of five
    /// bits needs.
    pub(crate) r: [u32; 32],
    /// A value with the sign of the last result.
    pub(crate) n: u32,
    /// A value that is zero if the last result was.
    pub(crate) z: u32,
    pub(crate) c: bool,
    pub(crate) v: bool,
    pub(crate) q: bool,
    /// The four bits that SEL chooses by.
    pub(crate) ge: u32,
    /// `ITSTATE` of the architecture; 0 outside a block.
    pub(crate) it: u8,
    pub(crate) primask: bool,
    /// Whether STREX will succeed.
    pub(crate) exclusive: bool,
    /// S0 to S31.
    pub(crate) s: [u32; 32],
    pub(crate) fpscr: u32,
    pub(crate) run: Run,
    pub(crate) lowest_sp: u32,
    pub(crate) stack_floor: u32,
    pub(crate) stack_top: u32,
    pub(crate) limit: u64,
    /// The line of flash that was fetched last; an odd number is none.
    pub(crate) fetched: u32,
    pub(crate) profiler: Option<Profiler>,
    functions: Vec<Function>,
}

impl Machine {
    /// A core with the memory of `image` as it is when `main` begins: data copied, the rest of RAM
    /// zero.
    ///
    /// The stack begins where the image's symbols say (`_stack_start` and other usual names), or 64
    /// KiB above the static data.
    pub fn new(image: &Image, core: Core, timing: FlashTiming) -> Self {
        let flash = Region::new(image.flash_base, image.flash.clone(), image.flash_writable);
        let ram = Region::new(0x2000_0000, image.ram.clone(), true);
        let memory = Memory { ram, flash, line: !(timing.size() - 1), lines_loaded: 0, last_line: 1 };
        Self {
            core,
            timing,
            multiplier: Multiplier::default(),
            refill: Refill::of(core),
            memory,
            r: [0; 32],
            n: 0,
            z: 1,
            c: false,
            v: false,
            q: false,
            ge: 0,
            it: 0,
            primask: false,
            exclusive: false,
            s: [0; 32],
            fpscr: 0,
            run: Run::default(),
            lowest_sp: image.stack_top,
            stack_floor: image.stack_floor,
            stack_top: image.stack_top,
            limit: DEFAULT_LIMIT,
            fetched: 1,
            profiler: None,
            functions: image.functions().to_vec(),
        }
    }

    /// Chooses the multiplier of a Cortex-M0+; the others have one.
    pub fn multiplier(&mut self, multiplier: Multiplier) {
        self.multiplier = multiplier;
        // What was decoded knows its cost.
        self.memory.flash.forget_all();
        self.memory.ram.forget_all();
    }

    /// Ends runs that would take more instructions than this with [`FaultKind::Limit`].
    pub fn limit(&mut self, instructions: u64) {
        self.limit = instructions;
    }

    /// Follows runs from function to function, which makes them slower; [`Self::profile`] tells the
    /// result.
    pub fn follow(&mut self) {
        self.profiler = Some(Profiler::new(&self.functions));
    }

    /// What each function did in the last run, the most expensive first; empty unless
    /// [`Self::follow`] was called.
    pub fn profile(&self) -> Vec<FunctionProfile> {
        self.profiler.as_ref().map(Profiler::rows).unwrap_or_default()
    }

    /// Addresses of the instructions in flash that were executed since the machine was made, or
    /// since [`Self::write`] changed flash.
    pub fn executed(&self) -> impl Iterator<Item = u32> {
        let flash = &self.memory.flash;
        let places = flash.ops.iter().zip((flash.base..).step_by(2));
        places.filter(|(op, _)| **op != Op::UNDECODED).map(|(_, address)| address)
    }

    /// Calls a function with R0 to R3 and runs it until it returns.
    ///
    /// # Errors
    /// If it does what the core refuses or the model does not know, or does not return within the
    /// limit.
    pub fn call(&mut self, function: &Function, arguments: [u32; 4]) -> Result<Run, Fault> {
        self.r = [0; 32];
        self.r[..4].copy_from_slice(&arguments);
        self.r[13] = self.stack_top;
        self.r[14] = RETURN | 1;
        self.r[15] = 0;
        (self.n, self.z, self.c, self.v, self.q, self.ge, self.it) = (0, 1, false, false, false, 0, 0);
        (self.s, self.fpscr, self.exclusive, self.primask) = ([0; 32], 0, false, false);
        self.run = Run::default();
        self.lowest_sp = self.stack_top;
        self.fetched = 1;
        self.memory.lines_loaded = 0;
        if let Some(profiler) = &mut self.profiler {
            profiler.begin();
        }
        let begin = function.address & !1;
        let observed = self.timing.waits() || self.profiler.is_some();
        let outcome = if observed { self.execute::<true>(begin) } else { self.execute::<false>(begin) };
        if let Some(profiler) = &mut self.profiler {
            profiler.charge(self.run.cycles);
        }
        self.run.result = self.r[0];
        self.run.stack = self.stack_top - self.lowest_sp;
        outcome.map(|()| self.run).map_err(|kind| self.fault(kind, self.r[15].wrapping_sub(4)))
    }

    /// Copies memory out.
    ///
    /// # Errors
    /// If not all of it is memory.
    pub fn read(&self, address: u32, out: &mut [u8]) -> Result<(), Fault> {
        for region in [&self.memory.ram, &self.memory.flash] {
            let begin = address.wrapping_sub(region.base) as usize;
            if let Some(bytes) = region.bytes.get(begin..).and_then(|bytes| bytes.get(..out.len())) {
                out.copy_from_slice(bytes);
                return Ok(());
            }
        }
        Err(self.fault(FaultKind::Load { address }, 0))
    }

    /// Changes memory, flash too.
    ///
    /// # Errors
    /// If not all of it is memory.
    pub fn write(&mut self, address: u32, bytes: &[u8]) -> Result<(), Fault> {
        for region in [&mut self.memory.ram, &mut self.memory.flash] {
            let begin = address.wrapping_sub(region.base) as usize;
            if let Some(place) = region.bytes.get_mut(begin..).and_then(|place| place.get_mut(..bytes.len()))
            {
                place.copy_from_slice(bytes);
                region.forget_all();
                return Ok(());
            }
        }
        Err(self.fault(FaultKind::Store { address }, 0))
    }

    /// The instruction at `pc`, decoded now if it was not; none where the run ends.
    #[cold]
    #[inline(never)]
    pub(crate) fn find(&mut self, pc: u32) -> Result<Option<Op>, FaultKind> {
        if pc == RETURN {
            return Ok(None);
        }
        let (core, multiplier) = (self.core, self.multiplier);
        let refused = FaultKind::Execute { address: pc };
        let first = self.memory.halfword(pc).ok_or(refused)?;
        let second = self.memory.halfword(pc.wrapping_add(2));
        let region = self.memory.region_of(pc).ok_or(refused)?;
        let known = region.ops.get((pc - region.base) as usize / 2).copied();
        if let Some(op) = known.filter(|op| *op != Op::UNDECODED) {
            return Ok(Some(op));
        }
        let mut op = decode(core, pc, first, second);
        op.cost = cost(core, multiplier, &op);
        region.keep(pc, op);
        Ok(Some(op))
    }

    fn fault(&self, kind: FaultKind, address: u32) -> Fault {
        let covers = |function: &&Function| {
            address.wrapping_sub(function.address) < function.size.max(2) && function.address <= address
        };
        let function = self.functions.iter().rev().find(covers);
        let function = function.map(|function| (function.name.clone(), address - function.address));
        Fault { kind, address, function }
    }
}
