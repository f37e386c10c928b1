@ Products and squares where speed counts: nothing is called, and each has code of its own. 3.4 kB.

    .equ LITTLE, 0

@ sp + \to = product of four and four words, to eight words. The factors are where r9 and lr point,
@ or, if \a and \b are given, at sp + \a and sp + \b. Takes r0-r8, r10-r12; r12 is the sign.
@
@ A macro, because calls and pointers would cost 56 cycles of a product modulo p.
.macro product_128 to, a, b
    load_two r0, r1, 0, r9, \a
    load_two r2, r3, 0, lr, \b
    product_64
    add     r4, sp, #\to
    stm     r4!, {r0-r3}
    load_two r0, r1, 8, r9, \a
    load_two r2, r3, 8, lr, \b
    product_64
    add     r4, sp, #\to
    sum_of_outer_128
    point   r3, r9, \a
    ldm     r3, {r0-r3}
    apart_64 r0, r1, r2, r3, r4
    point   r3, lr, \b
    ldm     r3!, {r6, r7}
    ldm     r3, {r2, r3}
    apart_64 r2, r3, r6, r7, r5
    eors    r4, r5
    mov     r12, r4
    product_64
    mov     r4, r12
    eors    r0, r4
    eors    r1, r4
    eors    r2, r4
    eors    r3, r4
    add     r5, sp, #\to + 8
    asrs    r4, r4, #1
    add_middle_128 adcs, adcs
.endm

@ Two words, \at behind what \pointer points to, or behind sp + \place if that is given.
.macro load_two first, second, at, pointer, place
    .ifb \place
    mov     \second, \pointer
    .if \at
    ldr     \first, [\second, #\at]
    ldr     \second, [\second, #\at + 4]
    .else
    ldm     \second, {\first, \second}
    .endif
    .else
    ldr     \first, [sp, #\place + \at]
    ldr     \second, [sp, #\place + \at + 4]
    .endif
.endm
.macro point register, pointer, place
    .ifb \place
    mov     \register, \pointer
    .else
    add     \register, sp, #\place
    .endif
.endm

@ sp + \to = the square of four words, to eight words. They are where r9 points, or, if \a is given,
@ at sp + \a. Takes r0-r7.
.macro square_128 to, a
    load_two r2, r3, 0, r9, \a
    square_64
    add     r4, sp, #\to
    stm     r4!, {r0-r3}
    load_two r2, r3, 8, r9, \a
    square_64
    add     r4, sp, #\to
    sum_of_outer_128
    point   r5, r9, \a
    ldm     r5, {r2-r5}
    apart_64 r2, r3, r4, r5, r6
    square_64
    movs    r4, #0
    add     r5, sp, #\to + 8
    add_middle_128 subs, sbcs
.endm

@ Where it lies in the frame, which is given.
.macro lower_word at
    ldr     r5, [sp, #\at]
.endm

@ r4, r0-r2 = r4 + 38 * (r0-r3) + the four words at sp + \base; r3 = what is carried
.macro fold_words base
    fold_word r4, r0, \base
    fold_word r0, r1, \base + 4
    fold_word r1, r2, \base + 8
    fold_word r2, r3, \base + 12
.endm

    .section .text.motemix_armv6m_field, "ax", %progbits
    .p2align 3

@ [r0] = [r1] * [r2]; any of them may be in the same place. Takes r0-r12.
    internal field_multiply
    push    {r0, r1, r2, lr}
    sub     sp, #FRAME
    mov     r9, r1
    mov     lr, r2
    product_128 LOW
    ldr     r1, [sp, #FACTOR_A]
    ldr     r2, [sp, #FACTOR_B]
    adds    r1, #16
    adds    r2, #16
    mov     r9, r1
    mov     lr, r2
    product_128 HIGH
    factors_apart
    product_128 MIDDLE, APART_A, APART_B
    fold    0
    end     field_multiply

@ [r0] = [r1]^2; they may be in the same place. Takes r0-r12.
    internal field_square
    push    {r0, r1, r2, lr}
    sub     sp, #FRAME
    mov     r9, r1
    square_128 LOW
    ldr     r1, [sp, #FACTOR_A]
    adds    r1, #16
    mov     r9, r1
    square_128 HIGH
    ldr     r4, [sp, #FACTOR_A]
    apart_128 APART_A
    square_128 MIDDLE, APART_A
    fold    1
    end     field_square
