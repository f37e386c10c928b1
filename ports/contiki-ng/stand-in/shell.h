/* Stand-in for Contiki-NG's os/services/shell/shell.h. See README.md. */

#ifndef SHELL_H_
#define SHELL_H_

#include <stdio.h>
#include <string.h>

#include "contiki.h"

typedef void (shell_output_func)(const char *str);

char *shell_next_argument(char **rest);

#define SHELL_ARGS_INIT(args, next_args) (next_args) = (args)
#define SHELL_ARGS_NEXT(args, next_args) (args) = shell_next_argument(&(next_args))
#define SHELL_OUTPUT(output, ...) \
  do { \
    char buffer[192]; \
    snprintf(buffer, sizeof(buffer), __VA_ARGS__); \
    (output)(buffer); \
  } while(0)

#endif
