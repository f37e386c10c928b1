/*
 * The mote's process. It wakes for datagrams, for the time that the node names and for what other
 * processes want, and builds headers in slices of one scalar multiplication while others take their
 * turn.
 */

#include <string.h>

#include "contiki.h"
#include "net/ipv6/simple-udp.h"
#include "net/ipv6/uip-ds6.h"
#include "sys/log.h"

#include "motemix-arch.h"
#include "motemix-news.h"
#include "motemix-stack.h"

#define LOG_MODULE "motemix"
#ifndef LOG_LEVEL_MOTEMIX
#define LOG_LEVEL_MOTEMIX LOG_LEVEL_WARN
#endif
#define LOG_LEVEL LOG_LEVEL_MOTEMIX

/* The longest time between two looks at the clock. */
#define LONGEST_WAIT ((clock_time_t)600 * CLOCK_SECOND)

PROCESS(motemix_process, "motemix");

static uint64_t memory[MOTEMIX_MOTE_SIZE(MOTEMIX_LIMITS) / 8];
static motemix_mote *mote;
/* Why there is none. */
static motemix_status broken = MOTEMIX_STATUS_NOT_A_MOTE;
static struct simple_udp_connection connection;
static struct etimer timer;
static void (*printer)(void *arg, const char *text, size_t len);
static void *printer_arg;
/*---------------------------------------------------------------------------*/
/* Ticks may have 32 bits: they are counted on. */
static uint64_t
now_us(void)
{
  static clock_time_t last;
  static uint64_t elapsed;
  clock_time_t now = clock_time();
  clock_time_t since = now - last;

  /* A clock that seems to go back by a tick must not count as 49 days. */
  if(since <= (clock_time_t)-1 / 2) {
    elapsed += since;
    last = now;
  }
  return elapsed * 1000000 / CLOCK_SECOND;
}
/*---------------------------------------------------------------------------*/
/* What the mote is lent. */

static int
transmit(void *context, const motemix_address *to, const uint8_t *packet, size_t len)
{
  uip_ipaddr_t address;

  (void)context;
  memcpy(&address, to->ip, sizeof(address));
  simple_udp_sendto_port(&connection, packet, (uint16_t)len, &address, to->port);
  return 0;
}

static void
print(void *context, const uint8_t *text, size_t len)
{
  (void)context;
  if(printer != NULL) {
    printer(printer_arg, (const char *)text, len);
  }
}

static void
received(void *context)
{
  (void)context;
  motemix_news_of(MOTEMIX_NEWS_RECEIVED);
}

static void
acknowledged(void *context, uint64_t message, uint64_t round_trip_us, uint8_t tries)
{
  struct motemix_news *told = motemix_news_of(MOTEMIX_NEWS_ACKNOWLEDGED);

  (void)context;
  told->message = message;
  told->tries = tries;
  told->round_trip_ms = (uint32_t)(round_trip_us / 1000);
}

static void
discarded(void *context, uint64_t message, uint8_t tries)
{
  struct motemix_news *told = motemix_news_of(MOTEMIX_NEWS_DISCARDED);

  (void)context;
  told->message = message;
  told->tries = tries;
}

static void
epoch_begins(void *context, uint32_t epoch)
{
  (void)context;
  LOG_INFO("epoch %lu begins\n", (unsigned long)epoch);
  motemix_news_of(MOTEMIX_NEWS_EPOCH)->message = epoch;
}

static void
document_came(void *context, uint32_t epoch)
{
  (void)context;
  LOG_INFO("a neighbour had the document of epoch %lu\n", (unsigned long)epoch);
  motemix_news_of(MOTEMIX_NEWS_DOCUMENT)->message = epoch;
}

static void
warned(void *context, motemix_warning warning, motemix_status reason)
{
  struct motemix_news *told = motemix_news_of(MOTEMIX_NEWS_WARNING);

  (void)context;
  LOG_WARN("%s (%s)\n", motemix_warning_text(warning), motemix_status_text(reason));
  told->warning = warning;
  told->reason = reason;
}
/*---------------------------------------------------------------------------*/
/* What is called on the mote's stack. */

struct call {
  motemix_status status;
  const void *in;
  void *out;
  void *more;
  size_t len;
  const motemix_address *from;
  const char *name;
  uint64_t number;
};

static void
run_open(void *arg)
{
  static const motemix_limits limits = { MOTEMIX_LIMITS };
  motemix_platform platform;

  (void)arg;
  memset(&platform, 0, sizeof(platform));
  platform.random.fill = motemix_arch_random;
  platform.flash.settings_pages = MOTEMIX_SETTINGS_PAGES;
  platform.flash.tags_pages = MOTEMIX_TAGS_PAGES;
  platform.flash.messages_pages = MOTEMIX_MESSAGES_PAGES;
  platform.flash.readings_pages = MOTEMIX_READINGS_PAGES;
  platform.send = transmit;
  platform.print = print;
  platform.received = received;
  platform.acknowledged = acknowledged;
  platform.discarded = discarded;
  platform.epoch_begins = epoch_begins;
  platform.document_came = document_came;
  platform.warned = warned;
  if(motemix_arch_flash(&platform.flash) != 0) {
    broken = MOTEMIX_STATUS_FLASH_FAILED;
  } else {
    broken = motemix_mote_open(memory, sizeof(memory), &limits, &platform, &mote);
  }
#if MOTEMIX_READINGS_PAGES > 0
  if(broken == MOTEMIX_STATUS_OK) {
    broken = motemix_let_sign(mote);
  }
#endif
}

/* A link-local address: no router is needed, and no address has to be typed. Without one, as over a
 * tunnel, the first that there is. */
static bool
own_address(motemix_address *address)
{
  uip_ds6_addr_t *own = uip_ds6_get_link_local(-1);

  if(own == NULL) {
    own = uip_ds6_get_global(-1);
  }
  if(own == NULL) {
    return false;
  }
  memcpy(address->ip, &own->ipaddr, sizeof(address->ip));
  address->port = MOTEMIX_PORT;
  address->version = 6;
  return true;
}

static void
run_command(void *arg)
{
  struct call *call = arg;
  motemix_address address;
  uint32_t epoch;

  /* While the node runs, the address is told already. */
  if(motemix_mote_epoch(mote, &epoch) == MOTEMIX_STATUS_STANDS) {
    /* An authority must not be told an address at which nobody is reached. */
    if(!own_address(&address)) {
      call->status = MOTEMIX_STATUS_NO_ADDRESS;
      return;
    }
    (void)motemix_mote_set_address(mote, &address);
  }
  call->status = motemix_mote_command(mote, now_us(), call->in, call->len);
}

static void
run_set_time(void *arg)
{
  struct call *call = arg;
  call->status = motemix_mote_set_time(mote, now_us(), call->number);
}

static void
run_start(void *arg)
{
  struct call *call = arg;
  call->status = motemix_mote_start(mote, now_us());
}

static void
run_stop(void *arg)
{
  struct call *call = arg;
  call->status = motemix_mote_stop(mote);
}

static void
run_send(void *arg)
{
  struct call *call = arg;
  call->status = motemix_mote_send(mote, now_us(), (const uint8_t *)call->name, strlen(call->name),
                                   call->in, call->len, &call->number);
}

static void
run_message(void *arg)
{
  struct call *call = arg;
  call->status = motemix_mote_message(mote, NULL, call->out, &call->len);
}

static void
run_forget(void *arg)
{
  struct call *call = arg;
  call->status = motemix_mote_forget_message(mote);
}

#if MOTEMIX_READINGS_PAGES > 0
static void
run_identity(void *arg)
{
  struct call *call = arg;
  call->status = motemix_mote_identity(mote, call->out, call->more);
}

static void
run_readings(void *arg)
{
  struct call *call = arg;
  call->status = motemix_mote_send_readings(mote, now_us(), call->in, call->len,
                                            (uint32_t)call->number);
}
#endif

static void
run_datagram(void *arg)
{
  struct call *call = arg;
  /* What is not taken, the counters say; while the node stands, nobody wants it. */
  call->status = motemix_mote_handle_datagram(mote, now_us(), call->from, call->in, call->len);
}

static void
run_poll(void *arg)
{
  struct call *call = arg;
  call->status = motemix_mote_poll(mote, now_us(), &call->number);
}

static motemix_status
call_mote(void (*run)(void *arg), struct call *call)
{
  if(broken != MOTEMIX_STATUS_OK) {
    return broken;
  }
  motemix_on_stack(run, call);
  process_poll(&motemix_process);
  return call->status;
}
/*---------------------------------------------------------------------------*/
static void
on_datagram(struct simple_udp_connection *c, const uip_ipaddr_t *source_addr, uint16_t source_port,
            const uip_ipaddr_t *dest_addr, uint16_t dest_port, const uint8_t *data,
            uint16_t datalen)
{
  motemix_address from = { .port = source_port, .version = 6 };
  struct call call = { .in = data, .len = datalen, .from = &from };

  (void)c, (void)dest_addr, (void)dest_port;
  memcpy(from.ip, source_addr, sizeof(from.ip));
  call_mote(run_datagram, &call);
}
/*---------------------------------------------------------------------------*/
/* What is due; sets the timer for what will be. */
static void
service(void)
{
  struct call call = { .number = MOTEMIX_NEVER };
  clock_time_t wait = LONGEST_WAIT;
  uint64_t now;

  motemix_on_stack(run_poll, &call);
  if(call.status == MOTEMIX_STATUS_OK) {
    /* Others take their turn, between two scalar multiplications at the latest. */
    process_poll(&motemix_process);
    return;
  }
  /* A mote that stands has nothing to do, but its clock has to go on. */
  now = now_us();
  if(call.status == MOTEMIX_STATUS_NOTHING && call.number != MOTEMIX_NEVER) {
    uint64_t ticks = call.number > now ? (call.number - now) * CLOCK_SECOND / 1000000 + 1 : 1;
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

  motemix_news_event = process_alloc_event();
  motemix_stack_fill();
  motemix_on_stack(run_open, NULL);
  if(broken == MOTEMIX_STATUS_OK &&
     !simple_udp_register(&connection, MOTEMIX_PORT, NULL, 0, on_datagram)) {
    broken = MOTEMIX_STATUS_REFUSED;
  }
  if(broken != MOTEMIX_STATUS_OK) {
    LOG_ERR("%s\n", motemix_status_text(broken));
  }
  while(broken == MOTEMIX_STATUS_OK) {
    service();
    if(motemix_news_hand_over()) {
      process_poll(&motemix_process);
    }
    PROCESS_WAIT_EVENT();
    (void)ev;
  }

  PROCESS_END();
}
/*---------------------------------------------------------------------------*/
motemix_status
motemix_command(const char *line, void (*to)(void *arg, const char *text, size_t len), void *arg)
{
  struct call call = { .in = line, .len = strlen(line) };
  motemix_status status;

  printer = to;
  printer_arg = arg;
  status = call_mote(run_command, &call);
  printer = NULL;
  return status;
}
/*---------------------------------------------------------------------------*/
motemix_status
motemix_set_time(uint64_t unix_time)
{
  return call_mote(run_set_time, &(struct call){ .number = unix_time });
}
/*---------------------------------------------------------------------------*/
motemix_status
motemix_start(void)
{
  return call_mote(run_start, &(struct call){ 0 });
}
/*---------------------------------------------------------------------------*/
motemix_status
motemix_stop(void)
{
  return call_mote(run_stop, &(struct call){ 0 });
}
/*---------------------------------------------------------------------------*/
motemix_status
motemix_send(const char *name, const void *data, size_t len, uint64_t *message)
{
  struct call call = { .name = name, .in = data, .len = len };
  motemix_status status = call_mote(run_send, &call);

  *message = call.number;
  return status;
}
/*---------------------------------------------------------------------------*/
motemix_status
motemix_message(uint8_t *data, size_t *len)
{
  struct call call = { .out = data };
  motemix_status status = call_mote(run_message, &call);

  *len = call.len;
  return status;
}
/*---------------------------------------------------------------------------*/
motemix_status
motemix_forget_message(void)
{
  return call_mote(run_forget, &(struct call){ 0 });
}
/*---------------------------------------------------------------------------*/
#if MOTEMIX_READINGS_PAGES > 0
motemix_status
motemix_own_identity(uint8_t *identity, uint8_t *introduction)
{
  return call_mote(run_identity, &(struct call){ .out = identity, .more = introduction });
}
/*---------------------------------------------------------------------------*/
motemix_status
motemix_send_readings(const char *name, uint32_t seconds)
{
  size_t len = name != NULL ? strlen(name) : 0;
  return call_mote(run_readings, &(struct call){ .in = name, .len = len, .number = seconds });
}
#endif
/*---------------------------------------------------------------------------*/
motemix_status
motemix_counters_get(motemix_counters *counters)
{
  return broken != MOTEMIX_STATUS_OK ? broken : motemix_mote_counters(mote, counters);
}
