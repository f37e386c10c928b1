/*
 * A program that uses the interface wrongly in every way that can be found out: each call has to say so,
 * and nothing may be touched that was not lent.
 *
 *   misuse DIRECTORY      a node's directory, as `provision` writes it
 */

#include "given.h"

static uint8_t secret[32];
static motemix_node *reentered;
static motemix_journal no_journal;

static void admit(void *context, const motemix_admitted *admitted)
{
    (void)context, (void)admitted;
}

static int commit_fails(void *context)
{
    (void)context;
    return -1;
}

/* Counts, and calls the node that it was called for. */
static int reentering(void *context, uint8_t *out, size_t count)
{
    if (reentered != NULL) {
        uint64_t at_us;
        EXPECT(BUSY, motemix_node_handle_timeout(reentered, 0));
        EXPECT(BUSY, motemix_node_poll_timeout(reentered, &at_us));
        EXPECT(BUSY, motemix_node_end(reentered));
    }
    return counting(context, out, count);
}

static const motemix_random random_source = { counting, &counter };
static const motemix_config config = { 0, 0, MOTEMIX_NO_NODE };

static void documents(void)
{
    motemix_trust trust = { authority, 1, 1 };
    motemix_trust none = { authority, 0, 1 }, null = { NULL, 1, 1 }, never = { authority, 1, 0 };
    uint8_t others[17 * 32], weak[32] = { 1 };
    motemix_trust weak_key = { weak, 1, 1 }, many = { others, 17, 1 }, twice = { others, 2, 1 };
    motemix_document document, copy;
    motemix_about about;
    motemix_descriptor descriptor;

    for (size_t at = 0; at < 17; at++) {
        memcpy(others + 32 * at, authority, 32);
    }
    EXPECT(NULL, motemix_document_open(NULL, bytes, len, &trust, 0, 0));
    EXPECT(NULL, motemix_document_open(&document, NULL, len, &trust, 0, 0));
    EXPECT(NULL, motemix_document_open(&document, bytes, len, NULL, 0, 0));
    EXPECT(NULL, motemix_document_open(&document, bytes, len, &null, 0, 0));
    EXPECT(BAD_AUTHORITIES, motemix_document_open(&document, bytes, len, &none, 0, 0));
    EXPECT(BAD_AUTHORITIES, motemix_document_open(&document, bytes, len, &never, 0, 0));
    EXPECT(BAD_AUTHORITIES, motemix_document_open(&document, bytes, len, &weak_key, 0, 0));
    EXPECT(BAD_AUTHORITIES, motemix_document_open(&document, bytes, len, &many, 0, 0));
    EXPECT(BAD_AUTHORITIES, motemix_document_open(&document, bytes, len, &twice, 0, 0));
    EXPECT(MISALIGNED, motemix_document_open((motemix_document *)(void *)((char *)&document + 1), bytes, len,
                                             &trust, 0, 0));

    EXPECT(OK, motemix_document_open(&document, bytes, len, &trust, MOTEMIX_TIME_UNKNOWN, MOTEMIX_NO_EPOCH));
    EXPECT(OK, motemix_document_about(&document, &about));
    CHECK(strcmp(about.network, "motes") == 0 && about.nodes >= 4);
    EXPECT(OK, motemix_document_open(&document, bytes, len, &trust, about.valid_after, about.epoch));
    EXPECT(OK, motemix_document_open(&document, bytes, len, &trust, about.valid_until - 1, 0));
    EXPECT(DOCUMENT_NOT_YET_VALID,
           motemix_document_open(&document, bytes, len, &trust, about.valid_after - 1, MOTEMIX_NO_EPOCH));
    EXPECT(DOCUMENT_EXPIRED, motemix_document_open(&document, bytes, len, &trust, about.valid_until, 0));
    EXPECT(DOCUMENT_ROLLED_BACK,
           motemix_document_open(&document, bytes, len, &trust, MOTEMIX_TIME_UNKNOWN, about.epoch + 1ull));
    /* What failed to open is no document, whatever was open there before. */
    EXPECT(NOT_A_DOCUMENT, motemix_document_about(&document, &about));

    /* No byte can be changed, and none left out. */
    for (size_t at = 0; at < len; at++) {
        bytes[at] ^= 0x40;
        CHECK(motemix_document_open(&document, bytes, len, &trust, MOTEMIX_TIME_UNKNOWN, 0) !=
              MOTEMIX_STATUS_OK);
        bytes[at] ^= 0x40;
    }
    for (size_t cut = 0; cut < len; cut++) {
        uint8_t *exact = malloc(cut + 1);
        CHECK(exact != NULL);
        memcpy(exact, bytes, cut);
        EXPECT(DOCUMENT_MALFORMED, motemix_document_open(&document, exact, cut, &trust, 0, 0));
        free(exact);
    }

    EXPECT(OK, motemix_document_open(&document, bytes, len, &trust, MOTEMIX_TIME_UNKNOWN, 0));
    EXPECT(NULL, motemix_document_about(&document, NULL));
    EXPECT(NULL, motemix_document_about(NULL, &about));
    EXPECT(NULL, motemix_document_node(&document, 0, NULL));
    EXPECT(UNKNOWN_NODE, motemix_document_node(&document, about.nodes, &descriptor));
    EXPECT(UNKNOWN_NODE, motemix_document_node(&document, MOTEMIX_NO_NODE, &descriptor));
    EXPECT(NULL, motemix_document_find(&document, NULL, 4, &descriptor));
    EXPECT(UNKNOWN_NODE, motemix_document_find(&document, NULL, 0, &descriptor));
    EXPECT(UNKNOWN_NODE, motemix_document_find(&document, "nobody", 6, &descriptor));
    EXPECT(NULL, motemix_document_find_key(&document, NULL, &descriptor));
    EXPECT(UNKNOWN_NODE, motemix_document_find_key(&document, authority, &descriptor));
    EXPECT(OK, motemix_document_node(&document, about.nodes - 1, &descriptor));
    CHECK(descriptor.id == about.nodes - 1 && descriptor.address_count == 1 && descriptor.is_mix);
    copy = document;
    EXPECT(OK, motemix_document_find(&copy, descriptor.name, strlen(descriptor.name), &descriptor));
    EXPECT(OK, motemix_document_close(&document));
    EXPECT(NOT_A_DOCUMENT, motemix_document_node(&document, 0, &descriptor));
    EXPECT(OK, motemix_document_node(&copy, 0, &descriptor));
    EXPECT(NULL, motemix_document_close(NULL));
}

static void memory(void)
{
    size_t size = motemix_node_size(&limits);
    motemix_limits empty = { 0 };
    motemix_config bad_id = { 0, 0x4000, MOTEMIX_NO_NODE }, bad_receiver = { 0, 0, 0x4000 };
    motemix_random no_callback = { NULL, NULL }, broken = { failing, NULL }, zeros = { stuck, NULL };
    motemix_journal nothing = { NULL, NULL, NULL }, half = { admit, NULL, NULL };
    motemix_node *node = NULL;

    CHECK(size > 0 && size <= MOTEMIX_NODE_SIZE(MOTEMIX_MOTE));
    CHECK(motemix_node_size(NULL) == 0 && motemix_node_size(&empty) == 0);

    /* Exactly as much as is needed, so that valgrind sees any byte beyond. */
    uint8_t *exact = calloc(1, size);
    CHECK(exact != NULL);
    EXPECT(NULL, motemix_node_new(NULL, size, &limits, &config, &random_source, &no_journal, &node));
    EXPECT(NULL, motemix_node_new(exact, size, NULL, &config, &random_source, &no_journal, &node));
    EXPECT(NULL, motemix_node_new(exact, size, &limits, NULL, &random_source, &no_journal, &node));
    EXPECT(NULL, motemix_node_new(exact, size, &limits, &config, NULL, &no_journal, &node));
    EXPECT(NULL, motemix_node_new(exact, size, &limits, &config, &random_source, &no_journal, NULL));
    EXPECT(NULL, motemix_node_new(exact, size, &limits, &config, &no_callback, &no_journal, &node));
    /* Nothing is written down by a node that says so, and by no other. */
    EXPECT(NULL, motemix_node_new(exact, size, &limits, &config, &random_source, NULL, &node));
    EXPECT(NULL, motemix_node_new(exact, size, &limits, &config, &random_source, &nothing, &node));
    EXPECT(NULL, motemix_node_new(exact, size, &limits, &config, &random_source, &half, &node));
    EXPECT(RANDOM_FAILED, motemix_node_new(exact, size, &limits, &config, &broken, &no_journal, &node));
    EXPECT(RANDOM_FAILED, motemix_node_new(exact, size, &limits, &config, &zeros, &no_journal, &node));
    EXPECT(MEMORY_TOO_SMALL, motemix_node_new(exact, size - 1, &limits, &config, &random_source, &no_journal, &node));
    EXPECT(MEMORY_TOO_SMALL, motemix_node_new(exact, 0, &limits, &config, &random_source, &no_journal, &node));
    EXPECT(MISALIGNED, motemix_node_new(exact + 4, size - 4, &limits, &config, &random_source, &no_journal, &node));
    EXPECT(BAD_LIMITS, motemix_node_new(exact, size, &empty, &config, &random_source, &no_journal, &node));
    EXPECT(BAD_ID, motemix_node_new(exact, size, &limits, &bad_id, &random_source, &no_journal, &node));
    EXPECT(BAD_ID, motemix_node_new(exact, size, &limits, &bad_receiver, &random_source, &no_journal, &node));
    CHECK(node == NULL);
    EXPECT(NOT_A_NODE, motemix_node_end((motemix_node *)(void *)exact));
    EXPECT(OK, motemix_node_new(exact, size, &limits, &config, &random_source, &no_journal, &node));
    CHECK((void *)node == (void *)exact);
    EXPECT(MISALIGNED, motemix_node_end((motemix_node *)(void *)(exact + 1)));
    EXPECT(OK, motemix_node_end(node));
    EXPECT(NOT_A_NODE, motemix_node_end(node));
    EXPECT(NULL, motemix_node_end(NULL));
    for (size_t at = 0; at < size; at++) {
        CHECK(exact[at] == 0);
    }
    free(exact);
}

static void order(void)
{
    static uint64_t room[MOTEMIX_NODE_SIZE(MOTEMIX_MOTE) / 8];
    static const motemix_limits narrow = { 1, 4, 4, 1, 1, 1, 2, 0, 0 };
    static uint64_t narrow_room[MOTEMIX_NODE_SIZE(1, 4, 4, 1, 1, 1, 2, 0, 0) / 8];
    motemix_trust trust = { authority, 1, 1 };
    motemix_document document;
    motemix_about about;
    motemix_node *node, *small;
    motemix_event event;
    motemix_transmit transmit;
    motemix_admitted admitted = { 4, 0 };
    const motemix_journal full_flash = { admit, commit_fails, NULL };
    motemix_counters counters;
    uint8_t packet[MOTEMIX_PACKET_LEN] = { 0 }, other[32] = { 7 };
    uint64_t at_us, message;
    uint32_t epoch;
    size_t count, most;

    EXPECT(OK, motemix_document_open(&document, bytes, len, &trust, MOTEMIX_TIME_UNKNOWN, MOTEMIX_NO_EPOCH));
    EXPECT(OK, motemix_document_about(&document, &about));
    EXPECT(OK, motemix_node_new(room, sizeof(room), &limits, &config, &random_source, &no_journal, &node));

    /* Before the first epoch. */
    EXPECT(NO_EPOCH, motemix_node_epoch(node, &epoch));
    EXPECT(NO_EPOCH, motemix_node_send(node, 0, 1, packet, 1, &message));
    EXPECT(DROPPED, motemix_node_handle_datagram(node, 0, 0, packet, sizeof(packet)));
    EXPECT(OK, motemix_node_handle_timeout(node, 0));
    EXPECT(NOTHING, motemix_node_work(node, 0));
    EXPECT(NOTHING, motemix_node_poll_event(node, &event));
    EXPECT(NOTHING, motemix_node_poll_transmit(node, 0, packet, sizeof(packet), &transmit));
    EXPECT(NOTHING, motemix_node_poll_timeout(node, &at_us));
    EXPECT(OK, motemix_node_restore_admitted(node, &admitted));
    EXPECT(OK, motemix_node_set_cover(node, 0, true));
    EXPECT(NOT_WAITING, motemix_node_reply(node, 0, 0, NULL, 0));
    EXPECT(NOT_WAITING, motemix_node_refuse(node, 0xffffffffffffffffull));

    /* An epoch begins when it was prepared with the key that the document has. */
    EXPECT(NOT_PREPARED, motemix_node_begin_epoch(node, 0, MOTEMIX_NEVER, &document));
    EXPECT(NULL, motemix_node_prepare_epoch(node, about.epoch, NULL));
    EXPECT(OK, motemix_node_prepare_epoch(node, about.epoch + 1, secret));
    EXPECT(NOT_PREPARED, motemix_node_begin_epoch(node, 0, MOTEMIX_NEVER, &document));
    EXPECT(OK, motemix_node_prepare_epoch(node, about.epoch, other));
    EXPECT(KEY_MISMATCH, motemix_node_begin_epoch(node, 0, MOTEMIX_NEVER, &document));
    EXPECT(OK, motemix_node_prepare_epoch(node, about.epoch, secret));
    EXPECT(NULL, motemix_node_begin_epoch(node, 0, MOTEMIX_NEVER, NULL));
    EXPECT(OK, motemix_node_begin_epoch(node, 0, MOTEMIX_NEVER, &document));
    EXPECT(OK, motemix_node_epoch(node, &epoch));
    CHECK(epoch == about.epoch);
    EXPECT(NOT_PREPARED, motemix_node_begin_epoch(node, 0, MOTEMIX_NEVER, &document));
    EXPECT(NOT_LATER, motemix_node_prepare_epoch(node, about.epoch, secret));

    /* Null, too short, too long, unknown. */
    EXPECT(NULL, motemix_node_send(node, 0, 1, NULL, 1, &message));
    EXPECT(NULL, motemix_node_send(node, 0, 1, packet, 1, NULL));
    EXPECT(TOO_LONG, motemix_node_send(node, 0, 1, packet, MOTEMIX_DATA_LEN + 1, &message));
    EXPECT(TOO_LONG, motemix_node_send(node, 0, 1, packet, (size_t)-1, &message));
    EXPECT(UNKNOWN_RECEIVER, motemix_node_send(node, 0, 0, packet, 1, &message));
    EXPECT(UNKNOWN_RECEIVER, motemix_node_send(node, 0, about.nodes, packet, 1, &message));
    EXPECT(UNKNOWN_RECEIVER, motemix_node_send(node, 0, MOTEMIX_NO_NODE, packet, 1, &message));
    EXPECT(NULL, motemix_node_handle_datagram(node, 0, 0, NULL, sizeof(packet)));
    EXPECT(DROPPED, motemix_node_handle_datagram(node, 0, 0, NULL, 0));
    EXPECT(DROPPED, motemix_node_handle_datagram(node, 0, 0, packet, sizeof(packet) - 1));
    EXPECT(TOO_LONG, motemix_node_handle_datagram(node, 0, 0, packet, (size_t)-1));
    EXPECT(BUFFER_TOO_SMALL, motemix_node_poll_transmit(node, 0, packet, sizeof(packet) - 1, &transmit));
    EXPECT(NULL, motemix_node_poll_transmit(node, 0, NULL, sizeof(packet), &transmit));
    EXPECT(NULL, motemix_node_poll_transmit(node, 0, packet, sizeof(packet), NULL));
    EXPECT(NULL, motemix_node_poll_event(node, NULL));
    EXPECT(NULL, motemix_node_poll_timeout(node, NULL));
    EXPECT(NULL, motemix_node_restore_admitted(node, NULL));
    EXPECT(NULL, motemix_node_in_flight(node, NULL));
    EXPECT(NULL, motemix_node_replay_filter_fill(node, &count, NULL));
    EXPECT(NULL, motemix_node_counters(node, NULL));
    EXPECT(NULL, motemix_public_key(NULL, packet));
    EXPECT(NULL, motemix_public_key(secret, NULL));

    /* Full is a state: as many messages as the limits say, and no more. */
    EXPECT(OK, motemix_node_send(node, 0, 1, packet, MOTEMIX_DATA_LEN, &message));
    EXPECT(OK, motemix_node_send(node, 0, 1, NULL, 0, &message));
    EXPECT(FULL, motemix_node_send(node, 0, 1, NULL, 0, &message));
    EXPECT(OK, motemix_node_in_flight(node, &count));
    CHECK(count == 2);

    /* The replay filter takes what it says, each once, and then no more. */
    EXPECT(OK, motemix_node_replay_filter_fill(node, &count, &most));
    CHECK(count == 0 && most == 840);
    admitted.epoch = about.epoch;
    motemix_status restored = MOTEMIX_STATUS_OK;
    for (uint32_t number = 1; number < 2 * 840 && restored == MOTEMIX_STATUS_OK; number++) {
        admitted.digest = number * 2654435761u;
        restored = motemix_node_restore_admitted(node, &admitted);
        EXPECT(OK, restored == MOTEMIX_STATUS_OK ? motemix_node_restore_admitted(node, &admitted) : 0);
    }
    CHECK(restored == MOTEMIX_STATUS_FILTER_FULL);
    EXPECT(OK, motemix_node_replay_filter_fill(node, &count, &most));
    CHECK(count == most && most <= 840 && most > 800);
    EXPECT(OK, motemix_node_counters(node, &counters));
    CHECK(counters.datagrams == 3 && counters.dropped[0] == 2 && counters.dropped[13] == 1);
    CHECK(motemix_drop_reason_text(MOTEMIX_DROP_REASONS) == NULL);
    CHECK(strcmp(motemix_drop_reason_text(13), "no-epoch") == 0);
    EXPECT(OK, motemix_node_end(node));

    /* Nothing leaves a node whose journal cannot be written. */
    EXPECT(OK, motemix_node_new(room, sizeof(room), &limits, &config, &random_source, &full_flash, &node));
    EXPECT(JOURNAL_FAILED, motemix_node_poll_transmit(node, 0, packet, sizeof(packet), &transmit));
    EXPECT(OK, motemix_node_end(node));

    /* A network that is too large for the limits. */
    EXPECT(OK, motemix_node_new(narrow_room, sizeof(narrow_room), &narrow, &config, &random_source,
                                               &no_journal, &small));
    EXPECT(OK, motemix_node_prepare_epoch(small, about.epoch, secret));
    EXPECT(TOO_MANY_NODES, motemix_node_begin_epoch(small, 0, MOTEMIX_NEVER, &document));
    EXPECT(OK, motemix_node_end(small));
}

static void from_the_callback(void)
{
    static uint64_t room[MOTEMIX_NODE_SIZE(MOTEMIX_MOTE) / 8];
    motemix_trust trust = { authority, 1, 1 };
    motemix_random random = { reentering, &counter };
    motemix_document document;
    motemix_about about;
    motemix_node *node;
    uint64_t message;
    unsigned before;

    EXPECT(OK, motemix_document_open(&document, bytes, len, &trust, MOTEMIX_TIME_UNKNOWN, MOTEMIX_NO_EPOCH));
    EXPECT(OK, motemix_document_about(&document, &about));
    EXPECT(OK, motemix_node_new(room, sizeof(room), &limits, &config, &random, &no_journal, &node));
    EXPECT(OK, motemix_node_prepare_epoch(node, about.epoch, secret));
    EXPECT(OK, motemix_node_begin_epoch(node, 0, MOTEMIX_NEVER, &document));
    reentered = node;
    before = expectations;
    /* Each message draws a path before it is refused for lack of room, so that the generator asks for
     * fresh bytes in the end. */
    for (int turn = 0; turn < 10000 && expectations == before; turn++) {
        motemix_status status = motemix_node_send(node, 0, 1, NULL, 0, &message);
        if (status != MOTEMIX_STATUS_OK && status != MOTEMIX_STATUS_FULL) {
            EXPECT(FULL, status);
        }
    }
    CHECK(expectations == before + 3);
    reentered = NULL;
    EXPECT(OK, motemix_node_end(node));
}

int main(int argc, char **argv)
{
    size_t got;

    no_journal = motemix_no_journal();
    CHECK(argc == 2);
    read_file(argv[1], "document", bytes, sizeof(bytes), &len);
    read_file(argv[1], "authority", authority, sizeof(authority), &got);
    read_file(argv[1], "secret", secret, sizeof(secret), &got);
    documents();
    memory();
    order();
    from_the_callback();
    CHECK(strstr(motemix_status_text(200), "not a status") != NULL);
    printf("%u expectations met\n", expectations);
    return 0;
}
