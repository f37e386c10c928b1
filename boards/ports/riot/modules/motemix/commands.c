/*
 * The mote's commands for RIOT's shell, in as little flash as they take: those of docs/spec/mote.md
 * without `network`, in fewer words. console.c is for who has room for more.
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "net/ipv6/addr.h"

#include "internal.h"

/* Of `trust`: as many as a mote knows. */
#define MOST_KEYS 4
#define KEY_LEN 32
/* Of a command whose words are not as its usage has them. */
#define MISUSED (-1)

static int say(motemix_status status)
{
    if (status != MOTEMIX_STATUS_OK) {
        printf("error: %s\n", motemix_status_text(status));
        return 1;
    }
    puts("ok");
    return 0;
}

/* Reads decimal digits and nothing else. */
static bool read_number(const char *text, uint64_t most, uint64_t *number)
{
    uint64_t value = 0;

    for (const char *at = text; *at != '\0'; at++) {
        unsigned digit = (unsigned)(*at - '0');
        if (digit > 9 || value > (most - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *number = value;
    return *text != '\0';
}

static int nibble(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Reads hex digits in pairs, `room` bytes at most; tells how many bytes they are, or -1. */
static int read_hex(const char *text, uint8_t *out, size_t room)
{
    size_t len = 0;

    for (; text[0] != '\0'; text += 2) {
        int high = nibble(text[0]), low = text[1] == '\0' ? -1 : nibble(text[1]);
        if (high < 0 || low < 0 || len == room) {
            return -1;
        }
        out[len++] = (uint8_t)(high << 4 | low);
    }
    return (int)len;
}

static void print_hex(const uint8_t *bytes, size_t len)
{
    for (size_t at = 0; at < len; at++) {
        printf("%02x", bytes[at]);
    }
}

/* --- before the node runs --- */

static int key(int argc, char **argv)
{
    uint64_t epoch;
    motemix_address address;
    uint8_t bytes[KEY_LEN];
    char ip[IPV6_ADDR_MAX_STR_LEN];

    if (argc != 1 || !read_number(argv[0], UINT32_MAX, &epoch)) {
        return MISUSED;
    }
    motemix_status status = motemix_key((uint32_t)epoch, &address, bytes);
    if (status != MOTEMIX_STATUS_OK) {
        return say(status);
    }
    printf("address [%s]:%u key ",
           ipv6_addr_to_str(ip, (const ipv6_addr_t *)address.ip, sizeof(ip)), address.port);
    print_hex(bytes, sizeof(bytes));
    puts("");
    return 0;
}

static int trust(int argc, char **argv)
{
    uint8_t keys[MOST_KEYS * KEY_LEN];
    bool joins = argc > 1 && strcmp(argv[1], "and") == 0;
    int first = joins ? 2 : 1;
    uint64_t threshold;

    if (argc <= first || argc - first > MOST_KEYS ||
        !read_number(argv[0], MOST_KEYS, &threshold)) {
        return MISUSED;
    }
    for (int at = first; at < argc; at++) {
        if (read_hex(argv[at], keys + (at - first) * KEY_LEN, KEY_LEN) != KEY_LEN) {
            return MISUSED;
        }
    }
    uint8_t count = (uint8_t)(argc - first);
    return say(joins ? motemix_trust_also((uint8_t)threshold, keys, count)
                     : motemix_trust_authorities((uint8_t)threshold, keys, count));
}

static int set_time(int argc, char **argv)
{
    uint64_t seconds;

    if (argc != 1 || !read_number(argv[0], UINT64_MAX, &seconds)) {
        return MISUSED;
    }
    return say(motemix_set_time(seconds));
}

static int document(int argc, char **argv)
{
    /* How much of a network document was given; negative if none begins. */
    static int given = -1;
    uint8_t piece[MOTEMIX_LINE_LEN / 2];

    if (argc != 1) {
        return MISUSED;
    }
    if (strcmp(argv[0], "begin") == 0) {
        motemix_status begun = motemix_give_document(0, NULL, 0);
        given = begun == MOTEMIX_STATUS_OK ? 0 : -1;
        return say(begun);
    }
    if (given < 0) {
        /* Neither gives anything nor drops what a program gives: a mote that cannot take one says so. */
        motemix_status able = motemix_give_document(1, NULL, 0);
        if (able != MOTEMIX_STATUS_OK && able != MOTEMIX_STATUS_TOO_LONG) {
            return say(able);
        }
        puts("error: a document begins with `document begin`");
        return 1;
    }
    if (strcmp(argv[0], "end") == 0) {
        motemix_status status = motemix_keep_document((size_t)given);
        if (status != MOTEMIX_STATUS_KEY_MOVED) {
            given = -1;
        }
        return say(status);
    }
    int len = read_hex(argv[0], piece, sizeof(piece));
    if (len < 0) {
        given = -1;
        /* Its neighbours may give one to the mote again. */
        (void)motemix_give_document(0, NULL, 0);
        puts("error: not hex digits in pairs; begin again");
        return 1;
    }
    motemix_status status = motemix_give_document((size_t)given, piece, (size_t)len);
    if (status != MOTEMIX_STATUS_OK) {
        given = -1;
        return say(status);
    }
    given += len;
    printf("ok %d\n", given);
    return 0;
}

/* --- while it runs --- */

static int send(int argc, char **argv)
{
    /* What is longer than any message is refused as a whole. */
    char text[MOTEMIX_LINE_LEN + 1];
    size_t len = 0;
    uint64_t message;

    if (argc < 2) {
        return MISUSED;
    }
    for (int at = 1; at < argc && len < sizeof(text); at++) {
        len += (size_t)snprintf(text + len, sizeof(text) - len, at > 1 ? " %s" : "%s", argv[at]);
    }
    motemix_status status = motemix_send_numbered(argv[0], text, len, &message);
    if (status != MOTEMIX_STATUS_OK) {
        return say(status);
    }
    printf("sent %" PRIu32 "\n", (uint32_t)message);
    return 0;
}

static void print_message(const uint8_t *data, size_t len)
{
    for (size_t at = 0; at < len; at++) {
        if (data[at] < ' ' || data[at] > '~') {
            printf("hex ");
            print_hex(data, len);
            puts("");
            return;
        }
    }
    printf("%.*s\n", (int)len, (const char *)data);
}

/* Each is printed before it leaves the flash, so that none is lost if the power fails. */
static int inbox(int argc, char **argv)
{
    uint8_t data[MOTEMIX_DATA_LEN];
    size_t len;
    unsigned count = 0;
    motemix_status status;

    (void)argv;
    if (argc != 0) {
        return MISUSED;
    }
    while ((status = motemix_message(data, &len)) == MOTEMIX_STATUS_OK) {
        print_message(data, len);
        status = motemix_forget_message();
        if (status != MOTEMIX_STATUS_OK) {
            break;
        }
        count++;
    }
    if (status != MOTEMIX_STATUS_NOTHING) {
        return say(status);
    }
    printf("ok %u messages\n", count);
    return 0;
}

static int status(int argc, char **argv)
{
    motemix_counters counters;
    uint32_t epoch;

    (void)argv;
    if (argc != 0) {
        return MISUSED;
    }
    motemix_status status = motemix_counters_get(&counters, &epoch);
    motemix_status said = MOTEMIX_STATUS_OK;
    if (status == MOTEMIX_STATUS_OK || status == MOTEMIX_STATUS_NO_RADIO) {
        said = status;
        printf("the node runs in epoch %" PRIu32 "\n", epoch);
    }
    else if (status == MOTEMIX_STATUS_NO_EPOCH) {
        puts("the node runs in no epoch");
    }
    else if (status == MOTEMIX_STATUS_STANDS) {
        puts("the node is stopped");
        return 0;
    }
    else {
        return say(status);
    }
    const struct {
        const char *name;
        uint64_t count;
    } totals[] = {
        { "sent", counters.sent },
        { "acknowledged", counters.acknowledged },
        { "retransmitted", counters.retransmitted },
        { "discarded", counters.discarded },
        { "forwarded", counters.forwarded },
        { "delivered", counters.delivered },
    };
    for (size_t at = 0; at < sizeof(totals) / sizeof(totals[0]); at++) {
        printf("%s %" PRIu32 "\n", totals[at].name, (uint32_t)totals[at].count);
    }
    for (uint8_t reason = 0; reason < MOTEMIX_DROP_REASONS; reason++) {
        if (counters.dropped[reason] > 0) {
            printf("dropped %s %" PRIu32 "\n", motemix_drop_reason_text(reason),
                   (uint32_t)counters.dropped[reason]);
        }
    }
    return say(said);
}

#ifdef MODULE_MOTEMIX_READINGS
static int identity(int argc, char **argv)
{
    uint8_t own[MOTEMIX_IDENTITY_LEN], introduction[MOTEMIX_INTRODUCTION_LEN];

    (void)argv;
    if (argc != 0) {
        return MISUSED;
    }
    motemix_status status = motemix_own_identity(own, introduction);
    if (status != MOTEMIX_STATUS_OK) {
        return say(status);
    }
    printf("identity ");
    print_hex(own, sizeof(own));
    printf("\nintroduction ");
    print_hex(introduction, sizeof(introduction));
    puts("");
    return 0;
}

static int readings(int argc, char **argv)
{
    uint64_t seconds;

    if (argc == 1 && strcmp(argv[0], "off") == 0) {
        return say(motemix_send_readings(NULL, 0));
    }
    if (argc != 2 || !read_number(argv[1], UINT32_MAX, &seconds) || seconds == 0) {
        return MISUSED;
    }
    return say(motemix_send_readings(argv[0], (uint32_t)seconds));
}
#endif

static int start(int argc, char **argv)
{
    (void)argv;
    return argc != 0 ? MISUSED : say(motemix_start());
}

static int stop(int argc, char **argv)
{
    (void)argv;
    return argc != 0 ? MISUSED : say(motemix_stop());
}

static int help(int argc, char **argv);

/* How each is used, its name first; docs/spec/mote.md says what it does. */
static const struct {
    const char *usage;
    int (*run)(int argc, char **argv);
} commands[] = {
    { "key EPOCH", key },
    { "trust K KEY..., trust K and KEY...", trust },
    { "time SECONDS, since 1970", set_time },
    { "document begin, document HEX, document end", document },
    { "start", start },
    { "stop", stop },
    { "send NAME TEXT", send },
    { "inbox", inbox },
    { "status", status },
#ifdef MODULE_MOTEMIX_READINGS
    { "identity", identity },
    { "readings NAME SECONDS, from 1 on, readings off", readings },
#endif
    { "help", help },
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int help(int argc, char **argv)
{
    (void)argc, (void)argv;
    for (size_t at = 0; at < COMMANDS; at++) {
        puts(commands[at].usage);
    }
    return 0;
}

static bool is_name(const char *word, const char *usage)
{
    size_t len = strlen(word);
    return strncmp(word, usage, len) == 0 && (usage[len] == ' ' || usage[len] == '\0');
}

int motemix_obey(int argc, char **argv)
{
    if (argc == 0) {
        return help(argc, argv);
    }
    for (size_t at = 0; at < COMMANDS; at++) {
        if (is_name(argv[0], commands[at].usage)) {
            int done = commands[at].run(argc - 1, argv + 1);
            if (done == MISUSED) {
                printf("error: usage: %s\n", commands[at].usage);
            }
            return done;
        }
    }
    puts("error: there is no such command; `motemix help` lists them");
    return 1;
}
