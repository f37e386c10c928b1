/* Stand-in for RIOT's sys/include/shell.h. See README.md. */

#ifndef SHELL_H
#define SHELL_H

#include <stddef.h>

typedef int (*shell_command_handler_t)(int argc, char **argv);

typedef struct shell_command_t {
    const char *name;
    const char *desc;
    shell_command_handler_t handler;
} shell_command_t;

#define SHELL_DEFAULT_BUFSIZE 128

/* Adds a command before main. */
#define SHELL_COMMAND(command_name, help, function)                                  \
    __attribute__((constructor)) static void command_name##_is_added(void)          \
    {                                                                                \
        static const shell_command_t added = { #command_name, help, function };      \
        stand_in_add_command(&added);                                                \
    }                                                                                \
    void stand_in_add_command(const shell_command_t *command)

void stand_in_add_command(const shell_command_t *command);
void shell_run(const shell_command_t *commands, char *line_buf, int len);

#endif
