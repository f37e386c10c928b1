/*
 * Where this board's random bytes come from. RIOT's `random` module is no answer: without a hardware
 * generator it is seeded with a constant or with the serial number, and all that motemix hides would be
 * hidden from nobody. So a board without a generator does not compile until somebody decides.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "internal.h"

#if defined(CONFIG_MOTEMIX_RANDOM)

/* The application's own: an external generator, or one that was seeded when the board was made. */
int CONFIG_MOTEMIX_RANDOM(void *context, uint8_t *out, size_t len);

int motemix_fill(void *context, uint8_t *out, size_t len)
{
    return CONFIG_MOTEMIX_RANDOM(context, out, len);
}

#elif defined(CPU_CC2538)

#include "cc2538_rfcore.h"

/* Samples whose sum is one bit that is given: what they have of bias is lost in it. */
#define SAMPLES 64
/* A receiver that is off, or a register that is stuck, gives one sample again and again. A sound one
 * gives another three times in four. */
#define CHANGES 16
/* Bits that may be taken anew for each that is given: while a frame is sent there is no noise. */
#define TRIES 64

/* The noise of the receiver: the lowest bits of I and Q. Not by way of RIOT's periph_hwrng, which is
 * a shift register of 16 bits on this processor: 65,535 keys, and all of them are tried in seconds. */
static bool noise(unsigned *bit)
{
    uint32_t before = 0;
    uint32_t sum = 0;
    unsigned changes = 0;

    for (unsigned sample = 0; sample < SAMPLES; sample++) {
        uint32_t iq = RFCORE->XREG_RFRND & 3;
        sum ^= iq ^ iq >> 1;
        changes += sample > 0 && iq != before;
        before = iq;
    }
    *bit = sum & 1;
    return changes >= CHANGES;
}

int motemix_fill(void *context, uint8_t *out, size_t len)
{
    size_t tries = 8 * len * TRIES;

    (void)context;
    for (size_t at = 0; at < 8 * len; at++) {
        unsigned bit;
        while (!noise(&bit)) {
            if (tries-- == 0) {
                return -1;
            }
        }
        out[at / 8] = (uint8_t)(out[at / 8] << 1 | bit);
    }
    return 0;
}

#elif defined(MODULE_PERIPH_HWRNG)

#include "periph/hwrng.h"

int motemix_fill(void *context, uint8_t *out, size_t len)
{
    (void)context;
    hwrng_read(out, (unsigned int)len);
    return 0;
}

#elif defined(CONFIG_MOTEMIX_RADIO_RANDOM)

#include "net/netif.h"
#include "net/netopt.h"

/* Words whose sum is the one that is given: what they have of bias is lost in it. */
#define WORDS 16
/* A receiver that is off, or a register that is stuck, gives one word again and again. */
#define CHANGES 8
/* Words that may be taken anew for each that is given: while a frame is sent there is no noise. */
#define TRIES 64

static bool noise(netif_t *netif, uint32_t *sum)
{
    uint32_t before = 0;
    unsigned changes = 0;

    *sum = 0;
    for (unsigned at = 0; at < WORDS; at++) {
        uint32_t word;
        if (netif_get_opt(netif, NETOPT_RANDOM, 0, &word, sizeof(word)) != (int)sizeof(word)) {
            return false;
        }
        *sum ^= word;
        changes += at > 0 && word != before;
        before = word;
    }
    return changes >= CHANGES;
}

static bool fill_from(netif_t *netif, uint8_t *out, size_t len)
{
    size_t tries = len * TRIES / sizeof(uint32_t);
    uint32_t word = 0;

    for (size_t at = 0; at < len; at++) {
        if (at % sizeof(word) == 0) {
            while (!noise(netif, &word)) {
                if (tries-- == 0) {
                    return false;
                }
            }
        }
        out[at] = (uint8_t)word;
        word >>= 8;
    }
    return true;
}

/* The noise of the receiver (AT86RF231 and AT86RF233, chapter "Random Number Generator"). */
int motemix_fill(void *context, uint8_t *out, size_t len)
{
    (void)context;
    for (netif_t *netif = netif_iter(NULL); netif != NULL; netif = netif_iter(netif)) {
        if (fill_from(netif, out, len)) {
            return 0;
        }
    }
    return -1;
}

#else
#error "This board has no hardware random generator. Use the radio's (CFLAGS += -DCONFIG_MOTEMIX_RADIO_RANDOM), \
or name a function of your own (CFLAGS += -DCONFIG_MOTEMIX_RANDOM=my_fill); see boards/ports/riot/README.md."
#endif
