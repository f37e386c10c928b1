/* The command `motemix` of RIOT's shell, and `motemix sense`. commands.c or console.c has others. */

#include <stdio.h>
#include <string.h>

#include "shell.h"
#ifdef MODULE_SAUL_REG
#include <stdlib.h>

#include "phydat.h"
#include "saul_reg.h"
#endif

#include "internal.h"

#ifdef MODULE_SAUL_REG
/* Reads a sensor of the board and sends what it says: its name, up to three values, their unit. */
static int sense(int argc, char **argv)
{
    char text[MOTEMIX_DATA_LEN + 1];
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
    int room = (int)sizeof(text);
    int len = snprintf(text, sizeof(text), "%s", device->name != NULL ? device->name : "sensor");
    for (int at = 0; at < count && len < room; at++) {
        len += snprintf(text + len, (size_t)(room - len), " %d", read.val[at]);
    }
    if (len < room && read.scale != 0) {
        snprintf(text + len, (size_t)(room - len), "e%d", read.scale);
    }
    return motemix_obey(3, (char *[]){ "send", argv[0], text });
}
#endif

static int command(int argc, char **argv)
{
#ifdef MODULE_SAUL_REG
    if (argc > 1 && strcmp(argv[1], "sense") == 0) {
        return sense(argc - 2, argv + 2);
    }
    if (argc == 1 || strcmp(argv[1], "help") == 0) {
        puts("sense NAME DEVICE     reads a sensor of the board and sends what it says");
    }
#endif
    return motemix_obey(argc - 1, argv + 1);
}

SHELL_COMMAND(motemix, "take part in a mix network", command);
