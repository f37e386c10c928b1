@ A coordinate of one of the eight points of a table, all of which are read: in r0 where it goes, in
@ r1 the table, in r2 which point it is, in r3 which of three coordinates.

    .section .text.motemix_armv6m_choose, "ax", %progbits
    .p2align 2

@ r3-r6 are four words of the sum, r7 a mask that is all ones once: when r2 was counted down to
@ zero. r12 keeps where it goes, lr where the table ends.
.macro choose_four
    movs    r3, #0
    movs    r4, #0
    movs    r5, #0
    movs    r6, #0
1:  subs    r7, r2, #1
    sbcs    r7, r7
    subs    r2, #1
    .irp    word, r3, r4, r5, r6
    ldm     r1!, {r0}
    ands    r0, r7
    orrs    \word, r0
    .endr
    adds    r1, #80
    cmp     r1, lr
    blo     1b
    mov     r0, r12
    stm     r0!, {r3-r6}
.endm

    public motemix_armv6m_choose
    push    {r4-r7, lr}
    mov     r12, r0
    lsls    r3, r3, #5
    adds    r1, r3
    movs    r4, #96
    lsls    r4, r4, #3
    adds    r4, r1
    mov     lr, r4
    push    {r1, r2}
    choose_four
    mov     r12, r0
    pop     {r1, r2}
    adds    r1, #16
    choose_four
    pop     {r4-r7, pc}
    end     motemix_armv6m_choose
