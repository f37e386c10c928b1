@ The steps of an inversion by division steps (D. Bernstein, B.-Y. Yang, "Fast constant-time gcd
@ computation and modular inversion", 2019), in the variant whose counter begins at 1/2.
@
@ f, g, d and e are nine words each, in two's complement, below a word that is written and not read.
@ f and g, and d and e as well, lie behind one another. A round finds out from the lowest words of f and
@ g what 14 steps do to them, as factors u, v of the new f and q, r of the new g, and does that to all.
    .equ INVERSE_ROUNDS, 43
    .equ INVERSE_STEPS, 14
@ Bytes of a number, and where d is.
    .equ INVERSE_NUMBER, 40
    .equ INVERSE_D, 80
@ The frame.
    .equ INVERSE_AT, 0
    .equ INVERSE_COUNTER, 4
    .equ INVERSE_TO_GO, 8
    .equ INVERSE_RETURN, 12
    .equ INVERSE_MULTIPLE_D, 16
    .equ INVERSE_MULTIPLE_E, 20
    .equ INVERSE_FRAME, 24
@ 1/19 modulo 2^14.
    .equ INVERSE_OF_19, 2587

@ x = (u*x + v*y + r1) / 2^14, y = (q*x + r*y + r2) / 2^14: x and, behind it, y where r0 points, the
@ factors in r8-r11. Changes r0-r7 and r12.
@     r3-r6       half words of x and of y, words of the sums
@     r7, r12     18 bits of a word before
    .section .text.motemix_armv7m_inverse, "ax", %progbits
    .thumb_func
    .type motemix_armv7m_combine, %function
motemix_armv7m_combine:
    str lr, [sp, #INVERSE_RETURN]
    add lr, r0, #32
1:
    ldrh r3, [r0, #4]
    ldrh r4, [r0, #6]
    ldrh r5, [r0, #INVERSE_NUMBER+4]
    ldrh r6, [r0, #INVERSE_NUMBER+6]
    mla r1, r8, r3, r1
    mla r1, r9, r5, r1
    mla r2, r10, r3, r2
    mla r2, r11, r5, r2
    uxth r3, r1
    uxth r5, r2
    asrs r1, r1, #16
    asrs r2, r2, #16
    mla r1, r8, r4, r1
    mla r1, r9, r6, r1
    mla r2, r10, r4, r2
    mla r2, r11, r6, r2
    orr r3, r3, r1, lsl #16
    orr r5, r5, r2, lsl #16
    asrs r1, r1, #16
    asrs r2, r2, #16
@ In the first turn, what is stored goes where nothing is.
    orr r7, r7, r3, lsl #18
    orr r12, r12, r5, lsl #18
    str r7, [r0]
    str r12, [r0, #INVERSE_NUMBER]
    lsrs r7, r3, #14
    lsr r12, r5, #14
    adds r0, r0, #4
    cmp r0, lr
    bne 1b
@ The uppermost words have a sign and few bits.
    ldr r3, [r0, #4]
    ldr r5, [r0, #INVERSE_NUMBER+4]
    mla r1, r8, r3, r1
    mla r1, r9, r5, r1
    mla r2, r10, r3, r2
    mla r2, r11, r5, r2
    orr r7, r7, r1, lsl #18
    orr r12, r12, r2, lsl #18
    str r7, [r0]
    str r12, [r0, #INVERSE_NUMBER]
    asrs r1, r1, #14
    asrs r2, r2, #14
    str r1, [r0, #4]
    str r2, [r0, #INVERSE_NUMBER+4]
    ldr pc, [sp, #INVERSE_RETURN]
    .size motemix_armv7m_combine, . - motemix_armv7m_combine

@ The multiple of p, which is 2^255 - 19, that makes \f*x + \g*y divisible by 2^14: r3 and r4 are the
@ lowest words of x and y. It is kept; 19 times it has to be taken off.
    .macro multiple_of_p f, g, keep, less
    mul \less, \f, r3
    mla \less, \g, r4, \less
    movw r5, #INVERSE_OF_19
    mul \less, \less, r5
    ubfx r5, \less, #0, #14
    str r5, [sp, #\keep]
    mov \less, #19
    mul \less, \less, r5
    rsb \less, \less, #0
    .endm

@ f, g, d and e in r0. They become what they are after all rounds.
    .global motemix_armv7m_inverse
    .thumb_func
    .type motemix_armv7m_inverse, %function
motemix_armv7m_inverse:
    push {r4-r11, lr}
    sub sp, #INVERSE_FRAME
    str r0, [sp, #INVERSE_AT]
    mov r2, #-1
    mov r1, #INVERSE_ROUNDS
    str r1, [sp, #INVERSE_TO_GO]
2:
@ f in r0, g in r1, the counter in r2: -1/2 less what the paper calls delta. u and v are in r3, q and
@ r in r4, the second one 16 bits higher.
    ldr r5, [sp, #INVERSE_AT]
    ldr r0, [r5, #4]
    ldr r1, [r5, #INVERSE_NUMBER+4]
    mov r3, #1
    mov r4, #0x10000
    movs r6, #INVERSE_STEPS
3:
@ If the counter is negative and g odd: f = g, g = -f.
    ands r5, r2, r1, lsl #31
    itttt mi
    movmi r5, r0
    movmi r0, r1
    rsbmi r1, r5, #0
    mvnmi r2, r2
    ittt mi
    movmi r5, r3
    movmi r3, r4
    rsbmi r4, r5, #0
@ If g is odd, f is added; then g is halved.
    lsls r5, r1, #31
    itt mi
    addmi r1, r1, r0
    addmi r4, r4, r3
    asrs r1, r1, #1
    lsls r3, r3, #1
    subs r2, r2, #1
    subs r6, r6, #1
    bne 3b
    str r2, [sp, #INVERSE_COUNTER]
    sxth r8, r3
    sub r9, r3, r8
    asr r9, r9, #16
    sxth r10, r4
    sub r11, r4, r10
    asr r11, r11, #16
@ f and g
    ldr r0, [sp, #INVERSE_AT]
    movs r1, #0
    movs r2, #0
    bl motemix_armv7m_combine
@ d and e, modulo p
    ldr r0, [sp, #INVERSE_AT]
    adds r0, r0, #INVERSE_D
    ldr r3, [r0, #4]
    ldr r4, [r0, #INVERSE_NUMBER+4]
    multiple_of_p r8, r9, INVERSE_MULTIPLE_D, r1
    multiple_of_p r10, r11, INVERSE_MULTIPLE_E, r2
    bl motemix_armv7m_combine
    ldr r3, [sp, #INVERSE_MULTIPLE_D]
    ldr r4, [sp, #INVERSE_MULTIPLE_E]
    adds r7, r7, r3, lsl #17
    adc r1, r1, #0
    adds r12, r12, r4, lsl #17
    adc r2, r2, #0
    str r7, [r0]
    str r1, [r0, #4]
    str r12, [r0, #INVERSE_NUMBER]
    str r2, [r0, #INVERSE_NUMBER+4]
    ldr r2, [sp, #INVERSE_COUNTER]
    ldr r1, [sp, #INVERSE_TO_GO]
    subs r1, r1, #1
    str r1, [sp, #INVERSE_TO_GO]
    bne 2b
    add sp, #INVERSE_FRAME
    pop {r4-r11, pc}
    .size motemix_armv7m_inverse, . - motemix_armv7m_inverse
