/* Stand-in for RIOT's cpu/cc2538/include/cc2538_rfcore.h: one register, whose uses the program sees.
 * See README.md. */

#ifndef CC2538_RFCORE_H
#define CC2538_RFCORE_H

#include <stdint.h>

typedef struct {
    volatile uint32_t XREG_RFRND;
} cc2538_rfcore_t;

cc2538_rfcore_t *stand_in_rfcore(void);

#define RFCORE stand_in_rfcore()

#endif
