//! What the ELF file tells simavr: the chip, its clock, and which registers it watches. Its format is
//! `avr_mcu_section.h` of simavr: a tag, a length, and as many bytes; packed.

/// A text of a tag.
#[repr(C, packed)]
struct Text<const N: usize> {
    tag: u8,
    len: u8,
    bytes: [u8; N],
}

/// A number of a tag.
#[repr(C, packed)]
struct Number {
    tag: u8,
    len: u8,
    value: u32,
}

/// A register of a tag, by its address in the memory of data.
#[repr(C, packed)]
struct Register {
    tag: u8,
    len: u8,
    address: u16,
}

/// A register whose values are written to a file, with their times.
#[repr(C, packed)]
struct Trace {
    tag: u8,
    len: u8,
    mask: u8,
    address: u16,
    name: [u8; 32],
}

const TEXT_LEN: usize = 64;

/// So many bytes, the rest zero.
const fn padded<const N: usize>(text: &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    let mut at = 0;
    while at < text.len() {
        bytes[at] = text[at];
        at += 1;
    }
    bytes
}

const fn text(tag: u8, text: &[u8]) -> Text<TEXT_LEN> {
    Text { tag, len: TEXT_LEN as u8, bytes: padded(text) }
}

const fn number(tag: u8, number: u32) -> Number {
    Number { tag, len: 4, value: number }
}

/// All of it: one static, so that nothing comes between.
#[repr(C, packed)]
struct Wishes {
    name: Text<TEXT_LEN>,
    frequency: Number,
    trace_file: Text<TEXT_LEN>,
    trace_period: Number,
    trace: Trace,
    console: Register,
    end: [u8; 2],
}

// Unsafe: the section is the emulator's; the linker puts it where the chip has no memory.
// The name keeps the linker from leaving it out.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".mmcu")]
static _mmcu: Wishes = Wishes {
    name: text(1, b"atmega2560"),
    frequency: number(2, 16_000_000),
    trace_file: text(12, b"marks.vcd"),
    // Microseconds between two writes of the file.
    trace_period: number(13, 1000),
    trace: Trace {
        tag: 14,
        len: (size_of::<Trace>() - 2) as u8,
        mask: 0,
        address: super::chip::MARKS + super::chip::IO_BASE,
        name: padded(b"mark"),
    },
    console: Register { tag: 11, len: 2, address: super::chip::CONSOLE + super::chip::IO_BASE },
    end: [0, 0],
};
