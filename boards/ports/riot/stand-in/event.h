/* Stand-in for RIOT's sys/include/event.h: what the port uses of it. See README.md. */

#ifndef EVENT_H
#define EVENT_H

#include <stddef.h>

#include "container.h"

typedef struct event event_t;
typedef void (*event_handler_t)(event_t *);

struct event {
    event_t *next;
    event_handler_t handler;
};

typedef struct {
    event_t *first;
    struct sock_udp *sock;
    struct event_timeout *timeout;
    int wake[2];
} event_queue_t;

void event_queue_init_detached(event_queue_t *queue);
void event_queue_claim(event_queue_t *queue);
void event_post(event_queue_t *queue, event_t *event);
event_t *event_get(event_queue_t *queue);
event_t *event_wait(event_queue_t *queue);

#endif
