/* Stand-in for RIOT's core/lib/include/container.h. See README.md. */

#ifndef CONTAINER_H
#define CONTAINER_H

#include <stddef.h>

#define container_of(pointer, type, member) \
    ((type *)(void *)((char *)(pointer) - offsetof(type, member)))

#endif
