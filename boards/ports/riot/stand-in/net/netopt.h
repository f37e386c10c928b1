/* Stand-in for RIOT's sys/include/net/netopt.h. See README.md. */

#ifndef NET_NETOPT_H
#define NET_NETOPT_H

typedef enum { NETOPT_IPV6_ADDR, NETOPT_RANDOM } netopt_t;

#endif
