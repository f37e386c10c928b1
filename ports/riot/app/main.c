/*
 * A mote with a shell:
 *
 *   motemix start                 the node takes part in the network
 *   motemix send NAME TEXT...     sends a text, says when it is acknowledged or given up
 *   motemix network               the nodes, and what happened so far
 *   motemix stop                  the node ends, its keys are wiped
 */

#include <stdio.h>
#include <string.h>

#include "shell.h"

#include "motemix_network.h"
#include "motemix_riot.h"

static bool received(const uint8_t *data, size_t len, uint8_t *reply, size_t *reply_len)
{
    (void)reply;
    (void)reply_len;
    /* Somebody else wrote this: print nothing that a terminal would obey. */
    printf("received: ");
    for (size_t at = 0; at < len; at++) {
        putchar(data[at] >= ' ' && data[at] < 0x7f ? data[at] : '.');
    }
    puts("");
    return true;
}

static void acknowledged(uint64_t message, const uint8_t *reply, size_t len, uint64_t round_trip_us)
{
    (void)reply;
    (void)len;
    printf("message %lu acknowledged after %lu ms\n", (unsigned long)message,
           (unsigned long)(round_trip_us / 1000));
}

static void discarded(uint64_t message)
{
    printf("message %lu given up\n", (unsigned long)message);
}

static int tell(motemix_status status)
{
    if (status != MOTEMIX_STATUS_OK) {
        printf("motemix: %s\n", motemix_status_text(status));
        return 1;
    }
    return 0;
}

static int start(void)
{
    static const motemix_riot_application_t application = { received, acknowledged, discarded };
    static const motemix_riot_network_t network = {
        .document = motemix_network_document,
        .document_len = sizeof(motemix_network_document),
        .authority_keys = motemix_network_authority,
        .authorities = sizeof(motemix_network_authority) / 32,
        .threshold = sizeof(motemix_network_authority) / 32,
        .secret = motemix_network_secret,
        .unix_time = MOTEMIX_TIME_UNKNOWN,
    };
    int failed = tell(motemix_riot_start(&network, &application));
    if (!failed) {
        puts("started");
    }
    return failed;
}

static int stop(void)
{
    int failed = tell(motemix_riot_stop());
    if (!failed) {
        puts("stopped");
    }
    return failed;
}

static int send(const char *name, int words, char **word)
{
    char text[MOTEMIX_DATA_LEN + 1] = "";
    size_t len = 0;
    uint64_t message;

    for (int at = 0; at < words; at++) {
        size_t more = strlen(word[at]) + (at > 0);
        if (len + more > MOTEMIX_DATA_LEN) {
            return tell(MOTEMIX_STATUS_TOO_LONG);
        }
        snprintf(text + len, sizeof(text) - len, at > 0 ? " %s" : "%s", word[at]);
        len += more;
    }
    int failed = tell(motemix_riot_send(name, (const uint8_t *)text, len, &message));
    if (!failed) {
        printf("message %lu on its way to %s\n", (unsigned long)message, name);
    }
    return failed;
}

static int command(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "start") == 0) {
        return start();
    }
    if (argc == 2 && strcmp(argv[1], "stop") == 0) {
        return stop();
    }
    if (argc == 2 && strcmp(argv[1], "network") == 0) {
        return tell(motemix_riot_print());
    }
    if (argc >= 4 && strcmp(argv[1], "send") == 0) {
        return send(argv[2], argc - 3, argv + 3);
    }
    printf("usage: %s start | stop | send NAME TEXT... | network\n", argv[0]);
    return 1;
}

int main(void)
{
    static const shell_command_t commands[] = {
        { "motemix", "take part in a mix network", command },
        { NULL, NULL, NULL },
    };
    char line[SHELL_DEFAULT_BUFSIZE + MOTEMIX_DATA_LEN];

    shell_run(commands, line, sizeof(line));
    return 0;
}
