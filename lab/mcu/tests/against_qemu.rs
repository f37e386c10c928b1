//! The interpreter and QEMU run the same programs and have to agree: on every register, flag and
//! byte of memory after random instructions, and on the number of instructions of programs with
//! loops, calls and tables.
//!
//! QEMU is no measure of cycles, but of what instructions do it is the best that there is.

#[path = "against_qemu/counts.rs"]
mod counts;
#[path = "against_qemu/emulator.rs"]
mod emulator;
#[path = "against_qemu/generator.rs"]
mod generator;
#[path = "against_qemu/templates.rs"]
mod templates;

mod board;

use emulator::emulate;
use generator::Random;
use motemix_mcu::{Core, FlashTiming, Image, Machine};
use std::fmt::Write;

const CASES: usize = 300;
const LENGTH: usize = 20;
/// Words that a case begins with: the registers, the flags, and what is in its memory.
const INPUTS: usize = 16;
/// Which of them the flags are.
const FLAGS: usize = 12;
/// Bytes that a case leaves: its memory, registers, flags.
const OUTPUT: usize = 128;

/// Calls case R0 with its registers and flags, and stores what it leaves behind its 64 bytes of
/// memory.
const RUN_CASE: &str = "
function leaf
    adds r0, #1
    bx lr
function run_case
    push {r4-r7, lr}
    mov r1, r8
    mov r2, r9
    mov r3, r10
    mov r4, r11
    push {r1-r4}
    ldr r1, =inputs
    lsls r2, r0, #6
    adds r1, r2
    ldr r6, =output
    movs r3, #0
1:  ldr r4, [r1, r3]
    str r4, [r6, r3]
    adds r3, #4
    cmp r3, #64
    bne 1b
#ifdef __ARM_FEATURE_DSP
    vldmia r1, {s0-s15}
    vldmia r1, {s16-s31}
    vmsr fpscr, r3
#endif
    ldr r2, =cases
    lsls r0, #2
    ldr r2, [r2, r0]
    mov lr, r2
    ldr r0, [r1, #28]
    mov r8, r0
    ldr r0, [r1, #32]
    mov r9, r0
    ldr r0, [r1, #36]
    mov r10, r0
    ldr r0, [r1, #40]
    mov r11, r0
    ldr r0, [r1, #44]
    mov r12, r0
    ldr r0, [r1, #48]
#ifdef __ARM_FEATURE_DSP
    msr apsr_nzcvqg, r0
#else
    msr apsr_nzcvq, r0
#endif
    ldr r0, [r1]
    ldr r2, [r1, #8]
    ldr r3, [r1, #12]
    ldr r4, [r1, #16]
    ldr r5, [r1, #20]
    ldr r7, [r1, #24]
    ldr r1, [r1, #4]
    blx lr
    str r0, [r6, #64]
    str r1, [r6, #68]
    str r2, [r6, #72]
    str r3, [r6, #76]
    str r4, [r6, #80]
    str r5, [r6, #84]
    str r7, [r6, #88]
    mov r0, r8
    str r0, [r6, #92]
    mov r0, r9
    str r0, [r6, #96]
    mov r0, r10
    str r0, [r6, #100]
    mov r0, r11
    str r0, [r6, #104]
    mov r0, r12
    str r0, [r6, #108]
    mrs r0, apsr
    str r0, [r6, #112]
    pop {r1-r4}
    mov r8, r1
    mov r9, r2
    mov r10, r3
    mov r11, r4
    ldr r0, =output
    pop {r4-r7, pc}
.ltorg
end run_case
function main
    push {r4, lr}
    movs r4, #0
1:  mov r0, r4
    bl run_case
    movs r1, #128
    bl write
    adds r4, #1
    ldr r0, =CASES
    cmp r4, r0
    bne 1b
    pop {r4, pc}
.ltorg
end main
.bss
.align 3
output: .space 128
.text
";

struct Case {
    inputs: [u32; INPUTS],
    lines: Vec<String>,
}

fn cases(random: &mut Random, core: Core) -> Vec<Case> {
    // Each template alone first, so that none of them is missing whatever the seed is.
    let alone = generator::all(random, core).into_iter().map(|line| vec![line]).collect::<Vec<_>>();
    let mixed = (0..CASES).map(|_| (0..LENGTH).map(|_| generator::instruction(random, core)).collect());
    let mut all: Vec<Vec<String>> = mixed.collect();
    all.extend(alone);
    let case = |lines| {
        let mut inputs = std::array::from_fn(|_| random.operand());
        if core == Core::M0Plus {
            // ARMv6-M has no Q; QEMU lets it be set.
            inputs[FLAGS] &= !(1 << 27);
        }
        Case { inputs, lines }
    };
    all.into_iter().map(case).collect()
}

fn program(cases: &[Case]) -> String {
    let mut text = format!(".equ CASES, {}\n{RUN_CASE}", cases.len());
    for (number, case) in cases.iter().enumerate() {
        // `bl leaf` needs a return address of its own.
        let body = case.lines.join("\n ");
        let body =
            body.replace("bl leaf", "push {r0, lr}\n bl leaf\n pop {r1, r2}\n mov lr, r2\n movs r2, #0");
        writeln!(text, ".balign 4\nfunction case_{number}\n {body}\n bx lr\nend case_{number}").unwrap();
    }
    text += ".align 2\ncases:\n";
    for number in 0..cases.len() {
        writeln!(text, " .word case_{number}").unwrap();
    }
    text += "inputs:\n";
    for case in cases {
        writeln!(text, " .word {}", case.inputs.map(|word| word.to_string()).join(", ")).unwrap();
    }
    text
}

/// Names of what an output holds, word by word.
fn place(word: usize) -> String {
    const REGISTERS: [&str; 13] =
        ["r0", "r1", "r2", "r3", "r4", "r5", "r7", "r8", "r9", "r10", "r11", "r12", "apsr"];
    match word.checked_sub(16) {
        None => format!("memory[{}]", word * 4),
        Some(register) => (*REGISTERS.get(register).unwrap_or(&"beyond")).to_owned(),
    }
}

/// What is read before `adds` or any other instruction of the case wrote it is the same in both, so
/// a difference is the first thing that the case shows.
fn differences(expected: &[u8], found: &[u8]) -> Vec<String> {
    let words = |bytes: &[u8]| {
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    };
    let (expected, found): (Vec<u32>, Vec<u32>) = (words(expected), words(found));
    let unequal = expected.iter().zip(&found).enumerate().filter(|(_, (expected, found))| expected != found);
    unequal.map(|(at, (e, f))| format!("{}: QEMU has {e:#010x}, we have {f:#010x}", place(at))).collect()
}

fn seed() -> u64 {
    let given =
        std::env::var("MOTEMIX_SEED").ok().map(|seed| seed.parse().expect("MOTEMIX_SEED is a number"));
    let seed = given.unwrap_or_else(|| u64::from(std::process::id()) << 20 | 0x5EED);
    println!("to repeat: MOTEMIX_SEED={seed}");
    seed
}

fn same_results(core: Core) {
    let mut random = Random(seed());
    let cases = cases(&mut random, core);
    let folder = tempfile::tempdir().unwrap();
    let (elf, expected) = emulate(folder.path(), core, &program(&cases), &[], &[]);
    assert_eq!(expected.len(), cases.len() * OUTPUT, "QEMU did not come to the end");

    let image = Image::parse(&elf).unwrap();
    let mut machine = Machine::new(&image, core, FlashTiming::default());
    machine.limit(100_000);
    let run_case = image.function("run_case").unwrap();
    for (number, (case, expected)) in cases.iter().zip(expected.chunks_exact(OUTPUT)).enumerate() {
        let story = || {
            format!("case {number} on {core}:\n {}\n inputs {:#010x?}", case.lines.join("\n "), case.inputs)
        };
        let run = machine
            .call(run_case, [number as u32, 0, 0, 0])
            .unwrap_or_else(|fault| panic!("{fault}\n{}", story()));
        let mut found = [0; OUTPUT];
        machine.read(run.result, &mut found).unwrap();
        let differences = differences(expected, &found);
        assert!(differences.is_empty(), "{}\n{}", differences.join("\n"), story());
    }
}

#[test]
fn random_instructions_do_on_the_m0_plus_what_they_do_in_qemu() {
    same_results(Core::M0Plus);
}

#[test]
fn random_instructions_do_on_the_m3_what_they_do_in_qemu() {
    same_results(Core::M3);
}

#[test]
fn random_instructions_do_on_the_m4_what_they_do_in_qemu() {
    same_results(Core::M4);
}
