//! Cycles that follow by hand from ARM's manuals: DDI 0484 for the Cortex-M0+, DDI 0337 for the M3,
//! DDI 0439 for the M4.
//!
//! Every body ends with `bx lr`: 2 cycles on a Cortex-M0+, and 1 + 2 on the others, whose pipeline
//! refills in two when the target comes from a register.

mod board;

use board::{cycles, image, run_with};
use motemix_mcu::{Core, FlashTiming, Machine, Multiplier};

const V7: [Core; 2] = [Core::M3, Core::M4];

/// Cycles of the return.
fn bx(core: Core) -> u64 {
    if core == Core::M0Plus { 2 } else { 3 }
}

fn costs(core: Core, body: &str, expected: u64) {
    assert_eq!(cycles(core, body), expected + bx(core), "{core}:\n{body}");
}

#[test]
fn a_delay_loop() {
    let body = "movs r0, #10\n 1: subs r0, #1\n bne 1b";
    // 1, then ten times SUBS 1; BNE is taken nine times, for 2 (1 + P with P = 1 on M3 and M4), and
    // once not, for 1.
    for core in Core::ALL {
        costs(core, body, 1 + 10 + 9 * 2 + 1);
    }
}

#[test]
fn a_loop_to_an_unaligned_32_bit_instruction_refills_for_longer() {
    // The head is at address 2. Nine taken branches cost a cycle more each.
    for core in V7 {
        costs(core, "movs r0, #10\n 1: subs.w r0, r0, #1\n bne 1b", 1 + 10 + 9 * 3 + 1);
    }
}

const LONG_PRODUCT: &str = "
    uxth r2, r0
    lsrs r0, r0, #16
    uxth r3, r1
    lsrs r1, r1, #16
    movs r4, r3
    muls r3, r2, r3
    muls r2, r1, r2
    muls r1, r0, r1
    muls r0, r4, r0
    movs r4, #0
    adds r2, r2, r0
    adcs r4, r4
    lsls r0, r2, #16
    lsrs r2, r2, #16
    lsls r4, r4, #16
    adds r0, r0, r3
    adcs r1, r2
    adds r1, r1, r4
";

#[test]
fn a_long_product_of_halves_on_the_m0_plus() {
    let (a, b) = (0xDEAD_BEEF_u32, 0x8765_4321_u32);
    let product = u64::from(a) * u64::from(b);
    for (half, expected) in [("", product as u32), ("movs r0, r1", (product >> 32) as u32)] {
        let body = format!("{LONG_PRODUCT}{half}");
        let run = run_with(Core::M0Plus, &body, FlashTiming::default(), [a, b, 0, 0]).unwrap();
        assert_eq!(run.result, expected);
        assert_eq!(run.multiplications, 4);
    }
    // Eighteen instructions of one cycle.
    costs(Core::M0Plus, LONG_PRODUCT, 18);
}

#[test]
fn the_small_multiplier_takes_32_cycles() {
    let image = image(Core::M0Plus, &format!("function f\n{LONG_PRODUCT}\n bx lr\nend f\n"));
    let mut machine = Machine::new(&image, Core::M0Plus, FlashTiming::default());
    machine.multiplier(Multiplier::Small);
    let run = machine.call(image.function("f").unwrap(), [3, 4, 0, 0]).unwrap();
    assert_eq!(run.cycles, 14 + 4 * 32 + 2);
}

#[test]
fn copying_word_by_word() {
    let body = "
        sub sp, #32
        mov r0, sp
        add r1, sp, #16
        movs r2, #12
    1:  ldr r3, [r0, r2]
        str r3, [r1, r2]
        subs r2, #4
        bpl 1b
        add sp, #32";
    // M0+: LDR 2, STR 2, SUBS 1, BPL 2 or 1: 7 a turn and 6 the last.
    costs(Core::M0Plus, body, 5 + 3 * 7 + 6);
    // M3 and M4: LDR 2, the STR by register overlaps with it and costs 1, SUBS 1, BPL 2 or 1.
    for core in V7 {
        costs(core, body, 5 + 3 * 6 + 5);
    }
}

#[test]
fn copying_four_words_at_once() {
    let body = "
        sub sp, #32
        mov r0, sp
        add r1, sp, #16
        push {r4-r6}
        ldmia r0!, {r3-r6}
        stmia r1!, {r3-r6}
        pop {r4-r6}
        add sp, #32";
    // 1 + N each: 4 and 4 for the stack, 5 and 5 for the copy; nothing overlaps.
    for core in Core::ALL {
        costs(core, body, 4 + 4 + 5 + 5 + 4);
    }
}

#[test]
fn a_call_and_its_return() {
    let source = "
function f
    push {r4, lr}
    bl g
    pop {r4, pc}
end f
.balign 4
function g
    bx lr
end g";
    for (core, expected) in [
        // PUSH 1 + 2, BL 3, BX 2, POP with PC 3 + 2.
        (Core::M0Plus, 3 + 3 + 2 + 5),
        // PUSH 1 + 2, BL 1 + 1, BX 1 + 2, POP 1 + 2 and a refill of 2.
        (Core::M3, 3 + 2 + 3 + 5),
        (Core::M4, 3 + 2 + 3 + 5),
    ] {
        let image = image(core, source);
        let run =
            Machine::new(&image, core, FlashTiming::default()).call(image.function("f").unwrap(), [0; 4]);
        let run = run.unwrap();
        assert_eq!(
            (run.cycles, run.instructions, run.stack, run.branches_taken),
            (expected, 4, 8, 3),
            "{core}"
        );
    }
}

#[test]
fn neighbouring_loads_overlap() {
    // The examples of DDI 0439, 3.3.2. The M0+ has no overlap: 2 each.
    for core in V7 {
        costs(core, "mov r1, sp\n sub sp, #16\n ldr r0, [sp]\n ldr r1, [sp, #4]", 2 + 3);
        costs(core, "sub sp, #16\n ldr r0, [sp]\n ldr r1, [sp, #4]\n ldr r2, [sp, #8]\n add sp, #16", 2 + 4);
        costs(core, "sub sp, #16\n ldr r0, [sp]\n str r0, [sp, #4]\n add sp, #16", 2 + 3);
        // A store by register overlaps with the load before it, and nothing with the store.
        costs(
            core,
            "sub sp, #16\n mov r1, sp\n movs r2, #4\n ldr r0, [sp]\n str r0, [r1, r2]\n ldr r3, [sp]\n add sp, #16",
            4 + 3 + 2,
        );
    }
    costs(
        Core::M0Plus,
        "sub sp, #16\n ldr r0, [sp]\n ldr r1, [sp, #4]\n str r2, [sp, #8]\n add sp, #16",
        2 + 6,
    );
}

#[test]
fn a_load_waits_for_the_address_that_is_loaded() {
    // SUB, MOV, STR 1, then LDR 2 whose result is the next one's address: 2 again.
    for core in V7 {
        costs(
            core,
            "sub sp, #16\n mov r1, sp\n str r1, [sp]\n ldr r0, [sp]\n ldr r2, [r0]\n add sp, #16",
            4 + 2 + 2,
        );
    }
}

#[test]
fn unaligned_words_are_loaded_in_pieces() {
    // Aligned 2; a halfword-aligned word is two accesses, a byte-aligned one three.
    for core in V7 {
        for (offset, expected) in [(0, 2), (2, 3), (1, 4), (3, 4)] {
            costs(core, &format!("sub sp, #16\n ldr r0, [sp, #{offset}]\n add sp, #16"), 2 + expected);
        }
    }
}

#[test]
fn it_is_folded_into_a_16_bit_instruction_before_it() {
    // CMP 1, IT 0, MOVEQ 1; after a 32-bit CMP, IT costs its cycle. A skipped instruction costs
    // one.
    for core in V7 {
        costs(core, "cmp r0, #0\n it eq\n moveq r0, #1", 2);
        costs(core, "cmp.w r0, #0\n it eq\n moveq r0, #1", 3);
        costs(core, "cmp r0, #0\n itt ne\n movne r0, #1\n movne r1, #1", 3);
    }
}

#[test]
fn long_multiplications_end_early_on_the_m3_and_never_on_the_m4() {
    for (instruction, both_short) in [("umull", 3), ("smull", 3), ("smlal", 4), ("umlal", 5)] {
        for (first, second, long) in [(65_535, 2, 0), (65_536, 2, 1), (2, 1 << 30, 1), (1 << 30, 1 << 20, 2)]
        {
            let run = |core| {
                let body = format!("{instruction} r2, r3, r0, r1");
                run_with(core, &body, FlashTiming::default(), [first, second, 0, 0]).unwrap().cycles
            };
            assert_eq!(run(Core::M3), both_short + long + bx(Core::M3), "{instruction} {first} {second}");
            assert_eq!(run(Core::M4), 1 + bx(Core::M4));
        }
    }
}

#[test]
fn a_division_takes_as_long_as_its_quotient() {
    for core in V7 {
        for (dividend, divisor, expected) in
            [(5, 0, 2), (5, 6, 2), (5, 5, 3), (255, 1, 2 + 3), (u32::MAX, 1, 12)]
        {
            let run =
                run_with(core, "udiv r0, r0, r1", FlashTiming::default(), [dividend, divisor, 0, 0]).unwrap();
            assert_eq!(run.cycles, expected + bx(core), "{dividend} / {divisor}");
        }
    }
}

#[test]
fn multiplications_of_one_word() {
    costs(Core::M3, "mul r0, r1, r2\n mla r0, r1, r2, r3\n mls r0, r1, r2, r3", 1 + 2 + 2);
    costs(
        Core::M4,
        "mul r0, r1, r2\n mla r0, r1, r2, r3\n mls r0, r1, r2, r3\n umaal r0, r1, r2, r3\n smlad r0, r1, r2, r3",
        5,
    );
}

#[test]
fn registers_of_the_floating_point_unit() {
    // VMOV 1, of two registers 2; VPUSH and VPOP 1 + N.
    costs(
        Core::M4,
        "vmov s0, r0\n vmov r1, s0\n vmov r0, r1, d0\n vpush {s0-s3}\n vpop {s4-s7}",
        1 + 1 + 2 + 5 + 5,
    );
}

#[test]
fn code_in_flash_waits_line_by_line() {
    let timing = FlashTiming { line_bytes: 8, sequential: 2, jump: 5 };
    let run = |core, body: &str| run_with(core, body, timing, [0; 4]).unwrap().cycles;
    for core in Core::ALL {
        // Eleven NOPs and BX are three lines: a jump to the first, two in sequence.
        assert_eq!(run(core, &"nop\n".repeat(11)), 11 + bx(core) + 5 + 2 + 2);
        // The loop is in one line, fetched once; BX is in it.
        assert_eq!(run(core, "movs r0, #10\n 1: subs r0, #1\n bne 1b"), 30 + bx(core) + 5);
    }
    // The loop's instruction begins in one line and ends in the next: each turn fetches both.
    let turns = "movs r0, #3\n nop\n nop\n 1: subs.w r0, r0, #1\n bne 1b";
    // Lines 0, 8; then twice from 8 back to 0, a jump, and on.
    assert_eq!(run(Core::M4, turns), 3 + 3 + 3 + 3 + 1 + 3 + 5 + 2 + 2 * (5 + 2));
}

#[test]
fn data_in_flash_waits_and_data_in_ram_does_not() {
    let timing = FlashTiming { line_bytes: 16, sequential: 0, jump: 3 };
    for core in Core::ALL {
        let run = |body: &str| run_with(core, body, timing, [0; 4]).unwrap().cycles;
        let without = |body: &str| cycles(core, body);
        // The code's own line, and the literal's.
        assert_eq!(run("ldr r0, =0x12345678"), without("ldr r0, =0x12345678") + 3 + 3);
        // Two words of one line are fetched once; here they lie in the code's line, which is not
        // the data's.
        let list = "movs r0, #0\n ldmia r0!, {r1, r2}\n nop\n nop";
        assert_eq!(run(list), without(list) + 3 + 3);
        let on_stack = "sub sp, #8\n ldr r0, [sp]\n add sp, #8";
        assert_eq!(run(on_stack), without(on_stack) + 3);
    }
}

#[test]
fn code_in_ram_does_not_wait() {
    let timing = FlashTiming { line_bytes: 8, sequential: 2, jump: 5 };
    for core in Core::ALL {
        let source = "function main\n bx lr\nend main\n.section .ramcode, \"ax\"\nfunction f\n .rept 20\n nop\n .endr\n bx lr\nend f\n";
        let image = image(core, source);
        let f = image.function("f").unwrap();
        assert!(f.address >= 0x2000_0000);
        let run = Machine::new(&image, core, timing).call(f, [0; 4]).unwrap();
        assert_eq!(run.cycles, 20 + bx(core));
    }
}
