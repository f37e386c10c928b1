/*
 * A device signs a reading, and somebody who has its identity believes it. Here both are in one
 * program; between them may lie whoever hands the bytes on.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "motemix.h"

static void need(motemix_status status)
{
    if (status != MOTEMIX_STATUS_OK) {
        fprintf(stderr, "%s\n", motemix_status_text(status));
        exit(EXIT_FAILURE);
    }
}

/* Of a PC; a board takes its hardware's generator. */
static int fill(void *context, uint8_t *out, size_t len)
{
    FILE *source = fopen("/dev/urandom", "rb");
    size_t got = source != NULL ? fread(out, 1, len, source) : 0;

    (void)context;
    if (source != NULL) {
        fclose(source);
    }
    return got == len ? 0 : -1;
}

int main(void)
{
    const motemix_random random = { fill, NULL };
    const motemix_record record = { "temperature", "Cel", 215, 1764000000, 1 };
    uint8_t seed[MOTEMIX_IDENTITY_SEED_LEN], identity[MOTEMIX_IDENTITY_LEN];
    uint8_t introduction[MOTEMIX_INTRODUCTION_LEN], reading[MOTEMIX_DATA_LEN + 16];
    motemix_device device;
    const uint8_t *senml;
    uint64_t number;
    size_t len, senml_len;

    /* Once: the seed is kept, and the identity goes onto the device's label. */
    need(motemix_identity_make(&random, seed));
    need(motemix_identity(seed, identity, introduction));

    /* Whoever believes it has read the label, and got the introduction from anywhere. */
    need(motemix_device_new(&device, introduction, sizeof(introduction), 0));
    if (memcmp(device.identity, identity, sizeof(identity)) != 0) {
        fprintf(stderr, "the introduction is of another device\n");
        return EXIT_FAILURE;
    }

    /* A number is used once, and is in flash as used before this call. */
    need(motemix_reading_sign(seed, 0, MOTEMIX_READING_PATH_ANONYMOUS, "garden", &record,
                              reading, sizeof(reading), &len));
    printf("a reading of %u bytes\n", (unsigned)len);

    need(motemix_reading_verify(&device, "garden", reading, len, &number, &senml, &senml_len));
    printf("believed: number %u, SenML ", (unsigned)number);
    for (size_t at = 0; at < senml_len; at++) {
        printf("%02x", senml[at]);
    }
    printf("\n");

    /* A second time it is not. */
    printf("%s\n", motemix_status_text(
        motemix_reading_verify(&device, "garden", reading, len, &number, &senml, &senml_len)));
    return EXIT_SUCCESS;
}
