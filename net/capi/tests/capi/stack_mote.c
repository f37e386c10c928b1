/*
 * How much stack each call of a mote takes on a Cortex-M, see bare.h. Four motes make their keys,
 * take a network document and exchange a message; one is given the next epoch's document, the others
 * have it from their neighbours, and all turn to it.
 *
 * The first run has documents of one byte, and only prints "EPOCH KEY" of each mote. What is random
 * here is the same in each run, so the keys of the second are those. That one prints "CALL BYTES"
 * for each call.
 */

#define CALLS 17
static const char *const names[CALLS] = {
    "motemix_mote_open",
    "motemix_mote_public_key",
    "motemix_mote_trust",
    "motemix_mote_keep_document",
    "motemix_mote_start",
    "motemix_mote_send",
    "motemix_mote_handle_datagram",
    "motemix_mote_poll",
    "motemix_mote_keep_document(next)",
    "motemix_mote_handle_datagram(document)",
    "motemix_mote_poll(document)",
    "motemix_mote_poll(next)",
    "motemix_mote_message",
    "motemix_mote_stop",
    "motemix_mote_identity",
    "motemix_mote_poll(signs)",
    "others",
};
enum {
    OPEN, KEY, TRUST, KEEP, START, SEND, DATAGRAM, POLL, KEEP_NEXT, DATAGRAM_DOCUMENT, POLL_DOCUMENT, POLL_NEXT,
    MESSAGE, STOP, IDENTITY, SIGN, OTHERS
};

#include "bare.h"
#include "motemix_network.h"

#define MOTES 4
#define EPOCH 7
#define PAGES 12
#define SECOND 1000000u
/* Datagrams under way. */
#define AIR 32

static uint64_t memory[MOTES][MOTEMIX_MOTE_SIZE(MOTEMIX_MOTE) / 8];
static uint8_t flashes[MOTES][PAGES * MOTEMIX_PAGE_LEN];
static motemix_mote *motes[MOTES];
static uint64_t now = SECOND;

static int read_flash(void *context, uint32_t address, uint8_t *out, size_t len)
{
    memcpy(out, (uint8_t *)context + address, len);
    return 0;
}

static int write_flash(void *context, uint32_t address, const uint8_t *bytes, size_t len)
{
    for (size_t at = 0; at < len; at++) {
        ((uint8_t *)context)[address + at] &= bytes[at];
    }
    return 0;
}

static int erase_flash(void *context, uint32_t address, size_t len)
{
    memset((uint8_t *)context + address, 0xff, len);
    return 0;
}

static struct {
    unsigned from, to;
    size_t len;
    uint8_t bytes[MOTEMIX_DATAGRAM_LEN];
} air[AIR];
static unsigned on_air;

static int transmit(void *context, const motemix_address *to, const uint8_t *packet, size_t len)
{
    if (on_air == AIR || len > MOTEMIX_DATAGRAM_LEN) {
        return -1;
    }
    air[on_air].from = (unsigned)((motemix_mote **)context - motes);
    air[on_air].len = len;
    /* The last byte of the address is the mote's number, from 1 on. */
    air[on_air].to = to->ip[15] - 1u;
    memcpy(air[on_air].bytes, packet, len);
    on_air++;
    return 0;
}

static unsigned acknowledged;

static void on_acknowledged(void *context, uint64_t message, uint64_t round_trip_us, uint8_t tries)
{
    (void)context, (void)message, (void)round_trip_us, (void)tries;
    acknowledged++;
}

static unsigned begun;

static void on_epoch(void *context, uint32_t epoch)
{
    (void)context, (void)epoch;
    begun++;
}

static unsigned came;

static void on_document(void *context, uint32_t epoch)
{
    (void)context, (void)epoch;
    came++;
}

static unsigned sensed;

static int sense(void *context, motemix_record *record)
{
    (void)context;
    *record = (motemix_record){ "t", "Cel", 215, 0, 1 };
    sensed++;
    return 0;
}

static void open_motes(void)
{
    static const motemix_limits limits = { MOTEMIX_MOTE };
    static const motemix_sensor sensor = { sense, NULL };
    static motemix_readings readings[MOTES];
    uint8_t identity[MOTEMIX_IDENTITY_LEN], introduction[MOTEMIX_INTRODUCTION_LEN];

    for (unsigned at = 0; at < MOTES; at++) {
        const motemix_platform platform = {
            .random = { fill, NULL },
            .flash = { read_flash, write_flash, erase_flash, flashes[at], 4, 4, 2, 2 },
            .send = transmit,
            .acknowledged = on_acknowledged,
            .epoch_begins = on_epoch,
            .document_came = on_document,
            .context = &motes[at],
        };
        memset(flashes[at], 0xff, sizeof(flashes[at]));
        need(CALL(OPEN, motemix_mote_open(memory[at], sizeof(memory[at]), &limits, &platform, &motes[at])));
        need(CALL(OTHERS, motemix_mote_sign_readings(motes[at], &readings[at], &sensor)));
        need(CALL(IDENTITY, motemix_mote_identity(motes[at], identity, introduction)));
    }
}

static void print_key(unsigned mote, uint32_t epoch)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t key[32];
    char text[2 * sizeof(key) + 2];

    need(CALL(KEY, motemix_mote_public_key(motes[mote], epoch, key)));
    for (unsigned at = 0; at < sizeof(key); at++) {
        text[2 * at] = digits[key[at] >> 4];
        text[2 * at + 1] = digits[key[at] & 15];
    }
    text[2 * sizeof(key)] = '\n';
    text[2 * sizeof(key) + 1] = '\0';
    number(epoch);
    say(" ");
    say(text);
}

static void keep(unsigned mote, int call, const uint8_t *document, size_t len)
{
    need(CALL(OTHERS, motemix_mote_give_document(motes[mote], 0, document, len)));
    need(CALL(call, motemix_mote_keep_document(motes[mote], now, len)));
}

/* Until nobody has anything to do for a while. */
static void serve(int poll, int datagram)
{
    for (unsigned at = 0; at < MOTES; at++) {
        uint64_t next;
        while (CALL(poll, motemix_mote_poll(motes[at], now, &next)) == MOTEMIX_STATUS_OK) {
        }
    }
    while (on_air > 0) {
        motemix_address from = { { 0xfe, 0x80 }, 61616, 6 };
        on_air--;
        from.ip[15] = (uint8_t)(air[on_air].from + 1u);
        need(CALL(datagram, motemix_mote_handle_datagram(motes[air[on_air].to], now, &from,
                                                         air[on_air].bytes, air[on_air].len)));
    }
    now += SECOND / 100;
}

static int take_part(void)
{
    uint8_t data[MOTEMIX_DATA_LEN];
    uint64_t message;
    size_t len;

    for (unsigned at = 0; at < MOTES; at++) {
        need(CALL(TRUST, motemix_mote_trust(motes[at], 1, motemix_network_authority, 1)));
        need(CALL(OTHERS, motemix_mote_set_time(motes[at], now, BEGINS)));
        keep(at, KEEP, motemix_network_document, sizeof(motemix_network_document));
        need(CALL(START, motemix_mote_start(motes[at], now)));
    }
    need(CALL(SEND, motemix_mote_send(motes[0], now, (const uint8_t *)"node-3", 6, (const uint8_t *)"21.5", 4,
                                      &message)));
    for (int turn = 0; turn < 1000 && acknowledged == 0; turn++) {
        serve(POLL, DATAGRAM);
    }
    need(CALL(OTHERS, motemix_mote_send_readings(motes[1], now, (const uint8_t *)"node-2", 6, 3600)));
    uint64_t next;
    (void)CALL(SIGN, motemix_mote_poll(motes[1], now, &next));
    for (int turn = 0; turn < 1000 && acknowledged == 1; turn++) {
        serve(SIGN, DATAGRAM);
    }
    if (sensed != 1 || acknowledged != 2) {
        say("no reading\n");
        return 1;
    }
    need(CALL(OTHERS, motemix_mote_send_readings(motes[1], now, NULL, 0, 0)));
    keep(0, KEEP_NEXT, motemix_network_next, sizeof(motemix_network_next));
    while (now < (uint64_t)(NEXT_BEGINS - BEGINS) * SECOND && came < MOTES - 1) {
        serve(POLL_DOCUMENT, DATAGRAM_DOCUMENT);
        now += SECOND / 2;
    }
    now = (uint64_t)(NEXT_BEGINS - BEGINS + 2) * SECOND;
    serve(POLL_NEXT, DATAGRAM);
    need(CALL(SEND, motemix_mote_send(motes[3], now, (const uint8_t *)"node-0", 6, (const uint8_t *)"22", 2,
                                      &message)));
    for (int turn = 0; turn < 1000 && acknowledged == 2; turn++) {
        serve(POLL, DATAGRAM);
    }
    if (acknowledged != 3 || begun != MOTES || came != MOTES - 1) {
        say("not acknowledged, no next epoch, or no document from a neighbour\n");
        return 1;
    }
    need(CALL(MESSAGE, motemix_mote_message(motes[3], NULL, data, &len)));
    need(CALL(STOP, motemix_mote_stop(motes[3])));
    return 0;
}

int main(void)
{
    open_motes();
    for (unsigned at = 0; at < MOTES; at++) {
        print_key(at, EPOCH);
        print_key(at, EPOCH + 1);
    }
    if (sizeof(motemix_network_document) == 1) {
        return 0;
    }
    if (take_part() != 0) {
        return 1;
    }
    print_deepest();
    return 0;
}
