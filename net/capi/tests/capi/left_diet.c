/*
 * What the calls of two neighbours leave of their private keys and of the key that they share on the
 * stack.
 */

#define _POSIX_C_SOURCE 200809L

#include "own_stack.h"

#define PART 8u
#define SECRETS 3u

static motemix_diet sensor, router;
static motemix_diet_initiator initiator;
static motemix_diet_pending pending;
static motemix_diet_session to_router, to_sensor;
static uint8_t hello[MOTEMIX_DIET_HELLO_LEN], answer[MOTEMIX_DIET_ANSWER_LEN];
static uint8_t public_keys[2][64], identity[33], signature[64], datagram[128], shared[2][16];
static const uint8_t *text;
static size_t size;
static unsigned char counters[2] = { 1, 99 };
static unsigned found, searches;

/* The private keys of both, and the key that they share, twice in a row. */
static uint8_t secrets[SECRETS][32];

static bool is_part(const uint8_t *at, const uint8_t *secret)
{
    bool same = true, reversed = true;
    for (unsigned byte = 0; byte < PART; byte++) {
        same = same && at[byte] == secret[byte];
        reversed = reversed && at[byte] == secret[PART - 1 - byte];
    }
    return same || reversed;
}

static void search(const char *name)
{
    memcpy(secrets[2], shared[0], 16);
    memcpy(secrets[2] + 16, shared[0], 16);
    for (unsigned part = 0; part < SECRETS * 32; part += PART) {
        const uint8_t *secret = secrets[part / 32] + part % 32;
        /* Not made yet. */
        for (size_t at = 0; at + PART <= sizeof(stack) && (secret[0] | secret[1] | secret[2]) != 0; at++) {
            if (is_part(stack + at, secret)) {
                printf("%s leaves byte %u of secret %u, %u bytes deep\n", name, part % 32, part / 32,
                       (unsigned)(sizeof(stack) - at));
                found++;
                break;
            }
        }
    }
    searches++;
}

static motemix_status generate_sensors(void)
{
    return motemix_diet_generate_key_pair(&sensor, secrets[0], public_keys[0]);
}

static motemix_status generate_routers(void)
{
    return motemix_diet_generate_key_pair(&router, secrets[1], public_keys[1]);
}

static motemix_status agree(void)
{
    return motemix_diet_shared_key(&sensor, secrets[0], public_keys[1], shared[0]);
}

static motemix_status encrypt(void)
{
    return motemix_diet_encrypt(&sensor, shared[0], identity, 20, datagram, sizeof(datagram), &size);
}

static motemix_status decrypt(void)
{
    return motemix_diet_decrypt(&sensor, shared[0], datagram, size, &size);
}

static motemix_status sign(void)
{
    return motemix_diet_sign(&sensor, secrets[0], identity, 20, signature);
}

static motemix_status verify(void)
{
    return motemix_diet_verify(&router, public_keys[0], identity, 20, signature);
}

static motemix_status identify_sensor(void)
{
    return motemix_diet_set_identity(&sensor, secrets[0], identity);
}

static motemix_status identify_router(void)
{
    return motemix_diet_set_identity(&router, secrets[1], identity);
}

static const motemix_diet_admission anybody = { NULL, 0, true };

static motemix_status say_hello(void)
{
    return motemix_diet_hello(&sensor, &initiator, hello);
}

static motemix_status answer_hello(void)
{
    return motemix_diet_answer(&router, hello, sizeof(hello), &anybody, &pending, answer);
}

static motemix_status finish(void)
{
    return motemix_diet_finish(&sensor, &initiator, answer, sizeof(answer), &anybody, &to_router);
}

static motemix_status seal(void)
{
    return motemix_diet_seal_message(&sensor, &to_router, identity, 20, datagram, sizeof(datagram), &size);
}

static motemix_status open_first(void)
{
    return motemix_diet_open_first(&router, &pending, datagram, size, &to_sensor, &text, &size);
}

static motemix_status open_message(void)
{
    return motemix_diet_open_message(&router, &to_sensor, datagram, size, &text, &size);
}

static motemix_status end_sensor(void)
{
    return motemix_diet_end(&sensor);
}

/* A call that leaves a key, so that a search that finds nothing says something. */
static motemix_status leave_a_key(void)
{
    volatile uint8_t copy[64];
    for (unsigned at = 0; at < 32; at++) {
        copy[at] = secrets[0][at];
    }
    return copy[0] == secrets[0][0] ? MOTEMIX_STATUS_OK : MOTEMIX_STATUS_REFUSED;
}

int main(void)
{
    const motemix_random random[2] = { { counting, &counters[0] }, { counting, &counters[1] } };

    EXPECT(OK, motemix_diet_new(&sensor, &random[0]));
    EXPECT(OK, motemix_diet_new(&router, &random[1]));
    on_own_stack("generate", generate_sensors);
    on_own_stack("generate", generate_routers);
    on_own_stack("shared key", agree);
    on_own_stack("encrypt", encrypt);
    on_own_stack("decrypt", decrypt);
    on_own_stack("sign", sign);
    on_own_stack("verify", verify);
    on_own_stack("set identity", identify_sensor);
    on_own_stack("set identity", identify_router);
    on_own_stack("hello", say_hello);
    on_own_stack("answer", answer_hello);
    on_own_stack("finish", finish);
    on_own_stack("seal", seal);
    on_own_stack("open the first", open_first);
    on_own_stack("seal", seal);
    on_own_stack("open", open_message);
    on_own_stack("end", end_sensor);
    printf("%u parts left by %u calls\n", found, searches);
    on_own_stack("a call that leaves a key", leave_a_key);
    CHECK(found > 0);
    return EXIT_SUCCESS;
}
