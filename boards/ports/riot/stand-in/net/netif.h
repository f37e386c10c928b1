/* Stand-in for RIOT's sys/include/net/netif.h. See README.md. */

#ifndef NET_NETIF_H
#define NET_NETIF_H

#include <stddef.h>
#include <stdint.h>

#include "net/netopt.h"

typedef struct netif netif_t;

netif_t *netif_iter(const netif_t *last);
int16_t netif_get_id(const netif_t *netif);
int netif_get_opt(netif_t *netif, netopt_t opt, uint16_t context, void *value, size_t max_len);

/* The interface that netif_iter finds. Neighbours are on 6 alone. */
extern int16_t stand_in_interface;

/* As after a failed assertion: the interface's thread has ended, and whoever asks it waits for ever. */
extern int stand_in_radio_is_dead;

#endif
