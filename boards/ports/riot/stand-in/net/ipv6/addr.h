/* Stand-in for RIOT's sys/include/net/ipv6/addr.h. See README.md. */

#ifndef NET_IPV6_ADDR_H
#define NET_IPV6_ADDR_H

#include <stdbool.h>
#include <stdint.h>

#define IPV6_ADDR_MAX_STR_LEN 46

typedef union {
    uint8_t u8[16];
} ipv6_addr_t;

static inline bool ipv6_addr_is_link_local(const ipv6_addr_t *addr)
{
    return addr->u8[0] == 0xfe && (addr->u8[1] & 0xc0) == 0x80;
}

char *ipv6_addr_to_str(char *result, const ipv6_addr_t *addr, uint8_t result_len);

#endif
