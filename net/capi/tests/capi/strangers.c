/*
 * Whose datagrams a mote takes in where links are protected: those of its neighbours' addresses.
 *
 *   strangers                prints the mote's key: what is random here is the same in each run
 *   strangers DIRECTORY      with the files `authority` and `document`
 */

#include "lent.h"

static uint64_t memory[MOTEMIX_MOTE_SIZE(MOTEMIX_MOTE) / 8];
static motemix_mote *mote;
static unsigned sent;

static int count_sent(void *context, const motemix_address *to, const uint8_t *datagram, size_t count)
{
    (void)context, (void)datagram;
    CHECK(to->version == 6 && count > 0);
    sent++;
    return 0;
}

/* How many datagrams leave after the first message of a handshake from there. */
static unsigned answers(const motemix_address *from)
{
    static const uint8_t hello[] = { 1, 0, 1, 1 };
    uint64_t next;

    sent = 0;
    EXPECT(OK, motemix_mote_handle_datagram(mote, 1000000, from, hello, sizeof(hello)));
    while (motemix_mote_poll(mote, 1000000, &next) == MOTEMIX_STATUS_OK) {
    }
    return sent;
}

int main(int argc, char **argv)
{
    static const motemix_address neighbour = { { 0xfe, 0x80, [15] = 2 }, 61616, 6 };
    /* Both halves give the neighbour's number. */
    static const motemix_address alike = {
        { 0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0xde, 0x81, 0x0d, 0xb8, 0, 0, 0, 2 }, 61616, 6
    };
    static const motemix_address nobody = { { 0xfe, 0x80, [15] = 9 }, 61616, 6 };
    motemix_platform made = platform();
    size_t got;

    made.send = count_sent;
    memset(flash_bytes, 0xff, sizeof(flash_bytes));
    EXPECT(OK, motemix_mote_open(memory, sizeof(memory), &limits, &made, &mote));
    if (argc == 1) {
        uint8_t key[32];
        EXPECT(OK, motemix_mote_public_key(mote, 7, key));
        for (size_t at = 0; at < sizeof(key); at++) {
            printf("%02x", key[at]);
        }
        printf("\n");
        return EXIT_SUCCESS;
    }
    EXPECT(OK, motemix_mote_public_key(mote, 7, bytes));
    read_file(argv[1], "authority", authority, sizeof(authority), &got);
    EXPECT(OK, motemix_mote_trust(mote, 1, authority, 1));
    EXPECT(OK, motemix_mote_set_time(mote, 1000000, BEGINS));
    read_file(argv[1], "document", bytes, sizeof(bytes), &len);
    EXPECT(OK, motemix_mote_give_document(mote, 0, bytes, len));
    EXPECT(OK, motemix_mote_keep_document(mote, 1000000, len));
    EXPECT(OK, motemix_mote_start(mote, 1000000));
    printf("%u", answers(&alike));
    printf(" %u", answers(&nobody));
    printf(" %u answers\n", answers(&neighbour));
    return EXIT_SUCCESS;
}
