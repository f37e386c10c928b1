/* Stand-in for RIOT's sys/include/ztimer.h. See README.md. */

#ifndef ZTIMER_H
#define ZTIMER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ztimer_clock ztimer_clock_t;
extern ztimer_clock_t *const ZTIMER_MSEC;

bool ztimer_acquire(ztimer_clock_t *clock);
uint32_t ztimer_now(ztimer_clock_t *clock);

#endif
