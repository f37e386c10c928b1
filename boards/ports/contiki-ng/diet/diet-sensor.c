/*
 * The sensor: sends what is typed at its serial port, or its uptime every DIET_CONF_INTERVAL
 * seconds, to the router that answers.
 */

#include <stdio.h>
#include <string.h>

#include "contiki.h"
#include "dev/serial-line.h"
#include "net/ipv6/simple-udp.h"
#include "net/ipv6/uiplib.h"
#include "diet.h"

/* Tries of each datagram, as `motemix link` has them. */
#define TRIES 3
/* How long an answer may take: a CC2538 computes for seconds. */
#ifdef DIET_CONF_WAIT
#define WAIT DIET_CONF_WAIT
#else
#define WAIT (10 * CLOCK_SECOND)
#endif
/* Seconds between two readings; 0 for none but what is typed. */
#ifdef DIET_CONF_INTERVAL
#define INTERVAL DIET_CONF_INTERVAL
#else
#define INTERVAL 0
#endif

PROCESS(diet_sensor_process, "diet sensor");
AUTOSTART_PROCESSES(&diet_sensor_process);

static struct simple_udp_connection connection;
static struct etimer answer_timer;
#if INTERVAL > 0
static struct etimer reading_timer;
#endif
/* Where a router is looked for, and where one has answered. */
static struct diet_address wanted, router;
/* The datagram that is sent, and the one that came; the process takes it in its own turn. */
static struct diet_datagram out, in;
static struct diet_address from;

static enum { IDLE, ASKING, SENDING } state;
static unsigned tries;
/* The router was known before this message: it may have restarted. */
static bool may_meet_again;
static char text[DIET_TEXT_LEN];
static size_t text_len;
static clock_time_t begun;
/*---------------------------------------------------------------------------*/
static void
print_address(const struct diet_address *address)
{
  char ip[UIPLIB_IPV6_MAX_STR_LEN];

  uiplib_ipaddr_snprint(ip, sizeof(ip), &address->ip);
  printf("[%s]:%u", ip, address->port);
}

static bool
is_same(const struct diet_address *one, const struct diet_address *other)
{
  return one->port == other->port && memcmp(&one->ip, &other->ip, sizeof(one->ip)) == 0;
}

void
diet_drop(enum diet_drop reason)
{
  /* Only routers count. */
  (void)reason;
}
/*---------------------------------------------------------------------------*/
static void
on_datagram(struct simple_udp_connection *c, const uip_ipaddr_t *source_addr, uint16_t source_port,
            const uip_ipaddr_t *dest_addr, uint16_t dest_port, const uint8_t *data,
            uint16_t datalen)
{
  (void)c, (void)dest_addr, (void)dest_port;
  if(in.len > 0 || datalen == 0 || datalen > sizeof(in.bytes)) {
    return;
  }
  memcpy(in.bytes, data, datalen);
  in.len = datalen;
  from.ip = *source_addr;
  from.port = source_port;
  process_poll(&diet_sensor_process);
}

static void
transmit(void)
{
  tries--;
  simple_udp_sendto_port(&connection, out.bytes, out.len, &router.ip, router.port);
  etimer_set(&answer_timer, WAIT);
}

static void
end(void)
{
  state = IDLE;
  etimer_stop(&answer_timer);
}

/* The next datagram: one that asks for a router, or the message. */
static void
proceed(void)
{
  tries = TRIES;
  if(!diet_knows_router()) {
    router = wanted;
    state = ASKING;
    if(!diet_ask(&out)) {
      end();
      return;
    }
    transmit();
    return;
  }
  if(!diet_seal(text, text_len, &out)) {
    printf("error: the message cannot be sealed\n");
    end();
    return;
  }
  state = SENDING;
  transmit();
  if(!diet_acknowledges) {
    printf("sent to ");
    print_address(&router);
    printf("\n");
    end();
  }
}

static void
say(const char *said)
{
  if(state != IDLE) {
    printf("error: a message is under way\n");
    return;
  }
  text_len = strlen(said);
  if(text_len > sizeof(text)) {
    printf("error: the text has %u bytes; a message takes %u\n", (unsigned)text_len,
           (unsigned)sizeof(text));
    return;
  }
  memcpy(text, said, text_len);
  begun = clock_time();
  may_meet_again = diet_knows_router();
  proceed();
}
/*---------------------------------------------------------------------------*/
static void
take_datagram(void)
{
  bool is_for_us = uip_is_addr_mcast(&router.ip) || is_same(&from, &router);

  if(is_for_us && state == ASKING && diet_meet(&in)) {
    router = from;
    proceed();
  } else if(is_for_us && state == SENDING && diet_is_receipt(&in)) {
    printf("acknowledged by %s after %lu ms\n", diet_router_name(),
           (unsigned long)((clock_time() - begun) * 1000 / CLOCK_SECOND));
    end();
  }
  in.len = 0;
}

static void
nobody_answered(void)
{
  if(state == IDLE) {
    return;
  }
  if(tries > 0) {
    transmit();
    return;
  }
  if(state == SENDING && may_meet_again) {
    /* Another handshake, once. */
    may_meet_again = false;
    diet_forget_router();
    proceed();
    return;
  }
  printf("error: %s from ", state == ASKING ? "no answer" : "no receipt");
  print_address(&router);
  printf("; look there for what was dropped\n");
  end();
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
  if(strcmp(line, "send") == 0 && *rest != '\0') {
    say(rest);
  } else if(strcmp(line, "to") == 0 && state == IDLE) {
    if(uiplib_ipaddrconv(rest, &wanted.ip) == 0) {
      printf("error: no address, as in fe80::1\n");
    } else {
      diet_forget_router();
      router = wanted;
      printf("ok\n");
    }
  } else if(!diet_obey(line, rest)) {
    printf("error: send TEXT, to ADDRESS, identity, admit IDENTITY, anybody\n");
  }
}
/*---------------------------------------------------------------------------*/
PROCESS_THREAD(diet_sensor_process, ev, data)
{
  PROCESS_BEGIN();

  /* All that hear it, until a router has answered or somebody has named one. */
  uip_create_linklocal_allnodes_mcast(&wanted.ip);
  wanted.port = DIET_PORT;
  router = wanted;
  if(!diet_start() ||
     !simple_udp_register(&connection, DIET_PORT, NULL, 0, on_datagram)) {
    PROCESS_EXIT();
  }
#if INTERVAL > 0
  etimer_set(&reading_timer, INTERVAL * CLOCK_SECOND);
#endif
  while(1) {
    PROCESS_WAIT_EVENT();
    if(ev == PROCESS_EVENT_POLL && in.len > 0) {
      take_datagram();
    } else if(ev == PROCESS_EVENT_TIMER && data == &answer_timer) {
      nobody_answered();
    } else if(ev == serial_line_event_message && data != NULL) {
      obey(data);
#if INTERVAL > 0
    } else if(ev == PROCESS_EVENT_TIMER && data == &reading_timer) {
      char reading[24];

      etimer_set(&reading_timer, INTERVAL * CLOCK_SECOND);
      snprintf(reading, sizeof(reading), "up %lu s", clock_seconds());
      say(reading);
#endif
    }
  }

  PROCESS_END();
}
