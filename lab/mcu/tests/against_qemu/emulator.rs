//! QEMU, as the other opinion.

use crate::board::build;
use motemix_mcu::Core;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Starts the machine, calls `main`, and ends the emulation. `write` appends r1 bytes from r0 to
/// the file out.bin.
const START: &str = "
.section .vectors, \"a\"
    .word _stack_start
    .word reset
    .rept 14
    .word halt
    .endr
.text
function reset
#if __ARM_ARCH == 7 && defined(__ARM_FP)
    ldr r0, =0xE000ED88
    ldr r1, =0x00F00000
    str r1, [r0]
    dsb
    isb
#endif
    ldr r1, =__data
    ldr r2, =__data_end
    ldr r3, =__data_load
1:  cmp r1, r2
    bhs 2f
    ldmia r3!, {r0}
    stmia r1!, {r0}
    b 1b
2:  ldr r1, =open_block
    movs r0, #1
    bkpt #0xAB
    ldr r1, =handle
    str r0, [r1]
    bl main
    ldr r1, =0x20026
    movs r0, #0x18
    bkpt #0xAB
halt:
    ldr r1, =0x20023
    movs r0, #0x18
    bkpt #0xAB
    b halt
function write
    push {r4, lr}
    ldr r2, =handle
    ldr r3, [r2]
    ldr r4, =write_block
    str r3, [r4]
    str r0, [r4, #4]
    str r1, [r4, #8]
    mov r1, r4
    movs r0, #5
    bkpt #0xAB
    pop {r4, pc}
.ltorg
.align 2
open_block:
    .word out_name, 5, 7
out_name:
    .asciz \"out.bin\"
.bss
.align 2
handle: .space 4
write_block: .space 12
.text
";

fn machine(core: Core) -> &'static str {
    match core {
        Core::M0Plus => "microbit",
        Core::M3 => "mps2-an385",
        Core::M4 => "mps2-an386",
    }
}

/// Builds a program with a `main`, and sources in C, in `folder`, emulates it and gives back its
/// ELF file and what it wrote.
pub fn emulate(folder: &Path, core: Core, program: &str, c: &[&str], options: &[&str]) -> (Vec<u8>, Vec<u8>) {
    let elf = build(folder, core, &format!("{START}{program}"), c);
    let output = Command::new("qemu-system-arm")
        .args(["-M", machine(core), "-nographic", "-monitor", "none", "-serial", "none"])
        .args(["-semihosting-config", "enable=on,target=native"])
        .args(options)
        .arg("-kernel")
        .arg(&elf)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("qemu-system-arm is missing; `scripts/setup qemu` installs it");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the emulated {core} stopped: {errors}");
    (fs::read(&elf).unwrap(), fs::read(folder.join("out.bin")).unwrap())
}
