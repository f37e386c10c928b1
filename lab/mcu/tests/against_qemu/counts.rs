//! QEMU's clock can be made to advance by the same time with each instruction, so that a timer of
//! the machine counts them.

use super::emulator::emulate;
use motemix_mcu::{Core, FlashTiming, Image, Machine};
use std::fmt::Write;

const PROGRAMS: [&str; 7] =
    ["sorting", "long_products", "quotients", "copies", "recursion", "choices", "halves"];
/// Functions of so many instructions, to check the timer with.
const RULERS: [(&str, u32); 3] = [("short", 11), ("middle", 501), ("long", 2001)];

/// Virtual time of each instruction: 2 to the power of QEMU's shift.
const NANOSECONDS: f64 = 256.0;

/// The clock of SysTick on the emulated boards.
fn megahertz(core: Core) -> f64 {
    if core == Core::M0Plus { 16.0 } else { 25.0 }
}

/// Writes the ticks of SysTick that each function took, and what it returned.
const MAIN: &str = "
function main
    push {r4-r7, lr}
    ldr r5, =0xE000E010
    ldr r0, =0x00FFFFFF
    str r0, [r5, #4]
    str r0, [r5, #8]
    movs r0, #5
    str r0, [r5]
    ldr r4, =counted
1:  ldr r0, [r4]
    cmp r0, #0
    beq 2f
    ldr r6, [r5, #8]
    blx r0
    ldr r7, [r5, #8]
    subs r6, r7
    lsls r6, #8
    lsrs r6, #8
    ldr r1, =result
    str r6, [r1]
    str r0, [r1, #4]
    mov r0, r1
    movs r1, #8
    bl write
    adds r4, #4
    b 1b
2:  pop {r4-r7, pc}
.ltorg
end main
.bss
.align 2
result: .space 8
.text
";

fn program() -> String {
    let mut text = String::from(MAIN);
    for (name, instructions) in RULERS {
        writeln!(text, "function {name}\n .rept {}\n nop\n .endr\n bx lr\nend {name}", instructions - 1)
            .unwrap();
    }
    text += ".align 2\ncounted:\n";
    for name in RULERS.iter().map(|(name, _)| *name).chain(PROGRAMS) {
        writeln!(text, " .word {name}").unwrap();
    }
    text + " .word 0\n"
}

#[test]
fn instructions_are_as_many_as_qemu_counts() {
    for core in Core::ALL {
        let folder = tempfile::tempdir().unwrap();
        let (elf, written) = emulate(
            folder.path(),
            core,
            &program(),
            &["tests/against_qemu/programs.c"],
            &["-icount", "shift=8"],
        );
        let measured: Vec<[u32; 2]> = written
            .chunks_exact(8)
            .map(|pair| [0, 4].map(|at| u32::from_le_bytes(pair[at..at + 4].try_into().unwrap())))
            .collect();
        assert_eq!(measured.len(), RULERS.len() + PROGRAMS.len(), "QEMU did not come to the end");

        let ticks_each = megahertz(core) * NANOSECONDS / 1000.0;
        let begin = f64::from(measured[0][0]);
        let instructions = |ticks: u32| (f64::from(ticks) - begin) / ticks_each + f64::from(RULERS[0].1);
        for ((name, exact), [ticks, _]) in RULERS.into_iter().zip(&measured) {
            let counted = instructions(*ticks);
            assert!(
                (counted - f64::from(exact)).abs() < 0.3,
                "the timer is no ruler: {name} counts {counted}"
            );
        }

        let image = Image::parse(&elf).unwrap();
        let mut machine = Machine::new(&image, core, FlashTiming::default());
        machine.limit(1_000_000);
        for (name, [ticks, result]) in PROGRAMS.into_iter().zip(&measured[RULERS.len()..]) {
            let run = machine.call(image.function(name).unwrap(), [0; 4]).unwrap();
            let counted = instructions(*ticks);
            println!(
                "{core} {name}: {} instructions, {} cycles; QEMU counts {counted:.2}",
                run.instructions, run.cycles
            );
            assert_eq!(run.result, *result, "{name} on {core}");
            assert!(
                (counted - f64::from(run.instructions as u32)).abs() < 0.5,
                "{name} on {core}: {} is not {counted:.2}",
                run.instructions
            );
        }
    }
}
