/*
 * A motemix mote on RIOT. A thread runs it from the start on: with the module auto_init it is there
 * when main begins.
 *
 * The key is made on the board at the first boot and kept in flash, beside the network document,
 * the messages that were received and the tags of packets that were admitted. Two boards with the
 * same image have different keys.
 *
 * All of these functions may be called from any thread but the mote's own, and none from an
 * interrupt. They wait until the mote's thread has done what they ask for: at most as long as a few
 * scalar multiplications take. What they return is explained by motemix_status_text:
 *
 * - MOTEMIX_STATUS_BUSY in the mote's own thread, which would wait for itself: in `ended`,
 *   `received` and `print`. Nothing was done. Wake another thread, which makes the call.
 * - MOTEMIX_STATUS_NULL for a null pointer, unless it is said that it may be null.
 * - MOTEMIX_STATUS_NO_THREAD before motemix_init, or if RIOT made no thread for the mote.
 */

#ifndef MOTEMIX_RIOT_H
#define MOTEMIX_RIOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "motemix.h"
#include "thread.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory of the mote: the fields of motemix_limits, or one of the lists in motemix.h. */
#ifndef CONFIG_MOTEMIX_LIMITS
#if defined(CONFIG_MOTEMIX_SENDER)
#define CONFIG_MOTEMIX_LIMITS MOTEMIX_SENDER
#elif defined(CONFIG_MOTEMIX_MIX)
#define CONFIG_MOTEMIX_LIMITS MOTEMIX_MOTE_MIX
#else
#define CONFIG_MOTEMIX_LIMITS MOTEMIX_MOTE
#endif
#endif

/* Bytes of stack that the mote needs of its thread, over what every thread needs. The deepest calls
 * multiply points: to make a key with a neighbour, to process a packet, and to make a header. The tests measure all of them.
 * Kconfig's 0 is what the board needs. */
#if !defined(CONFIG_MOTEMIX_STACK_EXTRA) || CONFIG_MOTEMIX_STACK_EXTRA == 0
#undef CONFIG_MOTEMIX_STACK_EXTRA
#ifdef CPU_NATIVE
#define CONFIG_MOTEMIX_STACK_EXTRA 16384
#else
#define CONFIG_MOTEMIX_STACK_EXTRA 5088
#endif
#endif

/* The thread's priority. Below the shell and the network stack, because a scalar multiplication
 * takes its time. On a PC above them: there RIOT 2023.01 runs nothing else while the shell waits for
 * a key. */
#ifndef CONFIG_MOTEMIX_PRIORITY
#ifdef CPU_NATIVE
#define CONFIG_MOTEMIX_PRIORITY (THREAD_PRIORITY_MAIN - 1)
#else
#define CONFIG_MOTEMIX_PRIORITY (THREAD_PRIORITY_MAIN + 1)
#endif
#endif

/* The UDP port. 6LoWPAN writes 61616 to 61631 in four bits. */
#ifndef CONFIG_MOTEMIX_PORT
#define CONFIG_MOTEMIX_PORT 61616
#endif

/* Pages of 4096 bytes of flash: for keys and documents (4 or more, as motemix_flash says), for
 * replay tags (2 or more), for messages (2 or more), for the mote's own readings (2 or more, or 0
 * without the module motemix_readings). Other numbers than those with which the flash
 * was first used lose what is in it. */
#ifndef CONFIG_MOTEMIX_SETTINGS_PAGES
#ifdef CONFIG_MOTEMIX_MIX
#define CONFIG_MOTEMIX_SETTINGS_PAGES 9
#else
#define CONFIG_MOTEMIX_SETTINGS_PAGES 5
#endif
#endif
#ifndef CONFIG_MOTEMIX_TAGS_PAGES
#define CONFIG_MOTEMIX_TAGS_PAGES 4
#endif
#ifndef CONFIG_MOTEMIX_MESSAGES_PAGES
#define CONFIG_MOTEMIX_MESSAGES_PAGES 2
#endif
#ifndef MODULE_MOTEMIX_READINGS
#undef CONFIG_MOTEMIX_READINGS_PAGES
#define CONFIG_MOTEMIX_READINGS_PAGES 0
#elif !defined(CONFIG_MOTEMIX_READINGS_PAGES)
#define CONFIG_MOTEMIX_READINGS_PAGES 2
#endif

/* With the module motemix_mtd: the device, and the first of its sectors that is the mote's. */
#ifndef CONFIG_MOTEMIX_MTD
#define CONFIG_MOTEMIX_MTD MTD_0
#endif
#ifndef CONFIG_MOTEMIX_MTD_FIRST_SECTOR
#define CONFIG_MOTEMIX_MTD_FIRST_SECTOR 0
#endif

/* Starts the mote's thread. auto_init does it. */
void motemix_init(void);

/* Prints `len` characters that are not NUL-terminated. The mote's thread calls it. */
typedef void (*motemix_print_t)(void *arg, const char *text, size_t len);

#ifdef MODULE_MOTEMIX_CONSOLE
/* With the module motemix_console: does what a line says, as docs/spec/mote.md has it. `help` lists
 * the commands. What the mote answers goes to `print`, in pieces; null for nowhere. */
motemix_status motemix_command(const char *line, motemix_print_t print, void *arg);
#endif

/* The board's address and its public key of an epoch, for the network's authority. `address` gets
 * the link-local address of the first interface that has one, and the port. */
motemix_status motemix_key(uint32_t epoch, motemix_address *address, uint8_t key[32]);

/* Takes documents that `threshold` of these Ed25519 keys signed, 32 bytes each, four at most. */
motemix_status motemix_trust_authorities(uint8_t threshold, const uint8_t *keys, uint8_t count);

/* The same of these keys and of those that are trusted already, four in all. */
motemix_status motemix_trust_also(uint8_t threshold, const uint8_t *keys, uint8_t count);

/* Sets the clock, in seconds since 1970. It stops with the power. */
motemix_status motemix_set_time(uint64_t unix_time);

/* Gives `len` bytes of a network document, those from its byte `at` on. While the node runs, they begin
 * with the one at 0; `motemix_mote_give_document` of motemix.h says why, and how one is dropped. */
motemix_status motemix_give_document(size_t at, const uint8_t *piece, size_t len);

/* Checks the document that was given, `len` bytes in all, and keeps it: while the node stands, one
 * that is valid now; while it runs, the next epoch's, which begins by itself. */
motemix_status motemix_keep_document(size_t len);

/* Runs the node with the document that is kept. Neighbours are reached through the first interface
 * that has a link-local address now, until the node is stopped. MOTEMIX_STATUS_NO_RADIO if the thread of
 * that interface has ended, as an assertion that fails ends it; motemix_counters_get tells it later. */
motemix_status motemix_start(void);

/* Stops the node and wipes its keys from RAM. Messages under way are given up. */
motemix_status motemix_stop(void);

/* A message that was sent. It lasts until `ended` is called, which the mote's thread does: also
 * when the node is stopped, or stops because its flash fails. */
typedef struct motemix_sent {
    struct motemix_sent *next;
    /* The message was acknowledged after so long, or given up. May be null. */
    void (*ended)(struct motemix_sent *sent, bool acknowledged, uint32_t round_trip_ms);
    uint64_t message;
} motemix_sent_t;

/* Sends `len` bytes to the node of that name, with a sequence number and a space in front of them.
 * The message leaves when this returns MOTEMIX_STATUS_OK; `sent` may be null if nobody wants to know
 * what becomes of it. MOTEMIX_STATUS_UNDER_WAY if `sent` is that of a message that has not ended.
 */
motemix_status motemix_send(const char *name, const void *data, size_t len, motemix_sent_t *sent);

/* The same, and waits until the message is acknowledged, which takes seconds, or given up, which
 * takes minutes: MOTEMIX_STATUS_NOT_WAITING. `round_trip_ms` may be null. */
motemix_status motemix_send_wait(const char *name, const void *data, size_t len,
                                 uint32_t *round_trip_ms);

/* Called by the mote's thread with a message that was received. True if it is done with: then it
 * leaves the flash. If not, it comes again with the next one, and after a restart. */
typedef bool (*motemix_received_t)(void *arg, const uint8_t *data, size_t len);

/* Who gets messages; null for nobody. Then they stay in flash, for motemix_message. */
motemix_status motemix_on_received(motemix_received_t received, void *arg);

/* The oldest message in flash; `data` has room for MOTEMIX_DATA_LEN bytes. MOTEMIX_STATUS_NOTHING
 * if there is none. The message stays until motemix_forget_message, so that none is lost if the
 * power fails before it is safe elsewhere: it comes again then. For one thread at a time. */
motemix_status motemix_message(uint8_t *data, size_t *len);
motemix_status motemix_forget_message(void);

/* Both in one: the message has left the flash when this returns. If the power fails before it was
 * used, it is lost, and its sender believes that it arrived. */
motemix_status motemix_take(uint8_t *data, size_t *len);

#ifdef MODULE_MOTEMIX_READINGS
/* Who signs this board's readings, for whoever is to believe them: the identity, and the introduction
 * that shows its key. The first time, the key is made. */
motemix_status motemix_own_identity(uint8_t identity[MOTEMIX_IDENTITY_LEN],
                                    uint8_t introduction[MOTEMIX_INTRODUCTION_LEN]);

/* Measures, signs and sends a reading to the node of this name, so often in the mean, until the node
 * stops; 0 seconds: no more. What measures: CONFIG_MOTEMIX_MEASURE, a function as motemix_sensor has
 * it, or the board's thermometer. */
motemix_status motemix_send_readings(const char *name, uint32_t seconds);
#endif

/* What the node did since it was started, and its epoch. MOTEMIX_STATUS_NO_EPOCH if that has ended,
 * MOTEMIX_STATUS_NO_RADIO if the interface has: the counters are there all the same. */
motemix_status motemix_counters_get(motemix_counters *counters, uint32_t *epoch);

#ifdef __cplusplus
}
#endif

#endif /* MOTEMIX_RIOT_H */
