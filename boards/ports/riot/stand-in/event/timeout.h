/* Stand-in for RIOT's sys/include/event/timeout.h. See README.md. */

#ifndef EVENT_TIMEOUT_H
#define EVENT_TIMEOUT_H

#include <stdint.h>

#include "event.h"
#include "ztimer.h"

typedef struct event_timeout {
    event_queue_t *queue;
    event_t *event;
    uint64_t due_ms;
} event_timeout_t;

void event_timeout_ztimer_init(event_timeout_t *event_timeout, ztimer_clock_t *clock, event_queue_t *queue,
                               event_t *event);
void event_timeout_set(event_timeout_t *event_timeout, uint32_t timeout);
void event_timeout_clear(event_timeout_t *event_timeout);

#endif
