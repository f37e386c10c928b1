/*
 * A motemix mote on Contiki-NG: a process, which PROCESS_THREAD(motemix_process, ...) is.
 *
 * The key is made on the board at the first boot and kept in flash, beside the network document,
 * the messages that were received and the tags of packets that were admitted. Two boards with the
 * same image have different keys.
 *
 * Contiki-NG's processes take turns, so these functions may be called from any process, and none
 * from an interrupt. What they return is explained by motemix_status_text.
 */

#ifndef MOTEMIX_CONTIKI_H_
#define MOTEMIX_CONTIKI_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contiki.h"
#include "motemix.h"

/* Memory of the mote: the fields of motemix_limits, or one of the lists in motemix.h. */
#ifdef MOTEMIX_CONF_LIMITS
#define MOTEMIX_LIMITS MOTEMIX_CONF_LIMITS
#else
#define MOTEMIX_LIMITS MOTEMIX_MOTE
#endif

/* The mote's own stack, in bytes: Contiki-NG's platforms have too little of their own. The deepest
 * calls multiply points, to make a key with a neighbour above all, and take 5.0 kB on a Cortex-M3.
 * The tests measure all of them. */
#if defined(MOTEMIX_CONF_STACK_SIZE)
#define MOTEMIX_STACK_SIZE MOTEMIX_CONF_STACK_SIZE
#elif defined(CONTIKI_TARGET_COOJA)
#define MOTEMIX_STACK_SIZE 65536
#else
#define MOTEMIX_STACK_SIZE 5472
#endif

/* The UDP port. 6LoWPAN writes 61616 to 61631 in four bits. */
#ifdef MOTEMIX_CONF_PORT
#define MOTEMIX_PORT MOTEMIX_CONF_PORT
#else
#define MOTEMIX_PORT 61616
#endif

/* Pages of 4096 bytes of flash: for keys and documents (4 or more, as motemix_flash says), for
 * replay tags (2 or more), for messages (2 or more), for the mote's own readings (2 or more, or 0 if
 * it signs none, which leaves 12 kB of flash to others). Other numbers than those with which the flash
 * was first used lose what is in it. */
#ifdef MOTEMIX_CONF_SETTINGS_PAGES
#define MOTEMIX_SETTINGS_PAGES MOTEMIX_CONF_SETTINGS_PAGES
#else
#define MOTEMIX_SETTINGS_PAGES 5
#endif
#ifdef MOTEMIX_CONF_TAGS_PAGES
#define MOTEMIX_TAGS_PAGES MOTEMIX_CONF_TAGS_PAGES
#else
#define MOTEMIX_TAGS_PAGES 4
#endif
#ifdef MOTEMIX_CONF_MESSAGES_PAGES
#define MOTEMIX_MESSAGES_PAGES MOTEMIX_CONF_MESSAGES_PAGES
#else
#define MOTEMIX_MESSAGES_PAGES 2
#endif
#ifdef MOTEMIX_CONF_READINGS_PAGES
#define MOTEMIX_READINGS_PAGES MOTEMIX_CONF_READINGS_PAGES
#else
#define MOTEMIX_READINGS_PAGES 0
#endif
#define MOTEMIX_FLASH_LEN \
  ((MOTEMIX_SETTINGS_PAGES + MOTEMIX_TAGS_PAGES + MOTEMIX_MESSAGES_PAGES + \
    MOTEMIX_READINGS_PAGES) * MOTEMIX_PAGE_LEN)

PROCESS_NAME(motemix_process);

/* What the process that motemix_notify named is called with, and a struct motemix_news. */
extern process_event_t motemix_news_event;

enum motemix_news_kind {
  /* A message is in flash: motemix_message reads it. */
  MOTEMIX_NEWS_RECEIVED,
  /* The receiver has message `message`, after `round_trip_ms`. */
  MOTEMIX_NEWS_ACKNOWLEDGED,
  /* Message `message` was given up: after its last try, or because the node stopped. */
  MOTEMIX_NEWS_DISCARDED,
  /* Epoch `message` begins. */
  MOTEMIX_NEWS_EPOCH,
  /* Somebody should see to `warning`, because of `reason`. */
  MOTEMIX_NEWS_WARNING,
  /* A neighbour had the network document of epoch `message`: nobody need give it to this mote. */
  MOTEMIX_NEWS_DOCUMENT,
};

struct motemix_news {
  enum motemix_news_kind kind;
  uint64_t message;
  /* Of the try that was acknowledged. */
  uint32_t round_trip_ms;
  uint8_t tries;
  motemix_warning warning;
  motemix_status reason;
  /* So many more came behind these and are lost, because eight were waiting already. That takes a
   * process that stops and starts the mote several times in one turn of its own. Take all messages
   * under way for ended if the mote stands. */
  uint32_t lost;
};

/* Who hears news; null for nobody. motemix_process calls the process in a turn of its own, so that
 * all functions below may be called there. The news last until the process waits again. */
void motemix_notify(struct process *process);

/* Does what a line says, as docs/spec/mote.md has it: `help` lists the commands. What the mote
 * answers goes to `print`, in pieces that are not NUL-terminated. */
motemix_status motemix_command(const char *line,
                               void (*print)(void *arg, const char *text, size_t len), void *arg);

/* Sets the clock, in seconds since 1970. */
motemix_status motemix_set_time(uint64_t unix_time);

/* Runs the node with the network document that is kept, and stops it. Messages under way when it
 * stops are given up. */
motemix_status motemix_start(void);
motemix_status motemix_stop(void);

/* Sends `len` bytes to the node of that name, with a sequence number and a space in front of them.
 * The number of the message goes to `message`. */
motemix_status motemix_send(const char *name, const void *data, size_t len, uint64_t *message);

/* The oldest message in flash; `data` has room for MOTEMIX_DATA_LEN bytes. MOTEMIX_STATUS_NOTHING
 * if there is none. It stays until motemix_forget_message. */
motemix_status motemix_message(uint8_t *data, size_t *len);
motemix_status motemix_forget_message(void);

#if MOTEMIX_READINGS_PAGES > 0
/* Who signs this mote's readings, for whoever is to believe them: the identity, MOTEMIX_IDENTITY_LEN
 * bytes, and the introduction that shows its key, MOTEMIX_INTRODUCTION_LEN bytes. The first time, the
 * key is made. */
motemix_status motemix_own_identity(uint8_t *identity, uint8_t *introduction);

/* Measures, signs and sends a reading to the node of this name, so often in the mean, until the node
 * stops; 0 seconds: no more. What measures: MOTEMIX_CONF_MEASURE, a function as motemix_sensor has it,
 * or the processor's thermometer. */
motemix_status motemix_send_readings(const char *name, uint32_t seconds);
#endif

/* What the node did since it was started. */
motemix_status motemix_counters_get(motemix_counters *counters);

/* The most bytes of the mote's stack that were used so far. */
size_t motemix_stack_used(void);

#endif /* MOTEMIX_CONTIKI_H_ */
