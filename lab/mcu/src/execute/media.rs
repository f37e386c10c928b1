//! Calculation with the bytes and halfwords of a word, and with saturation: the rest of ARMv7E-M.

use crate::machine::Machine;
use crate::op::{ASR, Kind, LSL, Op};

impl Machine {
    pub(super) fn media(&mut self, op: &Op) {
        let (n, m) = (self.n(op), self.m(op));
        let result = match op.kind {
            Kind::Parallel => self.parallel(op.imm, n, m),
            Kind::Sel => {
                let mask = (0..4).map(|byte| (self.ge >> byte & 1) * (0xFF << (8 * byte))).sum::<u32>();
                n & mask | m & !mask
            }
            Kind::Pkh if op.shift == LSL => n & 0xFFFF | (m << op.a) & 0xFFFF_0000,
            Kind::Pkh => {
                debug_assert_eq!(op.shift, ASR);
                n & 0xFFFF_0000 | (i64::from(m as i32) >> op.a) as u32 & 0xFFFF
            }
            Kind::Qadd => self.saturating(op.imm & 3, n, m),
            _ => {
                let m = m.rotate_right(op.a.into());
                let byte = |value: u32| {
                    if op.kind == Kind::Sxtb16 { value as i8 as u32 } else { value & 0xFF }
                };
                let low = n.wrapping_add(byte(m)) & 0xFFFF;
                let high = (n >> 16).wrapping_add(byte(m >> 16));
                high << 16 | low
            }
        };
        self.set(op.d, result);
    }

    /// `imm` is op1 and op2 of table A5-25 and A5-26: what is done, and in which way.
    fn parallel(&mut self, imm: u32, n: u32, m: u32) -> u32 {
        let (operation, is_unsigned, way) = (imm >> 4 & 7, imm >> 2 & 1 == 1, imm & 3);
        let bytes = operation & 3 == 0;
        let (width, lanes) = if bytes { (8, 4) } else { (16, 2) };
        let lane = |value: u32, at: u32| {
            let part = value >> (at * width) << (32 - width);
            if is_unsigned { i64::from(part >> (32 - width)) } else { i64::from(part as i32 >> (32 - width)) }
        };
        let mask = (1_u32 << width) - 1;
        let mut result = 0;
        for at in 0..lanes {
            // ASX and SAX take the other half of `m`, and do one thing below and the other above.
            let crossed = operation & 3 == 2;
            let subtracts = match operation {
                0b010 => at == 0,
                0b110 => at == 1,
                _ => operation & 4 != 0,
            };
            let (x, y) = (lane(n, at), lane(m, if crossed { 1 - at } else { at }));
            let exact = if subtracts { x - y } else { x + y };
            let value = match way {
                0 => {
                    let holds = if is_unsigned && !subtracts { exact > i64::from(mask) } else { exact >= 0 };
                    let flags = if bytes { 1 << at } else { 3 << (2 * at) };
                    self.ge = self.ge & !flags | if holds { flags } else { 0 };
                    exact
                }
                1 if is_unsigned => exact.clamp(0, mask.into()),
                1 => exact.clamp(-(1 << (width - 1)), (1 << (width - 1)) - 1),
                _ => exact >> 1,
            };
            result |= (value as u32 & mask) << (at * width);
        }
        result
    }

    /// QADD, QDADD, QSUB and QDSUB.
    fn saturating(&mut self, operation: u32, n: u32, m: u32) -> u32 {
        let mut clamp = |value: i64| {
            let clamped = value.clamp(i32::MIN.into(), i32::MAX.into());
            self.q |= clamped != value;
            clamped
        };
        let (n, m) = (i64::from(n as i32), i64::from(m as i32));
        let n = if operation & 1 == 1 { clamp(2 * n) } else { n };
        clamp(if operation & 2 == 0 { m + n } else { m - n }) as u32
    }
}
