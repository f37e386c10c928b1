/* Stand-in for Contiki-NG's os/net/ipv6/uiplib.h. See README.md. */

#ifndef UIPLIB_H_
#define UIPLIB_H_

#include <stddef.h>

#include "net/ipv6/uip.h"

#define UIPLIB_IPV6_MAX_STR_LEN 40

/* 0 if the text is no address. */
int uiplib_ip6addrconv(const char *addrstr, uip_ipaddr_t *addr);
#define uiplib_ipaddrconv uiplib_ip6addrconv

int uiplib_ipaddr_snprint(char *buffer, size_t size, const uip_ipaddr_t *addr);

#endif
