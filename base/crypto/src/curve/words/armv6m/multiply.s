@ Products and squares modulo p = 2^255 - 19. Any eight words are an element, and so are results,
@ which are below 2^255 + 2^247. `docs/research/curve-arithmetic.md` derives that.
@
@ Three products of 128 by 128 bits, X = 2^128:
@
@     W0 + W1*X + W2*X^2 + W3*X^3,  W0 = p0, W1 = p0 + u + m0, W2 = u + q1 + m1, W3 = q1
@
@ with z0 = p0 + p1*X, z2 = q0 + q1*X, u = p1 + q0, and m0 + m1*X = -(a0 - a1)*(b0 - b1).
@ X^2 is 38, so W2 and W3 times 38 are added to W0 and W1. How often 2^255 is in the sum is
@ estimated before, from its upper 16 bits, and 19 times that is where the sum begins.

@ In the frame of a product: z0, z2, m, the differences of the halves; then what was pushed. The
@ pointer to the first factor gives way to the sign of m.
    .equ LOW, 0
    .equ HIGH, 32
    .equ MIDDLE, 64
    .equ APART_A, 96
    .equ APART_B, 112
    .equ FRAME, 128
    .equ OUT, 128
    .equ FACTOR_A, 132
    .equ SIGN, 132
    .equ FACTOR_B, 136

@ sp + \to = |lower half - upper half| of what r4 points to; r4 = all ones if it was negative
.macro apart_128 to
    ldm     r4!, {r0-r3}
    ldm     r4, {r4-r7}
    subs    r0, r4
    sbcs    r1, r5
    sbcs    r2, r6
    sbcs    r3, r7
    sbcs    r4, r4
    eors    r0, r4
    eors    r1, r4
    eors    r2, r4
    eors    r3, r4
    subs    r0, r4
    sbcs    r1, r4
    sbcs    r2, r4
    sbcs    r3, r4
    add     r5, sp, #\to
    stm     r5!, {r0-r3}
.endm

@ Both factors' halves apart, and the sign of m in the place of the first pointer. Takes r0-r8.
.macro factors_apart
    ldr     r4, [sp, #FACTOR_A]
    apart_128 APART_A
    mov     r8, r4
    ldr     r4, [sp, #FACTOR_B]
    apart_128 APART_B
    mov     r0, r8
    eors    r0, r4
    mvns    r0, r0
    str     r0, [sp, #SIGN]
.endm

@ Adds four words at sp + \from to r0-r3, or takes them off. Takes r4, r5, r7.
.macro chain from, first, next
    add     r7, sp, #\from
    ldm     r7!, {r4, r5}
    \first  r0, r4
    \next   r1, r5
    ldm     r7!, {r4, r5}
    \next   r2, r4
    \next   r3, r5
.endm

@ Adds four words at sp + \from, or their complement if r6 is all ones, with what is carried.
.macro chain_signed from
    add     r7, sp, #\from
    ldm     r7!, {r4, r5}
    eors    r4, r6
    eors    r5, r6
    adcs    r0, r4
    adcs    r1, r5
    ldm     r7!, {r4, r5}
    eors    r4, r6
    eors    r5, r6
    adcs    r2, r4
    adcs    r3, r5
.endm

@ What is carried less one, so 0 or all ones, and back.
.macro keep_carry in
    sbcs    r4, r4
    mov     \in, r4
.endm
.macro take_carry from
    mov     r4, \from
    negs    r4, r4
.endm

@ \sum + 38*\word + the word of W0 or W1 at \at: the lower word in \sum, what is carried in \word.
@ r6 = 0, r7 = 38; takes r5. \sum is below 2^31 before, and \word below 2^7 then.
.macro fold_word sum, word, at
    uxth    r5, \word
    lsrs    \word, \word, #16
    muls    r5, r7, r5
    muls    \word, r7, \word
    adds    \sum, r5
    lsls    r5, \word, #16
    lsrs    \word, \word, #16
    adds    \sum, r5
    adcs    \word, r6
    lower_word \at
    adds    \sum, r5
    adcs    \word, r6
.endm

@ The end of a product or square: from z0, z2 and m to the result, and to the caller.
@ r8 keeps the carry of u, then what is carried to W3; r9-r12 u; lr carries; r9 then the estimate's
@ lowest bit, at the top.
.macro fold is_square
    @ u
    add     r7, sp, #LOW + 16
    ldm     r7!, {r0-r3}
    chain   HIGH, adds, adcs
    keep_carry r8
    mov     r9, r0
    mov     r10, r1
    mov     r11, r2
    mov     r12, r3
    @ W1, in the place of m0
    chain   LOW, adds, adcs
    keep_carry lr
    .if \is_square
    chain   MIDDLE, subs, sbcs
    .else
    ldr     r6, [sp, #SIGN]
    asrs    r6, r6, #1
    chain_signed MIDDLE
    .endif
    sbcs    r4, r4
    add     r5, sp, #MIDDLE
    stm     r5!, {r0-r3}
    mov     r0, r9
    mov     r9, r4
    mov     r1, r10
    mov     r2, r11
    mov     r3, r12
    @ W2. The carry of u belongs to its lowest word, and is added when that is times 38.
    take_carry lr
    chain   HIGH + 16, adcs, adcs
    keep_carry lr
    take_carry r9
    .if \is_square
    chain   MIDDLE + 16, sbcs, sbcs
    sbcs    r4, r4
    adds    r4, #2
    .else
    chain_signed MIDDLE + 16
    sbcs    r4, r4
    adds    r4, r6
    adds    r4, #3
    .endif
    mov     r5, lr
    adds    r4, r5
    mov     r5, r8
    adds    r4, r5
    mov     r8, r4
    adds    r5, #1
    movs    r7, #38
    muls    r5, r7, r5
    mov     r9, r5
    @ The estimate: 38 times the upper half of the highest word of W3, and that of W1.
    add     r6, sp, #HIGH + 16
    ldrh    r4, [r6, #14]
    muls    r4, r7, r4
    ldrh    r5, [r6, #MIDDLE - HIGH - 16 + 14]
    adds    r4, r5
    lsrs    r4, r4, #15
    lsls    r6, r4, #31
    movs    r5, #19
    muls    r4, r5, r4
    mov     r5, r9
    adds    r4, r5
    mov     r9, r6
    movs    r6, #0
    fold_words LOW
    ldr     r5, [sp, #OUT]
    str     r4, [r5]
    adds    r5, #4
    stm     r5!, {r0-r2}
    mov     r4, r3
    mov     r5, r8
    muls    r5, r7, r5
    adds    r4, r5
    add     r5, sp, #HIGH + 16
    ldm     r5!, {r0-r3}
    fold_words MIDDLE
    mov     r5, r9
    eors    r2, r5
    ldr     r5, [sp, #OUT]
    adds    r5, #16
    str     r4, [r5]
    adds    r5, #4
    stm     r5!, {r0-r2}
    add     sp, #FRAME + 12
    pop     {pc}
.endm
