@ Sums and differences modulo p. Any eight words are an element, and so are results.
@
@ There are two chains of carries: one is the sum, the other adds 19 times what is estimated to be
@ at 2^255, from the upper 16 bits of the summands.

@ r3-r6 op= four words that r2 points to. Takes \in.
.macro four first, next, in
    ldm     r2!, {\in}
    \first  r3, \in
    ldm     r2!, {\in}
    \next   r4, \in
    ldm     r2!, {\in}
    \next   r5, \in
    ldm     r2!, {\in}
    \next   r6, \in
.endm

@ The sum or difference of [r1] and [r2] to [r0], from the estimate in r3. The estimate's sign is
@ \sign (r11), or not needed. r8 keeps what is added at the bottom, r9 what is taken off at the top.
@ Between the halves, r1 and r7 keep what is carried, less one.
.macro sum_or_difference first, next, signed
    lsls    r4, r3, #31
    mov     r9, r4
    movs    r7, #19
    muls    r7, r3, r7
    mov     r8, r7
    .if \signed
    asrs    r3, r3, #31
    mov     r11, r3
    .endif
    ldm     r1!, {r3-r6}
    four    \first, \next, r7
    sbcs    r7, r7
    mov     r10, r7
    mov     r7, r8
    adds    r3, r7
    .if \signed
    mov     r7, r11
    .else
    movs    r7, #0
    .endif
    adcs    r4, r7
    adcs    r5, r7
    adcs    r6, r7
    sbcs    r7, r7
    stm     r0!, {r3-r6}
    ldm     r1!, {r3-r6}
    mov     r1, r10
    negs    r1, r1
    four    \next, \next, r1
    negs    r7, r7
    .if \signed
    mov     r7, r11
    .else
    movs    r7, #0
    .endif
    adcs    r3, r7
    adcs    r4, r7
    adcs    r5, r7
    adcs    r6, r7
    mov     r7, r9
    eors    r6, r7
    stm     r0!, {r3-r6}
    bx      lr
.endm

@ [r0] = [r1] + [r2]; any of them may be in the same place. Takes r0-r10.
    internal field_add
    ldrh    r3, [r1, #30]
    ldrh    r4, [r2, #30]
    adds    r3, r4
    lsrs    r3, r3, #15
    sum_or_difference adds, adcs, 0
    end     field_add

@ [r0] = [r1] - [r2]; any of them may be in the same place. Takes r0-r11.
@ The words below may borrow one, and the correction at the bottom another: two less.
    internal field_subtract
    ldrh    r3, [r1, #30]
    ldrh    r4, [r2, #30]
    subs    r3, r4
    subs    r3, #2
    asrs    r3, r3, #15
    sum_or_difference subs, sbcs, 1
    end     field_subtract

@ a: r0, b: r1. a = a + b
    public motemix_armv6m_add
    enter
    mov     r2, r1
    mov     r1, r0
    bl      field_add
    leave
    end     motemix_armv6m_add

@ a: r0, b: r1. a = a - b
    public motemix_armv6m_subtract
    enter
    mov     r2, r1
    mov     r1, r0
    bl      field_subtract
    leave
    end     motemix_armv6m_subtract

@ a: r0, b: r1. a = a + b and b = a - b
    public motemix_armv6m_sum_and_difference
    enter
    sub     sp, #32
    push    {r0, r1}
    mov     r2, r1
    mov     r1, r0
    add     r0, sp, #8
    bl      field_add
    ldr     r1, [sp]
    ldr     r2, [sp, #4]
    mov     r0, r2
    bl      field_subtract
    pop     {r0, r1}
    mov     r1, sp
    ldm     r1!, {r2-r5}
    stm     r0!, {r2-r5}
    ldm     r1!, {r2-r5}
    stm     r0!, {r2-r5}
    add     sp, #32
    leave
    end     motemix_armv6m_sum_and_difference
