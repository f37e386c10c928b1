@ Squares. All eight digits of a half stay in registers, so that its products of two digits can be
@ summed diagonal by diagonal, the shortest one first: whenever a carry leaves a diagonal, it meets a
@ product that is new.
@
@     r6-r12, lr  a0 to a7, in the end the square
@     r0-r4       five words of a sum
@     r5          a product, in the end the sum's last word

@ The square of the half at a, to r6-r12 and lr.
    .macro square_half a
    ldrh r6, [sp, #\a]
    ldrh r7, [sp, #\a+2]
    ldrh r8, [sp, #\a+4]
    ldrh r9, [sp, #\a+6]
    ldrh r10, [sp, #\a+8]
    ldrh r11, [sp, #\a+10]
    ldrh r12, [sp, #\a+12]
    ldrh lr, [sp, #\a+14]
@ The odd part, each product once, to the stack. a0*a7 is at its word 3, ...
    mul r2, r6, lr
@ ... a0*a5, a1*a6, a2*a7 are at 2 to 4, ...
    mul r1, r6, r11
    mul r5, r7, r12
    adds r2, r2, r5
    mul r3, r8, lr
    adc r3, r3, #0
@ ... a0*a3 to a4*a7 are at 1 to 5, ...
    mul r0, r6, r9
    mul r5, r7, r10
    adds r1, r1, r5
    mul r5, r8, r11
    adcs r2, r2, r5
    mul r5, r9, r12
    adcs r3, r3, r5
    mul r4, r10, lr
    adc r4, r4, #0
@ ... a0*a1 to a6*a7 are at 0 to 6.
    mul r5, r6, r7
    str r5, [sp, #FIELD_ODD]
    mul r5, r7, r8
    adds r0, r0, r5
    str r0, [sp, #FIELD_ODD+4]
    mul r5, r8, r9
    adcs r1, r1, r5
    str r1, [sp, #FIELD_ODD+8]
    mul r5, r9, r10
    adcs r2, r2, r5
    str r2, [sp, #FIELD_ODD+12]
    mul r5, r10, r11
    adcs r3, r3, r5
    str r3, [sp, #FIELD_ODD+16]
    mul r5, r11, r12
    adcs r4, r4, r5
    str r4, [sp, #FIELD_ODD+20]
    mul r5, r12, lr
    adc r5, r5, #0
    str r5, [sp, #FIELD_ODD+24]
@ The even part of different digits, each product once, from word 1 on. a0*a6, a1*a7 are at 3 and 4.
    mul r2, r6, r12
    mul r3, r7, lr
@ a0*a2 to a5*a7 are at 1 to 6, ...
    mul r0, r6, r8
    mul r1, r7, r9
    mul r5, r8, r10
    adds r2, r2, r5
    mul r5, r9, r11
    adcs r3, r3, r5
    mul r4, r10, r12
    adc r4, r4, #0
@ ... and before the last of them, a0*a4 to a3*a7 at 2 to 5.
    mul r5, r6, r10
    adds r1, r1, r5
    mul r5, r7, r11
    adcs r2, r2, r5
    mul r5, r8, r12
    adcs r3, r3, r5
    mul r5, r9, lr
    adcs r4, r4, r5
    mul r5, r11, lr
    adc r5, r5, #0
@ Squares of digits in their places, ...
    muls r6, r6, r6
    muls r7, r7, r7
    mul r8, r8, r8
    mul r9, r9, r9
    mul r10, r10, r10
    mul r11, r11, r11
    mul r12, r12, r12
    mul lr, lr, lr
@ ... twice the even part, ...
    adds r0, r0, r0
    adcs r1, r1, r1
    adcs r2, r2, r2
    adcs r3, r3, r3
    adcs r4, r4, r4
    adcs r5, r5, r5
    adc lr, lr, #0
    adds r7, r7, r0
    adcs r8, r8, r1
    adcs r9, r9, r2
    adcs r10, r10, r3
    adcs r11, r11, r4
    adcs r12, r12, r5
    adc lr, lr, #0
@ ... and twice the odd part, which is 16 bits up.
    load_four r0,r1,r2,r3, sp, FIELD_ODD
    ldr r4, [sp, #FIELD_ODD+16]
    ldr r5, [sp, #FIELD_ODD+20]
    adds r7, r7, r0, lsr #15
    adcs r8, r8, r1, lsr #15
    adcs r9, r9, r2, lsr #15
    adcs r10, r10, r3, lsr #15
    adcs r11, r11, r4, lsr #15
    adcs r12, r12, r5, lsr #15
    adc lr, lr, #0
    adds r6, r6, r0, lsl #17
    ldr r0, [sp, #FIELD_ODD+24]
    adcs r7, r7, r1, lsl #17
    adcs r8, r8, r2, lsl #17
    adcs r9, r9, r3, lsl #17
    adcs r10, r10, r4, lsl #17
    adcs r11, r11, r5, lsl #17
    adcs r12, r12, r0, lsl #17
    adc lr, lr, r0, lsr #15
    .endm

@ The square of the element in r0-r3, r6-r9. Leaves it there and changes all registers. Slot A is used.
    .section .text.motemix_armv7m_square, "ax", %progbits
    .thumb_func
    .type motemix_armv7m_square, %function
motemix_armv7m_square:
    str lr, [sp, #FIELD_RETURN]
    operand FIELD_A, r0,r1,r2,r3,r6,r7,r8,r9, r4
    square_half FIELD_A
    store_four sp, FIELD_S, r6,r7,r8,r9
    store_four sp, FIELD_S+16, r10,r11,r12,lr
    square_half FIELD_A+16
    load_four r0,r1,r2,r3, sp, FIELD_S+16
    adds r6, r6, r0
    adcs r7, r7, r1
    adcs r8, r8, r2
    adcs r9, r9, r3
    adcs r10, r10, #0
    adcs r11, r11, #0
    adcs r12, r12, #0
    adc lr, lr, #0
    store_four sp, FIELD_S+16, r6,r7,r8,r9
    store_four sp, FIELD_S+32, r10,r11,r12,lr
    square_half FIELD_A+32
    load_four r0,r1,r2,r3, sp, FIELD_S+16
    subs r6, r0, r6
    sbcs r7, r1, r7
    sbcs r8, r2, r8
    sbcs r9, r3, r9
    sbcs r10, r0, r10
    sbcs r11, r1, r11
    sbcs r12, r2, r12
    sbcs lr, r3, lr
    sbc r5, r5, r5
    reduce r6,r7,r8,r9,r10,r11,r12,lr, r5, r0,r1,r2,r3, r4
    ldr pc, [sp, #FIELD_RETURN]
    .size motemix_armv7m_square, . - motemix_armv7m_square

@ a to the power of 2^times: a in r0, `times`, at least 1, in r1.
    .section .text.motemix_armv7m_square_times, "ax", %progbits
    .global motemix_armv7m_square_times
    .thumb_func
    .type motemix_armv7m_square_times, %function
motemix_armv7m_square_times:
    push {r0, r1, r4-r11, lr}
    sub sp, #FIELD_FRAME
    ldm r0, {r0-r3,r6-r9}
1:
    bl motemix_armv7m_square
    ldr r4, [sp, #FIELD_FRAME+4]
    subs r4, r4, #1
    str r4, [sp, #FIELD_FRAME+4]
    bne 1b
    add sp, #FIELD_FRAME
    pop {r4, r5}
    store_four r4, 0, r0,r1,r2,r3
    store_four r4, 16, r6,r7,r8,r9
    pop {r4-r11, pc}
    .size motemix_armv7m_square_times, . - motemix_armv7m_square_times
