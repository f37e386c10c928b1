/*
 * What a program needs that uses the interface wrongly: it counts what came as expected and ends at
 * the first call that answers otherwise, and has generators, good and bad ones.
 */

#ifndef EXPECT_H
#define EXPECT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "motemix.h"

#define EXPECT(expected, call)                                                              \
    do {                                                                                    \
        motemix_status got = call;                                                          \
        if (got != MOTEMIX_STATUS_##expected) {                                             \
            fprintf(stderr, "%s:%d: %s: %s, not " #expected "\n", __FILE__, __LINE__, #call, \
                    motemix_status_text(got));                                              \
            exit(EXIT_FAILURE);                                                             \
        }                                                                                   \
        expectations++;                                                                     \
    } while (0)

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(EXIT_FAILURE);                                                     \
        }                                                                           \
        expectations++;                                                             \
    } while (0)

static unsigned expectations;

static int counting(void *context, uint8_t *out, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        out[at] = (uint8_t)++*(unsigned char *)context;
    }
    return 0;
}

static int failing(void *context, uint8_t *out, size_t count)
{
    (void)context;
    memset(out, 0x55, count);
    return -1;
}

static int stuck(void *context, uint8_t *out, size_t count)
{
    (void)context;
    memset(out, 0, count);
    return 0;
}

#endif
