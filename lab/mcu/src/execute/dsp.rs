//! Multiplications of halfwords, of ARMv7E-M.

use crate::machine::Machine;
use crate::op::{Kind, Op};

/// One half of a word, with its sign.
fn half(value: u32, upper: bool) -> i64 {
    i64::from((if upper { value >> 16 } else { value }) as i16)
}

fn bit(op: &Op, at: u32) -> bool {
    op.imm >> at & 1 == 1
}

impl Machine {
    pub(super) fn multiply_halves(&mut self, op: &Op) {
        self.run.multiplications += 1;
        let (n, m) = (self.n(op), self.m(op));
        match op.kind {
            Kind::Smlalxy | Kind::Smlald | Kind::Smlsld => {
                let sum = match op.kind {
                    Kind::Smlalxy => half(n, bit(op, 1)) * half(m, bit(op, 0)),
                    _ => products(op, n, m),
                };
                let before = u64::from(self.r(op.d)) << 32 | u64::from(self.r(op.a));
                let after = before.wrapping_add(sum as u64);
                self.set(op.a, after as u32);
                self.set(op.d, (after >> 32) as u32);
            }
            Kind::Usada8 => {
                let differences =
                    n.to_le_bytes().into_iter().zip(m.to_le_bytes()).map(|(n, m)| n.abs_diff(m));
                let sum: u32 = differences.map(u32::from).sum();
                self.set(op.d, self.r(op.a).wrapping_add(sum));
            }
            Kind::Smmla | Kind::Smmls => {
                let product = (i64::from(n as i32) * i64::from(m as i32)) as u64;
                let a = u64::from(self.r(op.a)) << 32;
                let sum =
                    if op.kind == Kind::Smmla { a.wrapping_add(product) } else { a.wrapping_sub(product) };
                let rounded = sum.wrapping_add(if bit(op, 0) { 1 << 31 } else { 0 });
                self.set(op.d, (rounded >> 32) as u32);
            }
            _ => {
                let product = match op.kind {
                    Kind::Smlaxy => half(n, bit(op, 1)) * half(m, bit(op, 0)),
                    Kind::Smlaw => (i64::from(n as i32) * half(m, bit(op, 0))) >> 16,
                    _ => products(op, n, m),
                };
                let sum = product + i64::from(self.r(op.a) as i32);
                self.q |= i64::from(sum as i32) != sum;
                self.set(op.d, sum as u32);
            }
        }
    }
}

/// The products of the lower and of the upper halves, added or subtracted; bit 0 exchanges the
/// halves of `m`.
fn products(op: &Op, n: u32, m: u32) -> i64 {
    let m = if bit(op, 0) { m.rotate_right(16) } else { m };
    let (low, high) = (half(n, false) * half(m, false), half(n, true) * half(m, true));
    if matches!(op.kind, Kind::Smlsd | Kind::Smlsld) { low - high } else { low + high }
}
