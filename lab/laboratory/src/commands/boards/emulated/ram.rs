//! How deep a board's stack ever was. Before `main`, cortex-m-rt paints the memory that the stack
//! grows into (its feature `paint-stack`); what still has the paint afterwards was never written.
//!
//! ```text
//! static data │ never written │ what the stack has used │
//!        _stack_end                               _stack_start
//! ```

use anyhow::{Context, Result, bail};
use object::read::elf::ElfFile32;
use object::{Endianness, Object as _, ObjectSymbol as _};
use std::fs;
use std::path::Path;

/// Each byte of cortex-m-rt's `STACK_PAINT_VALUE`.
const PAINT: u8 = 0xcc;

/// The memory between a program's static data and the beginning of its stack.
#[derive(Debug, PartialEq)]
pub struct Ram {
    begin: u32,
    end: u32,
}

impl Ram {
    /// That of a program.
    pub fn of(firmware: &Path) -> Result<Self> {
        let read = || {
            let bytes = fs::read(firmware)?;
            let elf = ElfFile32::<Endianness>::parse(&*bytes)?;
            let address = |name: &str| {
                let symbol = elf.symbol_by_name(name).with_context(|| format!("it has no {name}"))?;
                u32::try_from(symbol.address()).with_context(|| format!("{name} is no address"))
            };
            Self::between(address("_stack_end")?, address("_stack_start")?)
        };
        read().with_context(|| format!("cannot use the program {}", firmware.display()))
    }

    fn between(begin: u32, end: u32) -> Result<Self> {
        if begin >= end {
            bail!("its stack has no room");
        }
        Ok(Self { begin, end })
    }

    /// Where it begins.
    pub fn begin(&self) -> u32 {
        self.begin
    }

    /// Bytes of it.
    pub fn len(&self) -> u32 {
        self.end - self.begin
    }

    /// Bytes that still have their paint below the deepest byte that has not; `None` if `memory` is
    /// not all of it.
    pub fn unused(&self, memory: &[u8]) -> Option<u64> {
        if memory.len() != self.len() as usize {
            return None;
        }
        Some(memory.iter().take_while(|byte| **byte == PAINT).count() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::{PAINT, Ram};

    #[test]
    fn what_the_stack_has_not_reached_keeps_its_paint() {
        let ram = Ram::between(0x2000_0010, 0x2000_0020).unwrap();
        let mut memory = [PAINT; 16];
        assert_eq!(ram.unused(&memory), Some(16));
        // A hole that a frame left does not count: there is something below it.
        memory[15] = 1;
        memory[4] = 0;
        assert_eq!(ram.unused(&memory), Some(4));
        memory[0] = 0;
        assert_eq!(ram.unused(&memory), Some(0));
        assert_eq!(ram.unused(&memory[1..]), None);
    }

    #[test]
    fn a_program_without_room_for_a_stack_is_refused() {
        assert!(Ram::between(8, 8).is_err());
        let text = tempfile::NamedTempFile::new().unwrap();
        let error = Ram::of(text.path()).unwrap_err();
        assert!(error.to_string().contains(text.path().to_str().unwrap()), "{error}");
    }
}
