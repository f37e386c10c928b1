@ The steps of an inversion by the binary algorithm of greatest common divisors (T. Pornin,
@ "Optimized Binary GCD for Modular Inversion", 2020), in constant time.
@
@ a, b, u and v are nine words each, in two's complement. a and b lie interleaved, word by word, and
@ so do u and v. A round finds out from 32 bits of a and of b what 14 steps would do to them, as
@ factors of at most 2^14, and does that to all four. After 37 rounds b is 1 and v the inverse.

    .equ ROUNDS, 37
@ In the frame: four factors, room for two words, two results of nine words interleaved; then the
@ pointer that was given, rounds to go.
    .equ F0, 0
    .equ G0, 4
    .equ F1, 8
    .equ G1, 12
    .equ BEFORE, 16
    .equ RESULT, 24
    .equ STATE, 96
    .equ TO_GO, 100
    .equ SMALL_MULTIPLE, 104
    .equ INVERSE_FRAME, 108

    .section .text.motemix_armv6m_inverse, "ax", %progbits
    .p2align 2

@ Two words of what r0 points to, upper r1, lower r2: the upper is the highest at which it or what
@ r7 points to is not zero, but not the lowest of all. If they have only the lowest, that is r2, and
@ r1 is zero. Takes r0, r3-r8.
    internal upper_words
    ldr     r3, [r0]
    movs    r1, #0
    movs    r2, r3
    movs    r4, #56
    adds    r4, r0
    mov     r8, r4
1:  adds    r0, #8
    adds    r7, #8
    ldr     r4, [r0]
    ldr     r5, [r7]
    orrs    r5, r4
    negs    r5, r5
    sbcs    r5, r5
    movs    r6, r4
    eors    r6, r1
    ands    r6, r5
    eors    r1, r6
    eors    r3, r2
    ands    r3, r5
    eors    r2, r3
    movs    r3, r4
    cmp     r0, r8
    bne     1b
    bx      lr
    end     upper_words

@ The upper 18 bits of \upper:\lower << r3, where r4 = 32 - r3, and the lower 14 of \lowest.
.macro approximate upper, lower, lowest
    lsls    \upper, r3
    lsrs    \lower, r4
    orrs    \upper, \lower
    lsrs    \upper, \upper, #14
    lsls    \upper, \upper, #14
    lsls    \lowest, \lowest, #18
    lsrs    \lowest, \lowest, #18
    orrs    \upper, \lowest
.endm

@ (r2 * x + r3 * y + r6) / 2^14, x and y interleaved where r0 points, to every other word from
@ r1 + 8 on. Takes r0, r1, r4-r9.
    internal combine
    movs    r4, #72
    adds    r4, r0
    mov     r9, r4
1:  ldm     r0!, {r4, r5}
    uxth    r7, r4
    muls    r7, r2, r7
    adds    r6, r7
    uxth    r7, r5
    muls    r7, r3, r7
    adds    r6, r7
    uxth    r7, r6
    asrs    r6, r6, #16
    lsrs    r4, r4, #16
    muls    r4, r2, r4
    adds    r6, r4
    lsrs    r5, r5, #16
    muls    r5, r3, r5
    adds    r6, r5
    lsls    r4, r6, #16
    orrs    r7, r4
    asrs    r6, r6, #16
    @ A word of the result has bits of two words; the first time round, it goes where nothing is.
    mov     r4, r8
    lsls    r5, r7, #18
    orrs    r4, r5
    str     r4, [r1]
    adds    r1, #8
    lsrs    r7, r7, #14
    mov     r8, r7
    cmp     r0, r9
    bne     1b
    lsls    r7, r7, #14
    asrs    r7, r7, #14
    str     r7, [r1]
    bx      lr
    end     combine

@ A result at sp + RESULT + \at, or its negative if it is below zero, to r1 + \at. The factors
@ become negative with it. Takes r2-r4.
.macro keep_magnitude at, f, g
    ldr     r2, [sp, #RESULT + 64 + \at]
    asrs    r2, r2, #31
    ldr     r3, [sp, #\f]
    eors    r3, r2
    subs    r3, r2
    str     r3, [sp, #\f]
    ldr     r3, [sp, #\g]
    eors    r3, r2
    subs    r3, r2
    str     r3, [sp, #\g]
    movs    r4, #0
    asrs    r3, r2, #1
    .irp    offset, 0, 8, 16, 24, 32, 40, 48, 56, 64
    ldr     r3, [sp, #RESULT + \offset + \at]
    eors    r3, r2
    adcs    r3, r4
    str     r3, [r1, #\offset + \at]
    .endr
.endm

@ A new u or v: a multiple of p is added so that it can be divided by 2^14. p is 2^255 - 19.
.macro combine_modulo at, f, g
    ldr     r0, [sp, #STATE]
    adds    r0, #72
    ldm     r0, {r0, r1}
    ldr     r2, [sp, #\f]
    ldr     r3, [sp, #\g]
    muls    r0, r2, r0
    muls    r1, r3, r1
    adds    r0, r1
    ldr     r1, =INVERSE_OF_19
    muls    r0, r1, r0
    lsls    r0, r0, #18
    asrs    r0, r0, #18
    str     r0, [sp, #SMALL_MULTIPLE]
    movs    r6, #19
    muls    r6, r0, r6
    negs    r6, r6
    ldr     r0, [sp, #STATE]
    adds    r0, #72
    add     r1, sp, #BEFORE + \at
    bl      combine
    ldr     r4, [sp, #SMALL_MULTIPLE]
    asrs    r5, r4, #31
    lsls    r4, r4, #17
    ldr     r6, [sp, #RESULT + 56 + \at]
    ldr     r7, [sp, #RESULT + 64 + \at]
    adds    r6, r4
    adcs    r7, r5
    str     r6, [sp, #RESULT + 56 + \at]
    str     r7, [sp, #RESULT + 64 + \at]
.endm
@ Modulo 2^14.
    .equ INVERSE_OF_19, 2587

@ r0: a and b interleaved, then u and v. They become what they are after all rounds.
    public motemix_armv6m_inverse
    enter
    sub     sp, #INVERSE_FRAME
    str     r0, [sp, #STATE]
    movs    r1, #ROUNDS
    str     r1, [sp, #TO_GO]
next_round:
    ldr     r0, [sp, #STATE]
    adds    r7, r0, #4
    bl      upper_words
    mov     r9, r1
    mov     r10, r2
    ldr     r7, [sp, #STATE]
    adds    r0, r7, #4
    bl      upper_words
    @ r3 = leading zeros of both, at most 32
    mov     r0, r9
    orrs    r0, r1
    movs    r3, #0
    .irp    bits, 16, 8, 4, 2, 1
    lsrs    r4, r0, #32 - \bits
    subs    r4, #1
    sbcs    r4, r4
    movs    r5, #\bits
    ands    r4, r5
    lsls    r0, r4
    adds    r3, r4
    .endr
    lsrs    r0, r0, #31
    movs    r5, #1
    eors    r0, r5
    adds    r3, r0
    movs    r4, #32
    subs    r4, r3
    ldr     r7, [sp, #STATE]
    ldr     r6, [r7, #4]
    ldr     r7, [r7]
    approximate r1, r2, r6
    mov     r0, r9
    mov     r2, r10
    approximate r0, r2, r7
    @ The steps: a is r0, b is r1. A factor of a and one of b are in a word, those of a in r2.
    movs    r2, #1
    lsls    r3, r2, #16
    movs    r7, #14
1:  lsls    r4, r0, #31
    asrs    r4, r4, #31
    subs    r5, r0, r1
    sbcs    r5, r5
    ands    r5, r4
    @ a is odd and less than b: exchange them.
    movs    r6, r0
    eors    r6, r1
    ands    r6, r5
    eors    r0, r6
    eors    r1, r6
    movs    r6, r2
    eors    r6, r3
    ands    r6, r5
    eors    r2, r6
    eors    r3, r6
    @ a is odd: take b off. Then halve it.
    movs    r6, r1
    ands    r6, r4
    subs    r0, r6
    ands    r4, r3
    subs    r2, r4
    lsrs    r0, r0, #1
    lsls    r3, r3, #1
    subs    r7, #1
    bne     1b
    sxth    r4, r2
    subs    r5, r2, r4
    asrs    r5, r5, #16
    sxth    r6, r3
    subs    r7, r3, r6
    asrs    r7, r7, #16
    add     r0, sp, #F0
    stm     r0!, {r4-r7}
    @ a and b
    movs    r2, r4
    movs    r3, r5
    movs    r6, #0
    ldr     r0, [sp, #STATE]
    add     r1, sp, #BEFORE
    bl      combine
    ldr     r2, [sp, #F1]
    ldr     r3, [sp, #G1]
    movs    r6, #0
    ldr     r0, [sp, #STATE]
    add     r1, sp, #BEFORE + 4
    bl      combine
    ldr     r1, [sp, #STATE]
    keep_magnitude 0, F0, G0
    keep_magnitude 4, F1, G1
    @ u and v
    combine_modulo 0, F0, G0
    combine_modulo 4, F1, G1
    ldr     r0, [sp, #STATE]
    adds    r0, #72
    add     r1, sp, #RESULT
    .rept   3
    ldm     r1!, {r2-r7}
    stm     r0!, {r2-r7}
    .endr
    ldr     r0, [sp, #TO_GO]
    subs    r0, #1
    str     r0, [sp, #TO_GO]
    beq     1f
    b       next_round
1:  add     sp, #INVERSE_FRAME
    leave
    .p2align 2
    .ltorg
    end     motemix_armv6m_inverse
