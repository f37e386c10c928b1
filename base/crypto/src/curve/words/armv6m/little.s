@ Products and squares where flash counts: the same sums, as routines that call each other. A square
@ is a product.

    .equ LITTLE, 1

.macro lower_word at
    mov     r5, r10
    ldr     r5, [r5, #\at]
.endm

.macro fold_words base
    add     r5, sp, #\base
    mov     r10, r5
    bl      fold_four
.endm

    .section .text.motemix_armv6m_field, "ax", %progbits
    .p2align 2

@ A product of two and two words; see the macro.
    internal multiply_64
    product_64
    bx      lr
    end     multiply_64

@ [r0] = [r1] * [r2], eight words from four and four. Takes r0-r8, r10-r12; r12 is the sign.
    internal multiply_128
    push    {r0-r2, lr}
    ldm     r1, {r0, r1}
    ldm     r2, {r2, r3}
    bl      multiply_64
    ldr     r4, [sp]
    stm     r4!, {r0-r3}
    ldr     r1, [sp, #4]
    ldr     r3, [sp, #8]
    ldr     r0, [r1, #8]
    ldr     r1, [r1, #12]
    ldr     r2, [r3, #8]
    ldr     r3, [r3, #12]
    bl      multiply_64
    ldr     r4, [sp]
    sum_of_outer_128
    ldr     r3, [sp, #4]
    ldm     r3, {r0-r3}
    apart_64 r0, r1, r2, r3, r4
    ldr     r3, [sp, #8]
    ldm     r3!, {r6, r7}
    ldm     r3, {r2, r3}
    apart_64 r2, r3, r6, r7, r5
    eors    r4, r5
    mov     r12, r4
    bl      multiply_64
    mov     r4, r12
    eors    r0, r4
    eors    r1, r4
    eors    r2, r4
    eors    r3, r4
    ldr     r5, [sp]
    adds    r5, #8
    asrs    r4, r4, #1
    add_middle_128 adcs, adcs
    pop     {r0-r2, pc}
    end     multiply_128

@ r4, r0-r2 = r4 + 38 * (r0-r3) + the four words that r10 points to; r3 = what is carried
    internal fold_four
    fold_word r4, r0, 0
    fold_word r0, r1, 4
    fold_word r1, r2, 8
    fold_word r2, r3, 12
    bx      lr
    end     fold_four

@ [r0] = [r1]^2; they may be in the same place. Takes r0-r12.
    internal field_square
    mov     r2, r1
    end     field_square

@ [r0] = [r1] * [r2]; any of them may be in the same place. Takes r0-r12.
    internal field_multiply
    push    {r0-r2, lr}
    sub     sp, #FRAME
    add     r0, sp, #LOW
    bl      multiply_128
    add     r0, sp, #HIGH
    ldr     r1, [sp, #FACTOR_A]
    ldr     r2, [sp, #FACTOR_B]
    adds    r1, #16
    adds    r2, #16
    bl      multiply_128
    factors_apart
    add     r0, sp, #MIDDLE
    add     r1, sp, #APART_A
    add     r2, sp, #APART_B
    bl      multiply_128
    fold    0
    end     field_multiply
