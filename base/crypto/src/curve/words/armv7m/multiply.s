@ Products. A half of an operand has eight digits of 16 bits, four of them even and four odd. Products
@ of digits of the same parity begin at a word: they are the even part. The others begin 16 bits above
@ a word: they are the odd part, which is summed on its own and then moved.
@
@ Four digits y stay in registers while each digit x passes by and makes a row:
@     w[i] += x*y0, w[i+1] += x*y1, w[i+2] += x*y2, w[i+3] += x*y3,
@ and the carry of a row goes to the last product of the next one, at w[i+4], which has room for it:
@ (2^16 - 1)^2 + 1 < 2^32.
@
@     r0-r6, r8   w0 to w7
@     r9-r12      y0 to y3
@     lr          x
@     r7          a product
@     r8, later r0: the last product of the next row. The one is free until w7 is there, the other
@     while w0 is on the stack.

@ Three products of a row.
    .macro three_products x, w0,w1,w2
    mul r7, \x, r9
    adds \w0, \w0, r7
    mul r7, \x, r10
    adcs \w1, \w1, r7
    mul r7, \x, r11
    adcs \w2, \w2, r7
    .endm

@ A row whose last word is new. Its digit is in the place of that word.
    .macro growing_row w0,w1,w2,w3
    three_products \w3, \w0,\w1,\w2
    mul \w3, \w3, r12
    adc \w3, \w3, #0
    .endm

@ The first row of several: there is no carry yet.
    .macro first_row w0,w1,w2,w3
    three_products lr, \w0,\w1,\w2
    mul r7, lr, r12
    adcs \w3, \w3, r7
    .endm

@ A later row. `last` is its last product.
    .macro row w0,w1,w2,w3, last, x=lr
    three_products \x, \w0,\w1,\w2
    adcs \w3, \w3, \last
    .endm

@ Reads the digit of the next row. Its last product takes the carry.
    .macro next_digit last, at
    ldrh lr, [sp, #\at]
    mul \last, lr, r12
    adc \last, \last, #0
    .endm

@ The same if the digit is in x already: the product takes the place of the first digit.
    .macro second_digit x
    mul lr, \x, r12
    adc lr, lr, #0
    .endm

@ The product of the halves at a and b, which goes to r1-r6 and r8, and w0 to the stack at `out`. If
@ `above` is given, the four words there are added.
    .macro multiply_halves a, b, out, above=-1
@ The odd part: even digits of a, odd digits of b.
    digits r3,r4,r5,r6, \a
    digits r9,r10,r11,r12, \b+2
    mul r0, r3, r9
    mul r1, r3, r10
    mul r2, r3, r11
    mul r3, r3, r12
    growing_row r1,r2,r3,r4
    growing_row r2,r3,r4,r5
    growing_row r3,r4,r5,r6
@ Even digits of b, odd digits of a. The second digit is read with the first, in one cycle instead of
@ two.
    ldrh lr, [sp, #\b]
    ldrh r8, [sp, #\b+4]
    digits r9,r10,r11,r12, \a+2
    first_row r0,r1,r2,r3
    second_digit r8
    row r1,r2,r3,r4, lr, r8
    next_digit r8, \b+8
    row r2,r3,r4,r5, r8
    next_digit r8, \b+12
    row r3,r4,r5,r6, r8
@ It is moved by 16 bits. Its carry is its last bit.
    rrx r8, r6
    lsr r8, r8, #15
    lsls r6, r6, #16
    orr r6, r6, r5, lsr #16
    lsls r5, r5, #16
    orr r5, r5, r4, lsr #16
    lsls r4, r4, #16
    orr r4, r4, r3, lsr #16
    lsls r3, r3, #16
    orr r3, r3, r2, lsr #16
    lsls r2, r2, #16
    orr r2, r2, r1, lsr #16
    lsls r1, r1, #16
    orr r1, r1, r0, lsr #16
    lsls r0, r0, #16
    .if \above >= 0
    load_four r7,r9,r10,lr, sp, \above
    adds r0, r0, r7
    adcs r1, r1, r9
    adcs r2, r2, r10
    adcs r3, r3, lr
    adcs r4, r4, #0
    adcs r5, r5, #0
    adcs r6, r6, #0
    adc r8, r8, #0
    str r0, [sp, #\out]
    ldrh r9, [sp, #\a+2]
    ldrh r10, [sp, #\a+6]
    .else
    str r0, [sp, #\out]
    .endif
    ldrh lr, [sp, #\b+2]
    ldrh r0, [sp, #\b+6]
@ The even part, one word up: odd digits of b, and still those of a.
    first_row r1,r2,r3,r4
    second_digit r0
    row r2,r3,r4,r5, lr, r0
    next_digit r0, \b+10
    row r3,r4,r5,r6, r0
    next_digit r0, \b+14
    three_products lr, r4,r5,r6
    adc r8, r8, r0
@ Even digits of both.
    ldr r0, [sp, #\out]
    ldrh lr, [sp, #\a]
    digits r9,r10,r11,r12, \b
    first_row r0,r1,r2,r3
    str r0, [sp, #\out]
    next_digit r0, \a+4
    row r1,r2,r3,r4, r0
    next_digit r0, \a+8
    row r2,r3,r4,r5, r0
    next_digit r0, \a+12
    row r3,r4,r5,r6, r0
    adc r8, r8, #0
    .endm

@ The product of the element in r0-r7, which goes to slot A, and the operand in slot B. Leaves it in
@ r9-r12, r0-r3 and changes all registers.
    .section .text.motemix_armv7m_product, "ax", %progbits
    .thumb_func
    .type motemix_armv7m_product, %function
motemix_armv7m_product:
    str lr, [sp, #FIELD_RETURN]
    operand FIELD_A, r0,r1,r2,r3,r4,r5,r6,r7, r8
    str r8, [sp, #FIELD_MASK_A]
    multiply_halves FIELD_A, FIELD_B, FIELD_S
    store_four sp, FIELD_S+4, r1,r2,r3,r4
    str r5, [sp, #FIELD_S+20]
    str r6, [sp, #FIELD_S+24]
    str r8, [sp, #FIELD_S+28]
    multiply_halves FIELD_A+16, FIELD_B+16, FIELD_S+16, FIELD_S+16
    store_four sp, FIELD_S+20, r1,r2,r3,r4
    str r5, [sp, #FIELD_S+36]
    str r6, [sp, #FIELD_S+40]
    str r8, [sp, #FIELD_S+44]
    multiply_halves FIELD_A+32, FIELD_B+32, FIELD_ODD
@ It is taken off if both differences have one sign, else added.
    ldr r0, [sp, #FIELD_ODD]
    ldr r7, [sp, #FIELD_MASK_A]
    ldr lr, [sp, #FIELD_MASK_B]
    load_four r9,r10,r11,r12, sp, FIELD_S+16
    eor r7, r7, lr
    mvns r7, r7
    eors r0, r0, r7
    eors r1, r1, r7
    eors r2, r2, r7
    eors r3, r3, r7
    eors r4, r4, r7
    eors r5, r5, r7
    eors r6, r6, r7
    eor r8, r8, r7
    adds lr, r7, r7
    adcs r0, r0, r9
    adcs r1, r1, r10
    adcs r2, r2, r11
    adcs r3, r3, r12
    adcs r4, r4, r9
    adcs r5, r5, r10
    adcs r6, r6, r11
    adcs r8, r8, r12
    adc r7, r7, #0
    reduce r0,r1,r2,r3,r4,r5,r6,r8, r7, r9,r10,r11,r12, lr
    ldr pc, [sp, #FIELD_RETURN]
    .size motemix_armv7m_product, . - motemix_armv7m_product

@ a = a*b: a in r0, b in r1.
    .section .text.motemix_armv7m_multiply, "ax", %progbits
    .global motemix_armv7m_multiply
    .thumb_func
    .type motemix_armv7m_multiply, %function
motemix_armv7m_multiply:
    push {r0, r4-r11, lr}
    sub sp, #FIELD_FRAME
    mov r12, r0
    ldm r1, {r0-r7}
    operand FIELD_B, r0,r1,r2,r3,r4,r5,r6,r7, r8
    str r8, [sp, #FIELD_MASK_B]
    ldm r12, {r0-r7}
    bl motemix_armv7m_product
    add sp, #FIELD_FRAME
    pop {r4}
    store_four r4, 0, r9,r10,r11,r12
    store_four r4, 16, r0,r1,r2,r3
    pop {r4-r11, pc}
    .size motemix_armv7m_multiply, . - motemix_armv7m_multiply
