/* What the mote needs of the platform. */

#ifndef MOTEMIX_ARCH_H_
#define MOTEMIX_ARCH_H_

#include "motemix-contiki.h"

/* Unpredictable bytes. 0 if they are. */
int motemix_arch_random(void *context, uint8_t *out, size_t len);

/* The flash of the mote. 0 if it can be used. */
int motemix_arch_flash(motemix_flash *flash);

#if MOTEMIX_READINGS_PAGES > 0
/* Lets a mote that was just opened sign readings. */
motemix_status motemix_let_sign(motemix_mote *mote);
#endif

#ifdef CONTIKI_TARGET_NATIVE
/* The extended address (EUI-64) of a mote on a PC: kept beside its flash, made when there is none.
 * 0 if it is there. */
int motemix_arch_address(uint8_t address[8]);
#endif

#endif /* MOTEMIX_ARCH_H_ */
