/*
 * Identities and signed readings without a mote, and each way in which they are used wrongly.
 *
 *   readings                               counts what came as expected
 *   readings SEED NUMBER PATH AUDIENCE NAME UNIT VALUE PLACES TIME
 *                                          prints identity, introduction and reading, in hex digits
 */

#include "expect.h"

static unsigned char counter;
static uint8_t seed[MOTEMIX_IDENTITY_SEED_LEN], identity[MOTEMIX_IDENTITY_LEN];
static uint8_t introduction[MOTEMIX_INTRODUCTION_LEN];
static motemix_record record = { "temperature", "Cel", 215, 1764000000, 1 };
#define ROOM 160
static uint8_t reading[ROOM];
static size_t len;

static motemix_status sign(uint64_t number, motemix_reading_path path)
{
    return motemix_reading_sign(seed, number, path, "garden", &record, reading, sizeof(reading), &len);
}

static motemix_status verify(motemix_device *device)
{
    uint64_t number;
    const uint8_t *senml;
    size_t senml_len;
    motemix_status status = motemix_reading_verify(device, "garden", reading, len, &number, &senml, &senml_len);

    if (status == MOTEMIX_STATUS_OK) {
        CHECK(number + 1 <= device->next);
        CHECK(senml > reading && senml + senml_len < reading + len);
    }
    return status;
}

static void identities(void)
{
    const motemix_random sound = { counting, &counter }, none = { NULL, NULL };
    const motemix_random broken = { failing, NULL }, zeros = { stuck, NULL };
    uint8_t other[MOTEMIX_IDENTITY_SEED_LEN], again[MOTEMIX_IDENTITY_LEN];

    EXPECT(NULL, motemix_identity_make(NULL, seed));
    EXPECT(NULL, motemix_identity_make(&none, seed));
    EXPECT(NULL, motemix_identity_make(&sound, NULL));
    EXPECT(RANDOM_FAILED, motemix_identity_make(&broken, seed));
    EXPECT(RANDOM_FAILED, motemix_identity_make(&zeros, seed));
    EXPECT(OK, motemix_identity_make(&sound, seed));
    EXPECT(OK, motemix_identity_make(&sound, other));
    CHECK(memcmp(seed, other, sizeof(seed)) != 0);
    EXPECT(NULL, motemix_identity(NULL, identity, introduction));
    EXPECT(NULL, motemix_identity(seed, NULL, introduction));
    EXPECT(NULL, motemix_identity(seed, identity, NULL));
    EXPECT(OK, motemix_identity(other, again, introduction));
    EXPECT(OK, motemix_identity(seed, identity, introduction));
    CHECK(memcmp(identity, again, sizeof(identity)) != 0);
}

static void records(void)
{
    char endless[300];
    const motemix_record sound = record;
    const motemix_record bad[] = {
        { "", "Cel", 215, 0, 1 }, { ".s", "Cel", 215, 0, 1 }, { "a b", "Cel", 215, 0, 1 },
        { "s", "", 215, 0, 1 }, { "s", "\t", 215, 0, 1 }, { "s", "Cel", 215, 0, 19 },
        { "s", "Cel", 215, 0, 255 }, { endless, "Cel", 215, 0, 1 }, { "s", endless, 215, 0, 1 },
        { "s\xff", "Cel", 215, 0, 1 },
    };

    memset(endless, 'x', sizeof(endless));
    for (size_t at = 0; at < sizeof(bad) / sizeof(bad[0]); at++) {
        record = bad[at];
        EXPECT(BAD_RECORD, sign(0, MOTEMIX_READING_PATH_DIRECT));
    }
    record.name = NULL;
    EXPECT(NULL, sign(0, MOTEMIX_READING_PATH_DIRECT));
    record = (motemix_record){ "s", NULL, INT64_MIN, UINT64_MAX, 18 };
    EXPECT(OK, sign(UINT64_MAX, MOTEMIX_READING_PATH_ANONYMOUS));
    record = sound;
}

static void signing(void)
{
    uint8_t exact[ROOM];
    size_t needed;

    EXPECT(OTHER_KIND, motemix_reading_sign(seed, 0, 2, "garden", &record, reading, ROOM, &len));
    EXPECT(NULL, motemix_reading_sign(NULL, 0, 0, "garden", &record, reading, ROOM, &len));
    EXPECT(NULL, motemix_reading_sign(seed, 0, 0, NULL, &record, reading, ROOM, &len));
    EXPECT(NULL, motemix_reading_sign(seed, 0, 0, "garden", NULL, reading, ROOM, &len));
    EXPECT(NULL, motemix_reading_sign(seed, 0, 0, "garden", &record, NULL, ROOM, &len));
    EXPECT(NULL, motemix_reading_sign(seed, 0, 0, "garden", &record, reading, ROOM, NULL));
    EXPECT(BAD_LENGTH, motemix_reading_sign(seed, 0, 0,
           "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", &record, reading, ROOM, &len));
    EXPECT(OK, sign(0, MOTEMIX_READING_PATH_ANONYMOUS));
    needed = len;
    for (size_t room = 0; room < needed; room++) {
        EXPECT(BUFFER_TOO_SMALL, motemix_reading_sign(seed, 0, 1, "garden", &record, exact, room, &len));
    }
    EXPECT(OK, motemix_reading_sign(seed, 0, 1, "garden", &record, exact, needed, &len));
    CHECK(len == needed && memcmp(exact, reading, len) == 0);
}

static void believing(motemix_reading_path path)
{
    motemix_device device, kept, other;
    uint8_t others_seed[MOTEMIX_IDENTITY_SEED_LEN] = { 1 }, others[MOTEMIX_INTRODUCTION_LEN];
    uint8_t unused[MOTEMIX_IDENTITY_LEN], changed[ROOM];
    const uint8_t *senml;
    size_t senml_len;
    uint64_t number;

    EXPECT(NULL, motemix_device_new(NULL, introduction, sizeof(introduction), 0));
    EXPECT(NULL, motemix_device_new(&device, NULL, sizeof(introduction), 0));
    for (size_t cut = 0; cut < sizeof(introduction); cut++) {
        EXPECT(NOT_A_READING, motemix_device_new(&device, introduction, cut, 0));
    }
    EXPECT(OK, motemix_device_new(&device, introduction, sizeof(introduction), 0));
    CHECK(memcmp(device.identity, identity, sizeof(identity)) == 0);
    EXPECT(OK, motemix_identity(others_seed, unused, others));
    EXPECT(OK, motemix_device_new(&other, others, sizeof(others), 0));

    EXPECT(OK, sign(5, path));
    EXPECT(NULL, motemix_reading_verify(NULL, "garden", reading, len, &number, &senml, &senml_len));
    EXPECT(NULL, motemix_reading_verify(&device, NULL, reading, len, &number, &senml, &senml_len));
    EXPECT(NULL, motemix_reading_verify(&device, "garden", NULL, len, &number, &senml, &senml_len));
    EXPECT(NULL, motemix_reading_verify(&device, "garden", reading, len, NULL, &senml, &senml_len));
    EXPECT(NULL, motemix_reading_verify(&device, "garden", reading, len, &number, NULL, &senml_len));
    EXPECT(NULL, motemix_reading_verify(&device, "garden", reading, len, &number, &senml, NULL));
    EXPECT(BAD_SIGNATURE, motemix_reading_verify(&device, "gardens", reading, len, &number, &senml, &senml_len));
    EXPECT(STRANGER, verify(&other));
    /* Each bit, and each length. */
    memcpy(changed, reading, len);
    for (size_t bit = 0; bit < 8 * len; bit++) {
        changed[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK(motemix_reading_verify(&device, "garden", changed, len, &number, &senml, &senml_len) !=
              MOTEMIX_STATUS_OK);
        changed[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t cut = 0; cut < len; cut++) {
        EXPECT(NOT_A_READING, motemix_reading_verify(&device, "garden", reading, cut, &number, &senml, &senml_len));
    }
    CHECK(device.next == 0);
    EXPECT(OK, verify(&device));
    CHECK(device.next == 6);
    /* Once, also after a restart. */
    kept = device;
    EXPECT(REPLAYED, verify(&device));
    EXPECT(REPLAYED, verify(&kept));
    EXPECT(OK, sign(4, path));
    EXPECT(OK, verify(&kept));
    EXPECT(REPLAYED, verify(&kept));
    EXPECT(OK, sign(6 + 1024, path));
    EXPECT(OK, verify(&kept));
    EXPECT(OK, sign(7, path));
    CHECK(verify(&kept) != MOTEMIX_STATUS_OK);
    EXPECT(OK, sign(kept.next + 1025, path));
    EXPECT(STRANGER, verify(&kept));
    /* What was kept and damaged. */
    kept.key_len = 34;
    EXPECT(OK, sign(kept.next, path));
    EXPECT(BAD_PUBLIC_KEY, verify(&kept));
}

static void print_hex(const uint8_t *from, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        printf("%02x", from[at]);
    }
    puts("");
}

static int known_answer(char **given)
{
    const motemix_record known = { given[4], given[5][0] == '\0' ? NULL : given[5], strtoll(given[6], NULL, 10),
                                   strtoull(given[8], NULL, 10), (uint8_t)atoi(given[7]) };

    for (size_t at = 0; at < sizeof(seed); at++) {
        unsigned byte;
        CHECK(sscanf(given[0] + 2 * at, "%2x", &byte) == 1);
        seed[at] = (uint8_t)byte;
    }
    EXPECT(OK, motemix_identity(seed, identity, introduction));
    EXPECT(OK, motemix_reading_sign(seed, strtoull(given[1], NULL, 10), (uint8_t)atoi(given[2]), given[3], &known,
                                    reading, sizeof(reading), &len));
    print_hex(identity, sizeof(identity));
    print_hex(introduction, sizeof(introduction));
    print_hex(reading, len);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc == 10) {
        return known_answer(argv + 1);
    }
    identities();
    records();
    signing();
    believing(MOTEMIX_READING_PATH_ANONYMOUS);
    believing(MOTEMIX_READING_PATH_DIRECT);
    printf("%u expectations met\n", expectations);
    return EXIT_SUCCESS;
}
