/*
 * A program that uses a mote wrongly in every way that can be found out: each call has to say so,
 * and nothing may be touched that was not lent.
 *
 *   misuse_mote                prints the key of the mote that runs: what is random here is always
 *                              the same
 *   misuse_mote DIRECTORY      with the files `authority`, `document` of a network with that mote,
 *                              `others` of one without it, and `far` of an epoch that no key reaches
 */

#include "lent.h"

/* Within the time of the network document. */
#define PRESENT 1000010u
#define EPOCH 7u

static uint8_t others[8192], far[8192];
static size_t others_len, far_len;

static const motemix_address neighbour = { { 0xfe, 0x80, [15] = 2 }, 61616, 6 };

/* --- how it is made --- */

static void memory(void)
{
    size_t size = motemix_mote_size(&limits);
    motemix_platform sound = platform();
    motemix_mote *mote = NULL;
    uint8_t *exact = malloc(size);
    const motemix_limits bad[] = {
        { 0 },
        { 0, 2048, 32, 2, 4, 3, 16, 1536, 15 },
        { 4, 2048, 32, 0, 4, 3, 16, 1536, 15 },
        { 4, 2048, 32, 4, 2, 3, 16, 1536, 15 },
        { 4, 2048, 32, 2, 4, 0, 16, 1536, 15 },
        { 4, 2048, 32, 2, 4, 3, 0, 1536, 15 },
        { 4, 2048, 32, 2, 4, 3, 16385, 1536, 15 },
        /* A filter whose digests the store does not keep whole, and no room for a document. */
        { 4, 2000, 32, 2, 4, 3, 16, 1536, 15 },
        { 4, 0, 32, 2, 4, 3, 16, 1536, 15 },
        { 4, 2048, 32, 2, 4, 3, 16, 0, 15 },
    };

    CHECK(exact != NULL && size > 0 && size <= MOTEMIX_MOTE_SIZE(MOTEMIX_MOTE));
    CHECK(motemix_mote_size(NULL) == 0);
    memset(flash_bytes, 0xff, sizeof(flash_bytes));
    memset(exact, 0, size);

    EXPECT(NULL, motemix_mote_open(NULL, size, &limits, &sound, &mote));
    EXPECT(NULL, motemix_mote_open(exact, size, NULL, &sound, &mote));
    EXPECT(NULL, motemix_mote_open(exact, size, &limits, NULL, &mote));
    EXPECT(NULL, motemix_mote_open(exact, size, &limits, &sound, NULL));
    EXPECT(MEMORY_TOO_SMALL, motemix_mote_open(exact, size - 1, &limits, &sound, &mote));
    EXPECT(MEMORY_TOO_SMALL, motemix_mote_open(exact, 0, &limits, &sound, &mote));
    EXPECT(MISALIGNED, motemix_mote_open(exact + 4, size - 4, &limits, &sound, &mote));
    EXPECT(MISALIGNED, motemix_mote_open(exact, size, &limits, (void *)((char *)&sound + 1), &mote));
    for (size_t at = 0; at < sizeof(bad) / sizeof(bad[0]); at++) {
        CHECK(motemix_mote_size(&bad[at]) == 0);
        EXPECT(BAD_LIMITS, motemix_mote_open(exact, size, &bad[at], &sound, &mote));
    }

#define BROKEN(expected, change)                                                                \
    do {                                                                                        \
        motemix_platform broken = platform();                                                   \
        broken.change;                                                                          \
        CHECK(motemix_mote_open(exact, size, &limits, &broken, &mote) == MOTEMIX_STATUS_##expected); \
    } while (0)
    BROKEN(NULL, send = NULL);
    BROKEN(NULL, random.fill = NULL);
    BROKEN(NULL, flash.read = NULL);
    BROKEN(NULL, flash.write = NULL);
    BROKEN(NULL, flash.erase = NULL);
    BROKEN(RANDOM_FAILED, random.fill = failing);
    BROKEN(RANDOM_FAILED, random.fill = stuck);
    BROKEN(BAD_FLASH, flash.settings_pages = 3);
    BROKEN(BAD_FLASH, flash.tags_pages = 1);
    BROKEN(BAD_FLASH, flash.messages_pages = 0);
    BROKEN(BAD_FLASH, flash.readings_pages = 1);
    CHECK(mote == NULL);

    /* Whichever access of the flash fails first. */
    for (flash_fails_at = 1; flash_fails_at < 8000; flash_fails_at++) {
        memset(flash_bytes, 0xff, sizeof(flash_bytes));
        flash_calls = 0;
        if (motemix_mote_open(exact, size, &limits, &sound, &mote) == MOTEMIX_STATUS_OK) {
            EXPECT(OK, motemix_mote_close(mote));
            break;
        }
    }
    CHECK(flash_fails_at > 10 && flash_fails_at < 8000);
    flash_fails_at = 0;
    /* Nothing is written from some access on, and the flash says that it was. */
    for (flash_lies_at = 1; flash_lies_at < 8000; flash_lies_at++) {
        memset(flash_bytes, 0xff, sizeof(flash_bytes));
        flash_calls = 0;
        motemix_status status = motemix_mote_open(exact, size, &limits, &sound, &mote);
        if (status == MOTEMIX_STATUS_OK) {
            EXPECT(OK, motemix_mote_close(mote));
            break;
        }
        CHECK(status == MOTEMIX_STATUS_FLASH_FAILED);
    }
    CHECK(flash_lies_at > 10 && flash_lies_at < 8000);
    flash_lies_at = 0;
    memset(flash_bytes, 0, sizeof(flash_bytes));
    EXPECT(FLASH_FAILED, motemix_mote_open(exact, size, &limits, &sound, &mote));
    memset(flash_bytes, 0xff, sizeof(flash_bytes));

    EXPECT(OK, motemix_mote_open(exact, size, &limits, &sound, &mote));
    CHECK((void *)mote == (void *)exact);
    EXPECT(NULL, motemix_mote_close(NULL));
    EXPECT(MISALIGNED, motemix_mote_close((motemix_mote *)(void *)(exact + 1)));
    EXPECT(NOT_A_NODE, motemix_node_end((motemix_node *)(void *)exact));
    EXPECT(OK, motemix_mote_close(mote));
    EXPECT(NOT_A_MOTE, motemix_mote_close(mote));
    EXPECT(NOT_A_MOTE, motemix_mote_start(mote, 0));
    for (size_t at = 0; at < size; at++) {
        CHECK(exact[at] == 0);
    }
    free(exact);
}

/* --- calls while it stands and while it runs --- */

static void nulls(motemix_mote *mote)
{
    motemix_counters counters;
    uint8_t data[MOTEMIX_DATA_LEN] = { 'x' };
    uint64_t number;
    uint32_t epoch;
    size_t count;

    EXPECT(NULL, motemix_mote_set_address(NULL, NULL));
    EXPECT(NULL, motemix_mote_set_address(mote, NULL));
    EXPECT(NULL, motemix_mote_set_time(NULL, 0, 0));
    EXPECT(NULL, motemix_mote_identity(NULL, data, data));
    EXPECT(NULL, motemix_mote_identity(mote, NULL, data));
    EXPECT(NULL, motemix_mote_identity(mote, data, NULL));
    EXPECT(NULL, motemix_mote_sign_readings(NULL, &readings, &sensor));
    EXPECT(NULL, motemix_mote_sign_readings(mote, &readings, NULL));
    EXPECT(NULL, motemix_mote_sign_readings(mote, NULL, &sensor));
    EXPECT(MISALIGNED, motemix_mote_sign_readings(mote, (void *)((char *)&readings + 4), &sensor));
    EXPECT(NULL, motemix_mote_send_readings(NULL, 0, data, 1, 1));
    EXPECT(NULL, motemix_mote_send_readings(mote, 0, NULL, 1, 1));
    EXPECT(NULL, motemix_mote_public_key(NULL, 0, data));
    EXPECT(NULL, motemix_mote_public_key(mote, 0, NULL));
    EXPECT(NULL, motemix_mote_trust(NULL, 1, data, 1));
    EXPECT(NULL, motemix_mote_trust(mote, 1, NULL, 1));
    EXPECT(NULL, motemix_mote_give_document(mote, 0, NULL, 1));
    EXPECT(NULL, motemix_mote_keep_document(NULL, 0, 0));
    EXPECT(NULL, motemix_mote_command(mote, 0, NULL, 1));
    EXPECT(NULL, motemix_mote_start(NULL, 0));
    EXPECT(NULL, motemix_mote_stop(NULL));
    EXPECT(NULL, motemix_mote_handle_datagram(mote, 0, &neighbour, NULL, 1));
    EXPECT(TOO_LONG, motemix_mote_handle_datagram(mote, 0, &neighbour, data, (size_t)-1));
    EXPECT(NULL, motemix_mote_handle_datagram(mote, 0, NULL, data, 1));
    EXPECT(NULL, motemix_mote_poll(mote, 0, NULL));
    EXPECT(MISALIGNED, motemix_mote_poll(mote, 0, (uint64_t *)(void *)((char *)&number + 1)));
    EXPECT(NULL, motemix_mote_send(mote, 0, NULL, 1, data, 1, &number));
    EXPECT(NULL, motemix_mote_send(mote, 0, data, 1, NULL, 1, &number));
    EXPECT(NULL, motemix_mote_send(mote, 0, data, 1, data, 1, NULL));
    EXPECT(NULL, motemix_mote_message(mote, NULL, NULL, &count));
    EXPECT(NULL, motemix_mote_message(mote, NULL, data, NULL));
    EXPECT(NULL, motemix_mote_forget_message(NULL));
    EXPECT(NULL, motemix_mote_epoch(mote, NULL));
    EXPECT(MISALIGNED, motemix_mote_epoch(mote, (uint32_t *)(void *)((char *)&epoch + 1)));
    EXPECT(NULL, motemix_mote_counters(mote, NULL));
    EXPECT(MISALIGNED, motemix_mote_counters(mote, (motemix_counters *)(void *)((char *)&counters + 1)));
    EXPECT(TOO_LONG, motemix_mote_give_document(mote, (size_t)-1, data, 1));
    EXPECT(TOO_LONG, motemix_mote_give_document(mote, limits.document, data, 1));
    EXPECT(TOO_LONG, motemix_mote_give_document(mote, limits.document - 1u, data, 2));
    EXPECT(OK, motemix_mote_give_document(mote, limits.document, NULL, 0));
}

static void standing(motemix_mote *mote)
{
    motemix_address address = { { 0xfe, 0x80, [15] = 1 }, 61616, 6 }, ipv4 = { { 127, 0, 0, 1 }, 61616, 4 };
    motemix_counters counters;
    uint8_t key[32], other[32], data[MOTEMIX_DATA_LEN] = { 'x' }, keys[5 * 32];
    uint64_t number;
    uint32_t epoch;
    size_t count;

    EXPECT(NO_READINGS, motemix_mote_send_readings(mote, 0, data, 1, 1));
    EXPECT(NULL, motemix_mote_sign_readings(mote, &readings, &(motemix_sensor){ NULL, NULL }));
    EXPECT(OK, motemix_mote_sign_readings(mote, &readings, &sensor));
    EXPECT(STANDS, motemix_mote_send_readings(mote, 0, data, 1, 1));
    EXPECT(OK, motemix_mote_identity(mote, key, keys));
    EXPECT(OK, motemix_mote_identity(mote, other, keys));
    CHECK(memcmp(key, other, sizeof(key)) == 0);
    EXPECT(STANDS, motemix_mote_stop(mote));
    EXPECT(STANDS, motemix_mote_poll(mote, 0, &number));
    EXPECT(STANDS, motemix_mote_handle_datagram(mote, 0, &neighbour, bytes, MOTEMIX_PACKET_LEN));
    EXPECT(STANDS, motemix_mote_send(mote, 0, data, 1, data, 1, &number));
    EXPECT(STANDS, motemix_mote_epoch(mote, &epoch));
    EXPECT(STANDS, motemix_mote_counters(mote, &counters));
    EXPECT(NOTHING, motemix_mote_message(mote, NULL, data, &count));
    EXPECT(OK, motemix_mote_forget_message(mote));
    EXPECT(OK, motemix_mote_set_address(mote, &address));
    EXPECT(UNKNOWN_RECEIVER, motemix_mote_set_address(mote, &ipv4));

    EXPECT(OK, motemix_mote_public_key(mote, EPOCH, key));
    EXPECT(OK, motemix_mote_public_key(mote, EPOCH, other));
    CHECK(memcmp(key, other, sizeof(key)) == 0);
    EXPECT(EPOCH_PASSED, motemix_mote_public_key(mote, EPOCH - 1, other));
    EXPECT(KEY_FAR_BEHIND, motemix_mote_public_key(mote, UINT32_MAX, other));

    EXPECT(NO_CLOCK, motemix_mote_start(mote, 0));
    EXPECT(NO_CLOCK, motemix_mote_keep_document(mote, 0, 0));
    EXPECT(OK, motemix_mote_set_time(mote, 0, UINT64_MAX));
    EXPECT(OK, motemix_mote_set_time(mote, UINT64_MAX, 0));
    EXPECT(OK, motemix_mote_set_time(mote, 0, PRESENT));
    EXPECT(NO_AUTHORITIES, motemix_mote_start(mote, 0));
    EXPECT(NO_AUTHORITIES, motemix_mote_keep_document(mote, 0, 0));
    for (size_t at = 0; at < 5; at++) {
        memcpy(keys + 32 * at, authority, 32);
    }
    EXPECT(BAD_AUTHORITIES, motemix_mote_trust(mote, 1, keys, 5));
    EXPECT(BAD_AUTHORITIES, motemix_mote_trust_also(mote, 1, keys, 5));
    EXPECT(NULL, motemix_mote_trust_also(mote, 1, NULL, 1));
    EXPECT(BAD_AUTHORITIES, motemix_mote_trust(mote, 1, keys, 2));
    EXPECT(BAD_AUTHORITIES, motemix_mote_trust(mote, 0, authority, 1));
    EXPECT(BAD_AUTHORITIES, motemix_mote_trust(mote, 2, authority, 1));
    EXPECT(BAD_AUTHORITIES, motemix_mote_trust(mote, 1, NULL, 0));
    EXPECT(OK, motemix_mote_trust(mote, 1, authority, 1));
    EXPECT(NO_DOCUMENT, motemix_mote_start(mote, 0));
    EXPECT(TOO_LONG, motemix_mote_keep_document(mote, 0, limits.document + 1u));
    EXPECT(TOO_LONG, motemix_mote_keep_document(mote, 0, (size_t)-1));
    EXPECT(DOCUMENT_MALFORMED, motemix_mote_keep_document(mote, 0, 0));
    EXPECT(OK, motemix_mote_give_document(mote, 0, others, others_len));
    EXPECT(DOCUMENT_MALFORMED, motemix_mote_keep_document(mote, 0, others_len - 1));
    EXPECT(KEY_MISMATCH, motemix_mote_keep_document(mote, 0, others_len));
    EXPECT(OK, motemix_mote_give_document(mote, 0, far, far_len));
    EXPECT(KEY_FAR_BEHIND, motemix_mote_keep_document(mote, 0, far_len));
    EXPECT(OK, motemix_mote_give_document(mote, 0, others, others_len));
    EXPECT(OK, motemix_mote_set_time(mote, 0, PRESENT * 10ull));
    EXPECT(DOCUMENT_EXPIRED, motemix_mote_keep_document(mote, 0, others_len));
    EXPECT(NO_DOCUMENT, motemix_mote_start(mote, 0));
}

/* What is typed may be anything. */
static void commands(motemix_mote *mote)
{
    static const char *const lines[] = {
        "help", "key 7", "key", "key 99999999999", "trust", "trust 1 zz", "time", "time x", "document",
        "document begin", "document 00", "start", "inbox", "network", "document end", "send", "send a",
        "send a b", "identity", "readings a 1", "readings node-1 1", "readings off", "stop", "status", "inbox", "network", "start", "", "\n\n", "start\nstop\nstart",
    };
    char longest[1000];
    uint8_t noise[64];

    for (size_t at = 0; at < sizeof(lines) / sizeof(lines[0]); at++) {
        EXPECT(OK, motemix_mote_command(mote, 0, (const uint8_t *)lines[at], strlen(lines[at])));
    }
    memset(longest, 'x', sizeof(longest));
    EXPECT(OK, motemix_mote_command(mote, 0, (const uint8_t *)longest, sizeof(longest)));
    EXPECT(OK, motemix_mote_command(mote, 0, NULL, 0));
    EXPECT(TOO_LONG, motemix_mote_command(mote, 0, noise, (size_t)-1));
    for (unsigned turn = 0; turn < 2000; turn++) {
        for (size_t at = 0; at < sizeof(noise); at++) {
            noise[at] = (uint8_t)((turn * 2654435761u + at * 40503u) >> 7);
        }
        EXPECT(OK, motemix_mote_command(mote, 0, noise, turn % sizeof(noise)));
    }
}

static void order(void)
{
    static uint64_t room[MOTEMIX_MOTE_SIZE(MOTEMIX_MOTE) / 8];
    motemix_platform sound = platform();
    motemix_mote *mote;
    uint8_t key[32], again[32];

    memset(flash_bytes, 0xff, sizeof(flash_bytes));
    EXPECT(OK, motemix_mote_open(room, sizeof(room), &limits, &sound, &mote));
    nulls(mote);
    standing(mote);
    reentered = mote;
    busy = 0;
    EXPECT(OK, motemix_mote_public_key(mote, EPOCH + 1, key));
    EXPECT(OK, motemix_mote_command(mote, 0, (const uint8_t *)"status", 6));
    EXPECT(EPOCH_PASSED, motemix_mote_public_key(mote, 0, again));
    CHECK(busy > 0);
    reentered = NULL;
    commands(mote);
    EXPECT(OK, motemix_mote_close(mote));
    /* What was kept is kept. */
    EXPECT(OK, motemix_mote_open(room, sizeof(room), &limits, &sound, &mote));
    EXPECT(OK, motemix_mote_public_key(mote, EPOCH + 1, again));
    CHECK(memcmp(key, again, sizeof(key)) == 0);
    EXPECT(OK, motemix_mote_close(mote));
}

static unsigned warnings;

static void warned(void *context, motemix_warning warning, motemix_status reason)
{
    (void)context;
    CHECK(strlen(motemix_warning_text(warning)) > 10);
    if (warning == MOTEMIX_WARNING_READINGS_DROPPED) {
        CHECK(reason == MOTEMIX_STATUS_BAD_RECORD || reason == MOTEMIX_STATUS_FLASH_FULL ||
              reason == MOTEMIX_STATUS_NULL || reason == MOTEMIX_STATUS_TOO_LONG);
        warnings++;
    }
}

/* The mote that `document` has. */
static motemix_mote *open_known(void)
{
    static uint64_t room[MOTEMIX_MOTE_SIZE(MOTEMIX_MOTE) / 8];
    motemix_platform sound = platform();
    motemix_mote *mote;

    sound.warned = warned;
    counter = 0;
    memset(flash_bytes, 0xff, sizeof(flash_bytes));
    EXPECT(OK, motemix_mote_open(room, sizeof(room), &limits, &sound, &mote));
    return mote;
}

static void poll_all(motemix_mote *mote, uint64_t now_us)
{
    uint64_t next_us;
    motemix_status status;

    while ((status = motemix_mote_poll(mote, now_us, &next_us)) == MOTEMIX_STATUS_OK) {
    }
    EXPECT(NOTHING, status);
}

/* Readings come at random times. */
static void until_measured(motemix_mote *mote, uint64_t *now_us)
{
    unsigned before = measurements;

    for (unsigned second = 0; second < 60 && measurements == before; second++) {
        *now_us += 1000000;
        poll_all(mote, *now_us);
    }
}

/* What a sensor may give, and readings that nobody acknowledges. */
static void read_and_send(motemix_mote *mote, uint64_t *now_us)
{
    static const uint8_t *const one = (const uint8_t *)"node-1";
    static char endless[300];
    static const motemix_record bad[] = {
        { NULL, "Cel", 215, 0, 1 }, { "", "Cel", 215, 0, 1 }, { "-s", "Cel", 215, 0, 1 },
        { "a b", "Cel", 215, 0, 1 }, { "s", "", 215, 0, 1 }, { "s", "\n", 215, 0, 1 },
        { "s", "Cel", 215, 0, 19 }, { endless, "Cel", 215, 0, 1 }, { "s", endless, 215, 0, 1 },
        { "s\xc3\xa9", "Cel", 215, 0, 1 }, { "abcdefghijklmnopqrstuvwxyz", "Cel", 215, 0, 1 },
    };

    memset(endless, 'x', sizeof(endless) - 1);
    EXPECT(UNKNOWN_RECEIVER, motemix_mote_send_readings(mote, *now_us, (const uint8_t *)"nobody", 6, 1));
    EXPECT(UNKNOWN_RECEIVER, motemix_mote_send_readings(mote, *now_us, NULL, 0, 1));
    EXPECT(OK, motemix_mote_send_readings(mote, *now_us, one, 6, 1));
    for (size_t at = 0; at < sizeof(bad) / sizeof(bad[0]); at++) {
        unsigned before = warnings;
        measured = bad[at];
        until_measured(mote, now_us);
        CHECK(measurements == at + 1 && warnings == 1 + before - (at > 10));
    }
    /* As many as there is room for, and more. */
    measured = (motemix_record){ "s", "Cel", 215, 0, 1 };
    warnings = 0;
    for (unsigned turn = 0; turn < 200; turn++) {
        until_measured(mote, now_us);
    }
    CHECK(warnings == 1 && measurements > 200);
    EXPECT(OK, motemix_mote_send_readings(mote, *now_us, NULL, 0, 0));
}

static void running(void)
{
    motemix_mote *mote = open_known();
    motemix_address address = { { 0xfe, 0x80, [15] = 1 }, 61616, 6 };
    motemix_counters counters;
    const uint8_t *one = (const uint8_t *)"node-1";
    uint8_t key[32], data[MOTEMIX_DATA_LEN] = { 'x' }, junk[2 * MOTEMIX_PACKET_LEN];
    uint64_t number, now_us = 0;
    uint32_t epoch;
    size_t count;

    EXPECT(OK, motemix_mote_public_key(mote, EPOCH, key));
    EXPECT(OK, motemix_mote_trust(mote, 1, authority, 1));
    EXPECT(OK, motemix_mote_set_time(mote, 0, PRESENT));
    EXPECT(OK, motemix_mote_give_document(mote, 0, bytes, len));
    EXPECT(OK, motemix_mote_keep_document(mote, 0, len));
    EXPECT(OK, motemix_mote_sign_readings(mote, &readings, &sensor));
    EXPECT(OK, motemix_mote_start(mote, 0));
    nulls(mote);

    EXPECT(RUNS, motemix_mote_sign_readings(mote, &readings, &sensor));
    EXPECT(RUNS, motemix_mote_start(mote, 0));
    EXPECT(RUNS, motemix_mote_set_address(mote, &address));
    EXPECT(RUNS, motemix_mote_set_time(mote, 0, PRESENT));
    EXPECT(RUNS, motemix_mote_trust(mote, 1, authority, 1));
    EXPECT(OK, motemix_mote_public_key(mote, EPOCH + 1, key));
    EXPECT(EPOCH_PASSED, motemix_mote_public_key(mote, EPOCH - 1, key));
    EXPECT(OK, motemix_mote_epoch(mote, &epoch));
    CHECK(epoch == EPOCH);
    EXPECT(NOTHING, motemix_mote_message(mote, data, data, &count));
    EXPECT(OK, motemix_mote_forget_message(mote));

    /* Documents of no later epoch, with any length. Whatever is refused has to be given anew: in the
     * meantime a neighbour's may be there. */
    EXPECT(NO_DOCUMENT, motemix_mote_keep_document(mote, 0, len));
    EXPECT(NO_DOCUMENT, motemix_mote_give_document(mote, 1, bytes + 1, len - 1));
    EXPECT(OK, motemix_mote_give_document(mote, 1, NULL, 0));
    EXPECT(NO_DOCUMENT, motemix_mote_keep_document(mote, 0, len));
    EXPECT(OK, motemix_mote_give_document(mote, 0, bytes, 1));
    EXPECT(OK, motemix_mote_give_document(mote, 1, bytes + 1, len - 1));
    EXPECT(DOCUMENT_ROLLED_BACK, motemix_mote_keep_document(mote, 0, len));
    EXPECT(NO_DOCUMENT, motemix_mote_keep_document(mote, 0, len));
    EXPECT(OK, motemix_mote_give_document(mote, 0, bytes, len));
    EXPECT(DOCUMENT_MALFORMED, motemix_mote_keep_document(mote, 0, len - 1));
    EXPECT(OK, motemix_mote_give_document(mote, 0, bytes, len));
    EXPECT(TOO_LONG, motemix_mote_keep_document(mote, 0, limits.document + 1u));
    EXPECT(NO_DOCUMENT, motemix_mote_keep_document(mote, 0, len));
    EXPECT(OK, motemix_mote_give_document(mote, 0, bytes, len));
    EXPECT(TOO_LONG, motemix_mote_keep_document(mote, 0, (size_t)-1));
    EXPECT(OK, motemix_mote_give_document(mote, 0, bytes, len));
    EXPECT(TOO_LONG, motemix_mote_give_document(mote, limits.document, bytes, 1));
    EXPECT(NO_DOCUMENT, motemix_mote_keep_document(mote, 0, len));
    EXPECT(OK, motemix_mote_give_document(mote, 0, bytes, len));
    EXPECT(OK, motemix_mote_give_document(mote, 0, NULL, 0));
    EXPECT(NO_DOCUMENT, motemix_mote_keep_document(mote, 0, len));

    /* Junk of all lengths. */
    memset(junk, 0xa5, sizeof(junk));
    for (size_t junk_len = 0; junk_len <= sizeof(junk); junk_len++) {
        EXPECT(OK, motemix_mote_handle_datagram(mote, now_us, &neighbour, junk, junk_len));
        poll_all(mote, now_us);
    }
    EXPECT(OK, motemix_mote_counters(mote, &counters));
    CHECK(counters.delivered == 0 && counters.forwarded == 0);

    EXPECT(UNKNOWN_RECEIVER, motemix_mote_send(mote, now_us, NULL, 0, data, 1, &number));
    EXPECT(UNKNOWN_RECEIVER, motemix_mote_send(mote, now_us, (const uint8_t *)"nobody", 6, data, 1, &number));
    EXPECT(UNKNOWN_RECEIVER, motemix_mote_send(mote, now_us, (const uint8_t *)"node-0", 6, data, 1, &number));
    EXPECT(UNKNOWN_RECEIVER, motemix_mote_send(mote, now_us, junk, sizeof(junk), data, 1, &number));
    EXPECT(TOO_LONG, motemix_mote_send(mote, now_us, one, 6, data, sizeof(data), &number));
    EXPECT(TOO_LONG, motemix_mote_send(mote, now_us, one, 6, junk, sizeof(junk), &number));
    EXPECT(OK, motemix_mote_send(mote, now_us, one, 6, NULL, 0, &number));
    reentered = mote;
    busy = 0;
    EXPECT(OK, motemix_mote_send(mote, now_us, one, 6, data, 90, &number));
    EXPECT(FULL, motemix_mote_send(mote, now_us, one, 6, data, 1, &number));
    /* The packets leave, and nobody answers. */
    for (unsigned turn = 0; turn < 100; turn++) {
        now_us += 1000000;
        poll_all(mote, now_us);
    }
    CHECK(busy > 2);
    EXPECT(OK, motemix_mote_command(mote, now_us, (const uint8_t *)"status", 6));
    reentered = NULL;
    EXPECT(OK, motemix_mote_counters(mote, &counters));
    CHECK(counters.sent == 2 && counters.discarded == 2 && counters.acknowledged == 0);

    EXPECT(OK, motemix_mote_stop(mote));
    EXPECT(STANDS, motemix_mote_stop(mote));
    EXPECT(OK, motemix_mote_start(mote, now_us));
    reentered = mote;
    read_and_send(mote, &now_us);
    reentered = NULL;
    EXPECT(OK, motemix_mote_stop(mote));
    EXPECT(OK, motemix_mote_start(mote, now_us));
    /* A flash that fails from some access on: the node goes on or stops, and says which. */
    flash_calls = 0;
    flash_fails_at = 1;
    EXPECT(FLASH_FAILED, motemix_mote_message(mote, NULL, data, &count));
    EXPECT(FLASH_FAILED, motemix_mote_forget_message(mote));
    EXPECT(OK, motemix_mote_stop(mote));
    EXPECT(FLASH_FAILED, motemix_mote_start(mote, now_us));
    EXPECT(FLASH_FAILED, motemix_mote_trust(mote, 1, authority, 1));
    for (unsigned at = 1; at < 60; at++) {
        flash_calls = 0;
        flash_fails_at = at;
        motemix_status status = motemix_mote_start(mote, now_us);
        if (status == MOTEMIX_STATUS_OK) {
            EXPECT(OK, motemix_mote_stop(mote));
        }
        else {
            EXPECT(STANDS, motemix_mote_stop(mote));
        }
    }
    flash_fails_at = 0;
    flash_lies_at = 1;
    /* Some other key: the base point of Ed25519. */
    uint8_t base[32];
    memset(base, 0x66, sizeof(base));
    base[0] = 0x58;
    EXPECT(FLASH_FAILED, motemix_mote_trust(mote, 1, base, 1));
    EXPECT(FLASH_FAILED, motemix_mote_start(mote, now_us));
    flash_lies_at = 0;
    EXPECT(OK, motemix_mote_start(mote, now_us));
    commands(mote);
    /* Closed while it runs, or stopped by what was typed. */
    EXPECT(OK, motemix_mote_close(mote));
    EXPECT(NOT_A_MOTE, motemix_mote_poll(mote, now_us, &number));
}

int main(int argc, char **argv)
{
    size_t got;

    if (argc == 1) {
        uint8_t key[32];
        EXPECT(OK, motemix_mote_public_key(open_known(), EPOCH, key));
        for (size_t at = 0; at < sizeof(key); at++) {
            printf("%02x", key[at]);
        }
        puts("");
        return 0;
    }
    CHECK(argc == 2);
    read_file(argv[1], "document", bytes, sizeof(bytes), &len);
    read_file(argv[1], "others", others, sizeof(others), &others_len);
    read_file(argv[1], "far", far, sizeof(far), &far_len);
    read_file(argv[1], "authority", authority, sizeof(authority), &got);
    memory();
    order();
    running();
    CHECK(strstr(motemix_warning_text(200), "not a warning") != NULL);
    printf("%u expectations met\n", expectations);
    return 0;
}
