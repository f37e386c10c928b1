@ Products of words and of pairs of words. All operands are unsigned, the least word first.
@
@ A core without long products multiplies 16 by 16 bits. 32 by 32 are four of these; 64 by 64 are
@ three times that, and 128 by 128 three times that (Karatsuba, with differences instead of sums):
@
@     a*b = a1*b1*R^2 + (a0*b0 + a1*b1 - (a0 - a1)*(b0 - b1))*R + a0*b0
@
@ The differences are taken by magnitude. Where the sign of their product is needed, it is a mask,
@ all ones or zero: x ^ mask with a carry of the mask's lowest bit is x or -x.

@ hi:lo = hi * by. 17 cycles.
@ The two products in the middle are added one by one: their sum has 33 bits.
.macro product_32 hi, by, t1, t2, lo
    uxth    \t1, \hi
    uxth    \t2, \by
    lsrs    \hi, \hi, #16
    lsrs    \by, \by, #16
    mov     \lo, \t1
    muls    \lo, \t2, \lo
    muls    \t1, \by, \t1
    muls    \t2, \hi, \t2
    muls    \hi, \by, \hi
    lsls    \by, \t1, #16
    lsrs    \t1, \t1, #16
    adds    \lo, \lo, \by
    adcs    \hi, \t1
    lsls    \by, \t2, #16
    lsrs    \t2, \t2, #16
    adds    \lo, \lo, \by
    adcs    \hi, \t2
.endm

@ hi:lo = hi * hi. 10 cycles: twice the product in the middle is a longer shift.
.macro square_32 hi, t1, t2, lo
    uxth    \lo, \hi
    lsrs    \hi, \hi, #16
    mov     \t1, \lo
    muls    \t1, \hi, \t1
    muls    \lo, \lo, \lo
    muls    \hi, \hi, \hi
    lsls    \t2, \t1, #17
    lsrs    \t1, \t1, #15
    adds    \lo, \lo, \t2
    adcs    \hi, \t1
.endm

@ \apart = |\x - \y|, \sign = all ones if the difference is negative
.macro apart_32 apart, x, y, sign
    subs    \apart, \x, \y
    sbcs    \sign, \sign
    eors    \apart, \sign
    subs    \apart, \sign
.endm

@ \x1:\x0 = |\x1:\x0 - \y1:\y0|, \sign = all ones if it was negative
.macro apart_64 x0, x1, y0, y1, sign
    subs    \x0, \y0
    sbcs    \x1, \y1
    sbcs    \sign, \sign
    eors    \x0, \sign
    eors    \x1, \sign
    subs    \x0, \sign
    sbcs    \x1, \sign
.endm

@ r0-r3 = (r0, r1) * (r2, r3). 78 cycles; takes r4-r7, r8, r10, r11.
@
@ z0 = a0*b0 is made in r7:r2, z2 = a1*b1 in r0:r3 (low word first). |a0 - a1| waits in r8,
@ |b1 - b0| in r6, the sign of their product in r10. The lowest word of all waits in r11.
.macro product_64
    apart_32 r4, r0, r1, r5
    apart_32 r6, r3, r2, r7
    eors    r5, r7
    mov     r8, r4
    mov     r10, r5
    product_32 r2, r0, r4, r5, r7
    product_32 r3, r1, r4, r5, r0
    movs    r4, #0
    @ r3:r2 = the upper word of z0 and all of z2: it is added to z0 and to the upper word of z2.
    adds    r2, r0
    adcs    r3, r4
    adds    r1, r7, r2
    adcs    r2, r3
    adcs    r3, r4
    mov     r11, r7
    mov     r0, r8
    product_32 r0, r6, r4, r5, r7
    mov     r4, r10
    eors    r7, r4
    eors    r0, r4
    asrs    r4, r4, #1
    adcs    r1, r7
    adcs    r2, r0
    adcs    r3, r4
    mov     r0, r11
.endm

@ r0-r3 = (r2, r3)^2. 43 cycles; takes r4-r7. z0 is made in r2:r0, z2 in r3:r7.
.macro square_64
    apart_32 r4, r2, r3, r5
    square_32 r2, r5, r6, r0
    square_32 r3, r5, r6, r7
    square_32 r4, r5, r6, r1
    movs    r6, #0
    adds    r2, r7
    adcs    r3, r6
    adds    r5, r0, r2
    adcs    r2, r3
    adcs    r3, r6
    subs    r1, r5, r1
    sbcs    r2, r4
    sbcs    r3, r6
.endm

@ Puts z0 + (z0 + z2)*2^64 + z2*2^128 where r4 points. There z0 is already; z2 is in r0-r3.
.macro sum_of_outer_128
    ldr     r6, [r4, #8]
    ldr     r7, [r4, #12]
    movs    r5, #0
    adds    r0, r6
    adcs    r1, r7
    adcs    r2, r5
    adcs    r3, r5
    ldm     r4!, {r6, r7}
    adds    r6, r0
    adcs    r7, r1
    adcs    r0, r2
    adcs    r1, r3
    adcs    r2, r5
    adcs    r3, r5
    stm     r4!, {r6, r7}
    stm     r4!, {r0-r3}
.endm

@ Adds r0-r3 (or takes them off, with subs and sbcs) to words 2 to 5 of what r5 points into, and the
@ carry and r4 to words 6 and 7.
.macro add_middle_128 first, next
    ldr     r6, [r5]
    ldr     r7, [r5, #4]
    \first  r6, r0
    \next   r7, r1
    stm     r5!, {r6, r7}
    ldr     r6, [r5]
    ldr     r7, [r5, #4]
    \next   r6, r2
    \next   r7, r3
    stm     r5!, {r6, r7}
    ldr     r6, [r5]
    ldr     r7, [r5, #4]
    \next   r6, r4
    \next   r7, r4
    stm     r5!, {r6, r7}
.endm
