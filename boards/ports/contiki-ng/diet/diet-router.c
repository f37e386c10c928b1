/* The router: answers sensors, and prints what they say. */

#include <stdio.h>
#include <string.h>

#include "contiki.h"
#include "dev/serial-line.h"
#include "net/ipv6/simple-udp.h"
#include "net/ipv6/uiplib.h"
#include "diet.h"

PROCESS(diet_router_process, "diet router");
AUTOSTART_PROCESSES(&diet_router_process);

static struct simple_udp_connection connection;
/* The datagram that came, which the process takes in its own turn, and what answers it. */
static struct diet_datagram in, reply;
static struct diet_address from;
static uint16_t dropped[DIET_DROPS];
static bool is_told;
/*---------------------------------------------------------------------------*/
void
diet_drop(enum diet_drop reason)
{
  dropped[reason] += dropped[reason] < UINT16_MAX;
}

static void
print_dropped(void)
{
  static const char *const reasons[DIET_DROPS] = {
    "no message of the protocol", "not admitted", "replayed", "altered, or of another handshake",
    "no handshake before", "another handshake is under way", "all places are taken",
    "too many handshakes",
  };
  unsigned reason;

  for(reason = 0; reason < DIET_DROPS; reason++) {
    if(dropped[reason] > 0) {
      printf("%u datagrams dropped: %s\n", dropped[reason], reasons[reason]);
    }
  }
  printf("ok\n");
}
/*---------------------------------------------------------------------------*/
/* A neighbour's bytes must not move a terminal's cursor. */
static void
print_text(const struct diet_heard *heard)
{
  size_t at;

  if(heard->who[0] != '\0') {
    printf("%s  ", heard->who);
  } else {
    char ip[UIPLIB_IPV6_MAX_STR_LEN];

    uiplib_ipaddr_snprint(ip, sizeof(ip), &from.ip);
    printf("[%s]:%u  ", ip, from.port);
  }
  for(at = 0; at < heard->len; at++) {
    uint8_t byte = heard->text[at];

    putchar(byte >= ' ' && byte != 0x7f ? byte : '?');
  }
  putchar('\n');
}

static void
take_datagram(void)
{
  struct diet_heard heard = { 0 };

  reply.len = 0;
  diet_handle(&from, &in, &reply, &heard);
  /* What is acknowledged has been printed. */
  if(heard.text != NULL) {
    print_text(&heard);
  }
  if(reply.len > 0) {
    simple_udp_sendto_port(&connection, reply.bytes, reply.len, &from.ip, from.port);
  }
  is_told = false;
}
/*---------------------------------------------------------------------------*/
static void
on_datagram(struct simple_udp_connection *c, const uip_ipaddr_t *source_addr, uint16_t source_port,
            const uip_ipaddr_t *dest_addr, uint16_t dest_port, const uint8_t *data,
            uint16_t datalen)
{
  (void)c, (void)dest_addr, (void)dest_port;
  /* While one waits for its turn, others are lost, as on the air. */
  if(is_told || datalen > sizeof(in.bytes)) {
    return;
  }
  memcpy(in.bytes, data, datalen);
  in.len = datalen;
  from.ip = *source_addr;
  from.port = source_port;
  is_told = true;
  process_poll(&diet_router_process);
}
/*---------------------------------------------------------------------------*/
static void
obey(char *line)
{
  char *rest = strchr(line, ' ');

  if(rest != NULL) {
    *rest++ = '\0';
  } else {
    rest = line + strlen(line);
  }
  if(strcmp(line, "dropped") == 0) {
    print_dropped();
  } else if(!diet_obey(line, rest)) {
    printf("error: dropped, identity, admit IDENTITY, anybody\n");
  }
}
/*---------------------------------------------------------------------------*/
PROCESS_THREAD(diet_router_process, ev, data)
{
  PROCESS_BEGIN();

  if(!diet_start() ||
     !simple_udp_register(&connection, DIET_PORT, NULL, 0, on_datagram)) {
    PROCESS_EXIT();
  }
  while(1) {
    PROCESS_WAIT_EVENT();
    if(ev == PROCESS_EVENT_POLL && is_told) {
      take_datagram();
    } else if(ev == serial_line_event_message && data != NULL) {
      obey(data);
    }
  }

  PROCESS_END();
}
