//! 16-bit encodings, A5.2.

use super::{bit, bits, low_reg, reg, shift_of, sign_extend, undefined};
use crate::cores::Core;
use crate::op::{ASR, Kind, LR, LSL, LSR, Op, PC, PRE, QUIET_IN_IT, ROR, SETS, SINK, SP, WRITEBACK, ZERO};

/// Flags of an instruction that sets N, Z, C and V unless it is in an IT block.
const S: u8 = SETS | QUIET_IN_IT;

pub(super) fn decode(core: Core, address: u32, code: u16) -> Op {
    let code = u32::from(code);
    let pc = address.wrapping_add(4);
    match code >> 10 {
        0b00_0000..=0b00_1111 => shift_add_move(code),
        0b01_0000 => data_processing(code),
        0b01_0001 => special(code),
        0b01_0010 | 0b01_0011 => {
            let imm = (pc & !3).wrapping_add(bits(code, 0, 8) << 2);
            Op { d: low_reg(code, 8), n: ZERO, imm, flags: PRE, ..Op::new(Kind::LdrI) }
        }
        0b01_0100..=0b01_0111 => {
            const KINDS: [Kind; 8] = [
                Kind::StrR,
                Kind::StrhR,
                Kind::StrbR,
                Kind::LdrsbR,
                Kind::LdrR,
                Kind::LdrhR,
                Kind::LdrbR,
                Kind::LdrshR,
            ];
            let kind = KINDS[bits(code, 9, 3) as usize];
            Op { d: low_reg(code, 0), n: low_reg(code, 3), m: low_reg(code, 6), ..Op::new(kind) }
        }
        0b01_1000..=0b10_0011 => {
            const KINDS: [(Kind, u32); 6] = [
                (Kind::StrI, 2),
                (Kind::LdrI, 2),
                (Kind::StrbI, 0),
                (Kind::LdrbI, 0),
                (Kind::StrhI, 1),
                (Kind::LdrhI, 1),
            ];
            let (kind, scale) = KINDS[(bits(code, 11, 5) - 0b01100) as usize];
            let imm = bits(code, 6, 5) << scale;
            Op { d: low_reg(code, 0), n: low_reg(code, 3), imm, ..Op::new(kind) }
        }
        0b10_0100..=0b10_0111 => {
            let kind = if bit(code, 11) { Kind::LdrI } else { Kind::StrI };
            Op { d: low_reg(code, 8), n: SP, imm: bits(code, 0, 8) << 2, ..Op::new(kind) }
        }
        0b10_1000 | 0b10_1001 => {
            let imm = (pc & !3).wrapping_add(bits(code, 0, 8) << 2);
            Op { d: low_reg(code, 8), imm, ..Op::new(Kind::MovI) }
        }
        0b10_1010 | 0b10_1011 => {
            Op { d: low_reg(code, 8), n: SP, imm: bits(code, 0, 8) << 2, ..Op::new(Kind::AddI) }
        }
        0b10_1100..=0b10_1111 => miscellaneous(core, pc, code),
        0b11_0000 | 0b11_0001 => {
            Op { n: low_reg(code, 8), imm: bits(code, 0, 8), flags: WRITEBACK, ..Op::new(Kind::StmIa) }
        }
        0b11_0010 | 0b11_0011 => {
            let (n, imm) = (low_reg(code, 8), bits(code, 0, 8));
            // A base that is loaded is not written back as well.
            let flags = if bit(imm, u32::from(n)) { 0 } else { WRITEBACK };
            Op { n, imm, flags, ..Op::new(Kind::LdmIa) }
        }
        0b11_0100..=0b11_0111 => {
            let target = pc.wrapping_add(sign_extend(bits(code, 0, 8) << 1, 9));
            match reg(code, 8) {
                14 => undefined(code),
                15 => Op { imm: bits(code, 0, 8), ..Op::new(Kind::Svc) },
                condition => Op { a: condition, imm: target, ..Op::new(Kind::Bcond) },
            }
        }
        0b11_1000 | 0b11_1001 => {
            Op { imm: pc.wrapping_add(sign_extend(bits(code, 0, 11) << 1, 12)), ..Op::new(Kind::B) }
        }
        _ => undefined(code),
    }
}

fn shift_add_move(code: u32) -> Op {
    let (d, n, m) = (low_reg(code, 0), low_reg(code, 3), low_reg(code, 6));
    let (wide_d, imm8) = (low_reg(code, 8), bits(code, 0, 8));
    match bits(code, 9, 5) {
        0b00000..=0b01011 => {
            let (shift, a) = shift_of(bits(code, 11, 2), bits(code, 6, 5));
            let kind = if a == 0 { Kind::MovR } else { Kind::MovS };
            Op { d, m: n, shift, a, flags: S, ..Op::new(kind) }
        }
        0b01100 => Op { d, n, m, flags: S, ..Op::new(Kind::AddR) },
        0b01101 => Op { d, n, m, flags: S, ..Op::new(Kind::SubR) },
        0b01110 => Op { d, n, imm: u32::from(m), flags: S, ..Op::new(Kind::AddI) },
        0b01111 => Op { d, n, imm: u32::from(m), flags: S, ..Op::new(Kind::SubI) },
        0b10000..=0b10011 => Op { d: wide_d, imm: imm8, flags: S, ..Op::new(Kind::MovI) },
        0b10100..=0b10111 => Op { d: SINK, n: wide_d, imm: imm8, flags: SETS, ..Op::new(Kind::SubI) },
        0b11000..=0b11011 => Op { d: wide_d, n: wide_d, imm: imm8, flags: S, ..Op::new(Kind::AddI) },
        _ => Op { d: wide_d, n: wide_d, imm: imm8, flags: S, ..Op::new(Kind::SubI) },
    }
}

fn data_processing(code: u32) -> Op {
    let (d, m) = (low_reg(code, 0), low_reg(code, 3));
    let onto = |kind| Op { d, n: d, m, flags: S, ..Op::new(kind) };
    let compare = |kind| Op { d: SINK, n: d, m, flags: SETS, ..Op::new(kind) };
    match bits(code, 6, 4) {
        0 => onto(Kind::AndR),
        1 => onto(Kind::EorR),
        2 => Op { shift: LSL, ..onto(Kind::LslR) },
        3 => Op { shift: LSR, ..onto(Kind::LsrR) },
        4 => Op { shift: ASR, ..onto(Kind::AsrR) },
        5 => onto(Kind::AdcR),
        6 => onto(Kind::SbcR),
        7 => Op { shift: ROR, ..onto(Kind::RorR) },
        8 => compare(Kind::AndR),
        9 => Op { d, n: m, imm: 0, flags: S, ..Op::new(Kind::RsbI) },
        10 => compare(Kind::SubR),
        11 => compare(Kind::AddR),
        12 => onto(Kind::OrrR),
        13 => Op { d, n: m, m: d, flags: S, ..Op::new(Kind::Mul) },
        14 => onto(Kind::BicR),
        _ => Op { d, m, flags: S, ..Op::new(Kind::MvnR) },
    }
}

fn special(code: u32) -> Op {
    let d = (bits(code, 7, 1) << 3 | bits(code, 0, 3)) as u8;
    let m = reg(code, 3);
    match bits(code, 8, 2) {
        0 if d == PC => Op { m, ..Op::new(Kind::AddPc) },
        0 => Op { d, n: d, m, ..Op::new(Kind::AddR) },
        1 => Op { d: SINK, n: d, m, flags: SETS, ..Op::new(Kind::SubR) },
        2 if d == PC => Op { m, ..Op::new(Kind::MovPc) },
        2 => Op { d, m, ..Op::new(Kind::MovR) },
        _ if bits(code, 0, 3) != 0 => undefined(code),
        _ => Op { m, ..Op::new(if bit(code, 7) { Kind::Blx } else { Kind::Bx }) },
    }
}

fn miscellaneous(core: Core, pc: u32, code: u32) -> Op {
    let (d, m) = (low_reg(code, 0), low_reg(code, 3));
    let extend = |kind| Op { d, n: ZERO, m, ..Op::new(kind) };
    let on_sp = |kind| Op { d: SP, n: SP, imm: bits(code, 0, 7) << 2, ..Op::new(kind) };
    match bits(code, 5, 7) {
        0b000_0000..=0b000_0011 => on_sp(Kind::AddI),
        0b000_0100..=0b000_0111 => on_sp(Kind::SubI),
        0b001_0000..=0b001_0011 => extend(if bit(code, 6) { Kind::Sxtb } else { Kind::Sxth }),
        0b001_0100..=0b001_0111 => extend(if bit(code, 6) { Kind::Uxtb } else { Kind::Uxth }),
        0b010_0000..=0b010_1111 => {
            let imm = bits(code, 0, 8) | u32::from(bit(code, 8)) << LR;
            Op { n: SP, imm, flags: WRITEBACK, ..Op::new(Kind::StmDb) }
        }
        0b110_0000..=0b110_1111 => {
            let imm = bits(code, 0, 8) | u32::from(bit(code, 8)) << PC;
            Op { n: SP, imm, flags: WRITEBACK, ..Op::new(Kind::LdmIa) }
        }
        0b011_0011 => Op { imm: code, ..Op::new(Kind::Cps) },
        0b101_0000..=0b101_0011 => extend(if bit(code, 6) { Kind::Rev16 } else { Kind::Rev }),
        0b101_0110 | 0b101_0111 => extend(Kind::Revsh),
        0b111_0000..=0b111_0111 => Op { imm: bits(code, 0, 8), ..Op::new(Kind::Bkpt) },
        0b111_1000..=0b111_1111 if bits(code, 0, 4) == 0 => Op::new(Kind::Nop),
        0b111_1000..=0b111_1111 if core.is_v7() => Op { imm: bits(code, 0, 8), ..Op::new(Kind::It) },
        _ if core.is_v7() && bits(code, 8, 4) & 0b0101 == 1 => {
            let offset = bits(code, 9, 1) << 6 | bits(code, 3, 5) << 1;
            let kind = if bit(code, 11) { Kind::Cbnz } else { Kind::Cbz };
            Op { n: d, imm: pc.wrapping_add(offset), ..Op::new(kind) }
        }
        _ => undefined(code),
    }
}
