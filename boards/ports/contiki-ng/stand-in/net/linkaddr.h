/* Stand-in for Contiki-NG's os/net/linkaddr.h. See README.md. */

#ifndef LINKADDR_H_
#define LINKADDR_H_

#include <stdint.h>

typedef union {
  uint8_t u8[8];
} linkaddr_t;

extern linkaddr_t linkaddr_node_addr;

#endif
