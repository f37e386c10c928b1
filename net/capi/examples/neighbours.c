/*
 * Two neighbours that have never met make a key and exchange a message. Here both are in one
 * program; on boards each has its own, and datagrams lie between them.
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

/* A node with a new identity. On a board the private key is kept, and given again after a restart. */
static void make(motemix_diet *node, uint8_t *identity)
{
    const motemix_random random = { fill, NULL };
    uint8_t private_key[MOTEMIX_DIET_PRIVATE_KEY_LEN], public_key[MOTEMIX_DIET_COORDINATES_LEN];

    need(motemix_diet_new(node, &random));
    need(motemix_diet_generate_key_pair(node, private_key, public_key));
    need(motemix_diet_set_identity(node, private_key, identity));
}

static motemix_diet sensor, router;
static uint8_t of_sensor[MOTEMIX_DIET_IDENTITY_LEN], of_router[MOTEMIX_DIET_IDENTITY_LEN];

int main(void)
{
    motemix_diet_initiator initiator;
    motemix_diet_pending pending;
    motemix_diet_session to_router, to_sensor;
    uint8_t hello[MOTEMIX_DIET_HELLO_LEN], answer[MOTEMIX_DIET_ANSWER_LEN];
    uint8_t datagram[MOTEMIX_DIET_OVERHEAD + 12];
    const uint8_t *text;
    size_t len;

    make(&sensor, of_sensor);
    make(&router, of_router);
    /* A person or a list says who is who. */
    const motemix_diet_admission sensors = { of_sensor, 1, false }, routers = { of_router, 1, false };

    /* The sensor begins; the router answers; both have a session. */
    need(motemix_diet_hello(&sensor, &initiator, hello));
    need(motemix_diet_answer(&router, hello, sizeof(hello), &sensors, &pending, answer));
    need(motemix_diet_finish(&sensor, &initiator, answer, sizeof(answer), &routers, &to_router));

    /* The first message proves the sensor. */
    need(motemix_diet_seal_message(&sensor, &to_router, (const uint8_t *)"21.5 degrees", 12,
                                   datagram, sizeof(datagram), &len));
    need(motemix_diet_open_first(&router, &pending, datagram, len, &to_sensor, &text, &len));
    printf("%.*s\n", (int)len, (const char *)text);

    need(motemix_diet_end(&sensor));
    need(motemix_diet_end(&router));
    return EXIT_SUCCESS;
}
