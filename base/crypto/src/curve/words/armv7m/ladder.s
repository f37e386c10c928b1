@ A step of the ladder. Coordinates are below 2^255 + 2^12, as products and squares are. So when the
@ sum of two leaves 2^256, what is left is small, and adding 38 carries nowhere; and when a difference
@ borrows 2^256, enough is there to take 38 off.
    .equ LADDER_AT, 184
    .equ LADDER_EXCHANGED, 188
    .equ LADDER_FRAME, 192
@ The ladder's coordinates, and what takes their places during a step.
    .equ LADDER_X2, 32
    .equ LADDER_B, 32
    .equ LADDER_Z2, 64
    .equ LADDER_C, 64
    .equ LADDER_X3, 96
    .equ LADDER_SUM, 96
    .equ LADDER_Z3, 128
    .equ LADDER_DA, 128

@ A coordinate goes to where squares are and come from.
    .macro load_to_square at
    ldr r12, [sp, #LADDER_AT]
    add r12, r12, #\at
    ldm r12, {r0-r3,r6-r9}
    .endm

    .macro store_coordinate at, w0,w1,w2,w3,w4,w5,w6,w7, t
    ldr \t, [sp, #LADDER_AT]
    store_four \t, \at, \w0,\w1,\w2,\w3
    store_four \t, \at+16, \w4,\w5,\w6,\w7
    .endm

    .macro subtract_four w0,w1,w2,w3, s0,s1,s2,s3, base, at, first=sbcs
    load_four \s0,\s1,\s2,\s3, \base, \at
    \first \w0, \w0, \s0
    sbcs \w1, \w1, \s1
    sbcs \w2, \w2, \s2
    sbcs \w3, \w3, \s3
    .endm

@ Takes 38 off if something was borrowed.
    .macro take_borrowed w0,w1,w2,w3,w4,w5,w6,w7, t
    sbc \t, \t, \t
    and \t, \t, #38
    subs \w0, \w0, \t
    sbcs \w1, \w1, #0
    sbcs \w2, \w2, #0
    sbcs \w3, \w3, #0
    sbcs \w4, \w4, #0
    sbcs \w5, \w5, #0
    sbcs \w6, \w6, #0
    sbc \w7, \w7, #0
    .endm

@ x is in r0-r7, y at lr + y. The sum goes to `base` + at, the difference to r0-r7.
    .macro sum_and_difference y, base, at
    load_four r8,r9,r10,r11, lr, \y
    adds r12, r0, r8
    adcs r9, r1, r9
    adcs r10, r2, r10
    adcs r11, r3, r11
    str r9, [\base, #\at+4]
    str r10, [\base, #\at+8]
    str r11, [\base, #\at+12]
    load_four r8,r9,r10,r11, lr, \y+16
    adcs r8, r4, r8
    adcs r9, r5, r9
    adcs r10, r6, r10
    adcs r11, r7, r11
    it cs
    addcs r12, r12, #38
    str r12, [\base, #\at]
    store_four \base, \at+16, r8,r9,r10,r11
    subtract_four r0,r1,r2,r3, r8,r9,r10,r11, lr, \y, subs
    subtract_four r4,r5,r6,r7, r8,r9,r10,r11, lr, \y+16
    take_borrowed r0,r1,r2,r3,r4,r5,r6,r7, r8
    .endm

@ Puts four words of a slot, or those of w if the condition holds, at lr + at.
    .macro choose_four condition, w0,w1,w2,w3, slot, at
    load_four r8,r9,r10,r11, sp, \slot
    itttt \condition
    mov\condition r8, \w0
    mov\condition r9, \w1
    mov\condition r10, \w2
    mov\condition r11, \w3
    store_four lr, \at, r8,r9,r10,r11
    .endm

@ w = the word at \at in slot A, plus 56,130 (r12) times that in slot B, plus 65,536 times that, which
@ makes 121,666 times. The 16 bits below it are in `before`, those above it go to `high`. r11 has what
@ is carried in its upper half. No sum overflows: (2^16 - 1)*56,130 + 2*(2^16 - 1) < 2^32.
    .macro add_multiple w, at, low, high, before
    ldrh \low, [sp, #FIELD_B+\at]
    ldrh \high, [sp, #FIELD_B+\at+2]
    ldr \w, [sp, #FIELD_A+\at]
    add \before, \before, r11, lsr #16
    mla lr, \low, r12, \before
    mla r11, \high, r12, \low
    add r11, r11, lr, lsr #16
    bfi lr, r11, #16, #16
    adcs \w, \w, lr
    .endm

@ The ladder in r0, x1, x2, z2, x3, z3 as they lie in memory; in r1 whether its points are to be
@ exchanged before: 0 or 1.
    .section .text.motemix_armv7m_ladder_step, "ax", %progbits
    .global motemix_armv7m_ladder_step
    .thumb_func
    .type motemix_armv7m_ladder_step, %function
motemix_armv7m_ladder_step:
    push {r4-r11, lr}
    sub sp, #LADDER_FRAME
    str r0, [sp, #LADDER_AT]
    str r1, [sp, #LADDER_EXCHANGED]
    mov lr, r0
@ A = x2 + z2 to slot B, B = x2 - z2
    add r12, r0, #LADDER_X2
    ldm r12, {r0-r7}
    sum_and_difference LADDER_Z2, sp, FIELD_B
    store_four lr, LADDER_B, r0,r1,r2,r3
    store_four lr, LADDER_B+16, r4,r5,r6,r7
    load_four r0,r1,r2,r3, sp, FIELD_B
    load_four r4,r5,r6,r7, sp, FIELD_B+16
    operand FIELD_B, r0,r1,r2,r3,r4,r5,r6,r7, r8
    str r8, [sp, #FIELD_MASK_B]
@ C = x3 + z3, D = x3 - z3
    add r12, lr, #LADDER_X3
    ldm r12, {r0-r7}
    sum_and_difference LADDER_Z3, lr, LADDER_C
    bl motemix_armv7m_product
    store_coordinate LADDER_DA, r9,r10,r11,r12,r0,r1,r2,r3, lr
@ If the points are exchanged, A changes places with C, and B with D. That makes CB of DA and DA of CB;
@ their sum stays, and so does the square of their difference. Only what is squared alone has to be
@ chosen: A or C in the place of C, C to slot B ...
    ldr r12, [sp, #LADDER_EXCHANGED]
    cmp r12, #0
    add r12, lr, #LADDER_C
    ldm r12, {r0-r7}
    choose_four ne, r0,r1,r2,r3, FIELD_B, LADDER_C
    choose_four ne, r4,r5,r6,r7, FIELD_B+16, LADDER_C+16
    operand FIELD_B, r0,r1,r2,r3,r4,r5,r6,r7, r8
    str r8, [sp, #FIELD_MASK_B]
@ ... and B or D in the place of B. B is multiplied.
    ldr r12, [sp, #LADDER_EXCHANGED]
    cmp r12, #0
    add r12, lr, #LADDER_B
    ldm r12, {r0-r7}
    choose_four eq, r0,r1,r2,r3, FIELD_A, LADDER_B
    choose_four eq, r4,r5,r6,r7, FIELD_A+16, LADDER_B+16
    bl motemix_armv7m_product
@ DA + CB, and the square of DA - CB
    ldr lr, [sp, #LADDER_AT]
    load_four r4,r5,r6,r7, lr, LADDER_DA
    adds r8, r4, r9
    adcs r5, r5, r10
    adcs r6, r6, r11
    adcs r7, r7, r12
    str r5, [lr, #LADDER_SUM+4]
    str r6, [lr, #LADDER_SUM+8]
    str r7, [lr, #LADDER_SUM+12]
    load_four r4,r5,r6,r7, lr, LADDER_DA+16
    adcs r4, r4, r0
    adcs r5, r5, r1
    adcs r6, r6, r2
    adcs r7, r7, r3
    it cs
    addcs r8, r8, #38
    str r8, [lr, #LADDER_SUM]
    store_four lr, LADDER_SUM+16, r4,r5,r6,r7
    load_four r4,r5,r6,r7, lr, LADDER_DA
    subs r9, r4, r9
    sbcs r10, r5, r10
    sbcs r11, r6, r11
    sbcs r12, r7, r12
    load_four r6,r7,r8,r4, lr, LADDER_DA+16
    sbcs r6, r6, r0
    sbcs r7, r7, r1
    sbcs r8, r8, r2
    sbcs r4, r4, r3
@ As take_borrowed does, to where squares come from.
    sbc r5, r5, r5
    and r5, r5, #38
    subs r0, r9, r5
    sbcs r1, r10, #0
    sbcs r2, r11, #0
    sbcs r3, r12, #0
    sbcs r6, r6, #0
    sbcs r7, r7, #0
    sbcs r8, r8, #0
    sbc r9, r4, #0
    bl motemix_armv7m_square
@ z3 = x1*(DA - CB)^2
    operand FIELD_B, r0,r1,r2,r3,r6,r7,r8,r9, r4
    str r4, [sp, #FIELD_MASK_B]
    ldr r0, [sp, #LADDER_AT]
    ldm r0, {r0-r7}
    bl motemix_armv7m_product
    store_coordinate LADDER_Z3, r9,r10,r11,r12,r0,r1,r2,r3, r4
@ x3 = (DA + CB)^2
    load_to_square LADDER_SUM
    bl motemix_armv7m_square
    store_coordinate LADDER_X3, r0,r1,r2,r3,r6,r7,r8,r9, r4
@ A^2 to slot B, B^2 to slot A with the product; x2 = A^2*B^2
    load_to_square LADDER_C
    bl motemix_armv7m_square
    operand FIELD_B, r0,r1,r2,r3,r6,r7,r8,r9, r4
    str r4, [sp, #FIELD_MASK_B]
    load_to_square LADDER_B
    bl motemix_armv7m_square
    mov r4, r6
    mov r5, r7
    mov r6, r8
    mov r7, r9
    bl motemix_armv7m_product
    store_coordinate LADDER_X2, r9,r10,r11,r12,r0,r1,r2,r3, r4
@ E = A^2 - B^2 to slot B
    load_four r0,r1,r2,r3, sp, FIELD_B
    load_four r4,r5,r6,r7, sp, FIELD_B+16
    subtract_four r0,r1,r2,r3, r8,r9,r10,r11, sp, FIELD_A, subs
    subtract_four r4,r5,r6,r7, r8,r9,r10,r11, sp, FIELD_A+16
    take_borrowed r0,r1,r2,r3,r4,r5,r6,r7, r8
    operand FIELD_B, r0,r1,r2,r3,r4,r5,r6,r7, r8
    str r8, [sp, #FIELD_MASK_B]
@ B^2 + 121,666*E
    movw r12, #56130
    mov r10, #0
    mov r11, #0
    cmn r10, #0
    add_multiple r0, 0, r8,r9,r10
    add_multiple r1, 4, r8,r10,r9
    add_multiple r2, 8, r8,r9,r10
    add_multiple r3, 12, r8,r10,r9
    add_multiple r4, 16, r8,r9,r10
    add_multiple r5, 20, r8,r10,r9
    add_multiple r6, 24, r8,r9,r10
    add_multiple r7, 28, r8,r10,r9
    adc r10, r10, r11, lsr #16
    take_around r0,r1,r2,r3,r4,r5,r6,r7, r10, r11
@ z2 = E*(B^2 + 121,666*E)
    bl motemix_armv7m_product
    store_coordinate LADDER_Z2, r9,r10,r11,r12,r0,r1,r2,r3, r4
    add sp, #LADDER_FRAME
    pop {r4-r11, pc}
    .size motemix_armv7m_ladder_step, . - motemix_armv7m_ladder_step
