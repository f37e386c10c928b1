/*
 * A motemix node on Contiki-NG: a process with a timer, a UDP connection, the node in static memory.
 *
 * Contiki-NG's processes take turns, so these functions may be called from any process, and none from an
 * interrupt.
 */

#ifndef MOTEMIX_NODE_H_
#define MOTEMIX_NODE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "motemix.h"

/* Memory of the node: the fields of motemix_limits, or one of the lists in motemix.h. */
#ifdef MOTEMIX_CONF_LIMITS
#define MOTEMIX_LIMITS MOTEMIX_CONF_LIMITS
#else
#define MOTEMIX_LIMITS MOTEMIX_MOTE
#endif

/* Which network, and who in it. The bytes stay where they are until motemix_stop. */
struct motemix_membership {
  const uint8_t *document;       /* signed network document */
  size_t document_len;
  const uint8_t *authority_keys; /* 32 bytes each */
  uint8_t authorities;
  uint8_t threshold;
  const uint8_t *secret;         /* this node's mix key of the document's epoch, 32 bytes */
  uint64_t unix_time;            /* seconds since 1970, or MOTEMIX_TIME_UNKNOWN */
};

/* What the application is told, in the node's process. Must not call the functions below. */
struct motemix_application {
  /* A message of `len` bytes has arrived. True when it is safe: only then is it acknowledged. */
  bool (*received)(const uint8_t *data, size_t len);
  /* The receiver has replied to message `message`. */
  void (*acknowledged)(uint64_t message, uint64_t round_trip_us);
  /* Message `message` was given up after its last try. */
  void (*discarded)(uint64_t message);
};

/* Takes part in the network. */
motemix_status motemix_start(const struct motemix_membership *membership,
                             const struct motemix_application *application);

/* Ends the node and wipes its keys. MOTEMIX_STATUS_NOT_A_NODE if there is none. */
motemix_status motemix_stop(void);

/* Sends `len` bytes to the node of that name. The number of the message goes to `message`. */
motemix_status motemix_send(const char *name, const uint8_t *data, size_t len, uint64_t *message);

/* The node for calls of motemix.h that only read, and its document. Null before motemix_start. */
motemix_node *motemix_running_node(const motemix_document **document);

#endif /* MOTEMIX_NODE_H_ */
