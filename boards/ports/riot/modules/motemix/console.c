/*
 * The mote's own console at RIOT's shell: a line goes to the mote as it was typed, and
 * docs/spec/mote.md says what it answers.
 */

#include <stdio.h>

#include "internal.h"

/* A line that is too long has one character more: the mote says so. */
#define ROOM (MOTEMIX_LINE_LEN + 2)

static void print(void *arg, const char *text, size_t len)
{
    (void)arg;
    printf("%.*s", (int)len, text);
}

int motemix_obey(int argc, char **argv)
{
    char line[ROOM] = "help";
    int len = 0;

    /* As it was typed: RIOT's shell has cut it into words. */
    for (int at = 0; at < argc && len < ROOM; at++) {
        len += snprintf(line + len, ROOM - (size_t)len, at > 0 ? " %s" : "%s", argv[at]);
    }
    motemix_status status = motemix_command(line, print, NULL);
    if (status != MOTEMIX_STATUS_OK) {
        printf("error: %s\n", motemix_status_text(status));
        return 1;
    }
    return 0;
}
