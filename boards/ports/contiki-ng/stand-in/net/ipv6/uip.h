/* Stand-in for Contiki-NG's os/net/ipv6/uip.h. See README.md. */

#ifndef UIP_H_
#define UIP_H_

#include <stdint.h>

typedef union {
  uint8_t u8[16];
  uint16_t u16[8];
} uip_ipaddr_t;

#define uip_is_addr_mcast(a) ((a)->u8[0] == 0xff)
#define uip_create_linklocal_allnodes_mcast(a) \
  (*(a) = (uip_ipaddr_t){ .u8 = { 0xff, 2, [15] = 1 } })

#endif
