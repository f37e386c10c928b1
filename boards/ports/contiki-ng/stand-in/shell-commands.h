/* Stand-in for Contiki-NG's os/services/shell/shell-commands.h. See README.md. */

#ifndef SHELL_COMMANDS_H_
#define SHELL_COMMANDS_H_

#include "shell.h"

typedef char (shell_commands_func)(struct pt *pt, shell_output_func output, char *args);

struct shell_command_t {
  const char *name;
  shell_commands_func *func;
  const char *help;
};

struct shell_command_set_t {
  struct shell_command_set_t *next;
  const struct shell_command_t *const commands;
};

void shell_command_set_register(struct shell_command_set_t *set);

#endif
