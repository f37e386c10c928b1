/*
 * Commands of a test, beside the module's: what other threads and callbacks ask of the mote. Each
 * prints one line.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/netif.h"
#include "shell.h"

#include "motemix_riot.h"

static void say(const char *what, motemix_status status)
{
    printf("%s: %d\n", what, status);
}

static void power_fails(void *arg, const char *text, size_t len)
{
    (void)arg;
    printf("%.*s", (int)len, text);
    if (memchr(text, '\n', len) != NULL) {
        _Exit(EXIT_FAILURE);
    }
}

/* The inbox, until the power fails behind its first line. */
static int cut(int argc, char **argv)
{
    (void)argc, (void)argv;
    return motemix_command("inbox", power_fails, NULL);
}
SHELL_COMMAND(cut, "", cut);

/* The oldest message, which stays where it is. */
static int look(int argc, char **argv)
{
    uint8_t data[MOTEMIX_DATA_LEN];
    size_t len = 0;

    (void)argv;
    if (argc > 1) {
        say("forgotten", motemix_forget_message());
        return 0;
    }
    motemix_status status = motemix_message(data, &len);
    printf("oldest: %d %.*s\n", status, (int)len, data);
    return 0;
}
SHELL_COMMAND(look, "", look);

static int radio(int argc, char **argv)
{
    (void)argc, (void)argv;
    stand_in_radio_is_dead = 1;
    puts("radio: stopped");
    return 0;
}
SHELL_COMMAND(radio, "", radio);

static motemix_status inside;

static motemix_status ask_for_something(void)
{
    motemix_counters counters;
    uint32_t epoch;
    return motemix_counters_get(&counters, &epoch);
}

static void on_ended(motemix_sent_t *sent, bool acknowledged, uint32_t round_trip_ms)
{
    (void)round_trip_ms;
    printf("message %s ended: %d\n", sent->message == 0 ? "one" : "two", acknowledged);
    inside = ask_for_something();
    say("inside ended", inside);
}

/* One that is under way is given a second time. */
static int twice(int argc, char **argv)
{
    static motemix_sent_t one = { .ended = on_ended }, two = { .ended = on_ended };

    (void)argc, (void)argv;
    say("one", motemix_send("node-1", "one", 3, &one));
    say("one again", motemix_send("node-1", "again", 5, &one));
    say("two", motemix_send("node-1", "two", 3, &two));
    say("one again", motemix_send("node-1", "again", 5, &one));
    say("two again", motemix_send("node-1", "again", 5, &two));
    return 0;
}
SHELL_COMMAND(twice, "", twice);

static bool on_received(void *arg, const uint8_t *data, size_t len)
{
    (void)arg;
    printf("received %.*s\n", (int)len, data);
    say("inside received", motemix_send_wait("node-1", "back", 4, NULL));
    return true;
}

static int listen(int argc, char **argv)
{
    (void)argc, (void)argv;
    say("listen", motemix_on_received(on_received, NULL));
    return 0;
}
SHELL_COMMAND(listen, "", listen);

/* The interface that is found from now on. */
static int interface(int argc, char **argv)
{
    if (argc > 1) {
        stand_in_interface = (int16_t)atoi(argv[1]);
    }
    printf("interface %d\n", stand_in_interface);
    return 0;
}
SHELL_COMMAND(interface, "", interface);

static int key(int argc, char **argv)
{
    motemix_address address;
    uint8_t bytes[32];

    (void)argc, (void)argv;
    say("key", motemix_key(8, &address, bytes));
    return 0;
}
SHELL_COMMAND(key, "", key);

static int nulls(int argc, char **argv)
{
    motemix_counters counters;
    motemix_address address;
    uint8_t bytes[MOTEMIX_DATA_LEN];
    uint32_t epoch;
    size_t len;

    (void)argc, (void)argv;
    const motemix_status statuses[] = {
        motemix_command(NULL, power_fails, NULL),
        motemix_key(7, NULL, bytes),
        motemix_key(7, &address, NULL),
        motemix_trust_authorities(1, NULL, 1),
        motemix_give_document(0, NULL, 1),
        motemix_send(NULL, "x", 1, NULL),
        motemix_send("node-1", NULL, 1, NULL),
        motemix_send_wait(NULL, "x", 1, NULL),
        motemix_send_wait("node-1", NULL, 1, NULL),
        motemix_message(NULL, &len),
        motemix_message(bytes, NULL),
        motemix_take(NULL, &len),
        motemix_take(bytes, NULL),
        motemix_counters_get(NULL, &epoch),
        motemix_counters_get(&counters, NULL),
    };
    for (unsigned at = 0; at < sizeof(statuses) / sizeof(statuses[0]); at++) {
        if (statuses[at] != MOTEMIX_STATUS_NULL) {
            printf("call %u: %d\n", at, statuses[at]);
        }
    }
    puts("all asked");
    return 0;
}
SHELL_COMMAND(nulls, "", nulls);
