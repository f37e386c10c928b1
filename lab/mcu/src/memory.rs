//! Flash and RAM, each with the instructions that were decoded from it.

use crate::fault::FaultKind;
use crate::op::Op;

/// No offset is in between.
const NOTHING: [usize; 2] = [usize::MAX, 0];

/// A piece of memory, little-endian.
pub(crate) struct Region {
    pub base: u32,
    pub bytes: Vec<u8>,
    pub writable: bool,
    /// One for each halfword.
    pub ops: Vec<Op>,
    /// Code was decoded between these offsets: a store in between makes it undecoded again.
    decoded: [usize; 2],
}

impl Region {
    pub fn new(base: u32, bytes: Vec<u8>, writable: bool) -> Self {
        let ops = vec![Op::UNDECODED; bytes.len() / 2];
        Self { base, bytes, writable, ops, decoded: NOTHING }
    }

    fn offset(&self, address: u32) -> usize {
        address.wrapping_sub(self.base) as usize
    }

    pub fn get<const N: usize>(&self, address: u32) -> Option<&[u8; N]> {
        self.bytes.get(self.offset(address)..)?.first_chunk()
    }

    fn get_mut<const N: usize>(&mut self, address: u32) -> Option<&mut [u8; N]> {
        let offset = self.offset(address);
        if offset < self.decoded[1] && offset + N > self.decoded[0] {
            self.forget(offset, N);
        }
        self.bytes.get_mut(offset..)?.first_chunk_mut()
    }

    /// Keeps what was decoded from `address`.
    pub fn keep(&mut self, address: u32, op: Op) {
        let offset = self.offset(address);
        if let Some(place) = self.ops.get_mut(offset / 2) {
            *place = op;
            let [first, last] = self.decoded;
            self.decoded = [first.min(offset), last.max(offset + op.len() as usize)];
        }
    }

    /// Undoes the decoding of what overlaps `len` bytes, which may be the second half of a 32-bit
    /// instruction.
    #[cold]
    fn forget(&mut self, offset: usize, len: usize) {
        let first = offset.saturating_sub(2) / 2;
        let last = (offset + len).div_ceil(2).min(self.ops.len());
        if let Some(ops) = self.ops.get_mut(first..last) {
            ops.fill(Op::UNDECODED);
        }
    }

    pub fn forget_all(&mut self) {
        if self.decoded == NOTHING {
            return;
        }
        self.ops.fill(Op::UNDECODED);
        self.decoded = NOTHING;
    }
}

/// The memory of a machine.
pub(crate) struct Memory {
    pub ram: Region,
    pub flash: Region,
    /// Mask of an address's line.
    pub line: u32,
    /// Lines of flash that loads have touched since this was last set to zero.
    pub lines_loaded: u32,
    /// The last of them; an odd number is none.
    pub last_line: u32,
}

impl Memory {
    #[inline(always)]
    pub fn load<const N: usize>(&mut self, address: u32) -> Result<[u8; N], FaultKind> {
        if let Some(bytes) = self.ram.get(address) {
            return Ok(*bytes);
        }
        self.load_flash(address)
    }

    #[inline(never)]
    fn load_flash<const N: usize>(&mut self, address: u32) -> Result<[u8; N], FaultKind> {
        let line = address & self.line;
        self.lines_loaded += u32::from(line != self.last_line);
        self.last_line = line;
        self.flash.get(address).copied().ok_or(FaultKind::Load { address })
    }

    #[inline(always)]
    pub fn store<const N: usize>(&mut self, address: u32, value: [u8; N]) -> Result<(), FaultKind> {
        if let Some(bytes) = self.ram.get_mut(address) {
            *bytes = value;
            return Ok(());
        }
        self.store_elsewhere(address, value)
    }

    #[cold]
    fn store_elsewhere<const N: usize>(&mut self, address: u32, value: [u8; N]) -> Result<(), FaultKind> {
        if self.flash.get::<N>(address).is_none() {
            return Err(FaultKind::Store { address });
        }
        if !self.flash.writable {
            return Err(FaultKind::ReadOnly { address });
        }
        if let Some(bytes) = self.flash.get_mut(address) {
            *bytes = value;
        }
        Ok(())
    }

    /// The halfword that is fetched from `address`.
    pub fn halfword(&self, address: u32) -> Option<u16> {
        let bytes = self.flash.get(address).or_else(|| self.ram.get(address))?;
        Some(u16::from_le_bytes(*bytes))
    }

    pub fn region_of(&mut self, address: u32) -> Option<&mut Region> {
        [&mut self.flash, &mut self.ram].into_iter().find(|region| region.get::<2>(address).is_some())
    }
}
