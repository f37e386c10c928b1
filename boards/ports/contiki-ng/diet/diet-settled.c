/*
 * The protocol as docs/spec/link/diet.md settles it: identities that a node keeps, handshakes, and
 * messages with receipts.
 */

#include <stdio.h>
#include <string.h>

#include "diet.h"
#include "diet-settled.h"
#include "motemix-arch.h"
#include "motemix-stack.h"

/* Identities that are admitted. */
#ifdef DIET_CONF_ADMITTED
#define ADMITTED DIET_CONF_ADMITTED
#else
#define ADMITTED 8
#endif

/* Where the private key is in the mote's flash, and how it begins. */
#define RECORD "diet key"
#define RECORD_LEN (sizeof(RECORD) - 1)

const bool diet_acknowledges = true;

motemix_diet diet;
motemix_diet_admission diet_admission;
static uint8_t admitted[ADMITTED * MOTEMIX_DIET_IDENTITY_LEN];
static uint8_t identity[MOTEMIX_DIET_IDENTITY_LEN];

/* The sensor's. */
static motemix_diet_initiator initiator;
static motemix_diet_session session;
static bool is_in_session;
static char router_name[13];
/*---------------------------------------------------------------------------*/
/* Identities as text. */

static void
print_identity(const uint8_t *of)
{
  size_t at;

  for(at = 0; at < MOTEMIX_DIET_IDENTITY_LEN; at++) {
    printf("%02x", of[at]);
  }
}

void
diet_name(const uint8_t *of, char name[13])
{
  static const char digits[] = "0123456789abcdef";
  size_t at;

  for(at = 0; at < 12; at++) {
    name[at] = digits[of[at / 2] >> (at % 2 == 0 ? 4 : 0) & 15];
  }
  name[12] = '\0';
}

void
diet_warn_of(const uint8_t *peer)
{
  if(diet_admission.anybody) {
    printf("a neighbour says it is ");
    print_identity(peer);
    printf("; compare, and admit it\n");
  }
}

static int
digit(char character)
{
  return character >= '0' && character <= '9' ? character - '0'
         : character >= 'a' && character <= 'f' ? character - 'a' + 10
         : character >= 'A' && character <= 'F' ? character - 'A' + 10 : -1;
}

/* Admits identities that stand behind each other, with anything that is no digit between them. */
static bool
admit(const char *text)
{
  while(*text != '\0') {
    uint8_t *to = admitted + diet_admission.count * MOTEMIX_DIET_IDENTITY_LEN;
    size_t at;

    if(digit(*text) < 0) {
      text++;
      continue;
    }
    if(diet_admission.count == ADMITTED) {
      printf("error: %u identities are admitted, and no more fit\n", (unsigned)ADMITTED);
      return false;
    }
    for(at = 0; at < 2 * MOTEMIX_DIET_IDENTITY_LEN; at++) {
      int value = digit(*text);
      if(value < 0) {
        printf("error: an identity has %u hex digits\n", 2u * MOTEMIX_DIET_IDENTITY_LEN);
        return false;
      }
      to[at / 2] = (uint8_t)(at % 2 == 0 ? value << 4 : to[at / 2] | value);
      text++;
    }
    diet_admission.count++;
    diet_admission.anybody = false;
  }
  return true;
}
/*---------------------------------------------------------------------------*/
/* The identity, which is made at the first start and kept. */

static const char *
read_or_make_key(uint8_t *key)
{
  uint8_t begin[RECORD_LEN], public_key[MOTEMIX_DIET_COORDINATES_LEN];
  motemix_flash flash;
  size_t at;

  memset(&flash, 0, sizeof(flash));
  flash.settings_pages = MOTEMIX_SETTINGS_PAGES;
  flash.tags_pages = MOTEMIX_TAGS_PAGES;
  flash.messages_pages = MOTEMIX_MESSAGES_PAGES;
  if(motemix_arch_flash(&flash) != 0 ||
     flash.read(flash.context, 0, begin, sizeof(begin)) != 0) {
    return "the flash cannot be read";
  }
  if(memcmp(begin, RECORD, RECORD_LEN) == 0) {
    return flash.read(flash.context, RECORD_LEN, key, MOTEMIX_DIET_PRIVATE_KEY_LEN) == 0
           ? NULL : "the flash cannot be read";
  }
  for(at = 0; at < sizeof(begin); at++) {
    if(begin[at] != 0xff) {
      return "the flash holds something else; erase it";
    }
  }
  if(motemix_diet_generate_key_pair(&diet, key, public_key) != MOTEMIX_STATUS_OK) {
    return "there are no random bytes";
  }
  /* The power may have failed here before; the beginning is written when the key is there. */
  if(flash.erase(flash.context, 0, MOTEMIX_PAGE_LEN) != 0 ||
     flash.write(flash.context, RECORD_LEN, key, MOTEMIX_DIET_PRIVATE_KEY_LEN) != 0 ||
     flash.write(flash.context, 0, (const uint8_t *)RECORD, RECORD_LEN) != 0) {
    return "the flash cannot be written";
  }
  return NULL;
}

static void
run_start(void *arg)
{
  static const motemix_random random = { motemix_arch_random, NULL };
  uint8_t key[MOTEMIX_DIET_PRIVATE_KEY_LEN];
  const char **wrong = arg;

  if(motemix_diet_new(&diet, &random) != MOTEMIX_STATUS_OK) {
    *wrong = "there are no random bytes";
    return;
  }
  *wrong = read_or_make_key(key);
  if(*wrong == NULL && motemix_diet_set_identity(&diet, key, identity) != MOTEMIX_STATUS_OK) {
    *wrong = "what is in flash is no key; erase it";
  }
  /* Where the library has it, it is wiped; here it would stay. */
  memset(key, 0, sizeof(key));
  __asm__ volatile("" : : "r"(key) : "memory");
}

bool
diet_start(void)
{
  const char *wrong = NULL;

  motemix_stack_fill();
  motemix_on_stack(run_start, &wrong);
  if(wrong != NULL) {
    printf("error: %s\n", wrong);
    return false;
  }
  diet_admission.identities = admitted;
#ifdef DIET_CONF_ANYBODY
  diet_admission.anybody = true;
#endif
#ifdef DIET_CONF_ADMIT
  if(!admit(DIET_CONF_ADMIT)) {
    return false;
  }
#endif
  printf("identity ");
  print_identity(identity);
  printf("\n");
  if(diet_admission.count == 0 && !diet_admission.anybody) {
    printf("nobody is admitted yet: admit IDENTITY, or anybody\n");
  }
  return true;
}

bool
diet_obey(const char *word, const char *rest)
{
  if(strcmp(word, "identity") == 0) {
    printf("identity ");
    print_identity(identity);
    printf("\n");
  } else if(strcmp(word, "admit") == 0 && *rest != '\0') {
    if(admit(rest)) {
      printf("ok %u admitted\n", (unsigned)diet_admission.count);
    }
  } else if(strcmp(word, "anybody") == 0) {
    diet_admission.anybody = true;
    printf("ok anybody\n");
  } else if(strcmp(word, "stack") == 0) {
    printf("%u of %u bytes of the stack\n", (unsigned)motemix_stack_used(),
           (unsigned)MOTEMIX_STACK_SIZE);
  } else {
    return false;
  }
  return true;
}
/*---------------------------------------------------------------------------*/
/* The sensor's calls, on a stack that is large enough. */

struct job {
  motemix_status status;
  const struct diet_datagram *in;
  struct diet_datagram *out;
  const char *text;
  size_t len;
  uint8_t peer[MOTEMIX_DIET_IDENTITY_LEN];
};

static void
run_ask(void *arg)
{
  struct job *job = arg;

  job->status = motemix_diet_hello(&diet, &initiator, job->out->bytes);
}

static void
run_meet(void *arg)
{
  struct job *job = arg;

  job->status = motemix_diet_finish(&diet, &initiator, job->in->bytes, job->in->len,
                                    &diet_admission, &session);
  if(job->status == MOTEMIX_STATUS_OK) {
    job->status = motemix_diet_peer(&session, job->peer);
  }
}

static void
run_seal(void *arg)
{
  struct job *job = arg;

  job->status = motemix_diet_seal_message(&diet, &session, (const uint8_t *)job->text, job->len,
                                          job->out->bytes, sizeof(job->out->bytes), &job->len);
}

static void
run_receipt(void *arg)
{
  struct job *job = arg;
  uint8_t copy[MOTEMIX_DIET_OVERHEAD];
  const uint8_t *text;

  job->status = MOTEMIX_STATUS_BAD_LENGTH;
  if(job->in->len == sizeof(copy)) {
    memcpy(copy, job->in->bytes, sizeof(copy));
    job->status = motemix_diet_open_message(&diet, &session, copy, sizeof(copy), &text, &job->len);
  }
}
/*---------------------------------------------------------------------------*/
bool
diet_knows_router(void)
{
  return is_in_session;
}

void
diet_forget_router(void)
{
  is_in_session = false;
  /* If it is there. */
  (void)motemix_diet_end_session(&session);
}

bool
diet_ask(struct diet_datagram *out)
{
  struct job job = { .out = out };

  if(diet_admission.count == 0 && !diet_admission.anybody) {
    printf("error: nobody is admitted; admit IDENTITY, or anybody\n");
    return false;
  }
  motemix_on_stack(run_ask, &job);
  out->len = MOTEMIX_DIET_HELLO_LEN;
  return job.status == MOTEMIX_STATUS_OK;
}

bool
diet_meet(const struct diet_datagram *in)
{
  struct job job = { .in = in };

  motemix_on_stack(run_meet, &job);
  if(job.status == MOTEMIX_STATUS_STRANGER) {
    printf("a node answers that is not admitted\n");
  }
  if(job.status != MOTEMIX_STATUS_OK) {
    return false;
  }
  is_in_session = true;
  diet_name(job.peer, router_name);
  diet_warn_of(job.peer);
  return true;
}

bool
diet_seal(const char *text, size_t len, struct diet_datagram *out)
{
  struct job job = { .text = text, .len = len, .out = out };

  motemix_on_stack(run_seal, &job);
  out->len = (uint16_t)job.len;
  return job.status == MOTEMIX_STATUS_OK;
}

bool
diet_is_receipt(const struct diet_datagram *in)
{
  struct job job = { .in = in };

  motemix_on_stack(run_receipt, &job);
  return job.status == MOTEMIX_STATUS_OK;
}

const char *
diet_router_name(void)
{
  return router_name;
}
