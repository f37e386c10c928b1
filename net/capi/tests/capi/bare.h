/*
 * A program on a bare Cortex-M in an emulator: it starts, speaks through semihosting, and measures
 * how much stack calls take, on a stack that was filled with a pattern before each. An emulator has
 * no other threads. CALLS and the array `names` say what is measured.
 */

#ifndef BARE_H
#define BARE_H

#include <stddef.h>
#include <stdint.h>

#include "motemix.h"

#define PAINTED 16384u
#define PATTERN 0x6b636174u

extern uint32_t bss_begin[], bss_end[], stack_top[];

int main(void);
void reset(void);
void fault(void);

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    stack_top, reset, fault, fault, fault, fault, fault,
};

static void host(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static void say(const char *text)
{
    host(0x04, text);
}

static void leave(int failed)
{
    /* ADP_Stopped_ApplicationExit, or a run-time error. */
    host(0x18, (const void *)(uintptr_t)(failed ? 0x20023 : 0x20026));
    for (;;) {
    }
}

void fault(void)
{
    say("fault\n");
    leave(1);
}

void abort(void)
{
    say("abort\n");
    leave(1);
    for (;;) {
    }
}

void reset(void)
{
#ifdef __ARM_FP
    /* The compiler may move numbers through the unit for floating point: it is switched on (CPACR). */
    *(volatile uint32_t *)0xe000ed88u |= 0xfu << 20;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
#endif
    for (uint32_t *word = bss_begin; word < bss_end; word++) {
        *word = 0;
    }
    leave(main());
}

/* The compiler may write these for loops, and the library asks for them. */
void *memset(void *to, int value, size_t len)
{
    volatile uint8_t *at = to;
    while (len-- > 0) {
        *at++ = (uint8_t)value;
    }
    return to;
}

void *memcpy(void *to, const void *from, size_t len)
{
    volatile uint8_t *at = to;
    const uint8_t *of = from;
    while (len-- > 0) {
        *at++ = *of++;
    }
    return to;
}

static uint32_t deepest[CALLS];

static void *frame(void)
{
    void *sp;
    __asm__ volatile("mov %0, sp" : "=r"(sp));
    return sp;
}

__attribute__((noinline)) static void paint(void)
{
    uint32_t *top = (uint32_t *)frame() - 8;
    for (uint32_t *word = top - PAINTED / 4; word < top; word++) {
        *(volatile uint32_t *)word = PATTERN;
    }
}

static motemix_status last;

__attribute__((noinline)) static motemix_status measure(int call)
{
    uint32_t *top = (uint32_t *)frame() - 8;
    uint32_t *word = top - PAINTED / 4 + 16;
    while (word < top && *(volatile uint32_t *)word == PATTERN) {
        word++;
    }
    uint32_t used = (uint32_t)((uint8_t *)top - (uint8_t *)word);
    deepest[call] = used > deepest[call] ? used : deepest[call];
    return last;
}

#define CALL(call, expression) (paint(), last = (expression), measure(call))

static void number(uint32_t value)
{
    char text[12];
    char *at = text + sizeof(text) - 1;
    *at = '\0';
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    say(at);
}

static void need(motemix_status status)
{
    if (status != MOTEMIX_STATUS_OK) {
        say(motemix_status_text(status));
        leave(1);
    }
}

/* Not random at all, which changes nothing about stacks. */
static int fill(void *context, uint8_t *out, size_t len)
{
    static uint32_t state = 1;
    (void)context;
    while (len-- > 0) {
        state = state * 1664525 + 1013904223;
        *out++ = (uint8_t)(state >> 24);
    }
    return 0;
}

static void print_deepest(void)
{
    for (int call = 0; call < CALLS; call++) {
        say(names[call]);
        say(" ");
        number(deepest[call]);
        say("\n");
    }
}

#endif
