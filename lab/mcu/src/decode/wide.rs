//! 32-bit encodings, A5.3. `h1` is the first halfword, `h2` the second.

use super::{bit, bits, reg, shift_of, sign_extend, transfer, undefined};
use crate::cores::Core;
use crate::op::{ASR, IMM_CARRY, Kind, LSR, Op, PC, ROR, SETS, SINK, ZERO};

pub(super) fn decode(core: Core, address: u32, h1: u32, h2: u32) -> Op {
    let pc = address.wrapping_add(4);
    let branch_or_system = bits(h1, 11, 2) == 0b10 && bit(h2, 15);
    if branch_or_system {
        return branch(core, pc, h1, h2);
    }
    if !core.is_v7() {
        return undefined(0);
    }
    match (bits(h1, 11, 2), bits(h1, 4, 7)) {
        (0b01, op) if op & 0b110_0100 == 0 => transfer::multiple(h1, h2),
        (0b01, op) if op & 0b110_0100 == 0b100 => transfer::dual_or_exclusive(pc, h1, h2),
        (0b01, op) if op & 0b110_0000 == 0b010_0000 => shifted(core, h1, h2),
        (0b01 | 0b11, op) if op & 0b100_0000 != 0 => transfer::float(core, pc, h1, h2),
        (0b10, op) if op & 0b010_0000 == 0 => immediate(h1, h2),
        (0b10, _) => plain_immediate(core, pc, h1, h2),
        (0b11, op) if op & 0b110_0000 == 0 => transfer::single(pc, h1, h2),
        (0b11, op) if op & 0b111_0000 == 0b010_0000 => register(core, h1, h2),
        (0b11, op) if op & 0b111_1000 == 0b011_0000 => multiply(core, h1, h2),
        (0b11, op) if op & 0b111_1000 == 0b011_1000 => long_multiply(core, h1, h2),
        _ => undefined(0),
    }
}

/// A5.3.4.
fn branch(core: Core, pc: u32, h1: u32, h2: u32) -> Op {
    let s = bits(h1, 10, 1);
    let (j1, j2) = (bits(h2, 13, 1), bits(h2, 11, 1));
    let far = || {
        let (i1, i2) = (1 ^ j1 ^ s, 1 ^ j2 ^ s);
        let offset = s << 24 | i1 << 23 | i2 << 22 | bits(h1, 0, 10) << 12 | bits(h2, 0, 11) << 1;
        pc.wrapping_add(sign_extend(offset, 25))
    };
    match (bits(h2, 12, 3), bits(h1, 4, 7)) {
        (0b101 | 0b111, _) => Op { imm: far(), ..Op::new(Kind::Bl) },
        (0b001 | 0b011, _) if core.is_v7() => Op { imm: far(), ..Op::new(Kind::B) },
        (0b000 | 0b010, op) if op & 0b011_1000 != 0b011_1000 && core.is_v7() => {
            let offset = s << 20 | j2 << 19 | j1 << 18 | bits(h1, 0, 6) << 12 | bits(h2, 0, 11) << 1;
            Op { a: reg(h1, 6), imm: pc.wrapping_add(sign_extend(offset, 21)), ..Op::new(Kind::Bcond) }
        }
        (0b000, 0b011_1000 | 0b011_1001) => {
            Op { n: reg(h1, 0), imm: bits(h2, 0, 8), a: bits(h2, 10, 2) as u8, ..Op::new(Kind::Msr) }
        }
        (0b000, 0b011_1010) if bits(h2, 8, 3) == 0 && core.is_v7() => Op::new(Kind::Nop),
        (0b000, 0b011_1011) => match bits(h2, 4, 4) {
            2 => Op::new(Kind::Clrex),
            4..=6 => Op { a: bits(h2, 4, 4) as u8, ..Op::new(Kind::Barrier) },
            _ => undefined(0),
        },
        (0b000, 0b011_1110 | 0b011_1111) => Op { d: reg(h2, 8), imm: bits(h2, 0, 8), ..Op::new(Kind::Mrs) },
        _ => undefined(0),
    }
}

/// The operations that all three forms of the second operand share; the index is that of the kind's
/// form.
fn data_processing(h1: u32, d: u8, form: usize) -> Option<Op> {
    const TABLE: [(u32, [Kind; 3]); 10] = [
        (0, [Kind::AndI, Kind::AndR, Kind::AndS]),
        (1, [Kind::BicI, Kind::BicR, Kind::BicS]),
        (2, [Kind::OrrI, Kind::OrrR, Kind::OrrS]),
        (3, [Kind::OrnI, Kind::OrnR, Kind::OrnS]),
        (4, [Kind::EorI, Kind::EorR, Kind::EorS]),
        (8, [Kind::AddI, Kind::AddR, Kind::AddS]),
        (10, [Kind::AdcI, Kind::AdcR, Kind::AdcS]),
        (11, [Kind::SbcI, Kind::SbcR, Kind::SbcS]),
        (13, [Kind::SubI, Kind::SubR, Kind::SubS]),
        (14, [Kind::RsbI, Kind::RsbR, Kind::RsbS]),
    ];
    let operation = bits(h1, 5, 4);
    let sets = bit(h1, 4);
    let n = reg(h1, 0);
    let (_, kinds) = TABLE.iter().find(|(number, _)| *number == operation)?;
    let op = Op { d, n, flags: if sets { SETS } else { 0 }, ..Op::new(kinds[form]) };
    Some(match operation {
        2 if n == PC => Op { n: 0, kind: [Kind::MovI, Kind::MovR, Kind::MovS][form], ..op },
        3 if n == PC => Op { n: 0, kind: [Kind::MvnI, Kind::MvnR, Kind::MvnS][form], ..op },
        0 | 4 | 8 | 13 if d == PC && sets => Op { d: SINK, ..op },
        _ if d == PC => return None,
        _ => op,
    })
}

/// A5.3.11.
fn shifted(core: Core, h1: u32, h2: u32) -> Op {
    let (d, m) = (reg(h2, 8), reg(h2, 0));
    let (shift, a) = shift_of(bits(h2, 4, 2), bits(h2, 12, 3) << 2 | bits(h2, 6, 2));
    if bits(h1, 5, 4) == 6 {
        let pack = Op { d, n: reg(h1, 0), m, shift, a, ..Op::new(Kind::Pkh) };
        let defined = core.is_v7e() && !bit(h1, 4) && !bit(h2, 4);
        return if defined { pack } else { undefined(0) };
    }
    let form = if a == 0 { 1 } else { 2 };
    data_processing(h1, d, form).map_or_else(|| undefined(0), |op| Op { m, shift, a, ..op })
}

/// A5.3.1, with `ThumbExpandImm_C` of A5.3.2.
fn immediate(h1: u32, h2: u32) -> Op {
    let imm12 = bits(h1, 10, 1) << 11 | bits(h2, 12, 3) << 8 | bits(h2, 0, 8);
    let byte = bits(imm12, 0, 8);
    let (imm, carry) = match bits(imm12, 8, 4) {
        0 => (byte, 0),
        1 => (byte << 16 | byte, 0),
        2 => (byte << 24 | byte << 8, 0),
        3 => (byte * 0x0101_0101, 0),
        _ => ((0x80 | bits(imm12, 0, 7)).rotate_right(bits(imm12, 7, 5)), IMM_CARRY),
    };
    match data_processing(h1, reg(h2, 8), 0) {
        Some(op) => Op { imm, flags: op.flags | carry, ..op },
        None => undefined(0),
    }
}

/// A5.3.3.
fn plain_immediate(core: Core, pc: u32, h1: u32, h2: u32) -> Op {
    let (d, n) = (reg(h2, 8), reg(h1, 0));
    let imm12 = bits(h1, 10, 1) << 11 | bits(h2, 12, 3) << 8 | bits(h2, 0, 8);
    let imm16 = bits(h1, 0, 4) << 12 | imm12;
    let low = bits(h2, 12, 3) << 2 | bits(h2, 6, 2);
    let last = bits(h2, 0, 5);
    let saturate = |kind, kind16, least: u32| {
        let (shift, a) = shift_of(bits(h1, 5, 1) << 1, low);
        if bit(h1, 5) && low == 0 {
            let op = Op { d, n, imm: bits(h2, 0, 4) + least, ..Op::new(kind16) };
            return if core.is_v7e() { op } else { undefined(0) };
        }
        Op { d, m: n, shift, a, imm: last + least, ..Op::new(kind) }
    };
    let field = |kind| {
        let op = Op { d, n, a: low as u8, imm: last + 1, ..Op::new(kind) };
        if low + last < 32 { op } else { undefined(0) }
    };
    match bits(h1, 4, 5) {
        0b00000 if n == PC => Op { d, imm: (pc & !3).wrapping_add(imm12), ..Op::new(Kind::MovI) },
        0b01010 if n == PC => Op { d, imm: (pc & !3).wrapping_sub(imm12), ..Op::new(Kind::MovI) },
        0b00000 => Op { d, n, imm: imm12, ..Op::new(Kind::AddI) },
        0b01010 => Op { d, n, imm: imm12, ..Op::new(Kind::SubI) },
        0b00100 => Op { d, imm: imm16, ..Op::new(Kind::MovI) },
        0b01100 => Op { d, imm: imm16, ..Op::new(Kind::Movt) },
        0b10000 | 0b10010 => saturate(Kind::Ssat, Kind::Ssat16, 1),
        0b11000 | 0b11010 => saturate(Kind::Usat, Kind::Usat16, 0),
        0b10100 => field(Kind::Sbfx),
        0b11100 => field(Kind::Ubfx),
        0b10110 if last >= low => {
            let source = if n == PC { ZERO } else { n };
            Op { d, n: source, a: low as u8, imm: last - low + 1, ..Op::new(Kind::Bfi) }
        }
        _ => undefined(0),
    }
}

/// A5.3.12 to A5.3.15.
fn register(core: Core, h1: u32, h2: u32) -> Op {
    let (d, n, m) = (reg(h2, 8), reg(h1, 0), reg(h2, 0));
    let (op1, op2) = (bits(h1, 4, 4), bits(h2, 4, 4));
    let op = |kind| Op { d, n, m, imm: op1 << 4 | op2, ..Op::new(kind) };
    if bits(h2, 12, 4) != 15 {
        return undefined(0);
    }
    match (op1, op2) {
        (0b0000..=0b0111, 0) => {
            let (kind, shift) = [(Kind::LslR, 0), (Kind::LsrR, LSR), (Kind::AsrR, ASR), (Kind::RorR, ROR)]
                [(op1 >> 1) as usize];
            Op { shift, flags: if op1 & 1 == 1 { SETS } else { 0 }, ..op(kind) }
        }
        (0b0000..=0b0101, 0b1000..=0b1011) => {
            let kind =
                [Kind::Sxth, Kind::Uxth, Kind::Sxtb16, Kind::Uxtb16, Kind::Sxtb, Kind::Uxtb][op1 as usize];
            let plain = n == PC && !matches!(op1, 2 | 3);
            let addend = if n == PC { ZERO } else { n };
            let extend = Op { n: addend, a: (bits(h2, 4, 2) * 8) as u8, ..op(kind) };
            if plain || core.is_v7e() { extend } else { undefined(0) }
        }
        (0b1000..=0b1110, 0b0000..=0b0010 | 0b0100..=0b0110)
            if core.is_v7e() && !matches!(op1, 0b1011 | 0b1111) =>
        {
            op(Kind::Parallel)
        }
        (0b1000, 0b1000..=0b1011) if core.is_v7e() => op(Kind::Qadd),
        (0b1001, 0b1000..=0b1011) => {
            op([Kind::Rev, Kind::Rev16, Kind::Rbit, Kind::Revsh][bits(h2, 4, 2) as usize])
        }
        (0b1010, 0b1000) if core.is_v7e() => op(Kind::Sel),
        (0b1011, 0b1000) => op(Kind::Clz),
        _ => undefined(0),
    }
}

/// A5.3.16. An accumulator of 15 means none.
fn multiply(core: Core, h1: u32, h2: u32) -> Op {
    let a = reg(h2, 12);
    let (op1, op2) = (bits(h1, 4, 3), bits(h2, 4, 2));
    let op = |kind| {
        let a = if a == PC { ZERO } else { a };
        Op { d: reg(h2, 8), n: reg(h1, 0), m: reg(h2, 0), a, imm: op2, ..Op::new(kind) }
    };
    if bits(h2, 6, 2) != 0 {
        return undefined(0);
    }
    match (op1, op2) {
        (0, 0) if a == PC => op(Kind::Mul),
        (0, 0) => op(Kind::Mla),
        (0, 1) => Op { a, ..op(Kind::Mls) },
        _ if !core.is_v7e() => undefined(0),
        (1, _) => op(Kind::Smlaxy),
        (2, 0 | 1) => op(Kind::Smlad),
        (3, 0 | 1) => op(Kind::Smlaw),
        (4, 0 | 1) => op(Kind::Smlsd),
        (5, 0 | 1) => op(Kind::Smmla),
        (6, 0 | 1) => op(Kind::Smmls),
        (7, 0) => op(Kind::Usada8),
        _ => undefined(0),
    }
}

/// A5.3.17. `a` is the lower half of the result, `d` the upper.
fn long_multiply(core: Core, h1: u32, h2: u32) -> Op {
    let (op1, op2) = (bits(h1, 4, 3), bits(h2, 4, 4));
    let op = |kind| Op {
        a: reg(h2, 12),
        d: reg(h2, 8),
        n: reg(h1, 0),
        m: reg(h2, 0),
        imm: bits(op2, 0, 2),
        ..Op::new(kind)
    };
    match (op1, op2) {
        (0, 0) => op(Kind::Smull),
        (1, 15) => op(Kind::Sdiv),
        (2, 0) => op(Kind::Umull),
        (3, 15) => op(Kind::Udiv),
        (4, 0) => op(Kind::Smlal),
        (6, 0) => op(Kind::Umlal),
        _ if !core.is_v7e() => undefined(0),
        (4, 0b1000..=0b1011) => op(Kind::Smlalxy),
        (4, 0b1100 | 0b1101) => op(Kind::Smlald),
        (5, 0b1100 | 0b1101) => op(Kind::Smlsld),
        (6, 0b0110) => op(Kind::Umaal),
        _ => undefined(0),
    }
}
