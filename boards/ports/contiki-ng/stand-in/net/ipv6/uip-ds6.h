/* Stand-in for Contiki-NG's os/net/ipv6/uip-ds6.h. See README.md. */

#ifndef UIP_DS6_H_
#define UIP_DS6_H_

#include "net/ipv6/uip.h"

typedef struct {
  uip_ipaddr_t ipaddr;
} uip_ds6_addr_t;

uip_ds6_addr_t *uip_ds6_get_link_local(int8_t state);
uip_ds6_addr_t *uip_ds6_get_global(int8_t state);

#endif
