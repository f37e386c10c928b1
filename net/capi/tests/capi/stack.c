/*
 * How much stack each call of a node takes on a Cortex-M, see bare.h. Four nodes exchange a
 * message.
 *
 * Prints "CALL BYTES" for each call.
 */

#define CALLS 8
static const char *const names[CALLS] = {
    "motemix_document_open",    "motemix_node_new",  "motemix_node_prepare_epoch",
    "motemix_node_begin_epoch", "motemix_node_work", "motemix_node_handle_datagram",
    "motemix_node_reply",       "others",
};
enum { OPEN, NEW, PREPARE, BEGIN, WORK, DATAGRAM, REPLY, OTHERS };

#include "bare.h"
#include "motemix_network.h"

#define NODES 4

static uint64_t memory[NODES][MOTEMIX_NODE_SIZE(MOTEMIX_MOTE) / 8];
static motemix_node *nodes[NODES];
static motemix_document document;
static uint64_t now = 1000000;
static int acknowledged;

static void service(uint16_t id)
{
    motemix_event event;
    motemix_transmit transmit;
    uint8_t packet[MOTEMIX_PACKET_LEN];

    while (CALL(WORK, motemix_node_work(nodes[id], now)) == MOTEMIX_STATUS_OK) {
    }
    while (CALL(OTHERS, motemix_node_poll_event(nodes[id], &event)) == MOTEMIX_STATUS_OK) {
        if (event.kind == MOTEMIX_EVENT_KIND_RECEIVED) {
            need(CALL(REPLY, motemix_node_reply(nodes[id], now, event.token, NULL, 0)));
        }
        acknowledged += event.kind == MOTEMIX_EVENT_KIND_ACKNOWLEDGED;
    }
    while (CALL(OTHERS, motemix_node_poll_transmit(nodes[id], now, packet, sizeof(packet), &transmit)) ==
           MOTEMIX_STATUS_OK) {
        CALL(DATAGRAM, motemix_node_handle_datagram(nodes[transmit.to], now, id, packet, sizeof(packet)));
        if (last != MOTEMIX_STATUS_OK) {
            say("dropped\n");
        }
    }
}

int main(void)
{
    static const uint8_t secrets[NODES][32] = { { 2 }, { 3 }, { 4 }, { 5 } };
    static const motemix_limits limits = { MOTEMIX_MOTE };
    const motemix_random random = { fill, NULL };
    const motemix_journal journal = motemix_no_journal();
    const motemix_trust trust = { motemix_network_authority, 1, 1 };
    motemix_about about;
    uint64_t message;

    need(CALL(OPEN, motemix_document_open(&document, motemix_network_document, sizeof(motemix_network_document),
                                          &trust, MOTEMIX_TIME_UNKNOWN, MOTEMIX_NO_EPOCH)));
    need(motemix_document_about(&document, &about));
    for (uint16_t id = 0; id < NODES; id++) {
        /* The test's secrets are 32 equal bytes. */
        uint8_t secret[32];
        memset(secret, secrets[id][0], sizeof(secret));
        motemix_config config = { 0, id, MOTEMIX_NO_NODE };
        need(CALL(NEW, motemix_node_new(memory[id], sizeof(memory[id]), &limits, &config, &random, &journal,
                                        &nodes[id])));
        need(CALL(PREPARE, motemix_node_prepare_epoch(nodes[id], about.epoch, secret)));
        need(CALL(BEGIN, motemix_node_begin_epoch(nodes[id], now, MOTEMIX_NEVER, &document)));
    }
    need(CALL(OTHERS, motemix_node_send(nodes[0], now, 3, (const uint8_t *)"21.5 C", 6, &message)));
    for (int turn = 0; turn < 1000 && acknowledged == 0; turn++) {
        for (uint16_t id = 0; id < NODES; id++) {
            CALL(OTHERS, motemix_node_handle_timeout(nodes[id], now));
            service(id);
        }
        now += 10000;
    }
    if (acknowledged != 1) {
        say("not acknowledged\n");
        return 1;
    }
    print_deepest();
    return 0;
}
