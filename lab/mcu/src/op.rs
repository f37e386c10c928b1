//! An instruction as the decoder leaves it: everything that does not change from one execution to
//! the next.

/// A register that is always zero: the base of absolute addresses, the addend of what adds nothing.
pub(crate) const ZERO: u8 = 16;
/// A register that nobody reads: where comparisons put their result.
pub(crate) const SINK: u8 = 17;
pub(crate) const SP: u8 = 13;
pub(crate) const LR: u8 = 14;
pub(crate) const PC: u8 = 15;

/// What an instruction does. `I` takes an immediate, `R` a register, `S` a register shifted by a
/// constant; `X` is an address with pre- or post-indexing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[rustfmt::skip]
pub(crate) enum Kind {
    /// Nobody looked at this address yet.
    Undecoded,
    Undefined,
    /// Floating-point arithmetic, which the interpreter leaves out.
    FloatArithmetic,
    AndI, AndR, AndS, BicI, BicR, BicS, OrrI, OrrR, OrrS, OrnI, OrnR, OrnS, EorI, EorR, EorS,
    MovI, MovR, MovS, MvnI, MvnR, MvnS,
    AddI, AddR, AddS, AdcI, AdcR, AdcS, SbcI, SbcR, SbcS, SubI, SubR, SubS, RsbI, RsbR, RsbS,
    LslR, LsrR, AsrR, RorR,
    Movt,
    Mul, Mla, Mls, Umull, Smull, Umlal, Smlal, Umaal, Udiv, Sdiv,
    Sxtb, Sxth, Uxtb, Uxth, Rev, Rev16, Revsh, Rbit, Clz, Bfi, Ubfx, Sbfx, Ssat, Usat,
    LdrI, LdrhI, LdrbI, LdrshI, LdrsbI, StrI, StrhI, StrbI,
    LdrR, LdrhR, LdrbR, LdrshR, LdrsbR, StrR, StrhR, StrbR,
    LdrX, LdrhX, LdrbX, LdrshX, LdrsbX, StrX, StrhX, StrbX,
    LdrPcI, LdrPcR, LdrPcX,
    Ldrd, Strd, LdmIa, LdmDb, StmIa, StmDb,
    Ldrex, Strex, Clrex,
    B, Bcond, Bl, Bx, Blx, Cbz, Cbnz, Tbb, Tbh, MovPc, AddPc,
    It, Nop, Barrier, Cps, Mrs, Msr, Bkpt, Svc,
    // ARMv7E-M; `imm` tells variants apart.
    Parallel, Sel, Usada8, Smlaxy, Smlaw, Smlad, Smlsd, Smmla, Smmls, Smlalxy, Smlald, Smlsld,
    Pkh, Qadd, Sxtb16, Uxtb16, Ssat16, Usat16,
    // The registers of the floating-point unit.
    VmovToCore, VmovFromCore, Vmov, VmovI, VmovPairToCore, VmovPairFromCore, Vldm, Vstm, Vmrs, Vmsr,
}

/// Sets N, Z, C and V as the instruction does.
pub(crate) const SETS: u8 = 1;
/// A 16-bit encoding that sets no flags inside an IT block.
pub(crate) const QUIET_IN_IT: u8 = 2;
/// The carry out of an immediate is its bit 31.
pub(crate) const IMM_CARRY: u8 = 4;
/// The base register is written back.
pub(crate) const WRITEBACK: u8 = 8;
/// The offset is added before the access.
pub(crate) const PRE: u8 = 16;
/// A 32-bit encoding.
pub(crate) const WIDE: u8 = 32;

/// How a register is shifted; `amount` is 1 to 32.
pub(crate) const LSL: u8 = 0;
pub(crate) const LSR: u8 = 1;
pub(crate) const ASR: u8 = 2;
pub(crate) const ROR: u8 = 3;
/// Right by one through the carry.
pub(crate) const RRX: u8 = 4;

/// A decoded instruction. `d`, `n`, `m` and `a` are registers in the order of the architecture
/// manual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Op {
    pub kind: Kind,
    pub d: u8,
    pub n: u8,
    pub m: u8,
    /// Immediate, absolute target, register list, or the opcode itself if it is undefined.
    pub imm: u32,
    /// Fourth register, condition, or amount of a shift.
    pub a: u8,
    pub shift: u8,
    pub flags: u8,
    /// Cycles without what depends on operands, neighbours and memory.
    pub cost: u8,
}

impl Op {
    pub const UNDECODED: Self = Self::new(Kind::Undecoded);

    pub const fn new(kind: Kind) -> Self {
        Self { kind, d: 0, n: 0, m: 0, imm: 0, a: 0, shift: LSL, flags: 0, cost: 0 }
    }

    pub fn len(&self) -> u32 {
        if self.has(WIDE) { 4 } else { 2 }
    }

    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}
