/*
 * A program with nothing but the radio of a PC. Its shell does what Contiki-NG's CSMA does with a
 * radio, in the same order, and says what became of it.
 *
 *   transmit HEX   "acknowledged", "not acknowledged", "collision" or "error"
 *   fill           looks for an acknowledgement, as CSMA does while it waits, and says "pending N"
 *
 * Each frame that comes is printed as "input HEX", and acknowledged if it asks for that.
 */

#include <stdio.h>
#include <string.h>

#include "contiki.h"
#include "net/linkaddr.h"
#include "net/netstack.h"
#include "net/packetbuf.h"
#include "shell-commands.h"

#define ACK_LEN 3
#define WAIT (CLOCK_SECOND / 2)

linkaddr_t linkaddr_node_addr;

static uint8_t buffer[PACKETBUF_SIZE];
static uint16_t buffer_len;

void
packetbuf_clear(void)
{
  buffer_len = 0;
}

void *
packetbuf_dataptr(void)
{
  return buffer;
}

uint16_t
packetbuf_datalen(void)
{
  return buffer_len;
}

void
packetbuf_set_datalen(uint16_t len)
{
  buffer_len = len;
}

static void
input(void)
{
  uint16_t at;

  printf("input ");
  for(at = 0; at < buffer_len; at++) {
    printf("%02x", buffer[at]);
  }
  printf("\n");
  if(buffer_len >= ACK_LEN && (buffer[0] & 0x20) != 0) {
    const uint8_t ack[ACK_LEN] = { 2, 0, buffer[2] };
    NETSTACK_RADIO.send(ack, sizeof(ack));
  }
}
const struct mac_driver stand_in_mac = { input };

static const char *
transmit_frame(const uint8_t *frame, unsigned short len)
{
  clock_time_t until;
  uint8_t ack[ACK_LEN];

  /* CSMA does not ask what it returns. */
  NETSTACK_RADIO.prepare(frame, len);
  if(NETSTACK_RADIO.pending_packet()) {
    return "collision";
  }
  if(NETSTACK_RADIO.transmit(len) != RADIO_TX_OK) {
    return "error";
  }
  until = clock_time() + WAIT;
  while(!NETSTACK_RADIO.pending_packet() && clock_time() < until) {
  }
  if(!NETSTACK_RADIO.pending_packet()) {
    return "not acknowledged";
  }
  return NETSTACK_RADIO.read(ack, sizeof(ack)) == ACK_LEN && ack[2] == frame[2] ? "acknowledged"
                                                                               : "collision";
}

static
PT_THREAD(transmit(struct pt *pt, shell_output_func output, char *args))
{
  uint8_t frame[256];
  unsigned short len = 0;
  unsigned byte;

  PT_BEGIN(pt);
  while(args != NULL && len < sizeof(frame) && sscanf(args + 2 * len, "%2x", &byte) == 1) {
    frame[len++] = (uint8_t)byte;
  }
  SHELL_OUTPUT(output, "%s\n", transmit_frame(frame, len));
  PT_END(pt);
}

static
PT_THREAD(fill(struct pt *pt, shell_output_func output, char *args))
{
  PT_BEGIN(pt);
  (void)args;
  SHELL_OUTPUT(output, "pending %d\n", NETSTACK_RADIO.pending_packet());
  PT_END(pt);
}

static const struct shell_command_t commands[] = {
  { "transmit", transmit, "" },
  { "fill", fill, "" },
  { NULL, NULL, NULL },
};
static struct shell_command_set_t command_set = { .next = NULL, .commands = commands };

PROCESS(radio_process, "radio");
AUTOSTART_PROCESSES(&radio_process);

PROCESS_THREAD(radio_process, ev, data)
{
  PROCESS_BEGIN();
  (void)ev, (void)data;
  shell_command_set_register(&command_set);
  NETSTACK_RADIO.init();
  NETSTACK_RADIO.on();
  printf("on\n");
  PROCESS_END();
}
