/* Between the files of the module. */

#ifndef MOTEMIX_INTERNAL_H
#define MOTEMIX_INTERNAL_H

#include <stdint.h>

#include "motemix.h"

/* Random bytes from the hardware, for motemix_random. */
int motemix_riot_fill(void *context, uint8_t *out, size_t len);

/*
 * The replay tags of one epoch, in flash. Without the module mtd all of these do nothing and succeed, and
 * a restarted node takes for new what it saw before the restart.
 */

/* Gives the tags of `epoch` back to the node; makes room if the flash holds those of another epoch. */
int motemix_riot_tags_restore(motemix_node *node, uint32_t epoch);
/* Writes a tag down. Anything but 0: it is not written. */
int motemix_riot_tags_keep(const motemix_admitted *admitted);

#endif /* MOTEMIX_INTERNAL_H */
