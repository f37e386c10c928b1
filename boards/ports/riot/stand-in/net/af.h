/* Stand-in for RIOT's sys/include/net/af.h. See README.md. */

#ifndef NET_AF_H
#define NET_AF_H

#if defined(__linux__)
#include <sys/socket.h>
#else
#define AF_UNSPEC 0
#define AF_INET6 10
#endif

#endif
