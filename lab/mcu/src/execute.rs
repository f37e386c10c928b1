//! The interpreter's loop.

mod alu;
mod dsp;
mod float;
mod media;
mod memory;
mod system;

use crate::fault::FaultKind;
use crate::machine::Machine;
use crate::op::{Kind, LR, Op, PC, QUIET_IN_IT, SETS, SP, WIDE};
use crate::timing::{BOTH_LONG, long_operands, quotient_bits};

/// The register that the load just before this instruction writes, while the two may overlap; this
/// one is none.
pub(super) const NO_LOAD: u8 = 0xFF;

impl Machine {
    /// Runs from `pc` until the return. `OBSERVED` runs wait for flash and are followed from
    /// function to function.
    #[allow(clippy::too_many_lines)] // one line for each kind of instruction
    pub(crate) fn execute<const OBSERVED: bool>(&mut self, mut pc: u32) -> Result<(), FaultKind> {
        let mut loading = NO_LOAD;
        let mut after_narrow = false;
        let mut is_call = true;
        loop {
            let index = (pc.wrapping_sub(self.memory.flash.base) >> 1) as usize;
            let mut op = match self.memory.flash.ops.get(index) {
                Some(op) if *op != Op::UNDECODED => *op,
                _ => match self.find(pc)? {
                    Some(op) => op,
                    None => return Ok(()),
                },
            };
            if OBSERVED {
                self.observe(pc, op.len(), is_call);
                is_call = matches!(op.kind, Kind::Bl | Kind::Blx);
            }
            self.r[PC as usize] = pc.wrapping_add(4);
            if self.run.instructions == self.limit {
                return Err(FaultKind::Limit { instructions: self.limit });
            }
            self.run.instructions += 1;
            let mut next = pc.wrapping_add(op.len());
            let followed_narrow = std::mem::replace(&mut after_narrow, !op.has(WIDE));
            let loaded = std::mem::replace(&mut loading, NO_LOAD);

            if self.it != 0 {
                let condition = self.it >> 4;
                self.it = if self.it & 7 == 0 { 0 } else { self.it & 0xE0 | (self.it << 1 & 0x1F) };
                if !self.passes(condition) {
                    self.run.cycles += 1;
                    if op.cost != 1 {
                        self.run.path.skip(pc);
                    }
                    pc = next;
                    continue;
                }
                if op.has(QUIET_IN_IT) {
                    op.flags &= !SETS;
                }
            }
            self.run.cycles += u64::from(op.cost);

            macro_rules! direct {
                ($target:expr) => {{
                    next = $target;
                    after_narrow = false;
                    self.refill(pc, next, self.refill.direct);
                }};
            }
            macro_rules! indirect {
                ($target:expr) => {{
                    next = $target;
                    after_narrow = false;
                    self.refill(pc, next, self.refill.indirect);
                }};
            }

            match op.kind {
                Kind::AndI => self.logic(&op, self.immediate(&op), |n, m| n & m),
                Kind::AndR => self.logic(&op, self.register(&op), |n, m| n & m),
                Kind::AndS => self.logic(&op, self.shifted(&op), |n, m| n & m),
                Kind::BicI => self.logic(&op, self.immediate(&op), |n, m| n & !m),
                Kind::BicR => self.logic(&op, self.register(&op), |n, m| n & !m),
                Kind::BicS => self.logic(&op, self.shifted(&op), |n, m| n & !m),
                Kind::OrrI => self.logic(&op, self.immediate(&op), |n, m| n | m),
                Kind::OrrR => self.logic(&op, self.register(&op), |n, m| n | m),
                Kind::OrrS => self.logic(&op, self.shifted(&op), |n, m| n | m),
                Kind::OrnI => self.logic(&op, self.immediate(&op), |n, m| n | !m),
                Kind::OrnR => self.logic(&op, self.register(&op), |n, m| n | !m),
                Kind::OrnS => self.logic(&op, self.shifted(&op), |n, m| n | !m),
                Kind::EorI => self.logic(&op, self.immediate(&op), |n, m| n ^ m),
                Kind::EorR => self.logic(&op, self.register(&op), |n, m| n ^ m),
                Kind::EorS => self.logic(&op, self.shifted(&op), |n, m| n ^ m),
                Kind::MovI => self.logic(&op, self.immediate(&op), |_, m| m),
                Kind::MovR => self.logic(&op, self.register(&op), |_, m| m),
                Kind::MovS => self.logic(&op, self.shifted(&op), |_, m| m),
                Kind::MvnI => self.logic(&op, self.immediate(&op), |_, m| !m),
                Kind::MvnR => self.logic(&op, self.register(&op), |_, m| !m),
                Kind::MvnS => self.logic(&op, self.shifted(&op), |_, m| !m),

                Kind::AddI => self.sum(&op, self.n(&op), op.imm, false),
                Kind::AddR => self.sum(&op, self.n(&op), self.m(&op), false),
                Kind::AddS => self.sum(&op, self.n(&op), self.shifted(&op).0, false),
                Kind::AdcI => self.sum(&op, self.n(&op), op.imm, self.c),
                Kind::AdcR => self.sum(&op, self.n(&op), self.m(&op), self.c),
                Kind::AdcS => self.sum(&op, self.n(&op), self.shifted(&op).0, self.c),
                Kind::SbcI => self.sum(&op, self.n(&op), !op.imm, self.c),
                Kind::SbcR => self.sum(&op, self.n(&op), !self.m(&op), self.c),
                Kind::SbcS => self.sum(&op, self.n(&op), !self.shifted(&op).0, self.c),
                Kind::SubI => self.sum(&op, self.n(&op), !op.imm, true),
                Kind::SubR => self.sum(&op, self.n(&op), !self.m(&op), true),
                Kind::SubS => self.sum(&op, self.n(&op), !self.shifted(&op).0, true),
                Kind::RsbI => self.sum(&op, !self.n(&op), op.imm, true),
                Kind::RsbR => self.sum(&op, !self.n(&op), self.m(&op), true),
                Kind::RsbS => self.sum(&op, !self.n(&op), self.shifted(&op).0, true),

                Kind::LslR | Kind::LsrR | Kind::AsrR | Kind::RorR => self.shift_by_register(&op),
                Kind::Movt => self.set(op.d, self.r(op.d) & 0xFFFF | op.imm << 16),

                Kind::Mul => {
                    self.run.multiplications += 1;
                    let product = self.n(&op).wrapping_mul(self.m(&op));
                    self.set(op.d, product);
                    if op.has(SETS) {
                        (self.n, self.z) = (product, product);
                    }
                }
                Kind::Mla | Kind::Mls => {
                    self.run.multiplications += 1;
                    let product = self.n(&op).wrapping_mul(self.m(&op));
                    let a = self.r(op.a);
                    let sum =
                        if op.kind == Kind::Mla { a.wrapping_add(product) } else { a.wrapping_sub(product) };
                    self.set(op.d, sum);
                }
                Kind::Umull | Kind::Umlal | Kind::Umaal => {
                    let (n, m) = (self.n(&op), self.m(&op));
                    let (high, low) = (self.r(op.d), self.r(op.a));
                    let addend = match op.kind {
                        Kind::Umull => 0,
                        Kind::Umlal => u64::from(high) << 32 | u64::from(low),
                        _ => u64::from(high) + u64::from(low),
                    };
                    self.long_product(&op, (u64::from(n) * u64::from(m)).wrapping_add(addend));
                    self.end_early(n, m, long_operands(false, n, m));
                }
                Kind::Smull | Kind::Smlal => {
                    let (n, m) = (self.n(&op), self.m(&op));
                    let (high, low) = (self.r(op.d), self.r(op.a));
                    let addend =
                        if op.kind == Kind::Smull { 0 } else { u64::from(high) << 32 | u64::from(low) };
                    let product = (i64::from(n as i32) * i64::from(m as i32)) as u64;
                    self.long_product(&op, product.wrapping_add(addend));
                    self.end_early(n, m, long_operands(true, n, m));
                }
                Kind::Udiv => {
                    let (n, m) = (self.n(&op), self.m(&op));
                    self.set(op.d, n.checked_div(m).unwrap_or(0));
                    self.take_time_of(n, m, quotient_bits(n, m));
                }
                Kind::Sdiv => {
                    let (n, m) = (self.n(&op) as i32, self.m(&op) as i32);
                    self.set(op.d, if m == 0 { 0 } else { n.wrapping_div(m) as u32 });
                    let cycles = quotient_bits(n.unsigned_abs(), m.unsigned_abs());
                    self.take_time_of(n as u32, m as u32, cycles);
                }
                Kind::Sxtb => self.extend(&op, |m| m as i8 as u32),
                Kind::Sxth => self.extend(&op, |m| m as i16 as u32),
                Kind::Uxtb => self.extend(&op, |m| m & 0xFF),
                Kind::Uxth => self.extend(&op, |m| m & 0xFFFF),

                Kind::LdrI | Kind::LdrR | Kind::LdrX => {
                    loading = self.load_single(&op, loaded, Self::load_word)?;
                }
                Kind::LdrhI | Kind::LdrhR | Kind::LdrhX => {
                    loading = self.load_single(&op, loaded, Self::load_half)?;
                }
                Kind::LdrbI | Kind::LdrbR | Kind::LdrbX => {
                    loading = self.load_single(&op, loaded, Self::load_byte)?;
                }
                Kind::LdrshI | Kind::LdrshR | Kind::LdrshX => {
                    let load = |machine: &mut Self, address| Ok(machine.load_half(address)? as i16 as u32);
                    loading = self.load_single(&op, loaded, load)?;
                }
                Kind::LdrsbI | Kind::LdrsbR | Kind::LdrsbX => {
                    let load = |machine: &mut Self, address| Ok(machine.load_byte(address)? as i8 as u32);
                    loading = self.load_single(&op, loaded, load)?;
                }
                Kind::StrI | Kind::StrR | Kind::StrX => self.store_single(&op, loaded, Self::store_word)?,
                Kind::StrhI | Kind::StrhR | Kind::StrhX => {
                    self.store_single(&op, loaded, Self::store_half)?
                }
                Kind::StrbI | Kind::StrbR | Kind::StrbX => {
                    self.store_single(&op, loaded, Self::store_byte)?
                }
                Kind::LdrPcI | Kind::LdrPcR | Kind::LdrPcX => {
                    self.load_single(&op, NO_LOAD, Self::load_word)?;
                    indirect!(Self::thumb(self.r(PC))?);
                }
                Kind::LdmIa | Kind::LdmDb => {
                    self.load_multiple(&op)?;
                    if op.imm >> PC != 0 {
                        indirect!(Self::thumb(self.r(PC))?);
                    }
                }
                Kind::StmIa | Kind::StmDb => self.store_multiple(&op)?,
                Kind::Ldrd | Kind::Strd => self.transfer_dual(&op)?,
                Kind::Ldrex => self.load_exclusive(&op)?,
                Kind::Strex => self.store_exclusive(&op)?,
                Kind::Clrex => self.exclusive = false,

                Kind::B => direct!(op.imm),
                Kind::Bcond => {
                    if self.passes(op.a) {
                        direct!(op.imm);
                    }
                }
                Kind::Bl => {
                    self.set(LR, next | 1);
                    direct!(op.imm);
                }
                Kind::Bx => indirect!(Self::thumb(self.m(&op))?),
                Kind::Blx => {
                    let target = Self::thumb(self.m(&op))?;
                    self.set(LR, next | 1);
                    indirect!(target);
                }
                Kind::Cbz | Kind::Cbnz => {
                    if (self.n(&op) == 0) == (op.kind == Kind::Cbz) {
                        direct!(op.imm);
                    }
                }
                Kind::Tbb | Kind::Tbh => indirect!(self.table_branch(&op)?),
                Kind::MovPc => indirect!(self.m(&op) & !1),
                Kind::AddPc => indirect!(pc.wrapping_add(4).wrapping_add(self.m(&op)) & !1),
                Kind::It => {
                    self.it = op.imm as u8;
                    // Folded into a 16-bit instruction before it.
                    self.run.cycles -= u64::from(followed_narrow);
                }
                _ => self.execute_rare(&op)?,
            }
            if OBSERVED {
                self.wait_for_data();
            }
            if self.r[SP as usize] < self.lowest_sp {
                self.grow_stack()?;
            }
            pc = next;
        }
    }

    /// What compilers seldom generate.
    #[inline(never)]
    fn execute_rare(&mut self, op: &Op) -> Result<(), FaultKind> {
        match op.kind {
            Kind::Rev | Kind::Rev16 | Kind::Revsh | Kind::Rbit | Kind::Clz => self.rearrange(op),
            Kind::Bfi | Kind::Ubfx | Kind::Sbfx => self.bit_field(op),
            Kind::Ssat | Kind::Usat | Kind::Ssat16 | Kind::Usat16 => self.saturate(op),
            Kind::Nop | Kind::Barrier | Kind::Cps | Kind::Mrs | Kind::Msr => self.system(op)?,
            Kind::Bkpt => return Err(FaultKind::Breakpoint { number: op.imm }),
            Kind::Svc => return Err(FaultKind::SupervisorCall { number: op.imm }),
            Kind::FloatArithmetic => return Err(FaultKind::FloatArithmetic),
            Kind::Undefined => return Err(FaultKind::Undefined { code: op.imm }),
            Kind::Parallel | Kind::Sel | Kind::Pkh | Kind::Qadd | Kind::Sxtb16 | Kind::Uxtb16 => {
                self.media(op)
            }
            Kind::Usada8
            | Kind::Smlaxy
            | Kind::Smlaw
            | Kind::Smlad
            | Kind::Smlsd
            | Kind::Smmla
            | Kind::Smmls
            | Kind::Smlalxy
            | Kind::Smlald
            | Kind::Smlsld => self.multiply_halves(op),
            _ => self.float(op)?,
        }
        Ok(())
    }

    /// Charges a taken branch with the refilling of the pipeline.
    #[inline(always)]
    fn refill(&mut self, from: u32, target: u32, cycles: u32) {
        self.run.branches_taken += 1;
        self.run.path.branch(from, target);
        self.run.cycles += u64::from(cycles);
        if target & 2 != 0 && self.refill.unaligned != 0 {
            let wide = self.memory.halfword(target).is_some_and(|first| first >> 11 >= 0b11101);
            self.run.cycles += u64::from(if wide { self.refill.unaligned } else { 0 });
        }
    }

    fn thumb(address: u32) -> Result<u32, FaultKind> {
        if address & 1 == 0 { Err(FaultKind::NotThumb { address }) } else { Ok(address & !1) }
    }

    /// Only the multiplier of a Cortex-M3 ends early.
    #[inline(always)]
    fn end_early(&mut self, n: u32, m: u32, cycles: u32) {
        if self.core == crate::Core::M3 {
            // All pairs of long operands take one time, the longest, and count as the same pair.
            let (n, m) = if cycles == BOTH_LONG { (u32::MAX, u32::MAX) } else { (n, m) };
            self.take_time_of(n, m, cycles);
        }
    }

    /// Charges what operands add to the time of an instruction.
    #[inline(always)]
    fn take_time_of(&mut self, n: u32, m: u32, cycles: u32) {
        self.run.operand_timed += 1;
        self.run.operands.operands(n, m);
        self.run.cycles += u64::from(cycles);
    }

    fn long_product(&mut self, op: &Op, product: u64) {
        self.run.multiplications += 1;
        self.set(op.a, product as u32);
        self.set(op.d, (product >> 32) as u32);
    }

    #[cold]
    fn grow_stack(&mut self) -> Result<(), FaultKind> {
        let sp = self.r(SP);
        if sp < self.stack_floor {
            return Err(FaultKind::StackOverflow { sp, floor: self.stack_floor });
        }
        self.lowest_sp = sp;
        Ok(())
    }

    /// Waits for the lines of flash that `len` bytes of code are in, and tells the profiler where
    /// the run is.
    fn observe(&mut self, pc: u32, len: u32, is_call: bool) {
        if let Some(profiler) = &mut self.profiler {
            let depth = self.stack_top - self.lowest_sp.min(self.stack_top);
            let now = self.stack_top.wrapping_sub(self.r[SP as usize]);
            profiler.step(pc, is_call, self.run.cycles, now.min(depth));
        }
        if !self.timing.waits()
            || pc.wrapping_sub(self.memory.flash.base) as usize >= self.memory.flash.bytes.len()
        {
            return;
        }
        for address in [pc, pc.wrapping_add(len - 1)] {
            let line = self.timing.line(address);
            if line == self.fetched {
                continue;
            }
            let is_next = self.fetched & 1 == 0 && line == self.fetched.wrapping_add(self.timing.size());
            self.run.cycles += u64::from(if is_next { self.timing.sequential } else { self.timing.jump });
            self.fetched = line;
        }
    }

    /// Waits for the lines of flash that the instruction has loaded data from.
    #[inline(always)]
    fn wait_for_data(&mut self) {
        self.run.cycles += u64::from(self.memory.lines_loaded) * u64::from(self.timing.jump);
        self.memory.lines_loaded = 0;
        self.memory.last_line = 1;
    }
}
