/*
 * Runs a port's source of random bytes as it is on a board, with the board's receiver or generator
 * played here: `random NOISE` prints 4,096 bytes, or `refused`.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define PIECE 32
#define PIECES 128

static const char *noise;
static unsigned long samples;

/* A sequence of bits that repeats after 2^64 - 1: xorshift, as G. Marsaglia has it. */
static uint32_t
next(void)
{
  static uint64_t state = 88172645463325252u;

  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)(state >> 32);
}

/* So many bits of noise, each one as often as `noise` says. */
static uint32_t
sample(unsigned bits)
{
  uint32_t word = 0;

  samples++;
  if(strcmp(noise, "stuck") == 0 || (strcmp(noise, "sending") == 0 && samples / 500 % 2 == 0)) {
    return UINT32_MAX >> (32 - bits);
  }
  while(bits-- > 0) {
    word = word << 1 | (next() % 100 < (strcmp(noise, "biased") == 0 ? 70u : 50u));
  }
  return word;
}

#ifdef RIOT
#include "internal.h"

#define fill motemix_fill

#include "cc2538_rfcore.h"
#include "net/netif.h"

cc2538_rfcore_t *
stand_in_rfcore(void)
{
  static cc2538_rfcore_t registers;

  registers.XREG_RFRND = sample(2);
  return &registers;
}

/* One interface, which is no pointer to anything. */
netif_t *
netif_iter(const netif_t *last)
{
  return last == NULL ? (netif_t *)&samples : NULL;
}

int
netif_get_opt(netif_t *netif, netopt_t opt, uint16_t context, void *value, size_t max_len)
{
  uint32_t word = sample(32);

  (void)netif;
  (void)context;
  if(opt != NETOPT_RANDOM || max_len != sizeof(word)) {
    return -1;
  }
  memcpy(value, &word, sizeof(word));
  return sizeof(word);
}

#else

#include "motemix-arch.h"
#include "net/netstack.h"
#include "nrf.h"

#define fill motemix_arch_random

static int
on(void)
{
  return strcmp(noise, "off") != 0;
}

static radio_result_t
get_value(radio_param_t param, radio_value_t *value)
{
  *value = (radio_value_t)sample(2);
  return param == RADIO_PARAM_IQ_LSBS ? RADIO_RESULT_OK : RADIO_RESULT_NOT_SUPPORTED;
}

const struct radio_driver NETSTACK_CONF_RADIO = { .on = on, .get_value = get_value };

/* It has a byte ready at every third look, if it was started. */
NRF_RNG_Type *
stand_in_rng(void)
{
  static NRF_RNG_Type registers;

  if(++samples % 3 == 0 && registers.TASKS_START != 0 && strcmp(noise, "off") != 0) {
    registers.EVENTS_VALRDY = 1;
    registers.VALUE = next() & 0xff;
  }
  return &registers;
}

#endif

int
main(int argc, char **argv)
{
  unsigned piece;

  noise = argc > 1 ? argv[1] : "";
  for(piece = 0; piece < PIECES; piece++) {
    uint8_t bytes[PIECE];
    size_t at;

    if(fill(NULL, bytes, sizeof(bytes)) != 0) {
      printf("refused\n");
      return 0;
    }
    for(at = 0; at < sizeof(bytes); at++) {
      printf("%02x", bytes[at]);
    }
  }
  printf("\n");
  return 0;
}
