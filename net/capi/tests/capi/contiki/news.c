/*
 * A command of a test, beside the application's: `burst N` sends two messages and stops the node, N
 * times in one turn, and starts the node in between.
 */

#include <stdio.h>
#include <stdlib.h>

#include "contiki.h"
#include "shell-commands.h"
#include "motemix-contiki.h"

static void
check(motemix_status status)
{
  if(status != MOTEMIX_STATUS_OK) {
    printf("%s\n", motemix_status_text(status));
    exit(EXIT_FAILURE);
  }
}

static
PT_THREAD(burst(struct pt *pt, shell_output_func output, char *args))
{
  int left = atoi(args);
  uint64_t message;

  PT_BEGIN(pt);
  (void)output;
  while(left-- > 0) {
    check(motemix_send("node-1", "one", 3, &message));
    check(motemix_send("node-1", "two", 3, &message));
    check(motemix_stop());
    if(left > 0) {
      check(motemix_start());
    }
  }
  PT_END(pt);
}

static const struct shell_command_t commands[] = {
  { "burst", burst, "" },
  { NULL, NULL, NULL },
};

__attribute__((constructor)) static void
add(void)
{
  static struct shell_command_set_t set = { .next = NULL, .commands = commands };
  shell_command_set_register(&set);
}
