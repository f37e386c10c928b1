/* Programs whose instructions are counted: loops, calls, tables, long arithmetic, and what the cores differ in. */

#include <stdint.h>
#ifdef __ARM_FEATURE_DSP
#include <arm_acle.h>
#endif

static uint32_t state = 12345;

static uint32_t draw(void)
{
    state = state * 1664525u + 1013904223u;
    return state;
}

uint32_t sorting(void)
{
    uint32_t numbers[64], sum = 0;
    for (int i = 0; i < 64; i++)
        numbers[i] = draw();
    for (int i = 1; i < 64; i++) {
        uint32_t moved = numbers[i];
        int j = i;
        for (; j > 0 && numbers[j - 1] > moved; j--)
            numbers[j] = numbers[j - 1];
        numbers[j] = moved;
    }
    for (int i = 0; i < 64; i++)
        sum = sum * 31 + numbers[i];
    return sum;
}

uint32_t long_products(void)
{
    uint64_t a = 0x123456789ABCDEFull, sum = 0;
    for (int i = 0; i < 200; i++) {
        a = a * 6364136223846793005ull + draw();
        sum += (a >> 32) * (a & 0xFFFFFFFF) + (uint64_t)((int64_t)a >> 7);
    }
    return (uint32_t)(sum ^ sum >> 32);
}

uint32_t quotients(void)
{
    uint32_t sum = 0;
    for (int i = 0; i < 100; i++) {
        uint32_t a = draw(), b = draw() >> (i & 31);
        sum += a / (b | 1) + (uint32_t)((int32_t)a / (int32_t)(b | 1)) + a % 10;
        sum += (uint32_t)(((uint64_t)a << 20) / (b | 1));
    }
    return sum;
}

static uint8_t from[300], to[300];

uint32_t copies(void)
{
    uint32_t sum = 0;
    for (int i = 0; i < 300; i++)
        from[i] = (uint8_t)draw();
    for (int offset = 0; offset < 4; offset++)
        for (int i = 0; i < 290; i++)
            to[i + offset] = from[i];
    for (int i = 0; i < 296; i += 4)
        sum ^= *(uint32_t *)(to + i) >> (i & 7);
    return sum;
}

static uint32_t fibonacci(uint32_t n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

uint32_t recursion(void)
{
    return fibonacci(13);
}

uint32_t choices(void)
{
    uint32_t sum = 0;
    for (int i = 0; i < 300; i++) {
        uint32_t word = draw();
        switch (word >> 28) {
        case 0: sum += word; break;
        case 1: sum -= word; break;
        case 2: sum ^= word; break;
        case 3: sum = sum << 3 | sum >> 29; break;
        case 4: sum += (uint8_t)word; break;
        case 5: sum += (uint32_t)(int8_t)word; break;
        case 6: sum += (uint32_t)(int16_t)word; break;
        case 7: sum = ~sum; break;
        case 8: sum = __builtin_bswap32(sum); break;
        case 9: sum += word > sum ? 5 : 7; break;
        case 10: sum *= word | 1; break;
        default: sum += 3; break;
        }
    }
    return sum;
}

uint32_t halves(void)
{
    uint32_t sum = 0;
    for (int i = 0; i < 100; i++) {
        uint32_t a = draw(), b = draw();
#ifdef __ARM_FEATURE_DSP
        sum = (uint32_t)__smlad((int16x2_t)a, (int16x2_t)b, (int32_t)sum);
        sum ^= __usad8(a, b) + (uint32_t)__qadd((int32_t)a, (int32_t)b) + __uqadd8(a, b);
#else
        sum += (uint32_t)((int16_t)a * (int16_t)b) + (uint32_t)((int16_t)(a >> 16) * (int16_t)(b >> 16));
#endif
    }
    return sum;
}
