/*
 * The node's process. It wakes for datagrams, for the time that the node names and for what other
 * processes want, and builds headers in slices of one scalar multiplication while others take their turn.
 */

#include <string.h>

#include "contiki.h"
#include "lib/csprng.h"
#include "net/ipv6/simple-udp.h"
#include "motemix-node.h"

/*
 * Contiki-NG's CSPRNG is as good as its seed, and not every platform feeds it one: unseeded, it gives all
 * boards the same bytes. So somebody has to say that it is seeded. On Linux the kernel is asked.
 */
#ifndef CONTIKI_TARGET_NATIVE
#if !CSPRNG_ENABLED || !defined(MOTEMIX_CONF_CSPRNG_IS_SEEDED)
#error "motemix needs random bytes that nobody can guess: set CSPRNG_CONF_ENABLED and, where the platform \
seeds it, MOTEMIX_CONF_CSPRNG_IS_SEEDED; see ports/contiki-ng/README.md."
#endif
#else
#include <stdio.h>
#endif

/* The longest time between two looks at the clock. */
#define LONGEST_WAIT ((clock_time_t)600 * CLOCK_SECOND)

static uint64_t memory[MOTEMIX_NODE_SIZE(MOTEMIX_LIMITS) / 8];
static motemix_node *node;
static motemix_document document;
static const struct motemix_application *application;
static struct simple_udp_connection connection;
static bool registered;
static uint16_t registered_port;
static struct etimer timer;
/* Over stops, as RAM keeps it. */
static uint64_t newest_epoch = MOTEMIX_NO_EPOCH;

PROCESS(motemix_process, "motemix");
/*---------------------------------------------------------------------------*/
/* Ticks may have 32 bits: they are counted on. */
static uint64_t
now_us(void)
{
  static clock_time_t last;
  static uint64_t elapsed;
  clock_time_t now = clock_time();

  elapsed += (clock_time_t)(now - last);
  last = now;
  return elapsed * 1000000 / CLOCK_SECOND;
}
/*---------------------------------------------------------------------------*/
static int
fill(void *context, uint8_t *out, size_t len)
{
  (void)context;
#ifdef CONTIKI_TARGET_NATIVE
  FILE *file = fopen("/dev/urandom", "rb");
  size_t got = file != NULL ? fread(out, 1, len, file) : 0;

  if(file != NULL) {
    fclose(file);
  }
  return got == len ? 0 : -1;
#else
  return csprng_rand(out, len) ? 0 : -1;
#endif
}
/*---------------------------------------------------------------------------*/
static void
received(struct simple_udp_connection *c, const uip_ipaddr_t *source_addr, uint16_t source_port,
         const uip_ipaddr_t *dest_addr, uint16_t dest_port, const uint8_t *data, uint16_t datalen)
{
  /* The node overwrites what it takes in, and the network stack's buffer is not ours. */
  uint8_t bytes[MOTEMIX_PACKET_LEN];
  /* Of the neighbour's address, to tell neighbours apart. */
  uint64_t halves[2];

  (void)c, (void)source_port, (void)dest_addr, (void)dest_port;
  if(node == NULL || datalen != sizeof(bytes)) {
    return;
  }
  memcpy(bytes, data, sizeof(bytes));
  /* Why one was dropped, the counters say. */
  memcpy(halves, source_addr, sizeof(halves));
  (void)motemix_node_handle_datagram(node, now_us(), halves[0] ^ halves[1], bytes, sizeof(bytes));
  process_poll(&motemix_process);
}
/*---------------------------------------------------------------------------*/
static void
transmit(const uint8_t *packet, const motemix_transmit *to)
{
  motemix_descriptor described;
  unsigned at;

  if(motemix_document_node(&document, to->to, &described) != MOTEMIX_STATUS_OK) {
    return;
  }
  for(at = 0; at < described.address_count; at++) {
    if(described.addresses[at].version == 6) {
      uip_ipaddr_t address;
      memcpy(&address, described.addresses[at].ip, sizeof(address));
      simple_udp_sendto_port(&connection, packet, to->len, &address, described.addresses[at].port);
      return;
    }
  }
}
/*---------------------------------------------------------------------------*/
static void
handle_event(const motemix_event *event)
{
  uint8_t data[MOTEMIX_DATA_LEN];
  /* The event's data ends with the next call. */
  memcpy(data, event->data, event->len);

  switch(event->kind) {
  case MOTEMIX_EVENT_KIND_RECEIVED:
    if(application->received(data, event->len)) {
      motemix_node_reply(node, now_us(), event->token, NULL, 0);
    } else {
      motemix_node_refuse(node, event->token);
    }
    break;
  case MOTEMIX_EVENT_KIND_ACKNOWLEDGED:
    application->acknowledged(event->message, event->round_trip_us);
    break;
  case MOTEMIX_EVENT_KIND_DISCARDED:
    application->discarded(event->message);
    break;
  default:
    break;
  }
}
/*---------------------------------------------------------------------------*/
/* What is due; sets the timer for what will be. */
static void
service(void)
{
  static uint8_t packet[MOTEMIX_PACKET_LEN];
  motemix_transmit to;
  motemix_event event;
  uint64_t at_us, now;
  clock_time_t wait = LONGEST_WAIT;

  motemix_node_handle_timeout(node, now_us());
  if(motemix_node_work(node, now_us()) == MOTEMIX_STATUS_OK) {
    process_poll(&motemix_process);
  }
  while(motemix_node_poll_event(node, &event) == MOTEMIX_STATUS_OK) {
    handle_event(&event);
  }
  while(motemix_node_poll_transmit(node, now_us(), packet, sizeof(packet), &to) == MOTEMIX_STATUS_OK) {
    transmit(packet, &to);
  }
  if(motemix_node_poll_timeout(node, &at_us) == MOTEMIX_STATUS_OK) {
    now = now_us();
    uint64_t ticks = at_us > now ? (at_us - now) * CLOCK_SECOND / 1000000 + 1 : 1;
    if(ticks < LONGEST_WAIT) {
      wait = (clock_time_t)ticks;
    }
  }
  etimer_set(&timer, wait);
}
/*---------------------------------------------------------------------------*/
PROCESS_THREAD(motemix_process, ev, data)
{
  PROCESS_BEGIN();
  (void)data;

  while(1) {
    if(node != NULL) {
      service();
    } else {
      etimer_stop(&timer);
    }
    PROCESS_WAIT_EVENT();
    (void)ev;
  }

  PROCESS_END();
}
/*---------------------------------------------------------------------------*/
static motemix_status
make_node(const struct motemix_membership *membership, motemix_descriptor *self)
{
  static const motemix_limits limits = { MOTEMIX_LIMITS };
  const motemix_random random = { .fill = fill, .context = NULL };
  /* Contiki-NG has no storage that this port knows of, see README.md. */
  const motemix_journal journal = motemix_no_journal();
  const motemix_trust trust = {
    .authority_keys = membership->authority_keys,
    .authorities = membership->authorities,
    .threshold = membership->threshold,
  };
  motemix_config config = { .answer_within_us = 0, .id = 0, .receiver = MOTEMIX_NO_NODE };
  uint8_t public_key[32];
  motemix_about about;
  motemix_status status;

  status = motemix_document_open(&document, membership->document, membership->document_len, &trust,
                                 membership->unix_time, newest_epoch);
  if(status != MOTEMIX_STATUS_OK) {
    return status;
  }
  motemix_document_about(&document, &about);
  newest_epoch = about.epoch;
  status = motemix_public_key(membership->secret, public_key);
  if(status == MOTEMIX_STATUS_OK) {
    status = motemix_document_find_key(&document, public_key, self);
  }
  if(status != MOTEMIX_STATUS_OK) {
    return status;
  }
  config.id = self->id;
  status = motemix_node_new(memory, sizeof(memory), &limits, &config, &random, &journal, &node);
  if(status == MOTEMIX_STATUS_OK) {
    status = motemix_node_prepare_epoch(node, about.epoch, membership->secret);
  }
  if(status == MOTEMIX_STATUS_OK) {
    /* Without a clock, what was just handed out is taken to be new. */
    uint64_t unix_time = membership->unix_time == MOTEMIX_TIME_UNKNOWN ? about.valid_after
                                                                       : membership->unix_time;
    uint64_t now = now_us();
    status = motemix_node_begin_epoch(node, now, now + (about.valid_until - unix_time) * 1000000,
                                      &document);
  }
  return status;
}
/*---------------------------------------------------------------------------*/
/* Contiki-NG has no way to close a connection, so one is kept for good. */
static bool
listen_as(const motemix_descriptor *self)
{
  unsigned at;

  for(at = 0; at < self->address_count; at++) {
    if(self->addresses[at].version == 6) {
      uint16_t port = self->addresses[at].port;
      if(!registered) {
        registered = simple_udp_register(&connection, port, NULL, 0, received) == 1;
        registered_port = port;
      }
      return registered && registered_port == port;
    }
  }
  return false;
}
/*---------------------------------------------------------------------------*/
motemix_status
motemix_start(const struct motemix_membership *membership, const struct motemix_application *handlers)
{
  motemix_descriptor self;
  motemix_status status;

  if(node != NULL) {
    return MOTEMIX_STATUS_BUSY;
  }
  application = handlers;
  status = make_node(membership, &self);
  /* The connection belongs to the process that registers it: its callback runs there. */
  if(status == MOTEMIX_STATUS_OK) {
    process_start(&motemix_process, NULL);
    PROCESS_CONTEXT_BEGIN(&motemix_process);
    status = listen_as(&self) ? MOTEMIX_STATUS_OK : MOTEMIX_STATUS_UNKNOWN_NODE;
    PROCESS_CONTEXT_END(&motemix_process);
  }
  if(status != MOTEMIX_STATUS_OK) {
    (void)motemix_stop();
    return status;
  }
  process_poll(&motemix_process);
  return status;
}
/*---------------------------------------------------------------------------*/
motemix_status
motemix_stop(void)
{
  motemix_status status = motemix_node_end(node);

  node = NULL;
  motemix_document_close(&document);
  process_poll(&motemix_process);
  return status == MOTEMIX_STATUS_NULL ? MOTEMIX_STATUS_NOT_A_NODE : status;
}
/*---------------------------------------------------------------------------*/
motemix_status
motemix_send(const char *name, const uint8_t *data, size_t len, uint64_t *message)
{
  motemix_descriptor to;
  motemix_status status;

  if(node == NULL) {
    return MOTEMIX_STATUS_NOT_A_NODE;
  }
  status = motemix_document_find(&document, name, strlen(name), &to);
  if(status == MOTEMIX_STATUS_OK) {
    status = motemix_node_send(node, now_us(), to.id, data, len, message);
  }
  process_poll(&motemix_process);
  return status;
}
/*---------------------------------------------------------------------------*/
motemix_node *
motemix_running_node(const motemix_document **opened)
{
  *opened = &document;
  return node;
}
