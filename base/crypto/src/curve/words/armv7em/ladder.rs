//! The steps of the ladder.

#![allow(unsafe_code, reason = "the instructions of this core are reached in assembly only")]

use core::arch::naked_asm;

use super::super::CURVE_CONSTANT;
use super::super::arithmetic::{Ladder, WORDS};
use super::multiply::multiply_to_registers;
use super::square::square_in_registers;

/// All 255 steps. Of each point, the ladder has the sum and the difference of x and z; in the end,
/// x and z of the product. Bit i of `changes` says whether bit i of the factor and the one above
/// it differ.
#[inline]
pub(super) fn steps(ladder: &mut Ladder, changes: &[u32; WORDS]) {
    // SAFETY: reads the five elements of the first and the eight words of the second, writes the
    // second and third element of the first, and keeps what a C function has to keep.
    unsafe { steps_in_memory(ladder, changes) }
}

// What is on the stack, from its end. The factor's bits come first, then elements.
const COUNT: usize = 0;
const CHANGES: usize = 4;
const LADDER: usize = 36;
const X1: usize = 40;
/// x2 + z2, x2 − z2, x3 + z3 and x3 − z3.
const A: usize = X1 + 32;
const B: usize = A + 32;
const C: usize = B + 32;
const D: usize = C + 32;
/// What comes between.
const U: usize = D + 32;
const V: usize = U + 32;
const W: usize = V + 32;
const LEN: usize = W + 32;

/// Loads or stores of words of one element. Loads that follow a load take a cycle, others two.
macro_rules! words {
    ($instruction:literal $element:literal $($word:literal $register:literal)*) => {
        concat!($($instruction, $register, ", [sp, #{", $element, "} + 4 * ", $word, "]\n"),*)
    };
}

/// The element in r0 to r7 to memory.
macro_rules! store {
    ($to:literal) => {
        words!("str " $to 0 "r0" 1 "r1" 2 "r2" 3 "r3" 4 "r4" 5 "r5" 6 "r6" 7 "r7")
    };
}

/// An element to r0 to r7.
macro_rules! load {
    ($from:literal) => {
        words!("ldr " $from 0 "r0" 1 "r1" 2 "r2" 3 "r3" 4 "r4" 5 "r5" 6 "r6" 7 "r7")
    };
}

/// One of two elements to r0 to r7: the second if the flags of `sel` are set.
macro_rules! select {
    ($first:literal, $second:literal) => {
        concat!(
            load!($first),
            words!("ldr " $second 0 "r8" 1 "r9" 2 "r10" 3 "r11" 4 "r12" 5 "lr"),
            "sel r0, r8, r0
            sel r1, r9, r1
            sel r2, r10, r2
            sel r3, r11, r3
            sel r4, r12, r4
            sel r5, lr, r5\n",
            words!("ldr " $second 6 "r8" 7 "r9"),
            "sel r6, r8, r6
            sel r7, r9, r7",
        )
    };
}

/// The product of two elements to r0 to r7.
macro_rules! multiply {
    ($a:literal, $b:literal) => {
        concat!("add r8, sp, #{", $a, "}\nadd r9, sp, #{", $b, "}\nbl {multiply}")
    };
}

/// Takes an element from that in r0 to r7. Both are products or squares: nothing is borrowed twice.
/// r8 becomes all bits if something was borrowed.
macro_rules! subtract {
    ($less:literal) => {
        concat!(
            words!("ldr " $less 0 "r8" 1 "r9" 2 "r10" 3 "r11" 4 "r12" 5 "lr"),
            "subs r0, r0, r8
            sbcs r1, r1, r9
            sbcs r2, r2, r10
            sbcs r3, r3, r11
            sbcs r4, r4, r12
            sbcs r5, r5, lr\n",
            words!("ldr " $less 6 "r8" 7 "r9"),
            "sbcs r6, r6, r8
            sbcs r7, r7, r9
            sbc r8, r8, r8
            and r8, r8, #38
            subs r0, r0, r8
            sbcs r1, r1, #0
            sbcs r2, r2, #0
            sbcs r3, r3, #0
            sbcs r4, r4, #0
            sbcs r5, r5, #0
            sbcs r6, r6, #0
            sbc r7, r7, #0",
        )
    };
}

/// Adds an element twice to that in r0 to r7, which makes a sum of a difference: the highest words
/// first, for what they have above 2²⁵⁵. r10 carries, lr is two.
macro_rules! add_twice {
    ($more:literal) => {
        concat!(
            "mov r10, #0
            mov lr, #2\n",
            words!("ldr " $more 7 "r9" 0 "r8" 1 "r11" 2 "r12"),
            "umaal r7, r10, r9, lr
            mov r9, #19
            lsls r7, r7, #1
            adc r10, r10, r10
            lsr r7, r7, #1
            mul r10, r10, r9
            umaal r0, r10, r8, lr
            umaal r1, r10, r11, lr
            umaal r2, r10, r12, lr\n",
            words!("ldr " $more 3 "r8" 4 "r9" 5 "r11" 6 "r12"),
            "umaal r3, r10, r8, lr
            umaal r4, r10, r9, lr
            umaal r5, r10, r11, lr
            umaal r6, r10, r12, lr
            add r7, r7, r10",
        )
    };
}

/// An element and the curve's constant times that in r0 to r7, which is lost, to memory: the
/// highest words first. r10 carries, lr is the constant.
macro_rules! add_to_small_multiple {
    ($summand:literal, $to:literal) => {
        concat!(
            "mov r10, #0
            movw lr, #{constant_low}
            movt lr, #{constant_high}\n",
            words!("ldr " $summand 7 "r9" 0 "r8" 1 "r11" 2 "r12"),
            "umaal r9, r10, r7, lr
            mov r7, #19
            lsls r9, r9, #1
            adc r10, r10, r10
            lsr r9, r9, #1
            mul r10, r10, r7
            umaal r8, r10, r0, lr
            umaal r11, r10, r1, lr
            umaal r12, r10, r2, lr\n",
            words!("str " $to 0 "r8" 1 "r11" 2 "r12"),
            words!("ldr " $summand 3 "r0" 4 "r1" 5 "r2" 6 "r7"),
            "umaal r0, r10, r3, lr
            umaal r1, r10, r4, lr
            umaal r2, r10, r5, lr
            umaal r7, r10, r6, lr
            add r9, r9, r10\n",
            words!("str " $to 3 "r0" 4 "r1" 5 "r2" 6 "r7" 7 "r9"),
        )
    };
}

/// The point that is doubled is chosen, the points are not exchanged: of the products of one
/// point's sum and the other's difference, only the squares of sum and difference are taken.
#[unsafe(naked)]
unsafe extern "C" fn steps_in_memory(ladder: *mut Ladder, changes: *const [u32; WORDS]) {
    naked_asm!(
        "push {{r4-r11, lr}}",
        "sub sp, #{len}",
        "str r0, [sp, #{ladder}]",
        "ldm r1, {{r2-r9}}",
        "add r10, sp, #{changes}",
        "stm r10, {{r2-r9}}",
        "add r10, sp, #{x1}",
        "mov r9, #5",
        "2:",
        "ldm r0!, {{r1-r8}}",
        "stm r10!, {{r1-r8}}",
        "subs r9, r9, #1",
        "bne 2b",
        "mov r0, #254",
        "str r0, [sp, #{count}]",
        // r0 is the number of the bit. The flags of `sel` are set if it differs from the one above.
        "3:",
        "lsr r2, r0, #5",
        "add r1, sp, #{changes}",
        "ldr r1, [r1, r2, lsl #2]",
        "and r2, r0, #31",
        "lsr r1, r1, r2",
        "and r1, r1, #1",
        "rsb r1, r1, #0",
        "uadd8 r1, r1, r1",
        // The squares of difference and sum of the point that is doubled.
        select!("b", "d"),
        "bl {square}",
        store!("w"),
        select!("a", "c"),
        "bl {square}",
        store!("v"),
        // The sum of both points.
        multiply!("d", "a"),
        store!("u"),
        multiply!("c", "b"),
        subtract!("u"),
        store!("a"),
        "bl {square}",
        store!("b"),
        multiply!("b", "x1"),
        store!("b"),
        load!("a"),
        add_twice!("u"),
        "bl {square}",
        subtract!("b"),
        store!("d"),
        add_twice!("b"),
        store!("c"),
        // Twice the point: E = A² − B², z2 = E·(B² + (a24 + 1)·E), x2 = A²·B².
        load!("v"),
        subtract!("w"),
        store!("a"),
        add_to_small_multiple!("w", "u"),
        multiply!("a", "u"),
        store!("u"),
        multiply!("v", "w"),
        "ldr r8, [sp, #{count}]",
        "subs r8, r8, #1",
        "str r8, [sp, #{count}]",
        "bmi 4f",
        subtract!("u"),
        store!("b"),
        add_twice!("u"),
        store!("a"),
        "ldr r0, [sp, #{count}]",
        "b 3b",
        "4:",
        "ldr r8, [sp, #{ladder}]",
        "add r8, r8, #32",
        "stm r8!, {{r0-r7}}",
        load!("u"),
        "stm r8, {{r0-r7}}",
        "add sp, #{len}",
        "pop {{r4-r11, pc}}",
        multiply = sym multiply_to_registers,
        square = sym square_in_registers,
        constant_low = const CURVE_CONSTANT & 0xffff,
        constant_high = const CURVE_CONSTANT >> 16,
        count = const COUNT,
        changes = const CHANGES,
        ladder = const LADDER,
        x1 = const X1,
        a = const A,
        b = const B,
        c = const C,
        d = const D,
        u = const U,
        v = const V,
        w = const W,
        len = const LEN,
    )
}
