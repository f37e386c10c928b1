/* Stand-in for RIOT's sys/include/net/sock/udp.h. See README.md. */

#ifndef NET_SOCK_UDP_H
#define NET_SOCK_UDP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "net/af.h"
#include "net/sock/async/event.h"

#define SOCK_ADDR_ANY_NETIF 0
#define SOCK_IPV6_EP_ANY { .family = AF_INET6, .netif = SOCK_ADDR_ANY_NETIF }

typedef struct {
    int family;
    union {
        uint8_t ipv6[16];
        uint8_t ipv4[4];
        uint32_t ipv4_u32;
    } addr;
    uint16_t netif;
    uint16_t port;
} sock_udp_ep_t;

int sock_udp_create(sock_udp_t *sock, const sock_udp_ep_t *local, const sock_udp_ep_t *remote, uint16_t flags);
ssize_t sock_udp_recv_buf(sock_udp_t *sock, void **data, void **buf_ctx, uint32_t timeout,
                          sock_udp_ep_t *remote);
ssize_t sock_udp_send(sock_udp_t *sock, const void *data, size_t len, const sock_udp_ep_t *remote);

struct sock_udp {
    int fd;
    sock_udp_cb_t handler;
    void *arg;
    event_t event;
};

#endif
