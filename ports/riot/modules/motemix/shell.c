/* The mote's commands for RIOT's shell: lines of its console (docs/spec/mote.md), and `sense`. */

#include <stdio.h>
#include <string.h>

#include "shell.h"
#ifdef MODULE_SAUL_REG
#include <stdlib.h>

#include "phydat.h"
#include "saul_reg.h"
#endif

#include "motemix_riot.h"

/* A line that is too long has one character more: the mote says so. */
#define ROOM (MOTEMIX_LINE_LEN + 2)

static void print(void *arg, const char *text, size_t len)
{
    (void)arg;
    printf("%.*s", (int)len, text);
}

static int obey(const char *line)
{
    motemix_status status = motemix_command(line, print, NULL);

    if (status != MOTEMIX_STATUS_OK) {
        printf("error: %s\n", motemix_status_text(status));
        return 1;
    }
    return 0;
}

#ifdef MODULE_SAUL_REG
/* Reads a sensor of the board and sends what it says: its name, up to three values, their unit. */
static int sense(int argc, char **argv)
{
    char line[ROOM];
    phydat_t read;
    char *end = argc == 2 ? argv[1] : NULL;
    long number = end != NULL ? strtol(argv[1], &end, 10) : -1;

    if (end == NULL || *end != '\0' || number < 0) {
        puts("error: usage: sense NAME DEVICE, a number that `saul` lists");
        return 1;
    }
    saul_reg_t *device = saul_reg_find_nth((int)number);
    int count = device == NULL ? -1 : saul_reg_read(device, &read);
    if (count <= 0) {
        puts("error: no such sensor, or it cannot be read; `saul` lists them");
        return 1;
    }
    int len = snprintf(line, sizeof(line), "send %s %s", argv[0],
                       device->name != NULL ? device->name : "sensor");
    for (int at = 0; at < count && len < ROOM; at++) {
        len += snprintf(line + len, ROOM - (size_t)len, " %d", read.val[at]);
    }
    if (len < ROOM && read.scale != 0) {
        snprintf(line + len, ROOM - (size_t)len, "e%d", read.scale);
    }
    return obey(line);
}
#endif

static int command(int argc, char **argv)
{
    char line[ROOM] = "help";
    int len = 0;

#ifdef MODULE_SAUL_REG
    if (argc > 1 && strcmp(argv[1], "sense") == 0) {
        return sense(argc - 2, argv + 2);
    }
    if (argc == 1 || strcmp(argv[1], "help") == 0) {
        puts("sense NAME DEVICE     reads a sensor of the board and sends what it says");
    }
#endif
    /* As it was typed: RIOT's shell has cut it into words. */
    for (int at = 1; at < argc && len < ROOM; at++) {
        len += snprintf(line + len, ROOM - (size_t)len, at > 1 ? " %s" : "%s", argv[at]);
    }
    return obey(line);
}

SHELL_COMMAND(motemix, "take part in a mix network", command);
