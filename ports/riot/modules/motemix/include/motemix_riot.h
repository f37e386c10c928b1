/*
 * A motemix node on RIOT: a thread with an event queue, a UDP sock, the node in static memory.
 *
 * All of these functions may be called from any thread, and none from an interrupt.
 */

#ifndef MOTEMIX_RIOT_H
#define MOTEMIX_RIOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "motemix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory of the node: the fields of motemix_limits, or one of the lists in motemix.h. */
#ifndef CONFIG_MOTEMIX_LIMITS
#define CONFIG_MOTEMIX_LIMITS MOTEMIX_MOTE
#endif

/* Bytes of stack of the thread. Opening a document takes 7.6 kB on a Cortex-M3, everything later 5.4 kB. */
#ifndef CONFIG_MOTEMIX_STACK_SIZE
#define CONFIG_MOTEMIX_STACK_SIZE 9216
#endif

/* Sectors of MTD_0 that belong to the node's replay tags, and the first of them. */
#ifndef CONFIG_MOTEMIX_MTD_FIRST_SECTOR
#define CONFIG_MOTEMIX_MTD_FIRST_SECTOR 0
#endif
#ifndef CONFIG_MOTEMIX_MTD_SECTORS
#define CONFIG_MOTEMIX_MTD_SECTORS 4
#endif

/* Which network, and who in it. The bytes stay where they are until motemix_riot_stop. */
typedef struct {
    const uint8_t *document;        /* signed network document */
    size_t document_len;
    const uint8_t *authority_keys;  /* 32 bytes each */
    uint8_t authorities;
    uint8_t threshold;
    const uint8_t *secret;          /* this node's mix key of the document's epoch, 32 bytes */
    uint64_t unix_time;             /* seconds since 1970, or MOTEMIX_TIME_UNKNOWN */
} motemix_riot_network_t;

/* What the application is told, in the node's thread. Must not call motemix_riot_...; returns quickly. */
typedef struct {
    /* A message of `len` bytes has arrived. True when it is safe: only then is it acknowledged. Writes a
     * reply of at most MOTEMIX_DATA_LEN bytes to `reply` and its length to `reply_len`, or leaves both. */
    bool (*received)(const uint8_t *data, size_t len, uint8_t *reply, size_t *reply_len);
    /* The receiver has replied to message `message`. */
    void (*acknowledged)(uint64_t message, const uint8_t *reply, size_t len, uint64_t round_trip_us);
    /* Message `message` was given up after its last try. */
    void (*discarded)(uint64_t message);
} motemix_riot_application_t;

/* Starts the thread, and waits until the node takes part in the network or cannot. What `network` points
 * to stays where it is until motemix_riot_stop. */
motemix_status motemix_riot_start(const motemix_riot_network_t *network,
                                  const motemix_riot_application_t *application);

/* Ends the node, wipes its keys and stops the thread. MOTEMIX_STATUS_NOT_A_NODE if there is none. */
motemix_status motemix_riot_stop(void);

/* Sends `len` bytes to the node of that name. The number of the message goes to `message`. */
motemix_status motemix_riot_send(const char *name, const uint8_t *data, size_t len, uint64_t *message);

/* Prints the network, this node's place in it, and its counters. */
motemix_status motemix_riot_print(void);

#ifdef __cplusplus
}
#endif

#endif /* MOTEMIX_RIOT_H */
