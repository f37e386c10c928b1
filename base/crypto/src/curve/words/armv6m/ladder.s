@ The ladder of RFC 7748, all of it.
@
@ The points are not exchanged: with A, B and C, D as in the RFC, an exchange of the points would
@ exchange A with C and B with D. DA and CB would be exchanged then, and of these only the squares
@ of the sum and of the difference matter. So C and D replace A and B, or not, once DA and CB are
@ made.

@ In the frame: two elements, the ladder, the pointers that were given, a bit's position, the bit,
@ and all ones if it differs from the bit before.
    .equ T0, 0
    .equ T1, 32
    .equ X1, 64
    .equ X2, 96
    .equ Z2, 128
    .equ X3, 160
    .equ Z3, 192
    .equ LADDER, 224
    .equ NUMBER, 228
    .equ POSITION, 232
    .equ BIT, 236
    .equ CHANGED, 240
    .equ LADDER_FRAME, 244

.macro do routine, out, a, b
    add     r0, sp, #\out
    add     r1, sp, #\a
    .ifnb   \b
    add     r2, sp, #\b
    .endif
    bl      \routine
.endm

    .section .text.motemix_armv6m_ladder, "ax", %progbits
    .p2align 2

@ One word of [r2] = [r1] * 121666 + [r2], in r0; see below. Takes r5.
.macro multiple_of_word word, below
    ldm     r1!, {\word}
    uxth    r5, \word
    lsrs    \word, \word, #16
    mov     r0, r8
    muls    r0, r5, r0
    adds    r0, \below
    adds    r0, r3
    mov     r3, r8
    muls    r3, \word, r3
    adds    r3, r5
    lsls    r5, r3, #16
    lsrs    r3, r3, #16
    adds    r0, r5
    adcs    r3, r7
    ldr     r5, [r2]
    adds    r0, r5
    adcs    r3, r7
.endm

@ [r2] = [r1] * 121666 + [r2], in different places. Takes r0-r10.
@ The factor has 17 bits: it is 2^16 + 56130. A half word of [r1] times 56130 and the half word
@ below it, which is times 2^16, fit one word. r3 is what is carried, r4 and r6 are the upper half
@ words of this word and of the one below, r7 = 0, r8 = 56130, r9 is what is taken off at the top.
    internal field_add_multiple
    @ The estimate of what is at 2^255, with half the factor so that it fits a word.
    ldr     r3, =60833
    ldrh    r4, [r1, #30]
    ldrh    r5, [r1, #28]
    muls    r4, r3, r4
    muls    r5, r3, r5
    lsrs    r5, r5, #16
    ldrh    r6, [r2, #30]
    lsrs    r6, r6, #1
    adds    r4, r5
    adds    r4, r6
    lsrs    r4, r4, #14
    lsls    r3, r4, #31
    mov     r9, r3
    movs    r3, #19
    muls    r3, r4, r3
    ldr     r7, =56130
    mov     r8, r7
    movs    r7, #0
    movs    r6, #0
    .if LITTLE
    movs    r0, #32
    adds    r0, r1
    mov     r10, r0
1:  multiple_of_word r4, r6
    stm     r2!, {r0}
    multiple_of_word r6, r4
    stm     r2!, {r0}
    cmp     r1, r10
    bne     1b
    subs    r2, #4
    .else
    .rept 3
    multiple_of_word r4, r6
    stm     r2!, {r0}
    multiple_of_word r6, r4
    stm     r2!, {r0}
    .endr
    multiple_of_word r4, r6
    stm     r2!, {r0}
    multiple_of_word r6, r4
    .endif
    mov     r4, r9
    eors    r0, r4
    stm     r2!, {r0}
    bx      lr
    .p2align 2
    .ltorg
    end     field_add_multiple

@ [r0] = [r1] if r7 is all ones; nothing changes if it is zero. Takes r0, r1, r3-r6.
    internal field_replace_if
    .rept 4
    ldm     r1!, {r3, r4}
    ldr     r5, [r0]
    ldr     r6, [r0, #4]
    eors    r3, r5
    eors    r4, r6
    ands    r3, r7
    ands    r4, r7
    eors    r3, r5
    eors    r4, r6
    stm     r0!, {r3, r4}
    .endr
    bx      lr
    end     field_replace_if

@ ladder: r0, as it begins; number: r1, clamped: bit 254 is set, bits 2 to 0 are not. Nobody needs
@ the sum of the points after these three.
    public motemix_armv6m_ladder
    enter
    sub     sp, #LADDER_FRAME
    str     r0, [sp, #LADDER]
    str     r1, [sp, #NUMBER]
    movs    r7, #254
    str     r7, [sp, #POSITION]
    movs    r7, #1
    str     r7, [sp, #BIT]
    add     r1, sp, #X1
    movs    r7, #10
1:  ldm     r0!, {r2-r5}
    stm     r1!, {r2-r5}
    subs    r7, #1
    bne     1b
    @ Bit 254 makes the double of the point and the point of zero and the point.
    do      field_add, T0, X3, Z3
    do      field_subtract, Z2, X3, Z3
    b       double
next_bit:
    ldr     r4, [sp, #POSITION]
    lsrs    r5, r4, #3
    ldr     r6, [sp, #NUMBER]
    ldrb    r5, [r6, r5]
    movs    r6, #7
    ands    r6, r4
    lsrs    r5, r6
    movs    r6, #1
    ands    r5, r6
    ldr     r6, [sp, #BIT]
    str     r5, [sp, #BIT]
    eors    r6, r5
    negs    r6, r6
    str     r6, [sp, #CHANGED]
    @ A in T0, B in Z2, C in X2, D in Z3
    do      field_add, T0, X2, Z2
    do      field_subtract, Z2, X2, Z2
    do      field_add, X2, X3, Z3
    do      field_subtract, Z3, X3, Z3
    ldr     r7, [sp, #POSITION]
    cmp     r7, #3
    blt     1f
    @ DA in T1, CB in X3
    do      field_multiply, T1, Z3, T0
    do      field_multiply, X3, X2, Z2
1:  ldr     r7, [sp, #CHANGED]
    add     r0, sp, #T0
    add     r1, sp, #X2
    bl      field_replace_if
    add     r0, sp, #Z2
    add     r1, sp, #Z3
    bl      field_replace_if
    ldr     r7, [sp, #POSITION]
    cmp     r7, #3
    blt     1f
    do      field_subtract, Z3, T1, X3
    do      field_add, X3, T1, X3
    do      field_square, X3, X3
    do      field_square, Z3, Z3
    do      field_multiply, Z3, Z3, X1
1:
double:
    @ A^2 in T0, B^2 in Z2, E in T1
    do      field_square, T0, T0
    do      field_square, Z2, Z2
    do      field_subtract, T1, T0, Z2
    do      field_multiply, X2, T0, Z2
    do      field_add_multiple, Z2, T1, Z2
    do      field_multiply, Z2, Z2, T1
    ldr     r7, [sp, #POSITION]
    subs    r7, #1
    str     r7, [sp, #POSITION]
    bmi     1f
    b       next_bit
1:  ldr     r0, [sp, #LADDER]
    adds    r0, #32
    add     r1, sp, #X2
    movs    r7, #4
1:  ldm     r1!, {r2-r5}
    stm     r0!, {r2-r5}
    subs    r7, #1
    bne     1b
    add     sp, #LADDER_FRAME
    leave
    end     motemix_armv6m_ladder
