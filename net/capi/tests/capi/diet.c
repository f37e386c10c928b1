/*
 * Two neighbours that have never met, and a program that uses their calls wrongly in every way that
 * can be found out.
 */

#include "expect.h"

static motemix_diet sensor, router;
static uint8_t private_key[MOTEMIX_DIET_PRIVATE_KEY_LEN], public_key[MOTEMIX_DIET_COORDINATES_LEN];
static uint8_t sensor_identity[MOTEMIX_DIET_IDENTITY_LEN], router_identity[MOTEMIX_DIET_IDENTITY_LEN];

/* A generator that begins elsewhere for each node, and calls the node that it was called for. */
static motemix_diet *reentered;
static unsigned char sensor_counter = 1, router_counter = 77;

static int reentering(void *context, uint8_t *out, size_t count)
{
    if (reentered != NULL) {
        uint8_t key[64];
        EXPECT(BUSY, motemix_diet_generate_key_pair(reentered, key, key));
        EXPECT(BUSY, motemix_diet_end(reentered));
    }
    return counting(context, out, count);
}

static const motemix_random of_sensor = { reentering, &sensor_counter };
static const motemix_random of_router = { reentering, &router_counter };

/* Nothing works before randomness was set. */
static void without_randomness(void)
{
    static motemix_diet none;
    motemix_random no_callback = { NULL, NULL }, broken = { failing, NULL }, zeros = { stuck, NULL };
    motemix_diet_initiator initiator;
    motemix_diet_pending pending;
    motemix_diet_session session;
    motemix_diet_admission anybody = { NULL, 0, true };
    uint8_t some[192] = { 1 };
    const uint8_t *text;
    size_t size;

    memset(&session, 0, sizeof(session));
    memset(&initiator, 0, sizeof(initiator));
    memset(&pending, 0, sizeof(pending));
    for (int round = 0; round < 4; round++) {
        EXPECT(NOT_A_DIET, motemix_diet_generate_key_pair(&none, private_key, public_key));
        EXPECT(NOT_A_DIET, motemix_diet_shared_key(&none, some, some, some));
        EXPECT(NOT_A_DIET, motemix_diet_encrypt(&none, some, some, 1, some + 16, 16, &size));
        EXPECT(NOT_A_DIET, motemix_diet_decrypt(&none, some, some, 16, &size));
        EXPECT(NOT_A_DIET, motemix_diet_sign(&none, some, some, 1, some));
        EXPECT(NOT_A_DIET, motemix_diet_verify(&none, some, some, 1, some));
        EXPECT(NOT_A_DIET, motemix_diet_set_identity(&none, some, some));
        EXPECT(NOT_A_DIET, motemix_diet_hello(&none, &initiator, some));
        EXPECT(NOT_A_DIET, motemix_diet_answer(&none, some, 75, &anybody, &pending, some));
        EXPECT(NOT_A_DIET, motemix_diet_finish(&none, &initiator, some, 139, &anybody, &session));
        EXPECT(NOT_A_DIET, motemix_diet_open_first(&none, &pending, some, 81, &session, &text, &size));
        EXPECT(NOT_A_DIET, motemix_diet_seal_message(&none, &session, some, 1, some + 1, 82, &size));
        EXPECT(NOT_A_DIET, motemix_diet_open_message(&none, &session, some, 81, &text, &size));
        EXPECT(NOT_A_DIET, motemix_diet_end(&none));
        /* A source that cannot be used sets nothing. */
        switch (round) {
        case 0: EXPECT(NULL, motemix_diet_new(&none, &no_callback)); break;
        case 1: EXPECT(RANDOM_FAILED, motemix_diet_new(&none, &broken)); break;
        case 2: EXPECT(RANDOM_FAILED, motemix_diet_new(&none, &zeros)); break;
        default: break;
        }
    }
    EXPECT(NULL, motemix_diet_new(NULL, &of_sensor));
    EXPECT(NULL, motemix_diet_new(&none, NULL));
    EXPECT(MISALIGNED, motemix_diet_new((motemix_diet *)(void *)((char *)&none + 1), &of_sensor));
    EXPECT(NULL, motemix_diet_end(NULL));
    CHECK(strstr(motemix_status_text(MOTEMIX_STATUS_NOT_A_DIET), "randomness is not set") != NULL);

    EXPECT(OK, motemix_diet_new(&none, &of_sensor));
    EXPECT(NO_IDENTITY, motemix_diet_hello(&none, &initiator, some));
    EXPECT(NO_IDENTITY, motemix_diet_answer(&none, some, 75, &anybody, &pending, some));
    EXPECT(OK, motemix_diet_end(&none));
    EXPECT(NOT_A_DIET, motemix_diet_sign(&none, some, some, 1, some));
    for (size_t word = 0; word < MOTEMIX_DIET_WORDS; word++) {
        CHECK(none.opaque[word] == 0);
    }
}

/* The six functions, by the names of the paper. */
static void functions(void)
{
    uint8_t others_private[32], others_public[64], key[16], same_key[16], signature[64], ciphertext[32];
    uint8_t zero[64] = { 0 };
    static const uint8_t message[] = "a reading of 21";
    uint8_t long_message[16] = "a reading of 21.";
    size_t size = 0;

    /* ECC_GenKeyPair */
    EXPECT(NULL, motemix_diet_generate_key_pair(NULL, private_key, public_key));
    EXPECT(NULL, motemix_diet_generate_key_pair(&sensor, NULL, public_key));
    EXPECT(NULL, motemix_diet_generate_key_pair(&sensor, private_key, NULL));
    EXPECT(OK, motemix_diet_generate_key_pair(&sensor, private_key, public_key));
    EXPECT(OK, motemix_diet_generate_key_pair(&router, others_private, others_public));
    CHECK(memcmp(private_key, others_private, 32) != 0);

    /* ECDH_GenSharedKey */
    EXPECT(NULL, motemix_diet_shared_key(&sensor, NULL, others_public, key));
    EXPECT(NULL, motemix_diet_shared_key(&sensor, private_key, NULL, key));
    EXPECT(NULL, motemix_diet_shared_key(&sensor, private_key, others_public, NULL));
    EXPECT(BAD_PRIVATE_KEY, motemix_diet_shared_key(&sensor, zero, others_public, key));
    EXPECT(BAD_PUBLIC_KEY, motemix_diet_shared_key(&sensor, private_key, zero, key));
    EXPECT(OK, motemix_diet_shared_key(&sensor, private_key, others_public, key));
    EXPECT(OK, motemix_diet_shared_key(&router, others_private, public_key, same_key));
    CHECK(memcmp(key, same_key, sizeof(key)) == 0);
    others_public[63] ^= 1;
    EXPECT(BAD_PUBLIC_KEY, motemix_diet_shared_key(&sensor, private_key, others_public, key));
    others_public[63] ^= 1;

    /* AES_Encrypt and AES_Decrypt */
    EXPECT(NULL, motemix_diet_encrypt(&sensor, NULL, message, 15, ciphertext, 16, &size));
    EXPECT(NULL, motemix_diet_encrypt(&sensor, key, NULL, 15, ciphertext, 16, &size));
    EXPECT(NULL, motemix_diet_encrypt(&sensor, key, message, 15, NULL, 16, &size));
    EXPECT(NULL, motemix_diet_encrypt(&sensor, key, message, 15, ciphertext, 16, NULL));
    EXPECT(BUFFER_TOO_SMALL, motemix_diet_encrypt(&sensor, key, message, 15, ciphertext, 15, &size));
    EXPECT(BUFFER_TOO_SMALL, motemix_diet_encrypt(&sensor, key, long_message, 16, ciphertext, 31, &size));
    EXPECT(BUFFER_TOO_SMALL, motemix_diet_encrypt(&sensor, key, NULL, 0, NULL, 0, &size));
    EXPECT(TOO_LONG, motemix_diet_encrypt(&sensor, key, message, SIZE_MAX, ciphertext, 16, &size));
    EXPECT(OK, motemix_diet_encrypt(&sensor, key, long_message, 16, ciphertext, 32, &size));
    CHECK(size == 32);
    EXPECT(OK, motemix_diet_encrypt(&sensor, key, message, 15, ciphertext, 32, &size));
    CHECK(size == 16);
    EXPECT(NULL, motemix_diet_decrypt(&router, NULL, ciphertext, 16, &size));
    EXPECT(NULL, motemix_diet_decrypt(&router, same_key, NULL, 16, &size));
    EXPECT(NULL, motemix_diet_decrypt(&router, same_key, ciphertext, 16, NULL));
    EXPECT(BAD_LENGTH, motemix_diet_decrypt(&router, same_key, ciphertext, 15, &size));
    EXPECT(BAD_LENGTH, motemix_diet_decrypt(&router, same_key, NULL, 0, &size));
    EXPECT(OK, motemix_diet_decrypt(&router, same_key, ciphertext, 16, &size));
    CHECK(size == 15 && memcmp(ciphertext, message, 15) == 0);
    EXPECT(OK, motemix_diet_encrypt(&sensor, key, message, 15, ciphertext, 16, &size));
    ciphertext[15] ^= 1;
    EXPECT(BAD_CIPHERTEXT, motemix_diet_decrypt(&router, same_key, ciphertext, 16, &size));
    EXPECT(OK, motemix_diet_encrypt(&sensor, key, message, 15, ciphertext, 16, &size));
    same_key[0] ^= 1;
    EXPECT(BAD_CIPHERTEXT, motemix_diet_decrypt(&router, same_key, ciphertext, 16, &size));

    /* ECDSA_sign and ECDSA_verify */
    EXPECT(NULL, motemix_diet_sign(&sensor, NULL, message, 15, signature));
    EXPECT(NULL, motemix_diet_sign(&sensor, private_key, NULL, 15, signature));
    EXPECT(NULL, motemix_diet_sign(&sensor, private_key, message, 15, NULL));
    EXPECT(BAD_PRIVATE_KEY, motemix_diet_sign(&sensor, zero, message, 15, signature));
    EXPECT(OK, motemix_diet_sign(&sensor, private_key, message, 15, signature));
    EXPECT(NULL, motemix_diet_verify(&router, NULL, message, 15, signature));
    EXPECT(NULL, motemix_diet_verify(&router, public_key, NULL, 15, signature));
    EXPECT(NULL, motemix_diet_verify(&router, public_key, message, 15, NULL));
    EXPECT(BAD_PUBLIC_KEY, motemix_diet_verify(&router, zero, message, 15, signature));
    EXPECT(OK, motemix_diet_verify(&router, public_key, message, 15, signature));
    EXPECT(BAD_SIGNATURE, motemix_diet_verify(&router, public_key, message, 14, signature));
    EXPECT(BAD_SIGNATURE, motemix_diet_verify(&router, others_public, message, 15, signature));
    EXPECT(BAD_SIGNATURE, motemix_diet_verify(&router, public_key, message, 15, zero));
    for (size_t at = 0; at < sizeof(signature); at += 9) {
        signature[at] ^= 4;
        EXPECT(BAD_SIGNATURE, motemix_diet_verify(&router, public_key, message, 15, signature));
        signature[at] ^= 4;
    }
}

static void identities(void)
{
    uint8_t zero[32] = { 0 };

    EXPECT(NULL, motemix_diet_set_identity(&sensor, NULL, sensor_identity));
    EXPECT(NULL, motemix_diet_set_identity(&sensor, private_key, NULL));
    EXPECT(BAD_PRIVATE_KEY, motemix_diet_set_identity(&sensor, zero, sensor_identity));
    EXPECT(OK, motemix_diet_generate_key_pair(&sensor, private_key, public_key));
    EXPECT(OK, motemix_diet_set_identity(&sensor, private_key, sensor_identity));
    /* The same point, compressed. */
    CHECK(sensor_identity[0] == (public_key[63] & 1) + 2 && memcmp(sensor_identity + 1, public_key, 32) == 0);
    EXPECT(OK, motemix_diet_generate_key_pair(&router, private_key, public_key));
    EXPECT(OK, motemix_diet_set_identity(&router, private_key, router_identity));
}

static void handshake(void)
{
    motemix_diet_admission sensors = { sensor_identity, 1, false }, routers = { router_identity, 1, false };
    motemix_diet_admission nobody = { NULL, 0, false }, null = { NULL, 1, false };
    motemix_diet_admission huge = { router_identity, SIZE_MAX / 2, false };
    motemix_diet_initiator initiator;
    motemix_diet_pending pending;
    motemix_diet_session to_router, to_sensor;
    uint8_t hello[MOTEMIX_DIET_HELLO_LEN], answer[MOTEMIX_DIET_ANSWER_LEN], identity[33];
    uint8_t datagram[MOTEMIX_DIET_OVERHEAD + 12], second[sizeof(datagram)], copy[sizeof(datagram)];
    static const uint8_t reading[12] = "21.5 degrees";
    const uint8_t *text = NULL;
    size_t size = 0;

    memset(&initiator, 0, sizeof(initiator));
    memset(&pending, 0, sizeof(pending));
    memset(&to_router, 0, sizeof(to_router));
    memset(&to_sensor, 0, sizeof(to_sensor));

    /* Hello. */
    EXPECT(NULL, motemix_diet_hello(&sensor, NULL, hello));
    EXPECT(NULL, motemix_diet_hello(&sensor, &initiator, NULL));
    EXPECT(MISALIGNED, motemix_diet_hello(&sensor, (void *)((char *)&initiator + 4), hello));
    EXPECT(NOT_A_HANDSHAKE, motemix_diet_finish(&sensor, &initiator, answer, 139, &routers, &to_router));
    EXPECT(OK, motemix_diet_hello(&sensor, &initiator, hello));

    /* Answer. */
    EXPECT(NULL, motemix_diet_answer(&router, NULL, 75, &sensors, &pending, answer));
    EXPECT(NULL, motemix_diet_answer(&router, hello, 75, NULL, &pending, answer));
    EXPECT(NULL, motemix_diet_answer(&router, hello, 75, &null, &pending, answer));
    EXPECT(NULL, motemix_diet_answer(&router, hello, 75, &sensors, NULL, answer));
    EXPECT(NULL, motemix_diet_answer(&router, hello, 75, &sensors, &pending, NULL));
    EXPECT(TOO_LONG, motemix_diet_answer(&router, hello, 75, &huge, &pending, answer));
    EXPECT(BAD_LENGTH, motemix_diet_answer(&router, hello, 74, &sensors, &pending, answer));
    EXPECT(STRANGER, motemix_diet_answer(&router, hello, 75, &nobody, &pending, answer));
    EXPECT(STRANGER, motemix_diet_answer(&router, hello, 75, &routers, &pending, answer));
    hello[0] = 2;
    EXPECT(OTHER_KIND, motemix_diet_answer(&router, hello, 75, &sensors, &pending, answer));
    hello[0] = 1;
    hello[9] = 7;
    EXPECT(BAD_PUBLIC_KEY, motemix_diet_answer(&router, hello, 75, &sensors, &pending, answer));
    EXPECT(OK, motemix_diet_hello(&sensor, &initiator, hello));
    EXPECT(NOT_A_HANDSHAKE,
           motemix_diet_open_first(&router, &pending, datagram, sizeof(datagram), &to_sensor, &text, &size));
    EXPECT(OK, motemix_diet_answer(&router, hello, 75, &sensors, &pending, answer));

    /* The end of it. Wrong answers change nothing. */
    EXPECT(NULL, motemix_diet_finish(&sensor, NULL, answer, 139, &routers, &to_router));
    EXPECT(NULL, motemix_diet_finish(&sensor, &initiator, NULL, 139, &routers, &to_router));
    EXPECT(NULL, motemix_diet_finish(&sensor, &initiator, answer, 139, NULL, &to_router));
    EXPECT(NULL, motemix_diet_finish(&sensor, &initiator, answer, 139, &routers, NULL));
    EXPECT(BAD_LENGTH, motemix_diet_finish(&sensor, &initiator, answer, 138, &routers, &to_router));
    EXPECT(STRANGER, motemix_diet_finish(&sensor, &initiator, answer, 139, &sensors, &to_router));
    EXPECT(BAD_LENGTH, motemix_diet_finish(&sensor, &initiator, hello, 75, &routers, &to_router));
    answer[0] = 1;
    EXPECT(OTHER_KIND, motemix_diet_finish(&sensor, &initiator, answer, 139, &routers, &to_router));
    answer[0] = 2;
    answer[3] ^= 1;
    EXPECT(BAD_SIGNATURE, motemix_diet_finish(&sensor, &initiator, answer, 139, &routers, &to_router));
    answer[3] ^= 1;
    answer[138] ^= 1;
    EXPECT(BAD_SIGNATURE, motemix_diet_finish(&sensor, &initiator, answer, 139, &routers, &to_router));
    answer[138] ^= 1;
    EXPECT(NOT_A_SESSION,
           motemix_diet_seal_message(&sensor, &to_router, reading, 12, datagram, sizeof(datagram), &size));
    EXPECT(NOT_A_SESSION, motemix_diet_open_message(&sensor, &to_router, datagram, 93, &text, &size));
    EXPECT(NOT_A_SESSION, motemix_diet_peer(&to_router, identity));
    EXPECT(OK, motemix_diet_finish(&sensor, &initiator, answer, 139, &routers, &to_router));
    EXPECT(NOT_A_HANDSHAKE, motemix_diet_finish(&sensor, &initiator, answer, 139, &routers, &to_router));
    EXPECT(OK, motemix_diet_peer(&to_router, identity));
    CHECK(memcmp(identity, router_identity, 33) == 0);
    EXPECT(NULL, motemix_diet_peer(&to_router, NULL));
    EXPECT(NULL, motemix_diet_peer(NULL, identity));

    /* Messages. */
    EXPECT(NULL, motemix_diet_seal_message(&sensor, NULL, reading, 12, datagram, 93, &size));
    EXPECT(NULL, motemix_diet_seal_message(&sensor, &to_router, NULL, 12, datagram, 93, &size));
    EXPECT(NULL, motemix_diet_seal_message(&sensor, &to_router, reading, 12, NULL, 93, &size));
    EXPECT(NULL, motemix_diet_seal_message(&sensor, &to_router, reading, 12, datagram, 93, NULL));
    EXPECT(BUFFER_TOO_SMALL, motemix_diet_seal_message(&sensor, &to_router, reading, 12, datagram, 92, &size));
    EXPECT(TOO_LONG, motemix_diet_seal_message(&sensor, &to_router, reading, 65536, datagram, 93, &size));
    EXPECT(OK, motemix_diet_seal_message(&sensor, &to_router, reading, 12, datagram, 93, &size));
    CHECK(size == 93);
    EXPECT(OK, motemix_diet_seal_message(&sensor, &to_router, reading, 12, second, 93, &size));
    CHECK(memcmp(datagram + 9, second + 9, 12) != 0);

    /* Every part of a message counts, and a wrong first one leaves the handshake as it was. */
    for (size_t at = 0; at < sizeof(datagram); at++) {
        motemix_status wrong = at == 0                     ? MOTEMIX_STATUS_OTHER_KIND
                               : at < sizeof(datagram) - 64 ? MOTEMIX_STATUS_BAD_CIPHERTEXT
                                                            : MOTEMIX_STATUS_BAD_SIGNATURE;
        memcpy(copy, datagram, sizeof(copy));
        copy[at] ^= 1;
        CHECK(motemix_diet_open_first(&router, &pending, copy, 93, &to_sensor, &text, &size) == wrong);
    }
    EXPECT(NULL, motemix_diet_open_first(&router, NULL, copy, 93, &to_sensor, &text, &size));
    EXPECT(NULL, motemix_diet_open_first(&router, &pending, NULL, 93, &to_sensor, &text, &size));
    EXPECT(NULL, motemix_diet_open_first(&router, &pending, copy, 93, NULL, &text, &size));
    EXPECT(NULL, motemix_diet_open_first(&router, &pending, copy, 93, &to_sensor, NULL, &size));
    EXPECT(NULL, motemix_diet_open_first(&router, &pending, copy, 93, &to_sensor, &text, NULL));
    EXPECT(BAD_LENGTH, motemix_diet_open_first(&router, &pending, copy, 80, &to_sensor, &text, &size));
    EXPECT(NOT_A_SESSION, motemix_diet_open_message(&router, &to_sensor, copy, 93, &text, &size));
    memcpy(copy, datagram, sizeof(copy));
    EXPECT(OK, motemix_diet_open_first(&router, &pending, copy, 93, &to_sensor, &text, &size));
    CHECK(size == 12 && text == copy + 9 && memcmp(text, reading, 12) == 0);
    EXPECT(NOT_A_HANDSHAKE, motemix_diet_open_first(&router, &pending, copy, 93, &to_sensor, &text, &size));
    EXPECT(OK, motemix_diet_peer(&to_sensor, identity));
    CHECK(memcmp(identity, sensor_identity, 33) == 0);

    /* Once each. Whoever lost the receipt says the same bytes. */
    EXPECT(REPEATED, motemix_diet_open_message(&router, &to_sensor, datagram, 93, &text, &size));
    datagram[92] ^= 1;
    EXPECT(REPLAYED, motemix_diet_open_message(&router, &to_sensor, datagram, 93, &text, &size));
    datagram[92] ^= 1;
    EXPECT(NULL, motemix_diet_open_message(&router, NULL, second, 93, &text, &size));
    EXPECT(NULL, motemix_diet_open_message(&router, &to_sensor, NULL, 93, &text, &size));
    EXPECT(NULL, motemix_diet_open_message(&router, &to_sensor, second, 93, NULL, &size));
    EXPECT(NULL, motemix_diet_open_message(&router, &to_sensor, second, 93, &text, NULL));
    EXPECT(BAD_LENGTH, motemix_diet_open_message(&router, &to_sensor, second, 12, &text, &size));
    /* Its own messages are not its peer's. */
    memcpy(copy, second, sizeof(copy));
    EXPECT(BAD_CIPHERTEXT, motemix_diet_open_message(&sensor, &to_router, copy, 93, &text, &size));
    EXPECT(OK, motemix_diet_open_message(&router, &to_sensor, second, 93, &text, &size));

    /* A receipt is a message without text. */
    EXPECT(OK, motemix_diet_seal_message(&router, &to_sensor, NULL, 0, datagram, 81, &size));
    CHECK(size == MOTEMIX_DIET_OVERHEAD);
    EXPECT(OK, motemix_diet_open_message(&sensor, &to_router, datagram, 81, &text, &size));
    CHECK(size == 0);

    EXPECT(OK, motemix_diet_end_session(&to_router));
    EXPECT(NOT_A_SESSION, motemix_diet_end_session(&to_router));
    EXPECT(NOT_A_SESSION, motemix_diet_seal_message(&sensor, &to_router, reading, 12, copy, 93, &size));
    for (size_t word = 0; word < MOTEMIX_DIET_SESSION_WORDS; word++) {
        CHECK(to_router.opaque[word] == 0);
    }
    EXPECT(OK, motemix_diet_hello(&sensor, &initiator, hello));
    EXPECT(OK, motemix_diet_answer(&router, hello, 75, &sensors, &pending, answer));
    EXPECT(OK, motemix_diet_end_initiator(&initiator));
    EXPECT(OK, motemix_diet_end_pending(&pending));
    EXPECT(NOT_A_HANDSHAKE, motemix_diet_end_initiator(&initiator));
    EXPECT(NOT_A_HANDSHAKE, motemix_diet_end_pending(&pending));
    EXPECT(NULL, motemix_diet_end_initiator(NULL));
    EXPECT(NULL, motemix_diet_end_pending(NULL));
    EXPECT(NULL, motemix_diet_end_session(NULL));
}

/* The generator asks for fresh bytes now and then: in the middle of a call. */
static void a_callback_that_calls(void)
{
    motemix_diet_initiator initiator;
    uint8_t hello[MOTEMIX_DIET_HELLO_LEN];
    unsigned before = expectations;

    reentered = &sensor;
    /* A hello draws twice. */
    for (int draws = 0; draws < 4096; draws += 2) {
        CHECK(motemix_diet_hello(&sensor, &initiator, hello) == MOTEMIX_STATUS_OK);
    }
    CHECK(expectations > before + 2048);
    reentered = NULL;
}

int main(void)
{
    without_randomness();
    EXPECT(OK, motemix_diet_new(&sensor, &of_sensor));
    EXPECT(OK, motemix_diet_new(&router, &of_router));
    functions();
    identities();
    handshake();
    a_callback_that_calls();
    EXPECT(OK, motemix_diet_end(&sensor));
    EXPECT(OK, motemix_diet_end(&router));
    printf("%u expectations met\n", expectations);
    return EXIT_SUCCESS;
}
