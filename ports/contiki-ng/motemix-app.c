/*
 * A mote with Contiki-NG's shell:
 *
 *   motemix start             the node takes part in the network
 *   motemix send NAME TEXT    sends a text, says when it is acknowledged or given up
 *   motemix network           the nodes, and what happened so far
 *   motemix stop              the node ends, its keys are wiped
 */

#include <stdio.h>
#include <string.h>

#include "contiki.h"
#include "shell.h"
#include "shell-commands.h"
#include "motemix-node.h"
#include "motemix_network.h"

PROCESS(motemix_app_process, "motemix application");
AUTOSTART_PROCESSES(&motemix_app_process);
/*---------------------------------------------------------------------------*/
static bool
received(const uint8_t *data, size_t len)
{
  size_t at;

  /* Somebody else wrote this: print nothing that a terminal would obey. */
  printf("received: ");
  for(at = 0; at < len; at++) {
    printf("%c", data[at] >= ' ' && data[at] < 0x7f ? data[at] : '.');
  }
  printf("\n");
  return true;
}
/*---------------------------------------------------------------------------*/
static void
acknowledged(uint64_t message, uint64_t round_trip_us)
{
  printf("message %lu acknowledged after %lu ms\n", (unsigned long)message,
         (unsigned long)(round_trip_us / 1000));
}
/*---------------------------------------------------------------------------*/
static void
discarded(uint64_t message)
{
  printf("message %lu given up\n", (unsigned long)message);
}
/*---------------------------------------------------------------------------*/
static bool
tell(shell_output_func output, motemix_status status)
{
  if(status != MOTEMIX_STATUS_OK) {
    SHELL_OUTPUT(output, "motemix: %s\n", motemix_status_text(status));
  }
  return status == MOTEMIX_STATUS_OK;
}
/*---------------------------------------------------------------------------*/
static void
start(shell_output_func output)
{
  static const struct motemix_application application = { received, acknowledged, discarded };
  static const struct motemix_membership membership = {
    .document = motemix_network_document,
    .document_len = sizeof(motemix_network_document),
    .authority_keys = motemix_network_authority,
    .authorities = sizeof(motemix_network_authority) / 32,
    .threshold = sizeof(motemix_network_authority) / 32,
    .secret = motemix_network_secret,
    .unix_time = MOTEMIX_TIME_UNKNOWN,
  };

  if(tell(output, motemix_start(&membership, &application))) {
    SHELL_OUTPUT(output, "started\n");
  }
}
/*---------------------------------------------------------------------------*/
static void
send(shell_output_func output, const char *name, const char *text)
{
  uint64_t message;

  if(name == NULL || text == NULL) {
    SHELL_OUTPUT(output, "usage: motemix send NAME TEXT\n");
  } else if(tell(output, motemix_send(name, (const uint8_t *)text, strlen(text), &message))) {
    SHELL_OUTPUT(output, "message %lu on its way to %s\n", (unsigned long)message, name);
  }
}
/*---------------------------------------------------------------------------*/
static void
network(shell_output_func output)
{
  const motemix_document *document;
  motemix_node *node = motemix_running_node(&document);
  motemix_descriptor described;
  motemix_counters counters;
  motemix_about about;
  uint16_t id;
  uint8_t reason;

  if(node == NULL) {
    tell(output, MOTEMIX_STATUS_NOT_A_NODE);
    return;
  }
  motemix_document_about(document, &about);
  motemix_node_counters(node, &counters);
  SHELL_OUTPUT(output, "network %s, epoch %lu, %u nodes\n", about.network, (unsigned long)about.epoch,
               about.nodes);
  for(id = 0; id < about.nodes; id++) {
    if(motemix_document_node(document, id, &described) == MOTEMIX_STATUS_OK) {
      SHELL_OUTPUT(output, "%u %s, %s, port %u\n", id, described.name, described.is_mix ? "mix" : "endpoint",
                   described.addresses[0].port);
    }
  }
  SHELL_OUTPUT(output, "sent %lu, acknowledged %lu, discarded %lu, delivered %lu, forwarded %lu\n",
               (unsigned long)counters.sent, (unsigned long)counters.acknowledged,
               (unsigned long)counters.discarded, (unsigned long)counters.delivered,
               (unsigned long)counters.forwarded);
  for(reason = 0; reason < MOTEMIX_DROP_REASONS; reason++) {
    if(counters.dropped[reason] != 0) {
      SHELL_OUTPUT(output, "dropped %lu: %s\n", (unsigned long)counters.dropped[reason],
                   motemix_drop_reason_text(reason));
    }
  }
}
/*---------------------------------------------------------------------------*/
static
PT_THREAD(command(struct pt *pt, shell_output_func output, char *args))
{
  char *next_args;
  char *name;

  PT_BEGIN(pt);

  SHELL_ARGS_INIT(args, next_args);
  SHELL_ARGS_NEXT(args, next_args);
  if(args == NULL) {
    SHELL_OUTPUT(output, "usage: motemix start | stop | send NAME TEXT | network\n");
  } else if(strcmp(args, "start") == 0) {
    start(output);
  } else if(strcmp(args, "stop") == 0) {
    if(tell(output, motemix_stop())) {
      SHELL_OUTPUT(output, "stopped\n");
    }
  } else if(strcmp(args, "network") == 0) {
    network(output);
  } else if(strcmp(args, "send") == 0) {
    SHELL_ARGS_NEXT(args, next_args);
    name = args;
    /* The rest of the line is the text. */
    send(output, name, next_args);
  } else {
    SHELL_OUTPUT(output, "motemix: there is no command %s\n", args);
  }

  PT_END(pt);
}
/*---------------------------------------------------------------------------*/
static const struct shell_command_t commands[] = {
  { "motemix", command, "'> motemix start | stop | send NAME TEXT | network': a mix network" },
  { NULL, NULL, NULL },
};
static struct shell_command_set_t command_set = { .next = NULL, .commands = commands };
/*---------------------------------------------------------------------------*/
PROCESS_THREAD(motemix_app_process, ev, data)
{
  PROCESS_BEGIN();
  (void)ev, (void)data;
  shell_command_set_register(&command_set);
  PROCESS_END();
}
