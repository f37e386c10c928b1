@ Sums and differences of any eight words.

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
    adds r1, r1, r12
    adcs r2, r2, #0
    adcs r3, r3, #0
    adcs r4, r4, #0
    adcs r5, r5, #0
    adcs r6, r6, #0
    adcs r7, r7, #0
    adcs r8, r8, #0
    it cs
    addcs r1, r1, #38
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
    sbc r9, r9, r9
    and r9, r9, #38
    subs r1, r1, r9
    sbcs r2, r2, #0
    sbcs r3, r3, #0
    sbcs r4, r4, #0
    sbcs r5, r5, #0
    sbcs r6, r6, #0
    sbcs r7, r7, #0
    sbcs r8, r8, #0
    it cc
    subcc r1, r1, #38
    stm r0, {r1-r8}
    pop {r4-r10}
    bx lr
    .size motemix_armv7m_subtract, . - motemix_armv7m_subtract
