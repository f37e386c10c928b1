@ Products and squares of public numbers alone, from UMULL and UMLAL, which end early for small ones.
@
@ Four words b stay in registers while each word a passes by and makes a row:
@     w[i..i+4] += a*b, and what is above goes to the place of a.
@ UMULL leaves the flags alone, so that a row is two chains of carries: one of lower words, one of upper ones.
@
@     r0-r4       w, and a
@     r5          a lower word
@     r8, r6, r7  upper words; the fourth takes the place of a
@     r9-r12      b

@ The words w are new.
    .macro first_public_row w0,w1,w2,w3, a
    umull \w0, r8, \a, r9
    umull \w1, r6, \a, r10
    umull \w2, r7, \a, r11
    umull \w3, \a, \a, r12
    adds \w1, \w1, r8
    adcs \w2, \w2, r6
    adcs \w3, \w3, r7
    adc \a, \a, #0
    .endm

@ The lower word of the first product is in r5, its upper one in r8.
    .macro rest_of_public_row w0,w1,w2,w3, a
    adds \w0, \w0, r5
    umull r5, r6, \a, r10
    adcs \w1, \w1, r5
    umull r5, r7, \a, r11
    adcs \w2, \w2, r5
    umull r5, \a, \a, r12
    adcs \w3, \w3, r5
    adc \a, \a, #0
    adds \w1, \w1, r8
    adcs \w2, \w2, r6
    adcs \w3, \w3, r7
    adc \a, \a, #0
    .endm

    .macro public_row w0,w1,w2,w3, a
    umull r5, r8, \a, r9
    rest_of_public_row \w0,\w1,\w2,\w3, \a
    .endm

@ Four rows: words of a from lr at `from`, the lowest words of the sum to the stack at `to`. What there is
@ already is in w, nothing if `new`; what is above is in a, w0, w1, w2 in the end.
    .macro four_public_rows from, to, w0,w1,w2,w3, a, new=0
    ldr \a, [lr, #\from]
    .if \new
    first_public_row \w0,\w1,\w2,\w3, \a
    .else
    public_row \w0,\w1,\w2,\w3, \a
    .endif
    str \w0, [sp, #\to]
    ldr \w0, [lr, #\from+4]
    public_row \w1,\w2,\w3,\a, \w0
    str \w1, [sp, #\to+4]
    ldr \w1, [lr, #\from+8]
    public_row \w2,\w3,\a,\w0, \w1
    str \w2, [sp, #\to+8]
    ldr \w2, [lr, #\from+12]
    public_row \w3,\a,\w0,\w1, \w2
    str \w3, [sp, #\to+12]
    .endm

@ On the stack: the sum, what is added to its upper parts later, carries, and what routines were given.
    .equ PUBLIC_S, 0
    .equ PUBLIC_LATER, 48
    .equ PUBLIC_TOP, 80
    .equ PUBLIC_CARRY, 84
    .equ PUBLIC_TO, 88
    .equ PUBLIC_B, 92
    .equ PUBLIC_RETURN, 96
    .equ PUBLIC_FRAME, 104

@ The end: words 0 to 11 of a product or square are on the stack, words 12 to 15 in r9-r12. 38 times c, a carry
@ that belongs to word 12, is in r5.
    .section .text.motemix_armv7m_reduce_public, "ax", %progbits
    .thumb_func
    .type motemix_armv7m_reduce_public, %function
motemix_armv7m_reduce_public:
    load_four r0,r1,r2,r3, sp, PUBLIC_S+16
    movs r4, #38
    movs r6, #0
    mov r8, r6
    umlal r5, r8, r4, r9
    rest_of_public_row r0,r1,r2,r3, r4
@ What is at 2^255 and above comes around as the carry of the lower words.
    lsls r4, r4, #1
    orr r4, r4, r3, lsr #31
    bic r3, r3, #0x80000000
    movs r5, #19
    muls r5, r4, r5
    store_four sp, PUBLIC_S+16, r0,r1,r2,r3
    load_four r9,r10,r11,r12, sp, PUBLIC_S+32
    load_four r0,r1,r2,r3, sp, PUBLIC_S
    movs r4, #38
    movs r6, #0
    mov r8, r6
    umlal r5, r8, r4, r9
    rest_of_public_row r0,r1,r2,r3, r4
    load_four r9,r10,r11,r12, sp, PUBLIC_S+16
    adds r9, r9, r4
    adcs r10, r10, #0
    adcs r11, r11, #0
    adc r12, r12, #0
    ldr r4, [sp, #PUBLIC_TO]
    stm r4!, {r0-r3}
    stm r4, {r9-r12}
    ldr pc, [sp, #PUBLIC_RETURN]
    .size motemix_armv7m_reduce_public, . - motemix_armv7m_reduce_public

@ The product of what r1 and r2 point to, to where r0 points. Changes all registers.
    .section .text.motemix_armv7m_product_public, "ax", %progbits
    .thumb_func
    .type motemix_armv7m_product_public, %function
motemix_armv7m_product_public:
    str r0, [sp, #PUBLIC_TO]
    str r1, [sp, #PUBLIC_B]
    str lr, [sp, #PUBLIC_RETURN]
    mov lr, r2
    ldm r1, {r9-r12}
    four_public_rows 0, PUBLIC_S, r0,r1,r2,r3, r4, 1
@ The lower half of b times the upper one of a; what is above waits.
    four_public_rows 16, PUBLIC_S+16, r4,r0,r1,r2, r3
    store_four sp, PUBLIC_LATER, r3,r4,r0,r1
@ The upper half of b.
    ldr r8, [sp, #PUBLIC_B]
    add r8, r8, #16
    ldm r8, {r9-r12}
    load_four r0,r1,r2,r3, sp, PUBLIC_S+16
    four_public_rows 0, PUBLIC_S+16, r0,r1,r2,r3, r4
    load_four r5,r6,r7,r8, sp, PUBLIC_LATER
    adds r4, r4, r5
    adcs r0, r0, r6
    adcs r1, r1, r7
    adcs r2, r2, r8
    ite cs
    movcs r5, #38
    movcc r5, #0
    str r5, [sp, #PUBLIC_CARRY]
    four_public_rows 16, PUBLIC_S+32, r4,r0,r1,r2, r3
    mov r9, r3
    mov r10, r4
    mov r11, r0
    mov r12, r1
    ldr r5, [sp, #PUBLIC_CARRY]
    b motemix_armv7m_reduce_public
    .size motemix_armv7m_product_public, . - motemix_armv7m_product_public

@ a = a*b: a in r0, b in r1.
    .section .text.motemix_armv7m_multiply_public, "ax", %progbits
    .global motemix_armv7m_multiply_public
    .thumb_func
    .type motemix_armv7m_multiply_public, %function
motemix_armv7m_multiply_public:
    push {r4-r11, lr}
    sub sp, #PUBLIC_FRAME
    mov r2, r0
    bl motemix_armv7m_product_public
    add sp, #PUBLIC_FRAME
    pop {r4-r11, pc}
    .size motemix_armv7m_multiply_public, . - motemix_armv7m_multiply_public

@ The square of the four words in r9-r12, to r0-r7. Changes r8 and lr.
    .macro square_public_half
    umull r1, r2, r9, r10
    umull r8, r3, r9, r11
    adds r2, r2, r8
    umull r8, r4, r9, r12
    adcs r3, r3, r8
    adc r4, r4, #0
    umull r8, lr, r10, r11
    adds r3, r3, r8
    adcs r4, r4, lr
    umull r8, r5, r10, r12
    adc r5, r5, #0
    adds r4, r4, r8
    umull r8, r6, r11, r12
    adcs r5, r5, r8
    adc r6, r6, #0
@ Twice that, and the squares of words.
    adds r1, r1, r1
    adcs r2, r2, r2
    adcs r3, r3, r3
    adcs r4, r4, r4
    adcs r5, r5, r5
    adcs r6, r6, r6
    mov r7, #0
    adcs r7, r7, r7
    umull r0, r8, r9, r9
    adds r1, r1, r8
    umull r8, lr, r10, r10
    adcs r2, r2, r8
    adcs r3, r3, lr
    umull r8, lr, r11, r11
    adcs r4, r4, r8
    adcs r5, r5, lr
    umull r8, lr, r12, r12
    adcs r6, r6, r8
    adc r7, r7, lr
    .endm

@ The square of what r0 points to, in its place. Changes all registers.
    .section .text.motemix_armv7m_squared_public, "ax", %progbits
    .thumb_func
    .type motemix_armv7m_squared_public, %function
motemix_armv7m_squared_public:
    str r0, [sp, #PUBLIC_TO]
    str lr, [sp, #PUBLIC_RETURN]
    mov lr, r0
    ldm lr, {r9-r12}
@ The product of both halves, twice.
    four_public_rows 16, PUBLIC_LATER, r0,r1,r2,r3, r4, 1
    load_four r5,r6,r7,r8, sp, PUBLIC_LATER
    adds r5, r5, r5
    adcs r6, r6, r6
    adcs r7, r7, r7
    adcs r8, r8, r8
    adcs r4, r4, r4
    adcs r0, r0, r0
    adcs r1, r1, r1
    adcs r2, r2, r2
    mov r3, #0
    adcs r3, r3, r3
    store_four sp, PUBLIC_LATER, r5,r6,r7,r8
    store_four sp, PUBLIC_LATER+16, r4,r0,r1,r2
    str r3, [sp, #PUBLIC_TOP]
    square_public_half
    store_four sp, PUBLIC_S, r0,r1,r2,r3
    load_four r0,r1,r2,r3, sp, PUBLIC_LATER
    adds r4, r4, r0
    adcs r5, r5, r1
    adcs r6, r6, r2
    adcs r7, r7, r3
    store_four sp, PUBLIC_S+16, r4,r5,r6,r7
    mov r0, #0
    adcs r0, r0, r0
    str r0, [sp, #PUBLIC_CARRY]
    ldr lr, [sp, #PUBLIC_TO]
    add lr, lr, #16
    ldm lr, {r9-r12}
    square_public_half
    load_four r9,r10,r11,r12, sp, PUBLIC_LATER+16
    ldr r8, [sp, #PUBLIC_CARRY]
    ldr lr, [sp, #PUBLIC_TOP]
    lsrs r8, r8, #1
    adcs r0, r0, r9
    adcs r1, r1, r10
    adcs r2, r2, r11
    adcs r3, r3, r12
    store_four sp, PUBLIC_S+32, r0,r1,r2,r3
    adcs r9, r4, lr
    adcs r10, r5, #0
    adcs r11, r6, #0
    adc r12, r7, #0
    movs r5, #0
    b motemix_armv7m_reduce_public
    .size motemix_armv7m_squared_public, . - motemix_armv7m_squared_public

@ a to the power of 2^times: a in r0, `times`, at least 1, in r1.
    .section .text.motemix_armv7m_square_public_times, "ax", %progbits
    .global motemix_armv7m_square_public_times
    .thumb_func
    .type motemix_armv7m_square_public_times, %function
motemix_armv7m_square_public_times:
    push {r4-r11, lr}
    sub sp, #PUBLIC_FRAME
    str r1, [sp, #PUBLIC_B]
1:
    bl motemix_armv7m_squared_public
    ldr r0, [sp, #PUBLIC_TO]
    ldr r1, [sp, #PUBLIC_B]
    subs r1, r1, #1
    str r1, [sp, #PUBLIC_B]
    bne 1b
    add sp, #PUBLIC_FRAME
    pop {r4-r11, pc}
    .size motemix_armv7m_square_public_times, . - motemix_armv7m_square_public_times

@ Twice a point, in its place: pointers to X, Y, Z and T in r0-r3, and on the stack whether T is to come out.
    .equ DOUBLE_E, PUBLIC_FRAME
    .equ DOUBLE_FRAME, PUBLIC_FRAME+32
    .equ DOUBLE_X, DOUBLE_FRAME
    .equ DOUBLE_Y, DOUBLE_FRAME+4
    .equ DOUBLE_Z, DOUBLE_FRAME+8
    .equ DOUBLE_T, DOUBLE_FRAME+12
    .equ DOUBLE_WITH_T, DOUBLE_FRAME+52

    .macro call_with_two routine, first, second
    ldr r0, [sp, #\first]
    ldr r1, [sp, #\second]
    bl \routine
    .endm

    .macro multiply_two first, second
    ldr r0, [sp, #\first]
    ldr r1, [sp, #\second]
    mov r2, r0
    bl motemix_armv7m_product_public
    .endm

    .macro square_one first
    ldr r0, [sp, #\first]
    bl motemix_armv7m_squared_public
    .endm

    .section .text.motemix_armv7m_double_public, "ax", %progbits
    .global motemix_armv7m_double_public
    .thumb_func
    .type motemix_armv7m_double_public, %function
motemix_armv7m_double_public:
    push {r0-r11, lr}
    sub sp, #DOUBLE_FRAME
@ T = (X + Y)^2, A = X^2, B = Y^2, C = 2*Z^2
    ldm r0, {r4-r11}
    stm r3, {r4-r11}
    call_with_two motemix_armv7m_add, DOUBLE_T, DOUBLE_Y
    square_one DOUBLE_T
    square_one DOUBLE_X
    square_one DOUBLE_Y
    square_one DOUBLE_Z
    call_with_two motemix_armv7m_add, DOUBLE_Z, DOUBLE_Z
@ H = A + B, -G = B - A, -E = T - H, F = C + G
    call_with_two motemix_armv7m_sum_and_difference, DOUBLE_Y, DOUBLE_X
    call_with_two motemix_armv7m_subtract, DOUBLE_T, DOUBLE_Y
    call_with_two motemix_armv7m_subtract, DOUBLE_Z, DOUBLE_X
@ X = E*F, T = E*H, Y = G*H, Z = F*G
    add r0, sp, #DOUBLE_E
    ldr r1, [sp, #DOUBLE_Z]
    ldr r2, [sp, #DOUBLE_T]
    bl motemix_armv7m_product_public
    ldr r0, [sp, #DOUBLE_WITH_T]
    cbz r0, 1f
    multiply_two DOUBLE_T, DOUBLE_Y
1:
    multiply_two DOUBLE_Y, DOUBLE_X
    multiply_two DOUBLE_Z, DOUBLE_X
    add r0, sp, #DOUBLE_E
    ldm r0, {r4-r11}
    ldr r0, [sp, #DOUBLE_X]
    stm r0, {r4-r11}
    add sp, #DOUBLE_FRAME+16
    pop {r4-r11, pc}
    .size motemix_armv7m_double_public, . - motemix_armv7m_double_public
