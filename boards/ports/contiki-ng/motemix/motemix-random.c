/*
 * Where random bytes come from. Contiki-NG's CSPRNG is as good as its seed, and not every platform
 * feeds it one: unseeded, it gives none, and with a bad seed all that motemix hides would be hidden
 * from nobody. So a board whose seed is unknown does not compile until somebody decides.
 */

#include "contiki.h"
#include "lib/csprng.h"
#include "motemix-arch.h"

#if defined(CONTIKI_TARGET_COOJA)

#include "dev/moteid.h"
#include "lib/random.h"

/* A simulation has to repeat: nobody hides in it. The motes' numbers tell their keys apart. */
int
motemix_arch_random(void *context, uint8_t *out, size_t len)
{
  size_t at;

  (void)context;
  for(at = 0; at < len; at++) {
    out[at] = (uint8_t)(random_rand() ^ (simMoteID * 41));
  }
  return 0;
}

#elif defined(CONTIKI_TARGET_NRF)

#include "nrf.h"

/* Looks at a generator before it is given up: a byte takes 120 microseconds. */
#define LOOKS 1000000ul

/* The processor's generator, with its correction of bias. Nothing in Contiki-NG 5.0 feeds the CSPRNG
 * from it. */
int
motemix_arch_random(void *context, uint8_t *out, size_t len)
{
  size_t at;

  (void)context;
  NRF_RNG->CONFIG = RNG_CONFIG_DERCEN_Msk;
  NRF_RNG->EVENTS_VALRDY = 0;
  NRF_RNG->TASKS_START = 1;
  for(at = 0; at < len; at++) {
    unsigned long looks = LOOKS;

    while(NRF_RNG->EVENTS_VALRDY == 0 && --looks > 0) {
    }
    if(looks == 0) {
      break;
    }
    NRF_RNG->EVENTS_VALRDY = 0;
    out[at] = (uint8_t)NRF_RNG->VALUE;
  }
  NRF_RNG->TASKS_STOP = 1;
  return at == len ? 0 : -1;
}

#elif defined(CONTIKI_TARGET_NATIVE) || defined(MOTEMIX_CONF_CSPRNG_IS_SEEDED)

/* This platform feeds it from the kernel. */
#if !CSPRNG_ENABLED
#error "motemix needs Contiki-NG's generator: set CSPRNG_CONF_ENABLED to 1"
#endif

int
motemix_arch_random(void *context, uint8_t *out, size_t len)
{
  (void)context;
  return csprng_rand(out, len) ? 0 : -1;
}

#elif defined(CONTIKI_TARGET_CC2538DK) || defined(CONTIKI_TARGET_ZOUL) || \
  defined(CONTIKI_TARGET_OPENMOTE)

#include "net/netstack.h"

/* Samples whose sum is one bit that is given: what they have of bias is lost in it. */
#define SAMPLES 64
/* A receiver that is off, or a register that is stuck, gives one sample again and again. A sound one
 * gives another three times in four. */
#define CHANGES 16
/* Bits that may be taken anew for each that is given: while a frame is sent there is no noise. */
#define TRIES 64

/* The noise of the receiver: the lowest bits of I and Q. Not by way of Contiki-NG's iq-seeder, whose
 * extractor keeps less than half of it (5.0: mul_gf_256 shifts only where a bit is set). */
static bool
noise(unsigned *bit)
{
  radio_value_t before = 0;
  unsigned sum = 0;
  unsigned changes = 0;
  unsigned sample;

  for(sample = 0; sample < SAMPLES; sample++) {
    radio_value_t iq;

    if(NETSTACK_RADIO.get_value(RADIO_PARAM_IQ_LSBS, &iq) != RADIO_RESULT_OK) {
      return false;
    }
    sum ^= (unsigned)iq ^ (unsigned)iq >> 1;
    changes += sample > 0 && iq != before;
    before = iq;
  }
  *bit = sum & 1;
  return changes >= CHANGES;
}

int
motemix_arch_random(void *context, uint8_t *out, size_t len)
{
  size_t tries = 8 * len * TRIES;
  size_t at;

  (void)context;
  if(!NETSTACK_RADIO.on()) {
    return -1;
  }
  for(at = 0; at < 8 * len; at++) {
    unsigned bit;

    while(!noise(&bit)) {
      if(tries-- == 0) {
        return -1;
      }
    }
    out[at / 8] = (uint8_t)(out[at / 8] << 1 | bit);
  }
  return 0;
}

#else
#error "motemix needs random bytes that nobody can guess: set CSPRNG_CONF_ENABLED and, where the \
platform seeds it, MOTEMIX_CONF_CSPRNG_IS_SEEDED; see boards/ports/contiki-ng/README.md."
#endif
