/*
 * The protocol of the paper's section 5.3, to the letter, with the paper's six functions and
 * nothing else of the library. It can be attacked: docs/spec/link/diet.md says how.
 */

#include <stdio.h>
#include <string.h>

#include "diet.h"
#include "motemix-arch.h"
#include "motemix-stack.h"

/* Bytes of R1. */
#define NUMBER_LEN 4
/* Numbers that a receiver remembers of a sender. */
#define REMEMBERED 64
/* Bytes of steps 1 and 2: the public keys for key exchange and for signatures. */
#define KEYS_LEN (2 * MOTEMIX_DIET_COORDINATES_LEN)

const bool diet_acknowledges = false;

struct key_pair {
  uint8_t private_key[MOTEMIX_DIET_PRIVATE_KEY_LEN];
  uint8_t public_key[MOTEMIX_DIET_COORDINATES_LEN];
};

/* Another node, after the handshake. */
struct peer {
  bool is_there;
  struct diet_address address;
  uint8_t key[MOTEMIX_DIET_KEY_LEN];
  uint8_t verifying[MOTEMIX_DIET_COORDINATES_LEN];
  /* R1 of the last messages, in a ring. */
  uint8_t seen[REMEMBERED][NUMBER_LEN];
  uint8_t seen_count, oldest;
};

static motemix_diet diet;
static struct key_pair exchange, signing;
/* A sensor has one, a router several. */
static struct peer peers[DIET_NEIGHBOURS];

struct job {
  motemix_status status;
  const struct diet_datagram *in;
  struct diet_datagram *out;
  const char *text;
  size_t len;
  struct peer *peer;
};
/*---------------------------------------------------------------------------*/
static void
run_start(void *arg)
{
  static const motemix_random random = { motemix_arch_random, NULL };
  struct job *job = arg;

  job->status = motemix_diet_new(&diet, &random);
  if(job->status == MOTEMIX_STATUS_OK) {
    job->status = motemix_diet_generate_key_pair(&diet, exchange.private_key, exchange.public_key);
  }
  if(job->status == MOTEMIX_STATUS_OK) {
    job->status = motemix_diet_generate_key_pair(&diet, signing.private_key, signing.public_key);
  }
}

bool
diet_start(void)
{
  struct job job;

  motemix_stack_fill();
  motemix_on_stack(run_start, &job);
  if(job.status != MOTEMIX_STATUS_OK) {
    printf("error: there are no random bytes\n");
    return false;
  }
  printf("this mode can be attacked; docs/spec/link/diet.md says how\n");
  return true;
}

bool
diet_obey(const char *word, const char *rest)
{
  (void)word, (void)rest;
  return false;
}
/*---------------------------------------------------------------------------*/
/* Steps 1 and 2. */

static void
put_keys(struct diet_datagram *out)
{
  memcpy(out->bytes, exchange.public_key, sizeof(exchange.public_key));
  memcpy(out->bytes + sizeof(exchange.public_key), signing.public_key, sizeof(signing.public_key));
  out->len = KEYS_LEN;
}

static void
run_meet(void *arg)
{
  struct job *job = arg;
  const uint8_t *verifying = job->in->bytes + MOTEMIX_DIET_COORDINATES_LEN;
  uint8_t key[MOTEMIX_DIET_KEY_LEN];

  /* One that is no key of anybody is no point of the curve. */
  job->status = motemix_diet_shared_key(&diet, exchange.private_key, verifying, key);
  if(job->status == MOTEMIX_STATUS_OK) {
    job->status = motemix_diet_shared_key(&diet, exchange.private_key, job->in->bytes, key);
  }
  if(job->status == MOTEMIX_STATUS_OK) {
    memset(job->peer, 0, sizeof(*job->peer));
    memcpy(job->peer->key, key, sizeof(key));
    memcpy(job->peer->verifying, verifying, MOTEMIX_DIET_COORDINATES_LEN);
    job->peer->is_there = true;
  }
}

static bool
meet(struct peer *peer, const struct diet_datagram *in)
{
  struct job job = { .in = in, .peer = peer };

  motemix_on_stack(run_meet, &job);
  return job.status == MOTEMIX_STATUS_OK;
}
/*---------------------------------------------------------------------------*/
/* msg1: R1, the ciphertext, and a signature of the ciphertext and R1. */

static void
run_seal(void *arg)
{
  struct job *job = arg;
  uint8_t *number = job->out->bytes, *ciphertext = number + NUMBER_LEN;
  uint8_t signed_bytes[DIET_TEXT_LEN + 16 + NUMBER_LEN];
  size_t room = sizeof(signed_bytes) - NUMBER_LEN, len;

  job->status = motemix_arch_random(NULL, number, NUMBER_LEN) == 0
    ? motemix_diet_encrypt(&diet, job->peer->key, (const uint8_t *)job->text, job->len, ciphertext,
                           room, &len)
    : MOTEMIX_STATUS_RANDOM_FAILED;
  if(job->status != MOTEMIX_STATUS_OK) {
    return;
  }
  memcpy(signed_bytes, ciphertext, len);
  memcpy(signed_bytes + len, number, NUMBER_LEN);
  job->status = motemix_diet_sign(&diet, signing.private_key, signed_bytes, len + NUMBER_LEN,
                                  ciphertext + len);
  job->out->len = (uint16_t)(NUMBER_LEN + len + MOTEMIX_DIET_SIGNATURE_LEN);
}

/* Decrypts, and then checks the signature and whether R1 was seen, in the paper's order. */
static void
run_open(void *arg)
{
  struct job *job = arg;
  struct peer *peer = job->peer;
  uint8_t *number = job->out->bytes, *ciphertext = number + NUMBER_LEN;
  /* What was signed is the ciphertext, which decrypting overwrites. */
  static uint8_t signed_bytes[DIET_DATAGRAM_LEN];
  size_t len = job->out->len, at;

  if(len < NUMBER_LEN + MOTEMIX_DIET_SIGNATURE_LEN) {
    job->status = MOTEMIX_STATUS_BAD_LENGTH;
    return;
  }
  len -= NUMBER_LEN + MOTEMIX_DIET_SIGNATURE_LEN;
  memcpy(signed_bytes, ciphertext, len);
  memcpy(signed_bytes + len, number, NUMBER_LEN);
  job->status = motemix_diet_decrypt(&diet, peer->key, ciphertext, len, &job->len);
  if(job->status == MOTEMIX_STATUS_OK) {
    job->status = motemix_diet_verify(&diet, peer->verifying, signed_bytes, len + NUMBER_LEN,
                                      ciphertext + len);
  }
  if(job->status != MOTEMIX_STATUS_OK) {
    return;
  }
  for(at = 0; at < peer->seen_count; at++) {
    if(memcmp(peer->seen[at], number, NUMBER_LEN) == 0) {
      job->status = MOTEMIX_STATUS_REPLAYED;
      return;
    }
  }
  memcpy(peer->seen[peer->oldest], number, NUMBER_LEN);
  peer->oldest = (peer->oldest + 1) % REMEMBERED;
  peer->seen_count += peer->seen_count < REMEMBERED;
}
/*---------------------------------------------------------------------------*/
bool
diet_knows_router(void)
{
  return peers[0].is_there;
}

void
diet_forget_router(void)
{
  peers[0].is_there = false;
}

bool
diet_ask(struct diet_datagram *out)
{
  put_keys(out);
  return true;
}

bool
diet_meet(const struct diet_datagram *in)
{
  return in->len == KEYS_LEN && meet(&peers[0], in);
}

bool
diet_seal(const char *text, size_t len, struct diet_datagram *out)
{
  struct job job = { .text = text, .len = len, .out = out, .peer = &peers[0] };

  motemix_on_stack(run_seal, &job);
  return job.status == MOTEMIX_STATUS_OK;
}

bool
diet_is_receipt(const struct diet_datagram *in)
{
  (void)in;
  return false;
}

const char *
diet_router_name(void)
{
  return "";
}
/*---------------------------------------------------------------------------*/
static struct peer *
peer_at(const struct diet_address *address, bool or_free)
{
  struct peer *free = NULL;
  size_t at;

  for(at = 0; at < DIET_NEIGHBOURS; at++) {
    struct peer *peer = &peers[at];
    if(peer->is_there && peer->address.port == address->port &&
       memcmp(&peer->address.ip, &address->ip, sizeof(address->ip)) == 0) {
      return peer;
    }
    if(!peer->is_there && free == NULL) {
      free = peer;
    }
  }
  return or_free ? free : NULL;
}

/* It believes the keys that come first from an address, and the next ones as well. */
void
diet_handle(const struct diet_address *from, struct diet_datagram *in, struct diet_datagram *reply,
            struct diet_heard *heard)
{
  bool is_keys = in->len == KEYS_LEN;
  struct peer *peer = peer_at(from, is_keys);
  struct job job = { .out = in, .peer = peer };

  if(peer == NULL) {
    diet_drop(is_keys ? DIET_DROP_FULL : DIET_DROP_NO_HANDSHAKE);
  } else if(is_keys) {
    if(meet(peer, in)) {
      peer->address = *from;
      put_keys(reply);
    } else {
      diet_drop(DIET_DROP_ALIEN);
    }
  } else {
    motemix_on_stack(run_open, &job);
    if(job.status == MOTEMIX_STATUS_OK) {
      heard->text = in->bytes + NUMBER_LEN;
      heard->len = job.len;
    } else {
      diet_drop(job.status == MOTEMIX_STATUS_REPLAYED ? DIET_DROP_REPLAYED
                : job.status == MOTEMIX_STATUS_BAD_LENGTH ? DIET_DROP_ALIEN
                : DIET_DROP_ALTERED);
    }
  }
}
