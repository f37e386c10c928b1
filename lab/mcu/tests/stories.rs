//! What users of the stopwatch rely on: the same counts always, memory as a board has it, and
//! faults that say what happened and where.

mod board;

use board::{image, run_with};
use motemix_mcu::{Core, FaultKind, FlashTiming, Machine};

fn fault(core: Core, body: &str, arguments: [u32; 4]) -> FaultKind {
    run_with(core, body, FlashTiming::default(), arguments).unwrap_err().kind
}

#[test]
fn a_run_counts_the_same_every_time() {
    let source = "
function f
    ldr r1, =counter
    ldr r0, [r1]
    adds r0, #1
    str r0, [r1]
    movs r2, #200
1:  muls r0, r2, r0
    subs r2, #1
    bne 1b
    ldr r0, [r1]
    bx lr
.ltorg
end f
.data
counter: .word 41";
    for core in Core::ALL {
        let image = image(core, source);
        let f = image.function("f").unwrap();
        let runs = || {
            let mut machine = Machine::new(&image, core, FlashTiming::default());
            [machine.call(f, [0; 4]).unwrap(), machine.call(f, [0; 4]).unwrap()]
        };
        let [first, second] = runs();
        assert_eq!(runs(), [first, second]);
        // Memory stays from call to call, and a new machine begins with the data of the image.
        assert_eq!((first.result, second.result), (42, 43));
        assert_eq!(first.cycles, second.cycles);
        assert_eq!((first.multiplications, first.loads, first.stores), (200, 3, 1));
    }
}

#[test]
fn an_image_tells_its_size_and_its_functions() {
    let image = image(
        Core::M3,
        "function b\n bx lr\nend b\n.balign 4\nfunction a\n bx lr\n nop\nend a\n.data\n .word 1, 2\n.bss\n .space 100\n",
    );
    let names: Vec<_> =
        image.functions().iter().map(|function| (function.name.as_str(), function.size)).collect();
    assert_eq!(names, [("b", 2), ("a", 4)]);
    assert_eq!(image.function("a").map(|a| a.address), Some(4));
    assert_eq!(image.function("c"), None);
    assert_eq!((image.flash_len(), image.ram_len()), (8 + 8, 8 + 100));
}

#[test]
fn memory_is_written_and_read_from_outside() {
    let image = image(Core::M0Plus, "function f\n ldr r0, [r0]\n bx lr\nend f\n");
    let mut machine = Machine::new(&image, Core::M0Plus, FlashTiming::default());
    machine.write(0x2000_0100, &[1, 2, 3, 4]).unwrap();
    let run = machine.call(image.function("f").unwrap(), [0x2000_0100, 0, 0, 0]).unwrap();
    assert_eq!(run.result, 0x0403_0201);
    let mut out = [0; 2];
    machine.read(0x2000_0102, &mut out).unwrap();
    assert_eq!(out, [3, 4]);
    assert!(machine.read(0x2000_3FFF, &mut out).is_err());
    assert!(machine.read(u32::MAX, &mut out).is_err());
    assert!(machine.write(0x1000_0000, &[0]).is_err());
}

#[test]
fn code_that_changes_itself_runs_as_it_is_then() {
    // The first call decodes `movs r0, #1`; then it becomes `movs r0, #2`.
    let image = image(
        Core::M4,
        "function main\n bx lr\nend main\n.section .ramcode, \"awx\"\ncode:\nfunction f\n movs r0, #1\n bx lr\nend f\nfunction change\n ldr r1, =0x2002\n ldr r2, =code\n strh r1, [r2]\n bx lr\n .ltorg\nend change\n",
    );
    let mut machine = Machine::new(&image, Core::M4, FlashTiming::default());
    let mut call = |name| machine.call(image.function(name).unwrap(), [0; 4]).unwrap().result;
    assert_eq!(call("f"), 1);
    call("change");
    assert_eq!(call("f"), 2);
}

#[test]
fn a_profile_tells_where_the_cycles_went() {
    let source = "
function f
    push {r4, lr}
    movs r4, #5
1:  bl leaf
    subs r4, #1
    bne 1b
    pop {r4, pc}
end f
.balign 4
function leaf
    sub sp, #24
    nop
    add sp, #24
    bx lr
end leaf";
    let image = image(Core::M0Plus, source);
    let mut machine = Machine::new(&image, Core::M0Plus, FlashTiming::default());
    let f = image.function("f").unwrap();
    assert!(machine.profile().is_empty());
    machine.follow();
    let run = machine.call(f, [0; 4]).unwrap();
    let rows = machine.profile();
    let row = |name: &str| rows.iter().find(|row| row.name == name).unwrap();
    assert_eq!((row("f").calls, row("leaf").calls), (1, 5));
    // Three of one cycle and a BX of two, five times.
    assert_eq!((row("leaf").cycles, row("leaf").instructions), (25, 20));
    assert_eq!(row("f").cycles + row("leaf").cycles, run.cycles);
    assert_eq!((row("f").stack, row("leaf").stack, run.stack), (8, 8 + 24, 8 + 24));
    // A second run is counted by itself.
    machine.call(f, [0; 4]).unwrap();
    assert_eq!(machine.profile(), rows);
}

#[test]
fn what_a_core_lacks_is_undefined_there() {
    let m3_code = image(Core::M3, "function f\n udiv r0, r0, r1\n bx lr\nend f\n");
    let m4_code = image(Core::M4, "function f\n umaal r0, r1, r2, r3\n bx lr\nend f\n");
    for (image, core) in [(&m3_code, Core::M0Plus), (&m4_code, Core::M3)] {
        let fault =
            Machine::new(image, core, FlashTiming::default()).call(image.function("f").unwrap(), [0; 4]);
        let fault = fault.unwrap_err();
        assert!(matches!(fault.kind, FaultKind::Undefined { code } if code >> 16 >= 0xE800), "{fault}");
        assert!(fault.to_string().ends_with("at 0x00000000 in f+0x0"), "{fault}");
    }
    assert_eq!(fault(Core::M4, "vadd.f32 s0, s1, s2", [0; 4]), FaultKind::FloatArithmetic);
    assert!(matches!(fault(Core::M4, "udf #3", [0; 4]), FaultKind::Undefined { .. }));
    assert_eq!(fault(Core::M3, "bkpt #7", [0; 4]), FaultKind::Breakpoint { number: 7 });
    assert_eq!(fault(Core::M0Plus, "svc #9", [0; 4]), FaultKind::SupervisorCall { number: 9 });
}

#[test]
fn accesses_that_a_board_refuses_are_faults() {
    let outside = [0x4000_0000, 0, 0, 0];
    let odd = [0x2000_0001, 0, 0, 0];
    for core in Core::ALL {
        assert_eq!(fault(core, "ldr r0, [r0]", outside), FaultKind::Load { address: 0x4000_0000 });
        assert_eq!(fault(core, "strb r0, [r0]", outside), FaultKind::Store { address: 0x4000_0000 });
        assert_eq!(fault(core, "str r0, [r1]", [0; 4]), FaultKind::ReadOnly { address: 0 });
        assert_eq!(fault(core, "ldmia r0!, {r1, r2}", odd), FaultKind::Unaligned { address: 0x2000_0001 });
        assert_eq!(
            fault(core, "movs r1, #1\n orrs r0, r1\n bx r0", outside),
            FaultKind::Execute { address: 0x4000_0000 }
        );
        assert_eq!(fault(core, "bx r0", outside), FaultKind::NotThumb { address: 0x4000_0000 });
    }
    assert_eq!(fault(Core::M0Plus, "ldr r0, [r0]", odd), FaultKind::Unaligned { address: 0x2000_0001 });
    assert!(run_with(Core::M3, "ldr r0, [r0]", FlashTiming::default(), odd).is_ok());
}

#[test]
fn a_fault_says_in_which_function_and_how_far() {
    let image = image(
        Core::M0Plus,
        "function f\n push {lr}\n bl g\n pop {pc}\nend f\nfunction g\n nop\n udf #1\n bx lr\nend g\n",
    );
    let mut machine = Machine::new(&image, Core::M0Plus, FlashTiming::default());
    let fault = machine.call(image.function("f").unwrap(), [0; 4]).unwrap_err();
    assert_eq!(fault.function, Some(("g".into(), 2)));
    assert_eq!(fault.address, image.function("g").unwrap().address + 2);
}

#[test]
fn a_loop_without_end_is_ended() {
    let image = image(Core::M4, "function f\n b .\nend f\n");
    let mut machine = Machine::new(&image, Core::M4, FlashTiming::default());
    machine.limit(1000);
    let fault = machine.call(image.function("f").unwrap(), [0; 4]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Limit { instructions: 1000 });
}

#[test]
fn a_stack_that_reaches_the_data_is_a_fault() {
    // 16 KiB of RAM, 15 of them data.
    let image = image(Core::M0Plus, "function f\n push {r0-r3}\n b f\nend f\n.bss\n .space 15 * 1024\n");
    let mut machine = Machine::new(&image, Core::M0Plus, FlashTiming::default());
    let fault = machine.call(image.function("f").unwrap(), [0; 4]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::StackOverflow { sp: 0x2000_3BF0, floor: 0x2000_3C00 });
}

/// Runs of one function with these arguments are compared in what they did, not in how long it
/// took.
#[test]
fn runs_that_took_the_same_time_are_told_apart_by_what_they_did() {
    // The sides of the branch take the same time, and so do the places of the table.
    let source = "
function branches
    lsls r0, r0, #31
    beq 1f
    b 2f
1:  nop
2:  nop
    bx lr
end branches
function looks_up
    ldr r1, =table
    ldrb r0, [r1, r0]
    bx lr
.ltorg
end looks_up
function stores
    ldr r1, =table
    strb r2, [r1, r0]
    bx lr
.ltorg
end stores
.data
table: .byte 1, 1";
    for core in Core::ALL {
        let image = image(core, source);
        let run = |name: &str, argument: u32| {
            let mut machine = Machine::new(&image, core, FlashTiming::default());
            machine.call(image.function(name).unwrap(), [argument, 0, 0, 0]).unwrap()
        };
        for name in ["branches", "looks_up", "stores"] {
            let [zero, one, two] = [0, 1, 2].map(|argument| run(name, argument));
            assert_eq!((zero.cycles, zero.instructions > 0), (one.cycles, true), "{core} {name}");
            let is_branch = name == "branches";
            assert_eq!(zero.path != one.path, is_branch, "{core} {name}");
            assert_eq!(zero.accesses != one.accesses, !is_branch, "{core} {name}");
            assert_eq!((zero.path == two.path, zero.operand_timed), (true, 0), "{core} {name}");
        }
        // A load is no store to the same place.
        assert_ne!(run("looks_up", 0).accesses, run("stores", 0).accesses);
    }
}

#[test]
fn what_takes_a_time_of_its_operands_is_counted_with_them() {
    let source = "
function product
    umull r0, r1, r0, r1
    bx lr
end product
function quotient
    udiv r0, r0, r1
    bx lr
end quotient
function chooses
    cmp r0, #0
    ite eq
    mlaeq r2, r1, r1, r1
    movne r2, r1
    bx lr
end chooses";
    for core in [Core::M3, Core::M4] {
        let image = image(core, source);
        let run = |name: &str, arguments: [u32; 2]| {
            let mut machine = Machine::new(&image, core, FlashTiming::default());
            machine.call(image.function(name).unwrap(), [arguments[0], arguments[1], 0, 0]).unwrap()
        };
        let timed = u64::from(core == Core::M3);
        // Both end early, so that the time is the same; what was multiplied is not.
        let [product, other] = [[3, 5], [4, 5]].map(|arguments| run("product", arguments));
        assert_eq!((product.cycles, product.operand_timed), (other.cycles, timed));
        assert_eq!(product.operands != other.operands, core == Core::M3);
        let [long, longer] = [[1 << 16, 1 << 20], [1 << 17, 1 << 31]].map(|factors| run("product", factors));
        assert_eq!((long.operands, long.cycles), (longer.operands, longer.cycles));
        let [quotient, other] = [[8, 8], [9, 9]].map(|arguments| run("quotient", arguments));
        assert_eq!((quotient.cycles, quotient.operand_timed), (other.cycles, 1));
        assert_ne!(quotient.operands, other.operands);
        // Skipping MLA, which takes two cycles on a Cortex-M3, is a way of its own.
        let [taken, skipped] = [[0, 1], [1, 1]].map(|arguments| run("chooses", arguments));
        assert_eq!(taken.path != skipped.path, core == Core::M3);
    }
}
