//! Registers, flags, shifts and what calculates with one word.

use crate::machine::Machine;
use crate::op::{ASR, IMM_CARRY, Kind, LSL, LSR, Op, RRX, SETS};

impl Machine {
    #[inline(always)]
    pub(super) fn r(&self, register: u8) -> u32 {
        self.r[usize::from(register & 31)]
    }

    #[inline(always)]
    pub(super) fn set(&mut self, register: u8, value: u32) {
        self.r[usize::from(register & 31)] = value;
    }

    #[inline(always)]
    pub(super) fn n(&self, op: &Op) -> u32 {
        self.r(op.n)
    }

    #[inline(always)]
    pub(super) fn m(&self, op: &Op) -> u32 {
        self.r(op.m)
    }

    /// The second operand and the carry that comes with it.
    #[inline(always)]
    pub(super) fn immediate(&self, op: &Op) -> (u32, bool) {
        (op.imm, if op.has(IMM_CARRY) { op.imm >> 31 == 1 } else { self.c })
    }

    #[inline(always)]
    pub(super) fn register(&self, op: &Op) -> (u32, bool) {
        (self.m(op), self.c)
    }

    #[inline(always)]
    pub(super) fn shifted(&self, op: &Op) -> (u32, bool) {
        shift(self.m(op), op.shift, op.a.into(), self.c)
    }

    #[inline(always)]
    pub(super) fn logic(&mut self, op: &Op, (m, carry): (u32, bool), f: impl Fn(u32, u32) -> u32) {
        let result = f(self.n(op), m);
        self.set(op.d, result);
        if op.has(SETS) {
            (self.n, self.z, self.c) = (result, result, carry);
        }
    }

    /// `AddWithCarry` of the architecture manual.
    #[inline(always)]
    pub(super) fn sum(&mut self, op: &Op, x: u32, y: u32, carry: bool) {
        let wide = u64::from(x) + u64::from(y) + u64::from(carry);
        let result = wide as u32;
        self.set(op.d, result);
        if op.has(SETS) {
            (self.n, self.z) = (result, result);
            self.c = wide >> 32 != 0;
            self.v = ((x ^ result) & (y ^ result)) >> 31 != 0;
        }
    }

    pub(super) fn shift_by_register(&mut self, op: &Op) {
        let (result, carry) = shift(self.n(op), op.shift, self.m(op) & 0xFF, self.c);
        self.set(op.d, result);
        if op.has(SETS) {
            (self.n, self.z, self.c) = (result, result, carry);
        }
    }

    #[inline(always)]
    pub(super) fn extend(&mut self, op: &Op, f: impl Fn(u32) -> u32) {
        let part = f(self.m(op).rotate_right(op.a.into()));
        self.set(op.d, self.n(op).wrapping_add(part));
    }

    #[inline(always)]
    pub(super) fn passes(&self, condition: u8) -> bool {
        let negative = self.n >> 31 != 0;
        let zero = self.z == 0;
        let holds = match condition >> 1 {
            0 => zero,
            1 => self.c,
            2 => negative,
            3 => self.v,
            4 => self.c && !zero,
            5 => negative == self.v,
            6 => negative == self.v && !zero,
            _ => return true,
        };
        holds == (condition & 1 == 0)
    }

    pub(super) fn rearrange(&mut self, op: &Op) {
        let m = self.m(op);
        let result = match op.kind {
            Kind::Rev => m.swap_bytes(),
            Kind::Rev16 => m.swap_bytes().rotate_right(16),
            Kind::Revsh => (m as u16).swap_bytes() as i16 as u32,
            Kind::Rbit => m.reverse_bits(),
            _ => m.leading_zeros(),
        };
        self.set(op.d, result);
    }

    /// Fields of `imm` bits from bit `a` on.
    pub(super) fn bit_field(&mut self, op: &Op) {
        let (low, width) = (u32::from(op.a), op.imm);
        let n = self.n(op);
        let result = match op.kind {
            Kind::Bfi => {
                let mask = (u32::MAX >> (32 - width)) << low;
                self.r(op.d) & !mask | n << low & mask
            }
            Kind::Ubfx => n << (32 - width - low) >> (32 - width),
            _ => ((n << (32 - width - low)) as i32 >> (32 - width)) as u32,
        };
        self.set(op.d, result);
    }

    /// Saturation of a word to `imm` bits, or of both halves.
    pub(super) fn saturate(&mut self, op: &Op) {
        let bits = op.imm;
        let mut clamp = |value: i32| {
            let (least, most) = match op.kind {
                Kind::Ssat | Kind::Ssat16 => (-1_i64 << (bits - 1), (1_i64 << (bits - 1)) - 1),
                _ => (0, (1_i64 << bits) - 1),
            };
            let clamped = i64::from(value).clamp(least, most);
            self.q |= clamped != i64::from(value);
            clamped as u32
        };
        let result = match op.kind {
            Kind::Ssat | Kind::Usat => {
                let value = shift(self.r[usize::from(op.m & 31)], op.shift, op.a.into(), false).0;
                clamp(value as i32)
            }
            _ => {
                let n = self.r[usize::from(op.n & 31)];
                let low = clamp(i32::from(n as i16)) & 0xFFFF;
                low | clamp(n as i32 >> 16) << 16
            }
        };
        self.set(op.d, result);
    }
}

/// A value shifted by 0 to 255 and the carry out of it, which stays as it is if the amount is 0.
#[inline(always)]
fn shift(value: u32, kind: u8, amount: u32, carry: bool) -> (u32, bool) {
    if amount == 0 {
        return (value, carry);
    }
    match kind {
        LSL if amount < 32 => (value << amount, value >> (32 - amount) & 1 == 1),
        LSL => (0, amount == 32 && value & 1 == 1),
        LSR if amount < 32 => (value >> amount, value >> (amount - 1) & 1 == 1),
        LSR => (0, amount == 32 && value >> 31 == 1),
        ASR => {
            let amount = amount.min(32);
            let wide = i64::from(value as i32);
            ((wide >> amount) as u32, wide >> (amount - 1) & 1 == 1)
        }
        RRX => (value >> 1 | u32::from(carry) << 31, value & 1 == 1),
        _ => {
            let rotated = value.rotate_right(amount % 32);
            (rotated, rotated >> 31 == 1)
        }
    }
}
