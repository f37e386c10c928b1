/*
 * What a program needs that uses the interface wrongly: it counts what came as expected and ends at
 * the first call that answers otherwise, reads files, and has generators, good and bad ones.
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
static const motemix_limits limits = { MOTEMIX_MOTE };
/* A network document, and the key of its authority. */
static uint8_t bytes[8192], authority[32];
static size_t len;
/* For `counting`. */
static unsigned char counter;

static void read_file(const char *directory, const char *name, uint8_t *out, size_t most, size_t *got)
{
    char path[4096];
    CHECK(snprintf(path, sizeof(path), "%s/%s", directory, name) < (int)sizeof(path));
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    *got = fread(out, 1, most, file);
    fclose(file);
}

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
