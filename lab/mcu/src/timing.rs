//! What an instruction costs. Every number here has a line in `docs/how-to/stopwatch.md`, with its
//! source.

use crate::cores::Core;
use crate::op::{Kind, Op, PC};

/// Wait states of a flash memory that is fetched in lines.
///
/// A fetch from the line that was fetched last is free. One from the line after it waits
/// `sequential` cycles, one from anywhere else `jump` cycles. A load of data from flash waits
/// `jump` cycles for each line that it touches and leaves the fetched line alone. Code and data in
/// RAM never wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashTiming {
    /// Bytes of a line, a power of two from 4 to 256.
    pub line_bytes: u32,
    /// Cycles that the fetch of the next line waits.
    pub sequential: u32,
    /// Cycles that the fetch of any other line waits.
    pub jump: u32,
}

impl FlashTiming {
    /// A flash as fast as the core.
    pub const ZERO_WAIT: Self = Self { line_bytes: 8, sequential: 0, jump: 0 };

    pub(crate) fn waits(self) -> bool {
        self.sequential | self.jump != 0
    }

    /// The line of an address. A size that is no line is taken as the nearest one.
    pub(crate) fn line(self, address: u32) -> u32 {
        address & !(self.size() - 1)
    }

    pub(crate) fn size(self) -> u32 {
        self.line_bytes.clamp(4, 256).next_power_of_two()
    }
}

impl Default for FlashTiming {
    fn default() -> Self {
        Self::ZERO_WAIT
    }
}

/// The multiplier of a Cortex-M0+, which its manufacturer chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Multiplier {
    /// One cycle, as in all boards that are measured here.
    #[default]
    Fast,
    /// 32 cycles, the small one.
    Small,
}

/// What a taken branch costs beyond the cycle of its instruction.
#[derive(Clone, Copy)]
pub(crate) struct Refill {
    /// B, BL, CBZ: the target is in the instruction.
    pub direct: u32,
    /// BX, BLX, MOV pc, loads of PC: the target is in a register or comes from memory.
    pub indirect: u32,
    /// More, if the target is a 32-bit instruction that is not aligned to a word.
    pub unaligned: u32,
}

impl Refill {
    pub const fn of(core: Core) -> Self {
        match core {
            Core::M0Plus => Self { direct: 1, indirect: 1, unaligned: 0 },
            Core::M3 | Core::M4 => Self { direct: 1, indirect: 2, unaligned: 1 },
        }
    }
}

/// The cycles that depend on nothing but the instruction. Refills are added where a branch is
/// taken, registers of a list are counted in here.
#[allow(clippy::match_same_arms)] // the order is that of the manuals' tables
pub(crate) fn cost(core: Core, multiplier: Multiplier, op: &Op) -> u8 {
    let v7 = core.is_v7();
    let listed = op.imm.count_ones() as u8;
    match op.kind {
        Kind::Mul if !v7 && multiplier == Multiplier::Small => 32,
        // The loads and stores that may overlap with their neighbours; see `execute::memory`.
        Kind::LdrI | Kind::LdrhI | Kind::LdrbI | Kind::LdrshI | Kind::LdrsbI => 2,
        Kind::LdrR | Kind::LdrhR | Kind::LdrbR | Kind::LdrshR | Kind::LdrsbR => 2,
        Kind::LdrX | Kind::LdrhX | Kind::LdrbX | Kind::LdrshX | Kind::LdrsbX => 2,
        Kind::StrI | Kind::StrhI | Kind::StrbI | Kind::StrX | Kind::StrhX | Kind::StrbX if v7 => 1,
        Kind::StrI | Kind::StrhI | Kind::StrbI | Kind::StrR | Kind::StrhR | Kind::StrbR => 2,
        Kind::LdrPcI | Kind::LdrPcR | Kind::LdrPcX | Kind::Ldrex | Kind::Strex => 2,
        Kind::LdmIa if !v7 && op.imm >> PC != 0 => 2 + listed,
        Kind::LdmIa | Kind::LdmDb | Kind::StmIa | Kind::StmDb => 1 + listed,
        Kind::Ldrd | Kind::Strd => 3,
        // Two for the load, one for the addition to PC.
        Kind::Tbb | Kind::Tbh => 3,
        Kind::Bl if !v7 => 2,
        Kind::Mla | Kind::Mls if core == Core::M3 => 2,
        Kind::Umull | Kind::Smull if core == Core::M3 => 3,
        Kind::Smlal if core == Core::M3 => 4,
        Kind::Umlal if core == Core::M3 => 5,
        Kind::Udiv | Kind::Sdiv => 2,
        Kind::Mrs | Kind::Msr => {
            if v7 {
                2
            } else {
                3
            }
        }
        Kind::Cps if v7 => 2,
        Kind::Barrier => {
            if v7 {
                1
            } else {
                3
            }
        }
        Kind::Vldm | Kind::Vstm => 1 + op.a,
        Kind::VmovPairToCore | Kind::VmovPairFromCore => 2,
        _ => 1,
    }
}

/// What [`long_operands`] is at most.
pub(crate) const BOTH_LONG: u32 = 2;

/// How many more cycles a long multiplication of a Cortex-M3 takes because its operands are long:
/// none if both are less than 64 K in magnitude, one for each that is not.
pub(crate) fn long_operands(signed: bool, n: u32, m: u32) -> u32 {
    let long = |value: u32| {
        let magnitude = if signed { (value as i32).unsigned_abs() } else { value };
        u32::from(magnitude >= 1 << 16)
    };
    long(n) + long(m)
}

/// How many more cycles than two a division takes: none if the quotient is 0 or the divisor is, up
/// to ten for a quotient of 32 bits, in proportion between.
pub(crate) fn quotient_bits(dividend: u32, divisor: u32) -> u32 {
    if divisor == 0 || divisor > dividend {
        return 0;
    }
    let bits = divisor.leading_zeros() - dividend.leading_zeros() + 1;
    (bits * 10).div_ceil(32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_multiplication_ends_early_for_short_operands() {
        assert_eq!(long_operands(false, 0xFFFF, 0xFFFF), 0);
        assert_eq!(long_operands(false, 0x1_0000, 0xFFFF), 1);
        assert_eq!(long_operands(false, 0xFFFF_FFFF, 0x1_0000), 2);
        assert_eq!(long_operands(true, (-1_i32) as u32, 5), 0);
        assert_eq!(long_operands(true, (-65_536_i32) as u32, 5), 1);
        assert_eq!(long_operands(true, i32::MIN as u32, i32::MIN as u32), 2);
    }

    #[test]
    fn a_division_takes_two_to_twelve_cycles() {
        assert_eq!(quotient_bits(5, 0), 0);
        assert_eq!(quotient_bits(4, 5), 0);
        assert_eq!(quotient_bits(5, 5), 1);
        assert_eq!(quotient_bits(u32::MAX, 1), 10);
        for shift in 0..31 {
            assert!(quotient_bits(u32::MAX, 1 << shift) >= quotient_bits(u32::MAX, 2 << shift));
        }
    }

    #[test]
    fn a_line_holds_its_size() {
        let timing = FlashTiming { line_bytes: 16, sequential: 1, jump: 1 };
        assert_eq!((timing.line(0x1F), timing.line(0x20)), (0x10, 0x20));
        assert!(timing.waits() && !FlashTiming::default().waits());
        assert_eq!(FlashTiming { line_bytes: 0, ..timing }.size(), 4);
        assert_eq!(FlashTiming { line_bytes: u32::MAX, ..timing }.size(), 256);
    }
}
