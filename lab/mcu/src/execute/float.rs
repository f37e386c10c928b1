//! The registers of the floating-point unit, which compilers and assembly use to keep words in.

use crate::fault::FaultKind;
use crate::machine::Machine;
use crate::op::{Kind, Op, PC, PRE, WRITEBACK};

/// Bits of FPSCR that exist.
const FPSCR: u32 = 0xF7C0_009F;

impl Machine {
    pub(super) fn float(&mut self, op: &Op) -> Result<(), FaultKind> {
        let s = |register: u8| usize::from(register & 31);
        match op.kind {
            Kind::VmovToCore => self.set(op.d, self.s[s(op.m)]),
            Kind::VmovFromCore => self.s[s(op.d)] = self.m(op),
            Kind::Vmov => self.s[s(op.d)] = self.s[s(op.m)],
            Kind::VmovI => self.s[s(op.d)] = op.imm,
            Kind::VmovPairToCore => {
                self.set(op.d, self.s[s(op.m)]);
                self.set(op.a, self.s[s(op.m + 1)]);
            }
            Kind::VmovPairFromCore => {
                self.s[s(op.m)] = self.r(op.d);
                self.s[s(op.m + 1)] = self.r(op.a);
            }
            Kind::Vmsr => self.fpscr = self.n(op) & FPSCR,
            Kind::Vmrs if op.d == PC => {
                (self.n, self.z) = (self.fpscr & 1 << 31, !self.fpscr & 1 << 30);
                (self.c, self.v) = (self.fpscr >> 29 & 1 == 1, self.fpscr >> 28 & 1 == 1);
            }
            Kind::Vmrs => self.set(op.d, self.fpscr),
            Kind::Vldm | Kind::Vstm => self.transfer_float(op)?,
            _ => return Err(FaultKind::Undefined { code: op.imm }),
        }
        Ok(())
    }

    fn transfer_float(&mut self, op: &Op) -> Result<(), FaultKind> {
        let begin = self.n(op).wrapping_add(op.imm);
        let mut address = Self::aligned(begin)?;
        for register in op.d..op.d + op.a {
            let place = usize::from(register & 31);
            if op.kind == Kind::Vldm {
                self.s[place] = self.load_word(address)?;
            } else {
                self.store_word(address, self.s[place])?;
            }
            address = address.wrapping_add(4);
        }
        if op.has(WRITEBACK) {
            debug_assert!(!op.has(PRE));
            // Descending, the base is where the list begins; ascending, where it ends.
            self.set(op.n, if op.imm == 0 { address } else { begin });
        }
        Ok(())
    }
}
