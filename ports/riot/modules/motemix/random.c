/*
 * Where this board's random bytes come from. RIOT's `random` module is no answer: without a hardware
 * generator it is seeded with a constant or with the serial number, and all that motemix hides would be
 * hidden from nobody. So a board without a generator does not compile until somebody decides.
 */

#include <stddef.h>
#include <stdint.h>

#include "internal.h"

#if defined(MODULE_PERIPH_HWRNG)

#include "periph/hwrng.h"

int motemix_riot_fill(void *context, uint8_t *out, size_t len)
{
    (void)context;
    hwrng_read(out, (unsigned int)len);
    return 0;
}

#elif defined(CONFIG_MOTEMIX_RADIO_RANDOM)

#include "net/netif.h"
#include "net/netopt.h"

/* The noise of the receiver (AT86RF231 and AT86RF233, chapter "Random Number Generator"). */
int motemix_riot_fill(void *context, uint8_t *out, size_t len)
{
    (void)context;
    for (netif_t *netif = netif_iter(NULL); netif != NULL; netif = netif_iter(netif)) {
        size_t filled = 0;
        while (filled < len) {
            uint32_t word;
            if (netif_get_opt(netif, NETOPT_RANDOM, 0, &word, sizeof(word)) != (int)sizeof(word)) {
                break;
            }
            for (size_t byte = 0; byte < sizeof(word) && filled < len; byte++) {
                out[filled++] = (uint8_t)(word >> (8 * byte));
            }
        }
        if (filled == len) {
            return 0;
        }
    }
    return -1;
}

#elif defined(CONFIG_MOTEMIX_RANDOM)

/* The application's own: an external generator, or one that was seeded when the board was made. */
int CONFIG_MOTEMIX_RANDOM(void *context, uint8_t *out, size_t len);

int motemix_riot_fill(void *context, uint8_t *out, size_t len)
{
    return CONFIG_MOTEMIX_RANDOM(context, out, len);
}

#else
#error "This board has no hardware random generator. Use the radio's (CFLAGS += -DCONFIG_MOTEMIX_RADIO_RANDOM), \
or name a function of your own (CFLAGS += -DCONFIG_MOTEMIX_RANDOM=my_fill); see ports/riot/README.md."
#endif
