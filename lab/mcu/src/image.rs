//! An executable for a board, as a linker leaves it.

use object::elf::{FileHeader32, SHF_ALLOC, SHF_WRITE};
use object::read::elf::ElfFile;
use object::{
    Architecture, Endianness, Object, ObjectKind, ObjectSection, ObjectSegment, ObjectSymbol, SectionFlags,
    SectionKind, SymbolKind,
};
use std::collections::BTreeMap;

/// Where RAM begins on every Cortex-M; whatever lies below is flash.
const RAM_BASE: u32 = 0x2000_0000;
/// No microcontroller has more flash, or more RAM.
const MOST_MEMORY: u64 = 16 << 20;
const MOST_SEGMENTS: usize = 64;
/// The stack of an image that does not say where its stack begins.
const DEFAULT_STACK: u64 = 64 << 10;
/// What linker scripts call the stack's upper end, cortex-m-rt's name first.
const STACK_SYMBOLS: [&str; 5] = ["_stack_start", "__StackTop", "_estack", "__stack_top", "__stack"];

/// A function of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its symbol.
    pub name: String,
    /// Its first instruction, without the Thumb bit.
    pub address: u32,
    /// Its bytes, with its literals; 0 if the symbol does not say.
    pub size: u32,
}

/// Why a file is no image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// Not an ELF file, or a broken one.
    #[error("not a sound 32-bit ELF file: {0}")]
    Elf(String),
    /// For another machine, or not linked.
    #[error("not a linked little-endian ARM executable; give the ELF file that the linker wrote")]
    NotExecutable,
    /// More pieces than any linker makes.
    #[error("more than {MOST_SEGMENTS} loadable segments")]
    Segments,
    /// A segment that no board could hold.
    #[error(
        "a segment of {size} bytes at {address:#x}; flash is below {RAM_BASE:#x}, RAM above, 16 MiB each"
    )]
    Memory {
        /// Where it would go.
        address: u64,
        /// Its length.
        size: u64,
    },
    /// Nothing to run.
    #[error("no code is loaded; link it with its sections")]
    Empty,
}

impl From<object::Error> for ImageError {
    fn from(error: object::Error) -> Self {
        Self::Elf(error.to_string())
    }
}

/// A parsed executable: flash and RAM as they are when `main` begins, and the functions in them.
#[derive(Clone, Debug)]
pub struct Image {
    functions: Vec<Function>,
    by_name: BTreeMap<String, usize>,
    pub(crate) flash_base: u32,
    pub(crate) flash: Vec<u8>,
    /// Whether data that changes lies among the code, as in images that run from one piece of RAM.
    pub(crate) flash_writable: bool,
    pub(crate) ram: Vec<u8>,
    pub(crate) stack_top: u32,
    /// End of the static data, below which the stack may not grow.
    pub(crate) stack_floor: u32,
    flash_len: u32,
    ram_len: u32,
}

type Elf<'a> = ElfFile<'a, FileHeader32<Endianness>>;

impl Image {
    /// Reads an ELF file.
    ///
    /// # Errors
    /// If it is none, if it is not linked for ARM, or if it needs more memory than a
    /// microcontroller has.
    pub fn parse(bytes: &[u8]) -> Result<Self, ImageError> {
        let elf = Elf::parse(bytes)?;
        let for_arm = elf.architecture() == Architecture::Arm && elf.is_little_endian();
        if !for_arm || elf.kind() != ObjectKind::Executable {
            return Err(ImageError::NotExecutable);
        }
        let (functions, stack_symbol) = symbols(&elf);
        let segments = segments(&elf)?;
        let (in_flash, in_ram): (Vec<_>, Vec<_>) =
            segments.iter().partition(|segment| segment.begin < RAM_BASE);

        let flash_base = in_flash.iter().map(|segment| segment.begin).min().unwrap_or(RAM_BASE);
        let flash = place(flash_base, &in_flash)?;
        let mut ram = place(RAM_BASE, &in_ram)?;
        if flash.is_empty() && ram.is_empty() {
            return Err(ImageError::Empty);
        }

        let static_end = u64::from(RAM_BASE) + ram.len() as u64;
        let ram_end = u64::from(RAM_BASE) + MOST_MEMORY;
        let default_top = (static_end + DEFAULT_STACK).next_multiple_of(8).min(ram_end);
        let in_range = |top: &u64| *top > u64::from(RAM_BASE) && *top <= ram_end;
        let stack_top =
            stack_symbol.map_or(default_top, |top| if in_range(&top) { top & !7 } else { default_top });
        // A stack may also lie below the static data, so that it cannot grow into them.
        let stack_floor = if stack_top >= static_end { static_end } else { u64::from(RAM_BASE) };
        let len = (stack_top.max(static_end) - u64::from(RAM_BASE)) as usize;
        ram.resize(len, 0);

        let (flash_len, ram_len) = lengths(&elf, &segments);
        let by_name =
            functions.iter().enumerate().map(|(at, function)| (function.name.clone(), at)).collect();
        Ok(Self {
            functions,
            by_name,
            flash_base,
            flash,
            flash_writable: in_flash.iter().any(|segment| segment.writable),
            ram,
            stack_top: stack_top as u32,
            stack_floor: stack_floor as u32,
            flash_len,
            ram_len,
        })
    }

    /// The functions, in the order of their addresses.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// The function of this name; one of them if there are several.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.get(*self.by_name.get(name)?)
    }

    /// Bytes of flash: code, constants and the initial values of data.
    pub fn flash_len(&self) -> u32 {
        self.flash_len
    }

    /// Bytes of RAM: data, whether initialised or not, without stack and heap.
    pub fn ram_len(&self) -> u32 {
        self.ram_len
    }
}

struct Segment<'a> {
    begin: u32,
    size: u32,
    data: &'a [u8],
    writable: bool,
}

fn segments<'a>(elf: &Elf<'a>) -> Result<Vec<Segment<'a>>, ImageError> {
    let mut found = Vec::new();
    for segment in elf.segments() {
        let (address, size) = (segment.address(), segment.size());
        if size == 0 {
            continue;
        }
        if found.len() == MOST_SEGMENTS {
            return Err(ImageError::Segments);
        }
        let refused = ImageError::Memory { address, size };
        let (Ok(begin), Ok(len)) = (u32::try_from(address), u32::try_from(size)) else { return Err(refused) };
        let data = segment.data()?;
        if size > MOST_MEMORY
            || data.len() as u64 > size
            || (begin >= RAM_BASE && begin - RAM_BASE >= 16 << 20)
        {
            return Err(refused);
        }
        let writable = segment.permissions().writable();
        found.push(Segment { begin, size: len, data, writable });
    }
    Ok(found)
}

/// Memory from `base` on that holds all segments; what none of them fills is zero.
fn place(base: u32, segments: &[&Segment<'_>]) -> Result<Vec<u8>, ImageError> {
    let mut memory = Vec::new();
    for segment in segments {
        let begin = (segment.begin - base) as usize;
        let end = begin + segment.size as usize;
        if end as u64 > MOST_MEMORY {
            return Err(ImageError::Memory { address: segment.begin.into(), size: segment.size.into() });
        }
        if memory.len() < end {
            memory.resize(end, 0);
        }
        if let Some(place) = memory.get_mut(begin..begin + segment.data.len()) {
            place.copy_from_slice(segment.data);
        }
    }
    Ok(memory)
}

/// The functions by address, and where the stack begins if the linker script says so.
fn symbols(elf: &Elf<'_>) -> (Vec<Function>, Option<u64>) {
    let mut functions = Vec::new();
    let mut stack: Option<(usize, u64)> = None;
    for symbol in elf.symbols() {
        let (Ok(name), Ok(address)) = (symbol.name(), u32::try_from(symbol.address())) else { continue };
        if symbol.is_definition() && symbol.kind() == SymbolKind::Text {
            let size = u32::try_from(symbol.size()).unwrap_or(0);
            functions.push(Function { name: name.to_owned(), address: address & !1, size });
        } else if let Some(rank) = STACK_SYMBOLS.iter().position(|known| *known == name)
            && stack.is_none_or(|(best, _)| rank < best)
        {
            stack = Some((rank, address.into()));
        }
    }
    functions.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
    functions.dedup();
    (functions, stack.map(|(_, address)| address))
}

/// Bytes of flash and of RAM by the sections, or by the segments of a stripped file.
fn lengths(elf: &Elf<'_>, segments: &[Segment<'_>]) -> (u32, u32) {
    let (mut flash, mut ram) = (0_u32, 0_u32);
    let mut any = false;
    for section in elf.sections() {
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
        let allocated = sh_flags.0 & SHF_ALLOC.0 != 0;
        let name = section.name().unwrap_or_default();
        if !allocated || name.contains("stack") || name.contains("heap") {
            continue;
        }
        any = true;
        let size = u32::try_from(section.size()).unwrap_or(u32::MAX);
        let empty = matches!(section.kind(), SectionKind::UninitializedData | SectionKind::UninitializedTls);
        if !empty {
            flash = flash.saturating_add(size);
        }
        if sh_flags.0 & SHF_WRITE.0 != 0 {
            ram = ram.saturating_add(size);
        }
    }
    if !any {
        for segment in segments {
            flash = flash.saturating_add(segment.data.len() as u32);
            ram = ram.saturating_add(if segment.writable { segment.size } else { 0 });
        }
    }
    (flash, ram)
}
