@ What the routines keep on the stack, in bytes above the stack pointer. An operand has 12 words: its
@ eight, then the magnitude of the difference of its halves.
    .equ FIELD_A, 0
    .equ FIELD_B, 48
@ Twelve words of the sum of the products of the halves, at 2^128 from each other.
    .equ FIELD_S, 96
@ What a product of halves puts aside.
    .equ FIELD_ODD, 144
@ Whether the upper half is the greater one: no bits or all.
    .equ FIELD_MASK_A, 172
    .equ FIELD_MASK_B, 176
    .equ FIELD_RETURN, 180
    .equ FIELD_FRAME, 184

    .macro load_four w0,w1,w2,w3, base, at
    ldr \w0, [\base, #\at]
    ldr \w1, [\base, #\at+4]
    ldr \w2, [\base, #\at+8]
    ldr \w3, [\base, #\at+12]
    .endm

    .macro store_four base, at, w0,w1,w2,w3
    str \w0, [\base, #\at]
    str \w1, [\base, #\at+4]
    str \w2, [\base, #\at+8]
    str \w3, [\base, #\at+12]
    .endm

@ Every second digit of 16 bits.
    .macro digits d0,d1,d2,d3, at
    ldrh \d0, [sp, #\at]
    ldrh \d1, [sp, #\at+4]
    ldrh \d2, [sp, #\at+8]
    ldrh \d3, [sp, #\at+12]
    .endm

@ Puts eight words into a slot, with the magnitude of the difference of their halves. `mask` becomes
@ all bits if the upper half is the greater one. The first four words are used up.
    .macro operand slot, w0,w1,w2,w3,w4,w5,w6,w7, mask
    store_four sp, \slot, \w0,\w1,\w2,\w3
    store_four sp, \slot+16, \w4,\w5,\w6,\w7
    subs \w0, \w0, \w4
    sbcs \w1, \w1, \w5
    sbcs \w2, \w2, \w6
    sbcs \w3, \w3, \w7
    sbc \mask, \mask, \mask
    eor \w0, \w0, \mask
    eor \w1, \w1, \mask
    eor \w2, \w2, \mask
    eor \w3, \w3, \mask
    adds \w0, \w0, \mask, lsr #31
    adcs \w1, \w1, #0
    adcs \w2, \w2, #0
    adc \w3, \w3, #0
    store_four sp, \slot+32, \w0,\w1,\w2,\w3
    .endm

@ Adds 38 times s to d; what is above goes to `top`.
    .macro add_38_times d0,d1,d2,d3, top, s0,s1,s2,s3
    add_shifted \d0,\d1,\d2,\d3, \top, \s0,\s1,\s2,\s3, 5
    add_shifted \d0,\d1,\d2,\d3, \top, \s0,\s1,\s2,\s3, 2
    add_shifted \d0,\d1,\d2,\d3, \top, \s0,\s1,\s2,\s3, 1
    .endm

    .macro add_shifted d0,d1,d2,d3, top, s0,s1,s2,s3, by
    adds \d0, \d0, \s0, lsl #\by
    adcs \d1, \d1, \s1, lsl #\by
    adcs \d2, \d2, \s2, lsl #\by
    adcs \d3, \d3, \s3, lsl #\by
    adc \top, \top, \s3, lsr #32-\by
    adds \d1, \d1, \s0, lsr #32-\by
    adcs \d2, \d2, \s1, lsr #32-\by
    adcs \d3, \d3, \s2, lsr #32-\by
    adc \top, \top, #0
    .endm

@ Takes what is at 2^255 and above around, 19 times: bit 31 of w7, and `top` above it. `top` and t are
@ used up.
    .macro take_around w0,w1,w2,w3,w4,w5,w6,w7, top, t
    lsl \top, \top, #1
    orr \top, \top, \w7, lsr #31
    bic \w7, \w7, #0x80000000
    mov \t, #19
    mul \top, \top, \t
    adds \w0, \w0, \top
    adcs \w1, \w1, #0
    adcs \w2, \w2, #0
    adcs \w3, \w3, #0
    adcs \w4, \w4, #0
    adcs \w5, \w5, #0
    adcs \w6, \w6, #0
    adc \w7, \w7, #0
    .endm

@ The end of a product or square. With X = 2^128, S = S0 + S1*X + S2*X^2 on the stack is the sum of the
@ lower halves' product and, X higher, that of the upper halves, and D the product of the differences.
@ The whole is
@     S*(1 + X) - D*X = S0 + X*Z + X^3*S2   where   Z = S0 + S1 + X*(S1 + S2) - D,
@ and X^2 is 38. In the beginning, z is S1 + X*S1 - D, with `top` above it, which may be -1. In the
@ end, the element is in s0 to s3, z0 to z3. f is used up, as are the others.
    .macro reduce z0,z1,z2,z3,z4,z5,z6,z7, top, s0,s1,s2,s3, f
    load_four \s0,\s1,\s2,\s3, sp, FIELD_S
    adds \z0, \z0, \s0
    adcs \z1, \z1, \s1
    adcs \z2, \z2, \s2
    adcs \z3, \z3, \s3
    load_four \s0,\s1,\s2,\s3, sp, FIELD_S+32
    adcs \z4, \z4, \s0
    adcs \z5, \z5, \s1
    adcs \z6, \z6, \s2
    adcs \z7, \z7, \s3
    adc \top, \top, #0
@ The upper half is the lower half of Z and 38 times S2, ...
    mov \f, #0
    add_38_times \z0,\z1,\z2,\z3, \f, \s0,\s1,\s2,\s3
@ ... the lower half is S0 and 38 times the upper half of Z, ...
    mov \s0, #38
    mul \top, \top, \s0
    load_four \s0,\s1,\s2,\s3, sp, FIELD_S
    add_38_times \s0,\s1,\s2,\s3, \top, \z4,\z5,\z6,\z7
@ ... and what is above that belongs to the upper half. It may be negative.
    adds \z0, \z0, \top
    adcs \z1, \z1, \top, asr #31
    adcs \z2, \z2, \top, asr #31
    adcs \z3, \z3, \top, asr #31
    adc \f, \f, \top, asr #31
    take_around \s0,\s1,\s2,\s3,\z0,\z1,\z2,\z3, \f, \z4
    .endm
