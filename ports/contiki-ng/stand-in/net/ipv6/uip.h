/* Stand-in for Contiki-NG's os/net/ipv6/uip.h. See README.md. */

#ifndef UIP_H_
#define UIP_H_

#include <stdint.h>

typedef union {
  uint8_t u8[16];
  uint16_t u16[8];
} uip_ipaddr_t;

#endif
