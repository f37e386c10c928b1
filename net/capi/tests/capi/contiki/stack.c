/*
 * Calls a function on another stack, as the module does, on a Cortex-M in an emulator and on this
 * machine: the function finds the other stack, as its calling convention wants it, and spoils all
 * that the convention lets it spoil; the caller finds everything as it was.
 */

#include "../../../../../boards/ports/contiki-ng/motemix/motemix-stack.h"

#ifdef __arm__
#define CALLS 1
static const char *const names[CALLS] = { "none" };
/* What is measured elsewhere. */
#pragma GCC diagnostic ignored "-Wunused-function"
#include "../bare.h"
#else
#include <stdio.h>
#include <stdlib.h>

static void say(const char *text)
{
    fputs(text, stdout);
}

static void leave(int failed)
{
    exit(failed ? EXIT_FAILURE : EXIT_SUCCESS);
}
#endif

#define WORDS 2048
#define PAINT 0x70616964u

static uint32_t other[WORDS] __attribute__((aligned(16)));

struct seen {
    uintptr_t sp;
    uint32_t sum;
    int depth;
};

static void expect(int sound, const char *what)
{
    if (!sound) {
        say(what);
        say("\n");
        leave(1);
    }
}

static uintptr_t stack_pointer(void)
{
    uintptr_t sp;
#ifdef __arm__
    __asm__ volatile("mov %0, sp" : "=r"(sp));
#else
    __asm__ volatile("movq %%rsp, %0" : "=r"(sp));
#endif
    return sp;
}

static void spoil_registers(void)
{
#if defined(__arm__)
    __asm__ volatile("mov r0, #0\n\tmov r1, r0\n\tmov r2, r0\n\tmov r3, r0\n\tmov r12, r0"
                     : : : "r0", "r1", "r2", "r3", "r12", "cc");
#if defined(__ARM_FP)
    __asm__ volatile("vmov s0, r0\n\tvmov s1, r0\n\tvmov s2, r0\n\tvmov s3, r0\n\tvmov s4, r0\n\t"
                     "vmov s5, r0\n\tvmov s6, r0\n\tvmov s7, r0\n\tvmov s8, r0\n\tvmov s9, r0\n\t"
                     "vmov s10, r0\n\tvmov s11, r0\n\tvmov s12, r0\n\tvmov s13, r0\n\t"
                     "vmov s14, r0\n\tvmov s15, r0"
                     : : : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11",
                       "s12", "s13", "s14", "s15");
#endif
#else
    __asm__ volatile("xorl %%eax, %%eax\n\txorl %%ecx, %%ecx\n\txorl %%edx, %%edx\n\t"
                     "xorl %%esi, %%esi\n\txorl %%edi, %%edi\n\txorl %%r8d, %%r8d\n\t"
                     "xorl %%r9d, %%r9d\n\txorl %%r10d, %%r10d\n\txorl %%r11d, %%r11d\n\t"
                     "pxor %%xmm0, %%xmm0\n\tpxor %%xmm1, %%xmm1\n\tpxor %%xmm2, %%xmm2\n\t"
                     "pxor %%xmm3, %%xmm3\n\tpxor %%xmm4, %%xmm4\n\tpxor %%xmm5, %%xmm5\n\t"
                     "pxor %%xmm6, %%xmm6\n\tpxor %%xmm7, %%xmm7\n\tpxor %%xmm8, %%xmm8\n\t"
                     "pxor %%xmm15, %%xmm15"
                     : : : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0", "xmm1",
                       "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm15", "cc");
#endif
}

/* Uses about a kilobyte for each step. */
__attribute__((noinline)) static uint32_t go_down(int depth)
{
    volatile uint32_t room[200];
    uint32_t at, sum = 0;

    for (at = 0; at < 200; at++) {
        room[at] = at + (uint32_t)depth;
    }
    if (depth > 0) {
        sum = go_down(depth - 1);
    }
    for (at = 0; at < 200; at++) {
        sum += room[at];
    }
    return sum;
}

__attribute__((noinline)) static void look(void *arg)
{
    struct seen *seen = arg;
#ifndef __arm__
    /* What the convention promises at the first instruction. */
    expect((uintptr_t)__builtin_frame_address(0) % 16 == 0, "the stack is not aligned");
#endif
    seen->sp = stack_pointer();
    expect(seen->sp % 8 == 0, "the stack is not aligned");
    seen->sum = go_down(seen->depth);
    spoil_registers();
}

static volatile uint32_t source = 17;

/* Has more values in use than there are registers, of both kinds, across the call. */
__attribute__((noinline)) static void call(int depth)
{
    volatile uint32_t old[64];
    struct seen seen = { 0, 0, depth };
    uintptr_t before, after;
    uint32_t a = source, b = a * 3, c = a * 5, d = a * 7, e = a * 11, f = a * 13, g = a * 17;
    uint32_t h = a * 19, i = a * 23, j = a * 29, k = a * 31, l = a * 37;
    float m = (float)a, n = m * 2, o = m * 3, p = m * 4, q = m * 5, r = m * 6;
    uint32_t at;

    for (at = 0; at < 64; at++) {
        old[at] = at ^ a;
    }
    before = stack_pointer();
    motemix_call_with_stack(look, &seen, other + WORDS);
    after = stack_pointer();
    expect(before == after, "the old stack pointer is lost");
    expect(seen.sp >= (uintptr_t)other && seen.sp < (uintptr_t)(other + WORDS), "not the other stack");
    expect(seen.sp > (uintptr_t)(other + WORDS - 64), "not its top");
    expect(seen.sum == go_down(depth), "another result");
    expect(a == 17 && b == 51 && c == 85 && d == 119 && e == 187 && f == 221, "a register is lost");
    expect(g == 289 && h == 323 && i == 391 && j == 493 && k == 527 && l == 629, "a register is lost");
    expect(m == 17 && n == 34 && o == 51 && p == 68 && q == 85 && r == 102, "a number is lost");
    for (at = 0; at < 64; at++) {
        expect(old[at] == (at ^ 17), "the old stack has changed");
    }
}

int main(void)
{
    uint32_t at;

#if defined(__ARM_FP)
    /* The floating-point unit is off after a reset. */
    *(volatile uint32_t *)0xe000ed88u |= 0xfu << 20;
    __asm__ volatile("dsb\n\tisb");
#endif
    for (at = 0; at < WORDS; at++) {
        other[at] = PAINT;
    }
    call(0);
    expect(other[WORDS - 600] == PAINT, "more of the other stack than was needed");
    call(3);
    expect(other[WORDS - 600] != PAINT && other[0] == PAINT, "the other stack was not used");
    /* And again, from another depth. */
    for (at = 0; at < 3; at++) {
        call((int)at);
    }
    say("expectations met\n");
    return 0;
}
