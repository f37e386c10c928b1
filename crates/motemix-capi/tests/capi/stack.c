/*
 * How much stack each call takes on a Cortex-M: run in an emulator, which has no other threads, on a
 * stack that was filled with a pattern before the call. Four nodes exchange a message.
 *
 * Prints "CALL BYTES" for each call, through semihosting.
 */

#include <stddef.h>
#include <stdint.h>

#include "motemix.h"
#include "motemix_network.h"

#define NODES 4
#define PAINTED 16384u
#define PATTERN 0x6b636174u

extern uint32_t bss_begin[], bss_end[], stack_top[];

int main(void);
void reset(void);
void fault(void);

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    stack_top, reset, fault, fault, fault, fault, fault,
};

static void host(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static void say(const char *text)
{
    host(0x04, text);
}

static void leave(int failed)
{
    /* ADP_Stopped_ApplicationExit, or a run-time error. */
    host(0x18, (const void *)(uintptr_t)(failed ? 0x20023 : 0x20026));
    for (;;) {
    }
}

void fault(void)
{
    say("fault\n");
    leave(1);
}

void abort(void)
{
    say("abort\n");
    leave(1);
    for (;;) {
    }
}

void reset(void)
{
    for (uint32_t *word = bss_begin; word < bss_end; word++) {
        *word = 0;
    }
    leave(main());
}

/* The compiler may write these for loops, and the library asks for them. */
void *memset(void *to, int value, size_t len)
{
    volatile uint8_t *at = to;
    while (len-- > 0) {
        *at++ = (uint8_t)value;
    }
    return to;
}

void *memcpy(void *to, const void *from, size_t len)
{
    volatile uint8_t *at = to;
    const uint8_t *of = from;
    while (len-- > 0) {
        *at++ = *of++;
    }
    return to;
}

static uint32_t deepest[8];
static const char *const names[8] = {
    "motemix_document_open",    "motemix_node_new",  "motemix_node_prepare_epoch",
    "motemix_node_begin_epoch", "motemix_node_work", "motemix_node_handle_datagram",
    "motemix_node_reply",       "others",
};
enum { OPEN, NEW, PREPARE, BEGIN, WORK, DATAGRAM, REPLY, OTHERS };

static void *frame(void)
{
    void *sp;
    __asm__ volatile("mov %0, sp" : "=r"(sp));
    return sp;
}

__attribute__((noinline)) static void paint(void)
{
    uint32_t *top = (uint32_t *)frame() - 8;
    for (uint32_t *word = top - PAINTED / 4; word < top; word++) {
        *(volatile uint32_t *)word = PATTERN;
    }
}

static motemix_status last;

__attribute__((noinline)) static motemix_status measure(int call)
{
    uint32_t *top = (uint32_t *)frame() - 8;
    uint32_t *word = top - PAINTED / 4 + 16;
    while (word < top && *(volatile uint32_t *)word == PATTERN) {
        word++;
    }
    uint32_t used = (uint32_t)((uint8_t *)top - (uint8_t *)word);
    deepest[call] = used > deepest[call] ? used : deepest[call];
    return last;
}

#define CALL(call, expression) (paint(), last = (expression), measure(call))

static void number(uint32_t value)
{
    char text[12];
    char *at = text + sizeof(text) - 1;
    *at = '\0';
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    say(at);
}

static void need(motemix_status status)
{
    if (status != MOTEMIX_STATUS_OK) {
        say(motemix_status_text(status));
        leave(1);
    }
}

/* Not random at all, which changes nothing about stacks. */
static int fill(void *context, uint8_t *out, size_t len)
{
    static uint32_t state = 1;
    (void)context;
    while (len-- > 0) {
        state = state * 1664525 + 1013904223;
        *out++ = (uint8_t)(state >> 24);
    }
    return 0;
}

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
    for (int call = 0; call < 8; call++) {
        say(names[call]);
        say(" ");
        number(deepest[call]);
        say("\n");
    }
    return 0;
}
