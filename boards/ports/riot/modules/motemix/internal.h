/* Between the files of the module. */

#ifndef MOTEMIX_INTERNAL_H
#define MOTEMIX_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"

#include "motemix_riot.h"

/* Random bytes from the hardware, for motemix_random. */
int motemix_fill(void *context, uint8_t *out, size_t len);

/* The flash of the mote. 0 if it can be used. */
int motemix_flash_open(motemix_flash *flash);

#ifdef MODULE_MOTEMIX_READINGS
/* Lets a mote that was just opened sign readings. */
motemix_status motemix_let_sign(motemix_mote *mote);
#endif

/* Lets the mote's thread handle an event. From any thread but that one, which must not wait:
 * MOTEMIX_STATUS_BUSY. */
motemix_status motemix_post(event_t *event);

/* Does what the words of a line say, and prints the answer: commands.c, or console.c. What the shell
 * returns: 0 if it was done. */
int motemix_obey(int argc, char **argv);

/* motemix_send for somebody who prints what becomes of messages: the number of this one. */
motemix_status motemix_send_numbered(const char *name, const void *data, size_t len,
                                     uint64_t *message);

/* --- for events that the mote's thread handles, and for nobody else --- */

/* The mote, or why there is none. */
motemix_status motemix_opened(motemix_mote **opened);

/* Microseconds that do not go back. */
uint64_t motemix_now_us(void);

/* The first link-local address of any interface, and that interface. */
bool motemix_find_address(motemix_address *address, uint16_t *from);

/* Chooses the interface through which neighbours are reached, and tells the mote its address there.
 * Once the node runs, both stay. */
motemix_status motemix_settle(void);

/* MOTEMIX_STATUS_NO_RADIO if the interface that was chosen has ended, or all have. */
motemix_status motemix_radio(void);

/* Where the mote prints what it answers; null for nowhere. */
void motemix_print_to(motemix_print_t to, void *arg);

/* Remembers a message that was sent, until it ends. */
void motemix_await(motemix_sent_t *sent);

/* Whether it is that of a message that has not ended. */
bool motemix_is_awaited(const motemix_sent_t *sent);

/* Hands messages to this function from now on, and those at once that nobody wanted before. */
void motemix_hand_to(motemix_received_t to, void *arg);

#endif /* MOTEMIX_INTERNAL_H */
