@ Sums and differences of any eight words.

@ Adds t, 38 or 0: what was carried. If there is a carry again, the rest is below 38.
    .macro add_carried_twice w0,w1,w2,w3,w4,w5,w6,w7, t
    adds \w0, \w0, \t
    adcs \w1, \w1, #0
    adcs \w2, \w2, #0
    adcs \w3, \w3, #0
    adcs \w4, \w4, #0
    adcs \w5, \w5, #0
    adcs \w6, \w6, #0
    adcs \w7, \w7, #0
    it cs
    addcs \w0, \w0, #38
    .endm

@ Takes 38 off if something was borrowed. If something is borrowed again, all words but the least are
@ ones, and that is no less than 2^32 - 38.
    .macro take_borrowed_twice w0,w1,w2,w3,w4,w5,w6,w7, t
    sbc \t, \t, \t
    and \t, \t, #38
    subs \w0, \w0, \t
    sbcs \w1, \w1, #0
    sbcs \w2, \w2, #0
    sbcs \w3, \w3, #0
    sbcs \w4, \w4, #0
    sbcs \w5, \w5, #0
    sbcs \w6, \w6, #0
    sbcs \w7, \w7, #0
    it cc
    subcc \w0, \w0, #38
    .endm

@ a = a + b: a in r0, b in r1.
    .section .text.motemix_armv7m_add, "ax", %progbits
    .global motemix_armv7m_add
    .thumb_func
    .type motemix_armv7m_add, %function
motemix_armv7m_add:
    push {r4-r10}
    ldm r1, {r1-r8}
    ldr r9, [r0]
    ldr r10, [r0, #4]
    ldr r12, [r0, #8]
    adds r1, r1, r9
    adcs r2, r2, r10
    adcs r3, r3, r12
    ldr r9, [r0, #12]
    ldr r10, [r0, #16]
    ldr r12, [r0, #20]
    adcs r4, r4, r9
    adcs r5, r5, r10
    adcs r6, r6, r12
    ldr r9, [r0, #24]
    ldr r10, [r0, #28]
    mov r12, #0
    adcs r7, r7, r9
    adcs r8, r8, r10
    it cs
    movcs r12, #38
    add_carried_twice r1,r2,r3,r4,r5,r6,r7,r8, r12
    stm r0, {r1-r8}
    pop {r4-r10}
    bx lr
    .size motemix_armv7m_add, . - motemix_armv7m_add

@ a = a - b: a in r0, b in r1.
    .section .text.motemix_armv7m_subtract, "ax", %progbits
    .global motemix_armv7m_subtract
    .thumb_func
    .type motemix_armv7m_subtract, %function
motemix_armv7m_subtract:
    push {r4-r10}
    mov r12, r1
    ldm r0, {r1-r8}
    ldr r9, [r12]
    ldr r10, [r12, #4]
    subs r1, r1, r9
    sbcs r2, r2, r10
    ldr r9, [r12, #8]
    ldr r10, [r12, #12]
    sbcs r3, r3, r9
    sbcs r4, r4, r10
    ldr r9, [r12, #16]
    ldr r10, [r12, #20]
    sbcs r5, r5, r9
    sbcs r6, r6, r10
    ldr r9, [r12, #24]
    ldr r10, [r12, #28]
    sbcs r7, r7, r9
    sbcs r8, r8, r10
    take_borrowed_twice r1,r2,r3,r4,r5,r6,r7,r8, r9
    stm r0, {r1-r8}
    pop {r4-r10}
    bx lr
    .size motemix_armv7m_subtract, . - motemix_armv7m_subtract

@ a = a + b, b = a - b: a in r0, b in r1.
    .section .text.motemix_armv7m_sum_and_difference, "ax", %progbits
    .global motemix_armv7m_sum_and_difference
    .thumb_func
    .type motemix_armv7m_sum_and_difference, %function
motemix_armv7m_sum_and_difference:
    push {r4-r11, lr}
    ldm r0, {r2-r9}
@ The sum as it is, and its carry to the stack.
    load_four r10,r11,r12,lr, r1, 0
    adds r10, r10, r2
    adcs r11, r11, r3
    adcs r12, r12, r4
    adcs lr, lr, r5
    store_four r0, 0, r10,r11,r12,lr
    load_four r10,r11,r12,lr, r1, 16
    adcs r10, r10, r6
    adcs r11, r11, r7
    adcs r12, r12, r8
    adcs lr, lr, r9
    store_four r0, 16, r10,r11,r12,lr
    mov r10, #0
    it cs
    movcs r10, #38
    str r10, [sp, #-4]!
@ The difference.
    load_four r10,r11,r12,lr, r1, 0
    subs r2, r2, r10
    sbcs r3, r3, r11
    sbcs r4, r4, r12
    sbcs r5, r5, lr
    load_four r10,r11,r12,lr, r1, 16
    sbcs r6, r6, r10
    sbcs r7, r7, r11
    sbcs r8, r8, r12
    sbcs r9, r9, lr
    take_borrowed_twice r2,r3,r4,r5,r6,r7,r8,r9, r10
    stm r1, {r2-r9}
@ What the sum carried.
    ldm r0, {r2-r9}
    pop {r10}
    add_carried_twice r2,r3,r4,r5,r6,r7,r8,r9, r10
    stm r0, {r2-r9}
    pop {r4-r11, pc}
    .size motemix_armv7m_sum_and_difference, . - motemix_armv7m_sum_and_difference
