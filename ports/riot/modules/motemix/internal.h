/* Between the files of the module. */

#ifndef MOTEMIX_INTERNAL_H
#define MOTEMIX_INTERNAL_H

#include <stdint.h>

#include "motemix.h"

/* Random bytes from the hardware, for motemix_random. */
int motemix_riot_fill(void *context, uint8_t *out, size_t len);

/*
 * The journal of one epoch, in flash. Without the module mtd there is none, and a restarted node takes for new
 * what it saw before the restart.
 */

/* Gives what the flash has of `epoch` back to the node; makes room if it holds another epoch. */
int motemix_riot_tags_restore(motemix_node *node, uint32_t epoch);
/* Writes down what the node admits. */
motemix_journal motemix_riot_journal(void);

#endif /* MOTEMIX_INTERNAL_H */
