/* The settled protocol's router: its neighbours by address, in bounded places. */

#include <string.h>

#include "diet.h"
#include "diet-settled.h"
#include "motemix-stack.h"

/* A handshake of which nothing more came for so long gives way to another. */
#define HANDSHAKE (30 * CLOCK_SECOND)
/* Who said nothing for so long may lose its place to another. */
#define IDLE ((clock_time_t)3600 * CLOCK_SECOND)
/* Answers a minute, and at once. Each takes three scalar multiplications, and its asker may be
 * invented. */
#ifdef DIET_CONF_ANSWERS
#define ANSWERS DIET_CONF_ANSWERS
#elif defined(CONTIKI_TARGET_NATIVE)
#define ANSWERS 3000
#else
#define ANSWERS 10
#endif
#define AT_ONCE (ANSWERS < 60 ? 4u : ANSWERS / 60u)

struct neighbour {
  struct diet_address address;
  bool is_there, has_handshake, is_in_session, has_receipt;
  /* The handshake that was answered, and what to say if its hello comes again. */
  uint8_t hello[MOTEMIX_DIET_HELLO_LEN], answer[MOTEMIX_DIET_ANSWER_LEN];
  motemix_diet_pending pending;
  motemix_diet_session session;
  /* What acknowledged its last message: once more, if the message comes once more. */
  uint8_t receipt[MOTEMIX_DIET_OVERHEAD];
  clock_time_t begun, last_heard;
  uint8_t known[MOTEMIX_DIET_IDENTITY_LEN];
};

static struct neighbour neighbours[DIET_NEIGHBOURS];

struct job {
  motemix_status status;
  struct neighbour *neighbour;
  struct diet_datagram *in;
  const uint8_t *text;
  size_t len;
  uint8_t peer[MOTEMIX_DIET_IDENTITY_LEN];
};
/*---------------------------------------------------------------------------*/
static void
drop(motemix_status status)
{
  switch(status) {
  case MOTEMIX_STATUS_STRANGER:
    diet_drop(DIET_DROP_NOT_ADMITTED);
    break;
  case MOTEMIX_STATUS_REPLAYED:
  case MOTEMIX_STATUS_REPEATED:
    diet_drop(DIET_DROP_REPLAYED);
    break;
  case MOTEMIX_STATUS_BAD_SIGNATURE:
  case MOTEMIX_STATUS_BAD_CIPHERTEXT:
  case MOTEMIX_STATUS_NOT_A_SESSION:
    diet_drop(DIET_DROP_ALTERED);
    break;
  default:
    diet_drop(DIET_DROP_ALIEN);
    break;
  }
}

static struct neighbour *
neighbour_at(const struct diet_address *address)
{
  size_t at;

  for(at = 0; at < DIET_NEIGHBOURS; at++) {
    struct neighbour *neighbour = &neighbours[at];
    if(neighbour->is_there && neighbour->address.port == address->port &&
       memcmp(&neighbour->address.ip, &address->ip, sizeof(address->ip)) == 0) {
      return neighbour;
    }
  }
  return NULL;
}

static void
forget(struct neighbour *neighbour)
{
  /* What is not there is not wiped. */
  (void)motemix_diet_end_pending(&neighbour->pending);
  (void)motemix_diet_end_session(&neighbour->session);
  memset(neighbour, 0, sizeof(*neighbour));
}

/* A free place; of a handshake that came to nothing, or of who is silent, if there is none. */
static struct neighbour *
make_room(clock_time_t now)
{
  size_t at;

  for(at = 0; at < DIET_NEIGHBOURS; at++) {
    struct neighbour *neighbour = &neighbours[at];
    clock_time_t patience = neighbour->is_in_session ? IDLE : HANDSHAKE;
    if(neighbour->is_there && now - neighbour->last_heard >= patience) {
      forget(neighbour);
    }
    if(!neighbour->is_there) {
      return neighbour;
    }
  }
  return NULL;
}

/* Whether one more answer may be given now. */
static bool
spend_answer(clock_time_t now)
{
  static unsigned left = AT_ONCE;
  static clock_time_t since;
  clock_time_t interval = 60 * CLOCK_SECOND / ANSWERS;

  if(left >= AT_ONCE) {
    since = now;
  }
  while(left < AT_ONCE && now - since >= interval) {
    left++;
    since += interval;
  }
  if(left == 0) {
    return false;
  }
  left--;
  return true;
}
/*---------------------------------------------------------------------------*/
static void
run_answer(void *arg)
{
  struct job *job = arg;

  job->status = motemix_diet_answer(&diet, job->in->bytes, job->in->len, &diet_admission,
                                    &job->neighbour->pending, job->neighbour->answer);
}

/* Answers are for those who are admitted: strangers must not use them up. What is no hello of one
 * of these is refused in no time. */
static bool
is_admitted(const struct diet_datagram *in)
{
  const uint8_t *claimed = in->bytes + in->len - MOTEMIX_DIET_IDENTITY_LEN;
  size_t at;

  for(at = 0; at < diet_admission.count && !diet_admission.anybody; at++) {
    if(memcmp(claimed, diet_admission.identities + at * MOTEMIX_DIET_IDENTITY_LEN,
              MOTEMIX_DIET_IDENTITY_LEN) == 0) {
      return true;
    }
  }
  return diet_admission.anybody;
}

static void
put_answer(const struct neighbour *neighbour, struct diet_datagram *reply)
{
  memcpy(reply->bytes, neighbour->answer, sizeof(neighbour->answer));
  reply->len = sizeof(neighbour->answer);
}

static void
handle_hello(const struct diet_address *from, struct diet_datagram *in, struct diet_datagram *reply)
{
  clock_time_t now = clock_time();
  struct neighbour *neighbour = neighbour_at(from);
  struct job job = { .in = in };

  if(neighbour != NULL && neighbour->has_handshake) {
    /* The answer was lost. */
    if(memcmp(neighbour->hello, in->bytes, sizeof(neighbour->hello)) == 0) {
      put_answer(neighbour, reply);
      return;
    }
    if(now - neighbour->begun < HANDSHAKE) {
      diet_drop(DIET_DROP_UNDER_WAY);
      return;
    }
  }
  if(!is_admitted(in)) {
    diet_drop(DIET_DROP_NOT_ADMITTED);
    return;
  }
  neighbour = neighbour != NULL ? neighbour : make_room(now);
  if(neighbour == NULL) {
    diet_drop(DIET_DROP_FULL);
    return;
  }
  if(!spend_answer(now)) {
    diet_drop(DIET_DROP_TOO_MANY);
    return;
  }
  job.neighbour = neighbour;
  motemix_on_stack(run_answer, &job);
  if(job.status != MOTEMIX_STATUS_OK) {
    drop(job.status);
    return;
  }
  if(!neighbour->is_there) {
    neighbour->is_there = true;
    neighbour->address = *from;
    neighbour->last_heard = now;
  }
  memcpy(neighbour->hello, in->bytes, sizeof(neighbour->hello));
  neighbour->has_handshake = true;
  neighbour->begun = now;
  put_answer(neighbour, reply);
}
/*---------------------------------------------------------------------------*/
/* Opens a message of the session, or the first of the handshake, which then becomes the session. */
static void
run_open(void *arg)
{
  static struct diet_datagram copy;
  struct job *job = arg;
  struct neighbour *neighbour = job->neighbour;
  motemix_status first;

  copy = *job->in;
  job->status = MOTEMIX_STATUS_BAD_CIPHERTEXT;
  if(neighbour->is_in_session) {
    job->status = motemix_diet_open_message(&diet, &neighbour->session, job->in->bytes,
                                            job->in->len, &job->text, &job->len);
  }
  if(job->status != MOTEMIX_STATUS_OK && neighbour->has_handshake) {
    first = motemix_diet_open_first(&diet, &neighbour->pending, copy.bytes, copy.len,
                                    &neighbour->session, &job->text, &job->len);
    if(first == MOTEMIX_STATUS_OK) {
      job->status = MOTEMIX_STATUS_OK;
      neighbour->is_in_session = true;
      neighbour->has_handshake = false;
    }
  }
  if(job->status == MOTEMIX_STATUS_OK) {
    size_t len;

    (void)motemix_diet_peer(&neighbour->session, job->peer);
    neighbour->has_receipt =
      motemix_diet_seal_message(&diet, &neighbour->session, NULL, 0, neighbour->receipt,
                                sizeof(neighbour->receipt), &len) == MOTEMIX_STATUS_OK;
  }
}

void
diet_handle(const struct diet_address *from, struct diet_datagram *in, struct diet_datagram *reply,
            struct diet_heard *heard)
{
  struct neighbour *neighbour;
  struct job job = { .in = in };

  /* No message is as short: it has more bytes besides its text. */
  if(in->len == MOTEMIX_DIET_HELLO_LEN) {
    handle_hello(from, in, reply);
    return;
  }
  neighbour = neighbour_at(from);
  if(neighbour == NULL) {
    diet_drop(DIET_DROP_NO_HANDSHAKE);
    return;
  }
  job.neighbour = neighbour;
  motemix_on_stack(run_open, &job);
  if(job.status == MOTEMIX_STATUS_OK) {
    heard->text = job.text;
    heard->len = job.len;
    diet_name(job.peer, heard->who);
    if(memcmp(neighbour->known, job.peer, sizeof(job.peer)) != 0) {
      memcpy(neighbour->known, job.peer, sizeof(job.peer));
      diet_warn_of(job.peer);
    }
    neighbour->last_heard = clock_time();
  } else {
    drop(job.status);
  }
  if(neighbour->has_receipt &&
     (job.status == MOTEMIX_STATUS_OK || job.status == MOTEMIX_STATUS_REPEATED)) {
    memcpy(reply->bytes, neighbour->receipt, sizeof(neighbour->receipt));
    reply->len = sizeof(neighbour->receipt);
  }
}
