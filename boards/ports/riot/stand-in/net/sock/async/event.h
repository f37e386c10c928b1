/* Stand-in for RIOT's sys/include/net/sock/async/event.h. See README.md. */

#ifndef NET_SOCK_ASYNC_EVENT_H
#define NET_SOCK_ASYNC_EVENT_H

#include "event.h"


typedef struct sock_udp sock_udp_t;
typedef enum { SOCK_ASYNC_MSG_RECV = 0x0010 } sock_async_flags_t;
typedef void (*sock_udp_cb_t)(sock_udp_t *sock, sock_async_flags_t type, void *arg);

void sock_udp_event_init(sock_udp_t *sock, event_queue_t *ev_queue, sock_udp_cb_t handler, void *handler_arg);

#endif
