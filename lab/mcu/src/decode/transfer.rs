//! 32-bit encodings of loads and stores, A5.3.5 to A5.3.10, and of the floating-point unit's
//! registers, A6.5 to A6.7.

use super::{bit, bits, reg, undefined};
use crate::cores::Core;
use crate::op::{Kind, LSL, Op, PC, PRE, WRITEBACK, ZERO};

/// LDM and STM.
pub(super) fn multiple(h1: u32, h2: u32) -> Op {
    let n = reg(h1, 0);
    let flags = if bit(h1, 5) { WRITEBACK } else { 0 };
    let kind = match (bits(h1, 7, 2), bit(h1, 4)) {
        (0b01, false) => Kind::StmIa,
        (0b01, true) => Kind::LdmIa,
        (0b10, false) => Kind::StmDb,
        (0b10, true) => Kind::LdmDb,
        _ => return undefined(0),
    };
    let loads_base = bit(h1, 4) && flags != 0 && bit(h2, u32::from(n));
    if n == PC || loads_base || bit(h2, 13) || h2 == 0 {
        return undefined(0);
    }
    Op { n, imm: h2, flags, ..Op::new(kind) }
}

/// LDRD, STRD, LDREX, STREX, TBB and TBH.
pub(super) fn dual_or_exclusive(pc: u32, h1: u32, h2: u32) -> Op {
    let n = reg(h1, 0);
    let offset = bits(h2, 0, 8) << 2;
    let (pre, up, write, load) = (bit(h1, 8), bit(h1, 7), bit(h1, 5), bit(h1, 4));
    if pre || write {
        let imm = if up { offset } else { offset.wrapping_neg() };
        let flags = if pre { PRE } else { 0 } | if write { WRITEBACK } else { 0 };
        let kind = if load { Kind::Ldrd } else { Kind::Strd };
        let (d, a) = (reg(h2, 12), reg(h2, 8));
        return match (n, load) {
            (PC, true) if !write => {
                Op { d, a, n: ZERO, imm: (pc & !3).wrapping_add(imm), flags, ..Op::new(kind) }
            }
            (PC, _) => undefined(0),
            _ => Op { d, a, n, imm, flags, ..Op::new(kind) },
        };
    }
    // The size of an exclusive access is in `a`: 1, 2 or 4 bytes.
    match (up, load, bits(h2, 4, 4)) {
        (false, true, _) => Op { d: reg(h2, 12), n, imm: offset, a: 4, ..Op::new(Kind::Ldrex) },
        (false, false, _) => {
            Op { d: reg(h2, 8), m: reg(h2, 12), n, imm: offset, a: 4, ..Op::new(Kind::Strex) }
        }
        (true, true, 0) => Op { n, m: reg(h2, 0), ..Op::new(Kind::Tbb) },
        (true, true, 1) => Op { n, m: reg(h2, 0), ..Op::new(Kind::Tbh) },
        (true, true, size @ (4 | 5)) => Op { d: reg(h2, 12), n, a: size as u8 - 3, ..Op::new(Kind::Ldrex) },
        (true, false, size @ (4 | 5)) => {
            Op { d: reg(h2, 0), m: reg(h2, 12), n, a: size as u8 - 3, ..Op::new(Kind::Strex) }
        }
        _ => undefined(0),
    }
}

/// LDR and STR of one register, of each size.
pub(super) fn single(pc: u32, h1: u32, h2: u32) -> Op {
    // Sizes in the order of the encoding; then plain, by register and indexed.
    const STORES: [[Kind; 3]; 3] = [
        [Kind::StrbI, Kind::StrbR, Kind::StrbX],
        [Kind::StrhI, Kind::StrhR, Kind::StrhX],
        [Kind::StrI, Kind::StrR, Kind::StrX],
    ];
    const LOADS: [[Kind; 3]; 3] = [
        [Kind::LdrbI, Kind::LdrbR, Kind::LdrbX],
        [Kind::LdrhI, Kind::LdrhR, Kind::LdrhX],
        [Kind::LdrI, Kind::LdrR, Kind::LdrX],
    ];
    const SIGNED: [[Kind; 3]; 2] =
        [[Kind::LdrsbI, Kind::LdrsbR, Kind::LdrsbX], [Kind::LdrshI, Kind::LdrshR, Kind::LdrshX]];
    const TO_PC: [Kind; 3] = [Kind::LdrPcI, Kind::LdrPcR, Kind::LdrPcX];

    let (d, n) = (reg(h2, 12), reg(h1, 0));
    let size = bits(h1, 5, 2) as usize;
    let kinds = match (bit(h1, 4), bit(h1, 8)) {
        (false, false) => STORES.get(size),
        (true, false) if d == PC && size == 2 => Some(&TO_PC),
        (true, false) => LOADS.get(size),
        (true, true) => SIGNED.get(size),
        (false, true) => None,
    };
    let Some(&[plain, by_register, indexed]) = kinds else { return undefined(0) };
    // Loads of bytes and halfwords into PC are hints to a cache that is not there.
    let hint = d == PC && bit(h1, 4) && size != 2;
    let op = if n == PC && bit(h1, 4) {
        let offset = bits(h2, 0, 12);
        let imm = if bit(h1, 7) { (pc & !3).wrapping_add(offset) } else { (pc & !3).wrapping_sub(offset) };
        Op { d, n: ZERO, imm, flags: PRE, ..Op::new(plain) }
    } else if n == PC {
        undefined(0)
    } else if bit(h1, 7) {
        Op { d, n, imm: bits(h2, 0, 12), ..Op::new(plain) }
    } else if bit(h2, 11) {
        let imm = if bit(h2, 9) { bits(h2, 0, 8) } else { bits(h2, 0, 8).wrapping_neg() };
        match (bit(h2, 10), bit(h2, 8)) {
            (false, false) => undefined(0),
            (true, false) => Op { d, n, imm, ..Op::new(plain) },
            (pre, true) => {
                let flags = WRITEBACK | if pre { PRE } else { 0 };
                Op { d, n, imm, flags, ..Op::new(indexed) }
            }
        }
    } else if bits(h2, 6, 5) == 0 {
        Op { d, n, m: reg(h2, 0), shift: LSL, a: bits(h2, 4, 2) as u8, ..Op::new(by_register) }
    } else {
        undefined(0)
    };
    if hint && op.kind != Kind::Undefined { Op::new(Kind::Nop) } else { op }
}

/// Moves, loads and stores of the registers S0 to S31. Arithmetic is known, but not interpreted.
pub(super) fn float(core: Core, pc: u32, h1: u32, h2: u32) -> Op {
    let double = bit(h2, 8);
    if !core.is_v7e() || bits(h2, 9, 3) != 0b101 || bit(h1, 12) {
        return undefined(0);
    }
    let n = reg(h1, 0);
    let t = reg(h2, 12);
    // The number of a single register is Vx:x, that of a double x:Vx; in halves, a double begins at
    // twice that.
    let number = |four: u32, one: u32| (if double { (one << 4 | four) * 2 } else { four << 1 | one }) as u8;
    let vd = number(bits(h2, 12, 4), bits(h1, 6, 1));
    let vn = number(bits(h1, 0, 4), bits(h2, 7, 1));
    let vm = number(bits(h2, 0, 4), bits(h2, 5, 1));
    let load = bit(h1, 4);
    if bits(h1, 8, 4) == 0b1110 {
        return match (bit(h2, 4), bits(h1, 4, 4)) {
            (true, 0b0000) if !double => Op { d: vn, m: t, ..Op::new(Kind::VmovFromCore) },
            (true, 0b0001) if !double => Op { d: t, m: vn, ..Op::new(Kind::VmovToCore) },
            // One half of a double.
            (true, 0b0000 | 0b0010) => {
                Op { d: vn + bits(h1, 5, 1) as u8, m: t, ..Op::new(Kind::VmovFromCore) }
            }
            (true, 0b0001 | 0b0011) => Op { d: t, m: vn + bits(h1, 5, 1) as u8, ..Op::new(Kind::VmovToCore) },
            (true, 0b1110) if n == 1 => Op { n: t, ..Op::new(Kind::Vmsr) },
            (true, 0b1111) if n == 1 => Op { d: t, ..Op::new(Kind::Vmrs) },
            (false, 0b1011 | 0b1111) if n == 0 && bits(h2, 6, 2) == 0b01 && !double => {
                Op { d: vd, m: vm, ..Op::new(Kind::Vmov) }
            }
            (false, 0b1011 | 0b1111) if bits(h2, 4, 4) == 0 && !double => {
                let imm8 = bits(h1, 0, 4) << 4 | bits(h2, 0, 4);
                let exponent = if bit(imm8, 6) { 0x1F << 25 } else { 1 << 30 };
                let imm = bits(imm8, 7, 1) << 31 | exponent | bits(imm8, 0, 6) << 19;
                Op { d: vd, imm, ..Op::new(Kind::VmovI) }
            }
            _ => Op::new(Kind::FloatArithmetic),
        };
    }
    let words = bits(h2, 0, 8);
    let (pre, up, write) = (bit(h1, 8), bit(h1, 7), bit(h1, 5));
    if !pre && !up && !write {
        let kind = if load { Kind::VmovPairToCore } else { Kind::VmovPairFromCore };
        let defined = bit(h1, 6) && bits(h2, 6, 2) == 0 && bit(h2, 4) && (double || vm < 31);
        return if defined { Op { d: t, a: n, m: vm, ..Op::new(kind) } } else { undefined(0) };
    }
    let kind = if load { Kind::Vldm } else { Kind::Vstm };
    // Registers S`d` to S`d + a - 1`, ascending from `n + imm`.
    let op = if pre && !write {
        let offset = if up { words << 2 } else { (words << 2).wrapping_neg() };
        let count = if double { 2 } else { 1 };
        let single = Op { d: vd, a: count, n, imm: offset, flags: PRE, ..Op::new(kind) };
        if n == PC && load { Op { n: ZERO, imm: (pc & !3).wrapping_add(offset), ..single } } else { single }
    } else {
        let flags = if write { WRITEBACK } else { 0 };
        let imm = if pre { (words << 2).wrapping_neg() } else { 0 };
        // An odd count of halves is FLDMX, which nobody generates any more.
        let odd = double && words & 1 == 1;
        if pre == up || words == 0 || words > 32 || odd {
            return undefined(0);
        }
        Op { d: vd, a: words as u8, n, imm, flags, ..Op::new(kind) }
    };
    if u32::from(op.d) + u32::from(op.a) > 32 || (op.n == PC) { undefined(0) } else { op }
}
