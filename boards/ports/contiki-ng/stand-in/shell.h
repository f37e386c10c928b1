/* Stand-in for Contiki-NG's os/services/shell/shell.h. See README.md. */

#ifndef SHELL_H_
#define SHELL_H_

#include <stdio.h>

#include "contiki.h"

typedef void (shell_output_func)(const char *str);

/* What is longer is cut off. */
#define SHELL_OUTPUT(output, ...) \
  do { \
    char buffer[192]; \
    snprintf(buffer, sizeof(buffer), __VA_ARGS__); \
    (output)(buffer); \
  } while(0)

#endif
