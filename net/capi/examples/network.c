/*
 * Several nodes in one process: they send messages to each other through mixes, over an air that is an
 * array, on a clock that is a number. What a board does differently is in `boards/ports/`.
 *
 *   network DIRECTORY...      one directory for each node, as `provision` writes them
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "motemix.h"

#define MOST_NODES 16
#define AIR 256
#define FLIGHT_US 1000

/* What fails here is a bug: say where, and let the test see it. */
#define CHECK(condition)                                                                \
    do {                                                                                \
        if (!(condition)) {                                                             \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);     \
            exit(EXIT_FAILURE);                                                         \
        }                                                                               \
    } while (0)

static void ok(motemix_status status, int line)
{
    if (status != MOTEMIX_STATUS_OK) {
        fprintf(stderr, "%s:%d: %s\n", __FILE__, line, motemix_status_text(status));
        exit(EXIT_FAILURE);
    }
}
#define OK(call) ok(call, __LINE__)

struct datagram {
    uint64_t arrives_us;
    uint16_t to;
    uint8_t bytes[MOTEMIX_PACKET_LEN];
};

static uint64_t memory[MOST_NODES][MOTEMIX_NODE_SIZE(MOTEMIX_MOTE) / 8];
static motemix_node *nodes[MOST_NODES];
static uint8_t secrets[MOST_NODES][32];
static size_t node_count;
static motemix_document document;

static uint64_t now_us = 1000000;
static struct datagram air[AIR];
static size_t in_the_air;
static struct datagram last_sent;
static int lose_next;

/* What the applications saw. */
static char last_received[MOTEMIX_DATA_LEN + 1];
static unsigned received, repeated, acknowledged, discarded;
static char last_reply[MOTEMIX_DATA_LEN + 1];
static uint8_t last_tries;
static uint64_t last_round_trip_us;

static size_t read_file(const char *directory, const char *name, uint8_t *out, size_t most)
{
    char path[4096];
    CHECK(snprintf(path, sizeof(path), "%s/%s", directory, name) < (int)sizeof(path));
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "network: cannot read %s; make it with the example provision\n", path);
        exit(EXIT_FAILURE);
    }
    size_t len = fread(out, 1, most, file);
    CHECK(len < most || fgetc(file) == EOF);
    fclose(file);
    return len;
}

/* On a board: the hardware's generator. */
static int fill(void *context, uint8_t *out, size_t len)
{
    (void)context;
    FILE *file = fopen("/dev/urandom", "rb");
    if (file == NULL) {
        return -1;
    }
    size_t got = fread(out, 1, len, file);
    fclose(file);
    return got == len ? 0 : -1;
}

/* On a board: flash. What was admitted is noted, and counts as kept when it has been committed. */
static motemix_admitted noted[MOST_NODES];
static unsigned uncommitted[MOST_NODES];

static void admit(void *context, const motemix_admitted *admitted)
{
    uint16_t id = (uint16_t)(uintptr_t)context;
    noted[id] = *admitted;
    uncommitted[id]++;
}

static int commit(void *context)
{
    uncommitted[(uintptr_t)context] = 0;
    return 0;
}

static void make_node(uint16_t id)
{
    static const motemix_limits limits = { MOTEMIX_MOTE };
    motemix_config config = { .id = id, .receiver = MOTEMIX_NO_NODE };
    motemix_random random = { .fill = fill, .context = NULL };
    motemix_journal journal = { .admit = admit, .commit = commit, .context = (void *)(uintptr_t)id };
    motemix_about about;

    OK(motemix_node_new(memory[id], sizeof(memory[id]), &limits, &config, &random, &journal, &nodes[id]));
    OK(motemix_document_about(&document, &about));
    OK(motemix_node_prepare_epoch(nodes[id], about.epoch, secrets[id]));
    OK(motemix_node_begin_epoch(nodes[id], now_us, MOTEMIX_NEVER, &document));
}

static void handle_events(uint16_t id)
{
    motemix_event event;
    while (motemix_node_poll_event(nodes[id], &event) == MOTEMIX_STATUS_OK) {
        char text[MOTEMIX_DATA_LEN + 1];
        memcpy(text, event.data, event.len);
        text[event.len] = '\0';
        switch (event.kind) {
        case MOTEMIX_EVENT_KIND_RECEIVED:
            received++;
            repeated += event.repeated;
            strcpy(last_received, text);
            /* Questions get an answer, everything else is acknowledged. */
            if (strchr(text, '?') != NULL) {
                OK(motemix_node_reply(nodes[id], now_us, event.token, (const uint8_t *)"yes", 3));
            }
            else {
                OK(motemix_node_reply(nodes[id], now_us, event.token, NULL, 0));
            }
            break;
        case MOTEMIX_EVENT_KIND_ACKNOWLEDGED:
            acknowledged++;
            strcpy(last_reply, text);
            last_tries = event.tries;
            last_round_trip_us = event.round_trip_us;
            break;
        case MOTEMIX_EVENT_KIND_DISCARDED:
            discarded++;
            break;
        default:
            CHECK(!"an event of a known kind");
        }
    }
}

/* What the run loop does after each datagram and each timeout. */
static void service(uint16_t id)
{
    motemix_transmit transmit;
    uint8_t packet[MOTEMIX_PACKET_LEN];

    while (motemix_node_work(nodes[id], now_us) == MOTEMIX_STATUS_OK) {
    }
    handle_events(id);
    while (motemix_node_poll_transmit(nodes[id], now_us, packet, sizeof(packet), &transmit) ==
           MOTEMIX_STATUS_OK) {
        CHECK(transmit.to < node_count && transmit.len == MOTEMIX_PACKET_LEN);
        last_sent.to = transmit.to;
        last_sent.arrives_us = now_us + FLIGHT_US;
        memcpy(last_sent.bytes, packet, sizeof(packet));
        if (lose_next) {
            lose_next = 0;
            continue;
        }
        CHECK(in_the_air < AIR);
        air[in_the_air++] = last_sent;
    }
}

/* The next thing that happens anywhere. Zero if nothing is left to happen. */
static int step(void)
{
    size_t next_datagram = AIR;
    uint64_t due_us = UINT64_MAX;
    uint16_t due_node = 0;

    for (uint16_t id = 0; id < node_count; id++) {
        uint64_t at_us;
        if (motemix_node_poll_timeout(nodes[id], &at_us) == MOTEMIX_STATUS_OK && at_us < due_us) {
            due_us = at_us;
            due_node = id;
        }
    }
    for (size_t at = 0; at < in_the_air; at++) {
        if (air[at].arrives_us <= due_us) {
            due_us = air[at].arrives_us;
            next_datagram = at;
        }
    }
    if (due_us == UINT64_MAX) {
        return 0;
    }
    now_us = due_us > now_us ? due_us : now_us;
    if (next_datagram < AIR) {
        struct datagram datagram = air[next_datagram];
        air[next_datagram] = air[--in_the_air];
        due_node = datagram.to;
        motemix_status status =
            motemix_node_handle_datagram(nodes[due_node], now_us, 0, datagram.bytes, sizeof(datagram.bytes));
        CHECK(status == MOTEMIX_STATUS_OK || status == MOTEMIX_STATUS_DROPPED);
    }
    else {
        OK(motemix_node_handle_timeout(nodes[due_node], now_us));
    }
    service(due_node);
    return 1;
}

static void send(uint16_t from, uint16_t to, const char *text)
{
    uint64_t message;
    OK(motemix_node_send(nodes[from], now_us, to, (const uint8_t *)text, strlen(text), &message));
    service(from);
}

/* Until `messages` more have been acknowledged or given up. */
static void until_ended(unsigned messages)
{
    unsigned ended = acknowledged + discarded;
    for (int steps = 0; acknowledged + discarded < ended + messages; steps++) {
        CHECK(steps < 100000 && step());
    }
}

static void a_message_is_acknowledged(void)
{
    send(0, 3, "21.5 C");
    until_ended(1);
    CHECK(received == 1 && acknowledged == 1 && discarded == 0);
    CHECK(strcmp(last_received, "21.5 C") == 0 && last_reply[0] == '\0');
    /* Six hops, so six flights at least. */
    CHECK(last_round_trip_us >= 6 * FLIGHT_US);
    printf("acknowledged after %llu us of virtual time\n", (unsigned long long)last_round_trip_us);
}

static void a_question_is_answered(void)
{
    send(2, 1, "is it warm?");
    until_ended(1);
    CHECK(strcmp(last_received, "is it warm?") == 0 && strcmp(last_reply, "yes") == 0);
}

static void everybody_sends_to_everybody(void)
{
    unsigned before = acknowledged;
    for (uint16_t from = 0; from < node_count; from++) {
        for (uint16_t to = 0; to < node_count; to++) {
            if (from != to) {
                char text[32];
                sprintf(text, "from %u to %u", from, to);
                send(from, to, text);
                until_ended(1);
                CHECK(strcmp(last_received, text) == 0);
            }
        }
    }
    CHECK(acknowledged - before == node_count * (node_count - 1));
}

static void what_the_air_swallows_is_sent_again(void)
{
    unsigned before = received;
    lose_next = 1;
    send(1, 0, "lost once");
    CHECK(!lose_next);
    until_ended(1);
    /* The delays are drawn, so now and then the second try is slower than its sender waits. */
    CHECK(last_tries >= 2 && received == before + 1 && strcmp(last_received, "lost once") == 0);
}

/* Every node keeps what it has admitted; one is made anew, and still refuses an old packet. */
static void a_restarted_node_refuses_replays(void)
{
    motemix_admitted kept;
    struct datagram old;
    motemix_counters counters;
    const uint8_t replayed = 3;

    CHECK(strcmp(motemix_drop_reason_text(replayed), "replayed") == 0);
    send(0, 3, "once and never again");
    old = last_sent;
    /* The packet arrives at its first mix, and nothing else happens to anybody. */
    CHECK(in_the_air == 1);
    in_the_air = 0;
    struct datagram copy = old;
    now_us = old.arrives_us;
    OK(motemix_node_handle_datagram(nodes[old.to], now_us, 0, copy.bytes, sizeof(copy.bytes)));
    CHECK(uncommitted[old.to] == 1);
    kept = noted[old.to];

    OK(motemix_node_end(nodes[old.to]));
    CHECK(motemix_node_work(nodes[old.to], now_us) == MOTEMIX_STATUS_NOT_A_NODE);
    for (size_t word = 0; word < sizeof(memory[old.to]) / 8; word++) {
        CHECK(memory[old.to][word] == 0);
    }
    make_node(old.to);
    OK(motemix_node_restore_admitted(nodes[old.to], &kept));

    copy = old;
    CHECK(motemix_node_handle_datagram(nodes[old.to], now_us, 0, copy.bytes, sizeof(copy.bytes)) ==
          MOTEMIX_STATUS_DROPPED);
    OK(motemix_node_counters(nodes[old.to], &counters));
    CHECK(counters.dropped[replayed] == 1 && counters.forwarded == 0);
    /* The sender does not hear of it, and tries again by another path. */
    until_ended(1);
    CHECK(strcmp(last_received, "once and never again") == 0 && last_tries >= 2);
}

static void nonsense_is_dropped(void)
{
    uint8_t noise[2 * MOTEMIX_PACKET_LEN];
    for (size_t len = 0; len <= sizeof(noise); len += 7) {
        CHECK(fill(NULL, noise, sizeof(noise)) == 0);
        CHECK(motemix_node_handle_datagram(nodes[0], now_us, 0, noise, len) == MOTEMIX_STATUS_DROPPED);
    }
}

int main(int argc, char **argv)
{
    static uint8_t bytes[8192];
    uint8_t authority[32];

    node_count = (size_t)argc - 1;
    CHECK(node_count >= 4 && node_count <= MOST_NODES);
    size_t len = read_file(argv[1], "document", bytes, sizeof(bytes));
    CHECK(read_file(argv[1], "authority", authority, sizeof(authority)) == sizeof(authority));
    motemix_trust trust = { .authority_keys = authority, .authorities = 1, .threshold = 1 };
    OK(motemix_document_open(&document, bytes, len, &trust, MOTEMIX_TIME_UNKNOWN, MOTEMIX_NO_EPOCH));

    for (uint16_t id = 0; id < node_count; id++) {
        uint8_t public_key[32];
        motemix_descriptor described;
        CHECK(read_file(argv[id + 1], "secret", secrets[id], 32) == 32);
        OK(motemix_public_key(secrets[id], public_key));
        OK(motemix_document_find_key(&document, public_key, &described));
        CHECK(described.id == id);
        make_node(id);
        printf("node %u is %s\n", id, described.name);
    }

    a_message_is_acknowledged();
    a_question_is_answered();
    everybody_sends_to_everybody();
    what_the_air_swallows_is_sent_again();
    a_restarted_node_refuses_replays();
    nonsense_is_dropped();

    CHECK(discarded == 0 && repeated == 0);
    for (uint16_t id = 0; id < node_count; id++) {
        OK(motemix_node_end(nodes[id]));
    }
    OK(motemix_document_close(&document));
    printf("%u messages acknowledged\n", acknowledged);
    return 0;
}
