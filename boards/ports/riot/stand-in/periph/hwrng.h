/* Stand-in for RIOT's drivers/include/periph/hwrng.h. See README.md. */

#ifndef PERIPH_HWRNG_H
#define PERIPH_HWRNG_H

void hwrng_read(void *buf, unsigned int num);

#endif
