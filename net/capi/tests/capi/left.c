/*
 * What the calls of a mote leave of its secrets on the stack. Each call runs in a thread whose stack
 * is this program's own; it is searched when the thread has ended.
 *
 *   left                prints the mote's keys of two epochs, and its flash: what is random here is the
 *                       same in each run
 *   left DIRECTORY      with the files `authority`, `document`, `next` for the next epoch, `datagrams`
 *                       in which a neighbour gives that, or none, and `secrets` of 32 bytes each
 *
 * The secrets come in disguise, so that they are not found where they are kept.
 */

#define _POSIX_C_SOURCE 200809L

#include "lent.h"
#include "own_stack.h"

#define SECRET_LEN 32u
/* A part of a secret is one register or two. */
#define PART 8u
#define SECOND UINT64_C(1000000)
#define EPOCH 7u

static uint64_t memory[MOTEMIX_MOTE_SIZE(MOTEMIX_MOTE) / 8];
static motemix_mote *mote;
static uint64_t now = SECOND, next_us;
static uint8_t secrets[16 * SECRET_LEN], key[32];
static size_t secrets_len;
static uint32_t epoch = EPOCH;
static const char *line;
static const uint8_t *datagram;
static unsigned found, came;

static void document_came(void *context, uint32_t of)
{
    (void)context;
    CHECK(of == EPOCH + 1);
    came++;
}

static motemix_status open_mote(void)
{
    motemix_platform made = platform();
    made.document_came = document_came;
    return motemix_mote_open(memory, sizeof(memory), &limits, &made, &mote);
}

static motemix_status sign_readings(void)
{
    return motemix_mote_sign_readings(mote, &readings, &sensor);
}

static motemix_status identity(void)
{
    uint8_t own[MOTEMIX_IDENTITY_LEN], introduction[MOTEMIX_INTRODUCTION_LEN];
    return motemix_mote_identity(mote, own, introduction);
}

static motemix_status send_readings(void)
{
    return motemix_mote_send_readings(mote, now, (const uint8_t *)"node-1", 6, 1);
}

static motemix_status public_key(void)
{
    return motemix_mote_public_key(mote, epoch, key);
}

static motemix_status keep_document(void)
{
    return motemix_mote_keep_document(mote, now, len);
}

static motemix_status start(void)
{
    return motemix_mote_start(mote, now);
}

static motemix_status type_line(void)
{
    return motemix_mote_command(mote, now, (const uint8_t *)line, strlen(line));
}

static motemix_status poll_once(void)
{
    return motemix_mote_poll(mote, now, &next_us);
}

static motemix_status handle_datagram(void)
{
    static const motemix_address from = { { 0xfe, 0x80, [15] = 2 }, 61616, 6 };
    return motemix_mote_handle_datagram(mote, now, &from, datagram, MOTEMIX_PACKET_LEN);
}

static motemix_status stop(void)
{
    return motemix_mote_stop(mote);
}

static motemix_status close_mote(void)
{
    return motemix_mote_close(mote);
}

static bool is_part(const uint8_t *at, const uint8_t *disguised)
{
    for (unsigned byte = 0; byte < PART; byte++) {
        if ((at[byte] ^ DISGUISE) != disguised[byte]) {
            return false;
        }
    }
    return true;
}

static void search(const char *name)
{
    for (size_t part = 0; part < secrets_len; part += PART) {
        for (size_t at = 0; at + PART <= sizeof(stack); at++) {
            if (is_part(stack + at, secrets + part)) {
                printf("%s leaves byte %u of secret %u, %u bytes deep\n", name, (unsigned)(part % SECRET_LEN),
                       (unsigned)(part / SECRET_LEN), (unsigned)(sizeof(stack) - at));
                found++;
                break;
            }
        }
    }
}

static void type(const char *typed)
{
    line = typed;
    on_own_stack(typed, type_line);
}

/* As long as there is something to do. */
static void poll(const char *name)
{
    while (motemix_mote_poll(mote, now, &next_us) == MOTEMIX_STATUS_OK) {
    }
    on_own_stack(name, poll_once);
}

static void print_hex(const uint8_t *from, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        printf("%02x", from[at]);
    }
    printf("\n");
}

static void give(const char *directory, const char *name)
{
    read_file(directory, name, bytes, sizeof(bytes), &len);
    EXPECT(OK, motemix_mote_give_document(mote, 0, bytes, len));
}

/* A neighbour offers the next document, and gives a piece each time it is asked. Keys are made on the
 * way, for the document has to have this mote's. */
static void hear_document(void)
{
    CHECK(len % MOTEMIX_PACKET_LEN == 0);
    for (size_t at = 0; at < len; at += MOTEMIX_PACKET_LEN) {
        datagram = bytes + at;
        on_own_stack("handle_datagram of a document", handle_datagram);
        on_own_stack("poll that asks for a piece, or takes the document", poll_once);
        now += SECOND;
    }
    for (unsigned turn = 0; turn < 64 && came == 0; turn++) {
        on_own_stack("poll that takes the document", poll_once);
    }
    CHECK(came == 1);
}

/* The whole life of a mote, in which its keys are used. */
static void live(const char *directory)
{
    static const uint8_t junk[MOTEMIX_PACKET_LEN] = { 9 };
    size_t got;

    read_file(directory, "authority", authority, sizeof(authority), &got);
    EXPECT(OK, motemix_mote_trust(mote, 1, authority, 1));
    EXPECT(OK, motemix_mote_set_time(mote, now, BEGINS));
    give(directory, "document");
    on_own_stack("keep_document", keep_document);
    on_own_stack("start", start);
    poll("poll");
    on_own_stack("send_readings", send_readings);
    on_own_stack("poll that signs", poll_once);
    CHECK(measurements == 1);
    type("identity");
    datagram = junk;
    on_own_stack("handle_datagram", handle_datagram);
    read_file(directory, "datagrams", bytes, sizeof(bytes), &len);
    if (len > 0) {
        hear_document();
    } else {
        give(directory, "next");
        on_own_stack("keep_document of the next epoch", keep_document);
    }
    type("key 8");

    /* Its key is accepted an overlap before, of a second. */
    now += (EPOCH_LEN - 1) * SECOND;
    on_own_stack("poll that prepares the next epoch", poll_once);
    now += 2 * SECOND;
    on_own_stack("poll that begins the next epoch", poll_once);
    CHECK(motemix_mote_epoch(mote, &epoch) == MOTEMIX_STATUS_OK && epoch == EPOCH + 1);
    on_own_stack("stop", stop);
    type("start");
    CHECK(motemix_mote_epoch(mote, &epoch) == MOTEMIX_STATUS_OK && epoch == EPOCH + 1);

    now += 2 * EPOCH_LEN * SECOND;
    on_own_stack("poll that ends the last epoch", poll_once);
    type("stop");
    on_own_stack("close", close_mote);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        read_file(argv[1], "secrets", secrets, sizeof(secrets), &secrets_len);
    }
    memset(flash_bytes, 0xff, sizeof(flash_bytes));
    on_own_stack("open", open_mote);
    on_own_stack("sign_readings", sign_readings);
    on_own_stack("identity", identity);
    for (epoch = EPOCH; epoch < EPOCH + 2; epoch++) {
        on_own_stack("public_key", public_key);
        if (argc == 1) {
            print_hex(key, sizeof(key));
        }
    }
    if (argc == 1) {
        print_hex(flash_bytes, sizeof(flash_bytes));
        return EXIT_SUCCESS;
    }
    live(argv[1]);
    printf("%u parts of %u secrets left\n", found, (unsigned)(secrets_len / SECRET_LEN));
    return EXIT_SUCCESS;
}
