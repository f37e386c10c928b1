/*
 * How much stack each call between two neighbours takes on a Cortex-M, see bare.h.
 *
 * Prints "CALL BYTES" for each call.
 */

#define CALLS 16
static const char *const names[CALLS] = {
    "motemix_diet_new",          "motemix_diet_generate_key_pair", "motemix_diet_shared_key",
    "motemix_diet_encrypt",      "motemix_diet_decrypt",           "motemix_diet_sign",
    "motemix_diet_verify",       "motemix_diet_set_identity",      "motemix_diet_hello",
    "motemix_diet_answer",       "motemix_diet_finish",            "motemix_diet_seal_message",
    "motemix_diet_open_first",   "motemix_diet_open_message",      "motemix_diet_peer",
    "motemix_diet_end",
};
enum { NEW, GENERATE, SHARED, ENCRYPT, DECRYPT, SIGN, VERIFY, IDENTITY, HELLO, ANSWER, FINISH, SEAL, FIRST, OPEN, PEER, END };

#include "bare.h"

static motemix_diet sensor, router;
static motemix_diet_initiator initiator;
static motemix_diet_pending pending;
static motemix_diet_session to_router, to_sensor;
static uint8_t hello[MOTEMIX_DIET_HELLO_LEN], answer[MOTEMIX_DIET_ANSWER_LEN];
static uint8_t private_key[2][32], public_key[2][64], key[16], signature[64], identity[33], datagram[128];
static const uint8_t message[] = "21.5 degrees";

static void functions(void)
{
    size_t len;

    need(CALL(GENERATE, motemix_diet_generate_key_pair(&sensor, private_key[0], public_key[0])));
    need(CALL(GENERATE, motemix_diet_generate_key_pair(&router, private_key[1], public_key[1])));
    need(CALL(SHARED, motemix_diet_shared_key(&sensor, private_key[0], public_key[1], key)));
    need(CALL(ENCRYPT, motemix_diet_encrypt(&sensor, key, message, 12, datagram, sizeof(datagram), &len)));
    need(CALL(DECRYPT, motemix_diet_decrypt(&sensor, key, datagram, len, &len)));
    need(CALL(SIGN, motemix_diet_sign(&sensor, private_key[0], message, 12, signature)));
    need(CALL(VERIFY, motemix_diet_verify(&sensor, public_key[0], message, 12, signature)));
}

int main(void)
{
    const motemix_random random = { fill, NULL };
    const motemix_diet_admission anybody = { NULL, 0, true };
    const uint8_t *text;
    size_t len;

    need(CALL(NEW, motemix_diet_new(&sensor, &random)));
    need(CALL(NEW, motemix_diet_new(&router, &random)));
    functions();
    need(CALL(IDENTITY, motemix_diet_set_identity(&sensor, private_key[0], identity)));
    need(CALL(IDENTITY, motemix_diet_set_identity(&router, private_key[1], identity)));
    need(CALL(HELLO, motemix_diet_hello(&sensor, &initiator, hello)));
    need(CALL(ANSWER, motemix_diet_answer(&router, hello, sizeof(hello), &anybody, &pending, answer)));
    need(CALL(FINISH, motemix_diet_finish(&sensor, &initiator, answer, sizeof(answer), &anybody, &to_router)));
    need(CALL(SEAL, motemix_diet_seal_message(&sensor, &to_router, message, 12, datagram, sizeof(datagram), &len)));
    need(CALL(FIRST, motemix_diet_open_first(&router, &pending, datagram, len, &to_sensor, &text, &len)));
    need(CALL(SEAL, motemix_diet_seal_message(&router, &to_sensor, NULL, 0, datagram, sizeof(datagram), &len)));
    need(CALL(OPEN, motemix_diet_open_message(&sensor, &to_router, datagram, len, &text, &len)));
    need(CALL(PEER, motemix_diet_peer(&to_router, identity)));
    need(CALL(END, motemix_diet_end(&sensor)));
    print_deepest();
    return 0;
}
