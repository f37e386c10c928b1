/*
 * How much stack the lines that are typed at a mote take on a Cortex-M, see bare.h. Contiki-NG's
 * shell knows no other way. What the mote prints and sends passes through Contiki-NG on the same
 * stack: the callbacks here take as much.
 *
 * The first run has documents of one byte, and only prints "EPOCH KEY"; what is random here is the
 * same in each run, so the keys of the second are those. That prints "CALL BYTES" for each line.
 */

#define CALLS 13
static const char *const names[CALLS] = {
    "open", "help", "key", "trust", "document", "end", "network", "start", "send", "running", "inbox",
    "poll", "others",
};
enum { OPEN, HELP, KEY, TRUST, DOCUMENT, END, NETWORK, START, SEND, RUNNING, INBOX, POLL, OTHERS };

#include "../bare.h"
#include "motemix_network.h"

#define PAGES 11
/* The shell's buffer, and what formats into it. */
#define PRINT 512
/* IPv6, 6LoWPAN and CSMA. */
#define TRANSMIT 768

static uint64_t memory[MOTEMIX_MOTE_SIZE(MOTEMIX_MOTE) / 8];
static uint8_t flash_memory[PAGES * MOTEMIX_PAGE_LEN];
static motemix_mote *mote;
static uint64_t now = 1000000;

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

__attribute__((noinline)) static void take(size_t bytes)
{
    volatile uint8_t room[bytes];
    room[0] = 1;
    room[bytes - 1] = room[0];
}

static int says_error;
static int is_quiet;

static void print(void *context, const uint8_t *text, size_t len)
{
    char character[2] = { 0 };

    (void)context;
    take(PRINT);
    says_error = says_error || (len >= 6 && text[0] == 'e' && text[1] == 'r' && text[2] == 'r');
    for (size_t at = 0; at < len && (!is_quiet || says_error); at++) {
        character[0] = (char)text[at];
        say(character);
    }
}

static int transmit(void *context, const motemix_address *to, const uint8_t *packet, size_t len)
{
    (void)context, (void)to, (void)packet, (void)len;
    take(TRANSMIT);
    return 0;
}

static void type_line(int call, const char *line)
{
    size_t len = 0;

    while (line[len] != '\0') {
        len++;
    }
    need(CALL(call, motemix_mote_command(mote, now, (const uint8_t *)line, len)));
    if (says_error) {
        leave(1);
    }
}

static char *hex(char *to, const uint8_t *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t at = 0; at < len; at++) {
        *to++ = digits[bytes[at] >> 4];
        *to++ = digits[bytes[at] & 15];
    }
    *to = '\0';
    return to;
}

static void give(const uint8_t *document, size_t len)
{
    char line[9 + 2 * 48 + 1];

    type_line(DOCUMENT, "document begin");
    for (size_t at = 0; at < len; at += 48) {
        memcpy(line, "document ", 9);
        hex(line + 9, document + at, len - at < 48 ? len - at : 48);
        type_line(DOCUMENT, line);
    }
    type_line(END, "document end");
}

static void serve(void)
{
    uint64_t next;

    for (int turn = 0; turn < 100; turn++) {
        while (CALL(POLL, motemix_mote_poll(mote, now, &next)) == MOTEMIX_STATUS_OK) {
        }
        now += 10000;
    }
}

int main(void)
{
    static const motemix_limits limits = { MOTEMIX_MOTE };
    const motemix_platform platform = {
        .random = { fill, NULL },
        .flash = { read_flash, write_flash, erase_flash, flash_memory, 5, 4, 2 },
        .send = transmit,
        .print = print,
    };
    const motemix_address address = { .ip = { 0xfe, 0x80, [15] = 1 }, .port = 61616, .version = 6 };
    char line[8 + 64 + 1];

    memset(flash_memory, 0xff, sizeof(flash_memory));
    need(CALL(OPEN, motemix_mote_open(memory, sizeof(memory), &limits, &platform, &mote)));
    need(CALL(OTHERS, motemix_mote_set_address(mote, &address)));
    type_line(KEY, "key 7");
    type_line(KEY, "key 8");
    if (sizeof(motemix_network_document) == 1) {
        return 0;
    }
    is_quiet = 1;
    type_line(HELP, "help");
    memcpy(line, "trust 1 ", 8);
    hex(line + 8, motemix_network_authority, 32);
    type_line(TRUST, line);
    type_line(TRUST, TIME);
    give(motemix_network_document, sizeof(motemix_network_document));
    type_line(NETWORK, "network");
    type_line(START, "start");
    serve();
    type_line(SEND, "send node-3 as many characters as there may be in one line of the shell and somewhat more");
    serve();
    type_line(RUNNING, "status");
    type_line(RUNNING, "key 8");
    type_line(INBOX, "inbox");
    give(motemix_network_next, sizeof(motemix_network_next));
    type_line(RUNNING, "stop");
    print_deepest();
    return 0;
}
