/* Stand-in for RIOT's sys/include/shell.h. See README.md. */

#ifndef SHELL_H
#define SHELL_H

typedef int (*shell_command_handler_t)(int argc, char **argv);

typedef struct shell_command_t {
    const char *name;
    const char *desc;
    shell_command_handler_t handler;
} shell_command_t;

#define SHELL_DEFAULT_BUFSIZE 128

void shell_run(const shell_command_t *commands, char *line_buf, int len);

#endif
