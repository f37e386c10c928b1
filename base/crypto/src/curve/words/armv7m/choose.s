@ A coordinate of one of the eight points of a table, all of which are read: in r0 where it goes, in r1
@ the table, in r2 which point it is, in r3 which of three coordinates.
    .macro choose_if_equal entry
    adds r1, r1, #80
    ldm r1!, {r8,r9,r12,lr}
    cmp r2, #\entry
    itttt eq
    moveq r4, r8
    moveq r5, r9
    moveq r6, r12
    moveq r7, lr
    .endm

    .section .text.motemix_armv7m_choose, "ax", %progbits
    .global motemix_armv7m_choose
    .thumb_func
    .type motemix_armv7m_choose, %function
motemix_armv7m_choose:
    push {r4-r9, lr}
    add r1, r1, r3, lsl #5
    add r3, r0, #32
1:
    ldm r1!, {r4-r7}
    choose_if_equal 1
    choose_if_equal 2
    choose_if_equal 3
    choose_if_equal 4
    choose_if_equal 5
    choose_if_equal 6
    choose_if_equal 7
    stm r0!, {r4-r7}
@ Back to the upper half of the first point's coordinate.
    sub r1, r1, #7*96
    cmp r0, r3
    bne 1b
    pop {r4-r9, pc}
    .size motemix_armv7m_choose, . - motemix_armv7m_choose
