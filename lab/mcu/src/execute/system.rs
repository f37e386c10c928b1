//! The system registers that code outside exceptions may use.

use crate::fault::FaultKind;
use crate::machine::Machine;
use crate::op::{Kind, Op, SP};

const APSR: u32 = 3;
const MSP: u32 = 8;
const PSP: u32 = 9;
const PRIMASK: u32 = 16;
const CONTROL: u32 = 20;

impl Machine {
    pub(super) fn system(&mut self, op: &Op) -> Result<(), FaultKind> {
        match op.kind {
            Kind::Mrs => {
                let value = self.system_register(op.imm)?;
                self.set(op.d, value);
            }
            Kind::Msr => self.set_system_register(op)?,
            // CPSID and CPSIE with the bit of PRIMASK.
            Kind::Cps if op.imm & 2 != 0 => self.primask = op.imm & 0x10 != 0,
            // There is nothing to wait for: no interrupt, no other bus master.
            _ => {}
        }
        Ok(())
    }

    fn system_register(&self, number: u32) -> Result<u32, FaultKind> {
        Ok(match number {
            0..=APSR => self.apsr(),
            // IPSR is 0 outside exceptions, EPSR reads as 0, and nobody has set PSP.
            5..=7 | PSP => 0,
            MSP => self.r(SP),
            PRIMASK => self.primask.into(),
            17..=CONTROL if self.core.is_v7() || number == CONTROL => 0,
            _ => return Err(FaultKind::SystemRegister { number }),
        })
    }

    fn set_system_register(&mut self, op: &Op) -> Result<(), FaultKind> {
        let value = self.n(op);
        match op.imm {
            0..=APSR => {
                if op.a & 2 != 0 {
                    (self.n, self.z) = (value & 1 << 31, !value & 1 << 30);
                    (self.c, self.v) = (value >> 29 & 1 == 1, value >> 28 & 1 == 1);
                    self.q = self.core.is_v7() && value >> 27 & 1 == 1;
                }
                if op.a & 1 != 0 && self.core.is_v7e() {
                    self.ge = value >> 16 & 15;
                }
            }
            MSP => self.set(SP, value & !3),
            PRIMASK => self.primask = value & 1 == 1,
            number => return Err(FaultKind::SystemRegister { number }),
        }
        Ok(())
    }

    /// N, Z, C, V, Q and GE where the architecture puts them.
    fn apsr(&self) -> u32 {
        self.n >> 31 << 31
            | u32::from(self.z == 0) << 30
            | u32::from(self.c) << 29
            | u32::from(self.v) << 28
            | u32::from(self.q) << 27
            | self.ge << 16
    }
}
