@ What Rust calls.

@ a: r0, b: r1. a = a * b
    public motemix_armv6m_multiply
    enter
    mov     r2, r1
    mov     r1, r0
    bl      field_multiply
    leave
    end     motemix_armv6m_multiply

@ a: r0, times: r1, at least 1. a = a^(2^times)
    public motemix_armv6m_square_times
    enter
    push    {r0, r1}
1:  ldr     r0, [sp]
    mov     r1, r0
    bl      field_square
    ldr     r0, [sp, #4]
    subs    r0, #1
    str     r0, [sp, #4]
    bne     1b
    add     sp, #8
    leave
    end     motemix_armv6m_square_times
