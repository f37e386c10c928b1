@ Cortex-M0, M0+ and M23: the instructions of ARMv6-M. A routine that only these files call may
@ change every register but sp, and says which it takes. A carry outlives loads, stores, moves
@ between registers, MULS and logic; shifts and comparisons end it.

    .syntax unified
    .thumb

@ Functions that others call keep r4 to r11 for them.
.macro enter
    push    {r4-r7, lr}
    mov     r4, r8
    mov     r5, r9
    mov     r6, r10
    mov     r7, r11
    push    {r4-r7}
.endm
.macro leave
    pop     {r4-r7}
    mov     r8, r4
    mov     r9, r5
    mov     r10, r6
    mov     r11, r7
    pop     {r4-r7, pc}
.endm
.macro public name
    .globl  \name
    .type   \name, %function
    .thumb_func
\name:
.endm

@ A routine for these files, and where it ends.
.macro internal name
    .type   \name, %function
    .thumb_func
\name:
.endm
.macro end name
    .size   \name, . - \name
.endm
