//! Programs for boards, assembled while the tests run, so that what the interpreter decodes was
//! encoded by others.

#![allow(dead_code)] // each test file uses its part

use motemix_mcu::{Core, Fault, FlashTiming, Image, Machine, Run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The beginning of every source: syntax, and the instructions of the core.
const HEAD: &str = "\
.syntax unified
.thumb
.macro function name
    .global \\name
    .type \\name, %function
    .thumb_func
    \\name:
.endm
.macro end name
    .size \\name, . - \\name
.endm
.text
";

fn options(core: Core) -> &'static [&'static str] {
    match core {
        Core::M0Plus => &["-mcpu=cortex-m0plus"],
        Core::M3 => &["-mcpu=cortex-m3"],
        Core::M4 => &["-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"],
    }
}

/// Assembles and links; gives back the path of the ELF file in `folder`.
pub fn assemble(folder: &Path, core: Core, source: &str) -> PathBuf {
    build(folder, core, source, &[])
}

/// The same with sources in C, whose paths begin in the folder of this crate.
pub fn build(folder: &Path, core: Core, source: &str, c: &[&str]) -> PathBuf {
    let (text, elf) = (folder.join("program.S"), folder.join("program.elf"));
    fs::write(&text, format!("{HEAD}{source}")).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/board/link.ld");
    let output = Command::new("arm-none-eabi-gcc")
        .args(options(core))
        .args([
            "-mthumb",
            "-nostdlib",
            "-nostartfiles",
            "-ffreestanding",
            "-O2",
            "-Wl,--build-id=none",
            "-T",
            script,
            "-o",
        ])
        .args([&elf, &text])
        .args(c.iter().map(|c| Path::new(env!("CARGO_MANIFEST_DIR")).join(c)))
        .arg("-lgcc")
        .output()
        .expect("arm-none-eabi-gcc is missing; `scripts/setup arm_gcc` installs it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    elf
}

/// An assembled program on a core without wait states.
pub fn image(core: Core, source: &str) -> Image {
    let folder = tempfile::tempdir().unwrap();
    Image::parse(&fs::read(assemble(folder.path(), core, source)).unwrap()).unwrap()
}

/// Runs the one function `f` of a program whose text is its body without the return.
pub fn run_with(core: Core, body: &str, timing: FlashTiming, arguments: [u32; 4]) -> Result<Run, Fault> {
    let image = image(core, &format!("function f\n{body}\n bx lr\n .ltorg\nend f\n"));
    Machine::new(&image, core, timing).call(image.function("f").unwrap(), arguments)
}

/// The cycles of a body, and of the return from it.
pub fn cycles(core: Core, body: &str) -> u64 {
    run_with(core, body, FlashTiming::default(), [0; 4])
        .unwrap_or_else(|fault| panic!("{body}: {fault}"))
        .cycles
}
