/* A mote with Contiki-NG's shell: `motemix help` lists its commands. */

#include <stdio.h>

#include "contiki.h"
#include "shell.h"
#include "shell-commands.h"
#include "motemix-contiki.h"

PROCESS(motemix_app_process, "motemix application");
AUTOSTART_PROCESSES(&motemix_process, &motemix_app_process);

/* How much is printed at once. */
#define PIECE_LEN 128
/*---------------------------------------------------------------------------*/
static void
print(void *arg, const char *text, size_t len)
{
  shell_output_func *output = (shell_output_func *)arg;

  /* The shell cuts off what is longer than its buffer. */
  while(len > 0) {
    int piece = len < PIECE_LEN ? (int)len : PIECE_LEN;
    SHELL_OUTPUT(output, "%.*s", piece, text);
    text += piece;
    len -= (size_t)piece;
  }
}
/*---------------------------------------------------------------------------*/
static
PT_THREAD(command(struct pt *pt, shell_output_func output, char *args))
{
  motemix_status status;

  PT_BEGIN(pt);

  status = motemix_command(args != NULL ? args : "help", print, (void *)output);
  if(status != MOTEMIX_STATUS_OK) {
    SHELL_OUTPUT(output, "error: %s\n", motemix_status_text(status));
  }

  PT_END(pt);
}
/*---------------------------------------------------------------------------*/
static
PT_THREAD(stack(struct pt *pt, shell_output_func output, char *args))
{
  PT_BEGIN(pt);
  (void)args;

  SHELL_OUTPUT(output, "%u of %u bytes of the mote's stack\n", (unsigned)motemix_stack_used(),
               (unsigned)MOTEMIX_STACK_SIZE);

  PT_END(pt);
}
/*---------------------------------------------------------------------------*/
static const struct shell_command_t commands[] = {
  { "motemix", command, "'> motemix help': a mix network" },
  { "motemix-stack", stack, "'> motemix-stack': how much of its stack the mote has used" },
  { NULL, NULL, NULL },
};
static struct shell_command_set_t command_set = { .next = NULL, .commands = commands };
/*---------------------------------------------------------------------------*/
static void
say(const struct motemix_news *news)
{
  switch(news->kind) {
  case MOTEMIX_NEWS_RECEIVED:
    printf("received a message; `motemix inbox` prints it\n");
    break;
  case MOTEMIX_NEWS_ACKNOWLEDGED:
    printf("acknowledged %lu after %lu ms, tries %u\n", (unsigned long)news->message,
           (unsigned long)news->round_trip_ms, news->tries);
    break;
  case MOTEMIX_NEWS_DISCARDED:
    printf("discarded %lu after tries %u\n", (unsigned long)news->message, news->tries);
    break;
  case MOTEMIX_NEWS_EPOCH:
    printf("epoch %lu begins\n", (unsigned long)news->message);
    break;
  case MOTEMIX_NEWS_DOCUMENT:
    printf("a neighbour had the document of epoch %lu\n", (unsigned long)news->message);
    break;
  default:
    /* The log says it. */
    break;
  }
  if(news->lost > 0) {
    printf("%lu more things happened, too many at once to be told\n", (unsigned long)news->lost);
  }
}
/*---------------------------------------------------------------------------*/
PROCESS_THREAD(motemix_app_process, ev, data)
{
  PROCESS_BEGIN();

  shell_command_set_register(&command_set);
  motemix_notify(&motemix_app_process);
  while(1) {
    PROCESS_WAIT_EVENT();
    if(ev == motemix_news_event) {
      say(data);
    }
  }

  PROCESS_END();
}
