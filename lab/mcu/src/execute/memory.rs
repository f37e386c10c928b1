//! Loads and stores.
//!
//! On a Cortex-M3 and M4 a single load or store overlaps with the load just before it, unless its
//! address depends on what that loads; nothing overlaps with a store before it (ARM DDI 0439,
//! 3.3.2).

use super::NO_LOAD;
use crate::fault::FaultKind;
use crate::machine::Machine;
use crate::op::{Kind, Op, PC, PRE, WRITEBACK};

impl Machine {
    /// The address of an access, after writing the base back if it is to be.
    #[inline(always)]
    fn address(&mut self, op: &Op) -> (u32, Option<u32>) {
        let base = self.n(op);
        match op.kind {
            Kind::LdrR
            | Kind::LdrhR
            | Kind::LdrbR
            | Kind::LdrshR
            | Kind::LdrsbR
            | Kind::StrR
            | Kind::StrhR
            | Kind::StrbR
            | Kind::LdrPcR => (base.wrapping_add(self.m(op) << op.a), None),
            Kind::LdrX
            | Kind::LdrhX
            | Kind::LdrbX
            | Kind::LdrshX
            | Kind::LdrsbX
            | Kind::StrX
            | Kind::StrhX
            | Kind::StrbX
            | Kind::LdrPcX => {
                let moved = base.wrapping_add(op.imm);
                (if op.has(PRE) { moved } else { base }, Some(moved))
            }
            _ => (base.wrapping_add(op.imm), None),
        }
    }

    /// Takes a cycle off an access that overlaps with the load before it.
    #[inline(always)]
    fn overlap(&mut self, op: &Op, loaded: u8) {
        let by_register = matches!(
            op.kind,
            Kind::LdrR
                | Kind::LdrhR
                | Kind::LdrbR
                | Kind::LdrshR
                | Kind::LdrsbR
                | Kind::StrR
                | Kind::StrhR
                | Kind::StrbR
        );
        let depends = loaded == op.n || by_register && loaded == op.m;
        if loaded != NO_LOAD && !depends && op.cost == 2 {
            self.run.cycles -= 1;
        }
    }

    /// Loads one register; gives back which one if the next instruction may overlap.
    #[inline(always)]
    pub(super) fn load_single(
        &mut self,
        op: &Op,
        loaded: u8,
        load: impl Fn(&mut Self, u32) -> Result<u32, FaultKind>,
    ) -> Result<u8, FaultKind> {
        let (address, moved) = self.address(op);
        let value = load(self, address)?;
        if let Some(moved) = moved {
            self.set(op.n, moved);
        }
        self.set(op.d, value);
        self.overlap(op, loaded);
        Ok(if self.core.is_v7() { op.d } else { NO_LOAD })
    }

    #[inline(always)]
    pub(super) fn store_single(
        &mut self,
        op: &Op,
        loaded: u8,
        store: impl Fn(&mut Self, u32, u32) -> Result<(), FaultKind>,
    ) -> Result<(), FaultKind> {
        let (address, moved) = self.address(op);
        store(self, address, self.r(op.d))?;
        if let Some(moved) = moved {
            self.set(op.n, moved);
        }
        self.overlap(op, loaded);
        Ok(())
    }

    #[inline(always)]
    pub(super) fn load_word(&mut self, address: u32) -> Result<u32, FaultKind> {
        self.run.loads += 1;
        self.run.accesses.load(address);
        if address & 3 != 0 {
            self.unaligned(address, if address & 1 == 0 { 1 } else { 2 })?;
        }
        Ok(u32::from_le_bytes(self.memory.load(address)?))
    }

    #[inline(always)]
    pub(super) fn load_half(&mut self, address: u32) -> Result<u32, FaultKind> {
        self.run.loads += 1;
        self.run.accesses.load(address);
        if address & 1 != 0 {
            self.unaligned(address, 1)?;
        }
        Ok(u16::from_le_bytes(self.memory.load(address)?).into())
    }

    #[inline(always)]
    pub(super) fn load_byte(&mut self, address: u32) -> Result<u32, FaultKind> {
        self.run.loads += 1;
        self.run.accesses.load(address);
        Ok(u8::from_le_bytes(self.memory.load(address)?).into())
    }

    #[inline(always)]
    pub(super) fn store_word(&mut self, address: u32, value: u32) -> Result<(), FaultKind> {
        self.run.stores += 1;
        self.run.accesses.store(address);
        if address & 3 != 0 {
            self.unaligned(address, if address & 1 == 0 { 1 } else { 2 })?;
        }
        self.memory.store(address, value.to_le_bytes())
    }

    #[inline(always)]
    pub(super) fn store_half(&mut self, address: u32, value: u32) -> Result<(), FaultKind> {
        self.run.stores += 1;
        self.run.accesses.store(address);
        if address & 1 != 0 {
            self.unaligned(address, 1)?;
        }
        self.memory.store(address, (value as u16).to_le_bytes())
    }

    #[inline(always)]
    pub(super) fn store_byte(&mut self, address: u32, value: u32) -> Result<(), FaultKind> {
        self.run.stores += 1;
        self.run.accesses.store(address);
        self.memory.store(address, [value as u8])
    }

    /// An access in more than one piece, where the core has them.
    #[cold]
    fn unaligned(&mut self, address: u32, penalty: u64) -> Result<(), FaultKind> {
        if !self.core.is_v7() {
            return Err(FaultKind::Unaligned { address });
        }
        self.run.cycles += penalty;
        Ok(())
    }

    /// The first address of a list of registers, and the base after it.
    fn list(&self, op: &Op) -> (u32, u32) {
        let base = self.n(op);
        let size = op.imm.count_ones() * 4;
        match op.kind {
            Kind::LdmIa | Kind::StmIa => (base, base.wrapping_add(size)),
            _ => (base.wrapping_sub(size), base.wrapping_sub(size)),
        }
    }

    pub(super) fn aligned(address: u32) -> Result<u32, FaultKind> {
        if address & 3 == 0 { Ok(address) } else { Err(FaultKind::Unaligned { address }) }
    }

    pub(super) fn load_multiple(&mut self, op: &Op) -> Result<(), FaultKind> {
        let (first, moved) = self.list(op);
        let mut address = Self::aligned(first)?;
        if op.has(WRITEBACK) {
            self.set(op.n, moved);
        }
        let mut list = op.imm;
        while list != 0 {
            let value = self.load_word(address)?;
            self.set(list.trailing_zeros() as u8, value);
            list &= list - 1;
            address = address.wrapping_add(4);
        }
        Ok(())
    }

    pub(super) fn store_multiple(&mut self, op: &Op) -> Result<(), FaultKind> {
        let (first, moved) = self.list(op);
        let mut address = Self::aligned(first)?;
        let mut list = op.imm;
        while list != 0 {
            self.store_word(address, self.r(list.trailing_zeros() as u8))?;
            list &= list - 1;
            address = address.wrapping_add(4);
        }
        if op.has(WRITEBACK) {
            self.set(op.n, moved);
        }
        Ok(())
    }

    /// LDRD and STRD: `d` and then `a`.
    pub(super) fn transfer_dual(&mut self, op: &Op) -> Result<(), FaultKind> {
        let base = self.n(op);
        let moved = base.wrapping_add(op.imm);
        let address = Self::aligned(if op.has(PRE) { moved } else { base })?;
        let second = address.wrapping_add(4);
        if op.kind == Kind::Ldrd {
            let (low, high) = (self.load_word(address)?, self.load_word(second)?);
            self.set(op.d, low);
            self.set(op.a, high);
        } else {
            self.store_word(address, self.r(op.d))?;
            self.store_word(second, self.r(op.a))?;
        }
        if op.has(WRITEBACK) {
            self.set(op.n, moved);
        }
        Ok(())
    }

    fn exclusive_address(&self, op: &Op) -> Result<u32, FaultKind> {
        let address = self.n(op).wrapping_add(op.imm);
        if address & (u32::from(op.a) - 1) == 0 { Ok(address) } else { Err(FaultKind::Unaligned { address }) }
    }

    pub(super) fn load_exclusive(&mut self, op: &Op) -> Result<(), FaultKind> {
        let address = self.exclusive_address(op)?;
        let value = match op.a {
            1 => self.load_byte(address)?,
            2 => self.load_half(address)?,
            _ => self.load_word(address)?,
        };
        self.set(op.d, value);
        self.exclusive = true;
        Ok(())
    }

    /// Succeeds after a load: nobody else is there who could have come between.
    pub(super) fn store_exclusive(&mut self, op: &Op) -> Result<(), FaultKind> {
        let address = self.exclusive_address(op)?;
        let value = self.m(op);
        let succeeds = std::mem::replace(&mut self.exclusive, false);
        if succeeds {
            match op.a {
                1 => self.store_byte(address, value)?,
                2 => self.store_half(address, value)?,
                _ => self.store_word(address, value)?,
            }
        }
        self.set(op.d, u32::from(!succeeds));
        Ok(())
    }

    /// The target of TBB and TBH.
    pub(super) fn table_branch(&mut self, op: &Op) -> Result<u32, FaultKind> {
        let (n, m) = (self.n(op), self.m(op));
        let offset = if op.kind == Kind::Tbb {
            self.load_byte(n.wrapping_add(m))?
        } else {
            self.load_half(n.wrapping_add(m << 1))?
        };
        Ok(self.r(PC).wrapping_add(offset * 2))
    }
}
