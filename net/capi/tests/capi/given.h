/*
 * What a program that makes a node or a mote is given in files, and its limits.
 */

#ifndef GIVEN_H
#define GIVEN_H

#include "expect.h"

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

#endif
