/*
 * What the stand-in's headers declare, on Linux: processes take turns in one thread, which waits in
 * select for the shell's input, for datagrams and for timers; neighbours are sockets of the
 * loopback interface. For tests. See README.md.
 *
 *   CONTIKI_STAND_IN_SOCKET   number of an inherited UDP socket that is bound already
 *   CONTIKI_STAND_IN_LINK     the UDP ports of all that is on the link, as in "40001 40002". The
 *                             first has the address fe80::1, and so on; who is not among them is
 *                             fe80::1:PORT. Every mote's port is the one that the program asks for.
 *                             A datagram to a multicast address goes to all of them
 */

#define _GNU_SOURCE

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "contiki.h"
#include "dev/serial-line.h"
#include "lib/csprng.h"
#include "net/ipv6/simple-udp.h"
#include "net/ipv6/uip-ds6.h"
#include "net/ipv6/uiplib.h"
#include "shell.h"
#include "shell-commands.h"

#ifndef SERIAL_LINE_CONF_BUFSIZE
#define SERIAL_LINE_CONF_BUFSIZE 128
#endif

extern struct process *const autostart_processes[];

static void
check(bool sound, const char *what)
{
  if(!sound) {
    perror(what);
    abort();
  }
}
/*---------------------------------------------------------------------------*/
/* Processes: polls come before events, and events in the order in which they were posted. */

static struct {
  struct process *p;
  process_event_t ev;
  process_data_t data;
} events[PROCESS_CONF_NUMEVENTS];
static unsigned first_event, event_count;

static struct process *current;
static struct process *processes;

static void
run(struct process *p, process_event_t ev, process_data_t data)
{
  struct process *before = current;

  current = p;
  if(p->running && p->thread(&p->pt, ev, data) == PT_ENDED) {
    p->running = false;
  }
  current = before;
}

void
process_start(struct process *p, process_data_t data)
{
  struct process *known = processes;

  if(p->running) {
    return;
  }
  while(known != NULL && known != p) {
    known = known->next;
  }
  if(known == NULL) {
    p->next = processes;
    processes = p;
  }
  p->running = true;
  run(p, PROCESS_EVENT_INIT, data);
}

int
process_post(struct process *p, process_event_t ev, process_data_t data)
{
  unsigned at = (first_event + event_count) % PROCESS_CONF_NUMEVENTS;

  if(event_count == PROCESS_CONF_NUMEVENTS) {
    return PROCESS_ERR_FULL;
  }
  events[at].p = p;
  events[at].ev = ev;
  events[at].data = data;
  event_count++;
  return PROCESS_ERR_OK;
}

void
process_post_synch(struct process *p, process_event_t ev, process_data_t data)
{
  run(p, ev, data);
}

void
process_poll(struct process *p)
{
  p->polled = p->running;
}

process_event_t
process_alloc_event(void)
{
  static process_event_t next = PROCESS_EVENT_MAX;
  return next++;
}

/* Runs what was polled, and one event. True if there is more to do at once. */
static bool
process_run(void)
{
  bool is_polled = false;
  struct process *p;

  for(p = processes; p != NULL; p = p->next) {
    if(p->polled) {
      p->polled = false;
      run(p, PROCESS_EVENT_POLL, NULL);
    }
  }
  if(event_count > 0) {
    unsigned at = first_event;
    first_event = (first_event + 1) % PROCESS_CONF_NUMEVENTS;
    event_count--;
    run(events[at].p, events[at].ev, events[at].data);
  }
  for(p = processes; p != NULL; p = p->next) {
    is_polled = is_polled || p->polled;
  }
  return is_polled || event_count > 0;
}
/*---------------------------------------------------------------------------*/
/* Time. */

static struct etimer *timers;

clock_time_t
clock_time(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (clock_time_t)now.tv_sec * CLOCK_SECOND + (clock_time_t)now.tv_nsec / 1000000;
}

unsigned long
clock_seconds(void)
{
  return clock_time() / CLOCK_SECOND;
}

void
etimer_stop(struct etimer *et)
{
  struct etimer **at = &timers;

  while(*at != NULL) {
    if(*at == et) {
      *at = et->next;
    } else {
      at = &(*at)->next;
    }
  }
}

void
etimer_set(struct etimer *et, clock_time_t interval)
{
  etimer_stop(et);
  et->due = clock_time() + interval;
  et->p = current;
  et->next = timers;
  timers = et;
}

/* Posts what is due. The milliseconds until something will be, a second at most. */
static long
look_at_timers(void)
{
  struct etimer *et, *next;
  long wait = 1000;

  for(et = timers; et != NULL; et = next) {
    long left = (long)(et->due - clock_time());
    next = et->next;
    if(left <= 0) {
      wait = 0;
      if(process_post(et->p, PROCESS_EVENT_TIMER, et) == PROCESS_ERR_OK) {
        etimer_stop(et);
      }
    } else if(left < wait) {
      wait = left;
    }
  }
  return wait;
}
/*---------------------------------------------------------------------------*/
/* What the main loop waits for. */

#define DESCRIPTORS 32

static const struct select_callback *callbacks[DESCRIPTORS];

int
select_set_callback(int fd, const struct select_callback *callback)
{
  if(fd < 0 || fd >= DESCRIPTORS) {
    return 0;
  }
  callbacks[fd] = callback;
  return 1;
}

static void
wait_for_input(long milliseconds)
{
  struct timeval wait = { .tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000 };
  fd_set rset, wset;
  int fd, ready;

  FD_ZERO(&rset);
  FD_ZERO(&wset);
  for(fd = 0; fd < DESCRIPTORS; fd++) {
    if(callbacks[fd] != NULL) {
      callbacks[fd]->set_fd(&rset, &wset);
    }
  }
  ready = select(DESCRIPTORS, &rset, &wset, NULL, &wait);
  check(ready >= 0 || errno == EINTR, "select");
  for(fd = 0; fd < DESCRIPTORS && ready > 0; fd++) {
    if(callbacks[fd] != NULL) {
      callbacks[fd]->handle_fd(&rset, &wset);
    }
  }
}
/*---------------------------------------------------------------------------*/
/* Network: one interface, whose address says which place the inherited socket has on the link. */

#define PLACES 32

static uint16_t places[PLACES];
static unsigned place_count;
static struct simple_udp_connection *connection;
static int connection_fd = -1;

static int
inherited_socket(void)
{
  const char *inherited = getenv("CONTIKI_STAND_IN_SOCKET");
  return inherited != NULL ? atoi(inherited) : -1;
}

static void
read_link(void)
{
  const char *at = getenv("CONTIKI_STAND_IN_LINK");
  char *end;

  place_count = 0;
  while(at != NULL && *at != '\0' && place_count < PLACES) {
    places[place_count++] = (uint16_t)strtoul(at, &end, 10);
    check(end != at, "CONTIKI_STAND_IN_LINK");
    at = end;
  }
}

/* fe80::1 and so on, in the link's order. */
static void
address_of(uint16_t port, uip_ipaddr_t *address)
{
  unsigned place;

  memset(address, 0, sizeof(*address));
  address->u8[0] = 0xfe;
  address->u8[1] = 0x80;
  for(place = 0; place < place_count; place++) {
    if(places[place] == port) {
      address->u8[15] = (uint8_t)(place + 1);
      return;
    }
  }
  address->u8[13] = 1;
  address->u8[14] = (uint8_t)(port >> 8);
  address->u8[15] = (uint8_t)port;
}

uip_ds6_addr_t *
uip_ds6_get_link_local(int8_t state)
{
  static uip_ds6_addr_t own;
  struct sockaddr_in6 bound;
  socklen_t len = sizeof(bound);

  (void)state;
  read_link();
  if(getsockname(inherited_socket(), (struct sockaddr *)&bound, &len) != 0 || place_count == 0) {
    return NULL;
  }
  address_of(ntohs(bound.sin6_port), &own.ipaddr);
  return &own;
}

uip_ds6_addr_t *
uip_ds6_get_global(int8_t state)
{
  (void)state;
  return NULL;
}

static int
set_connection(fd_set *rset, fd_set *wset)
{
  (void)wset;
  FD_SET(connection_fd, rset);
  return 1;
}

static void
take_datagram(fd_set *rset, fd_set *wset)
{
  struct sockaddr_in6 from;
  socklen_t from_len = sizeof(from);
  uip_ipaddr_t source, own;
  uint8_t bytes[1280];
  ssize_t len;

  (void)wset;
  if(!FD_ISSET(connection_fd, rset)) {
    return;
  }
  len = recvfrom(connection_fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_TRUNC,
                 (struct sockaddr *)&from, &from_len);
  /* What is longer than the least that every link carries does not come through a radio. */
  if(len >= 0 && (size_t)len <= sizeof(bytes)) {
    address_of(ntohs(from.sin6_port), &source);
    own = uip_ds6_get_link_local(-1)->ipaddr;
    connection->receive_callback(connection, &source, connection->local_port, &own,
                                 connection->local_port, bytes, (uint16_t)len);
  }
}
static const struct select_callback datagrams = { set_connection, take_datagram };

int
simple_udp_register(struct simple_udp_connection *c, uint16_t local_port, uip_ipaddr_t *remote_addr,
                    uint16_t remote_port, simple_udp_callback receive_callback)
{
  (void)remote_addr, (void)remote_port;
  read_link();
  c->local_port = local_port;
  c->receive_callback = receive_callback;
  connection = c;
  connection_fd = inherited_socket();
  return select_set_callback(connection_fd, &datagrams);
}

static bool
send_to_place(uint16_t port, const void *data, uint16_t datalen)
{
  struct sockaddr_in6 socket_of = { .sin6_family = AF_INET6,
                                    .sin6_addr = IN6ADDR_LOOPBACK_INIT,
                                    .sin6_port = htons(port) };

  return sendto(connection_fd, data, datalen, 0, (struct sockaddr *)&socket_of,
                sizeof(socket_of)) >= 0;
}

int
simple_udp_sendto_port(struct simple_udp_connection *c, const void *data, uint16_t datalen,
                       const uip_ipaddr_t *to, uint16_t to_port)
{
  uip_ipaddr_t own = uip_ds6_get_link_local(-1)->ipaddr, address;
  unsigned place;
  bool sent = false;

  for(place = 0; place < place_count; place++) {
    bool is_meant;

    address_of(places[place], &address);
    is_meant = memcmp(&address, uip_is_addr_mcast(to) ? &own : to, sizeof(address)) == 0;
    if(is_meant != uip_is_addr_mcast(to) && to_port == c->local_port) {
      sent = send_to_place(places[place], data, datalen) || sent;
    }
  }
  /* Who is not on the link and has sent something. */
  address_of(to->u8[14] << 8 | to->u8[15], &address);
  if(address.u8[13] == 1 && memcmp(&address, to, sizeof(address)) == 0) {
    sent = send_to_place((uint16_t)(to->u8[14] << 8 | to->u8[15]), data, datalen);
  }
  return sent;
}

int
uiplib_ip6addrconv(const char *addrstr, uip_ipaddr_t *addr)
{
  return inet_pton(AF_INET6, addrstr, addr) == 1;
}

int
uiplib_ipaddr_snprint(char *buffer, size_t size, const uip_ipaddr_t *addr)
{
  char text[INET6_ADDRSTRLEN];

  return snprintf(buffer, size, "%s", inet_ntop(AF_INET6, addr, text, sizeof(text)));
}
/*---------------------------------------------------------------------------*/
bool
csprng_rand(uint8_t *result, size_t len)
{
  return getrandom(result, len, 0) == (ssize_t)len;
}
/*---------------------------------------------------------------------------*/
/* The serial line, until the input ends: for the shell if a program has one, and for all processes
 * otherwise. */

process_event_t serial_line_event_message;

static struct shell_command_set_t *command_sets;

void
shell_command_set_register(struct shell_command_set_t *set)
{
  set->next = command_sets;
  command_sets = set;
}

static void
output(const char *str)
{
  fputs(str, stdout);
}

static void
do_line(char *line)
{
  char *args = strchr(line, ' ');
  const struct shell_command_set_t *set;
  const struct shell_command_t *command;
  struct pt pt = { 0 };
  struct process *p;

  if(command_sets == NULL) {
    for(p = processes; p != NULL; p = p->next) {
      process_post_synch(p, serial_line_event_message, line);
    }
    return;
  }
  if(args != NULL) {
    *args++ = '\0';
  }
  for(set = command_sets; set != NULL; set = set->next) {
    for(command = set->commands; command->name != NULL; command++) {
      if(strcmp(command->name, line) == 0) {
        command->func(&pt, output, args);
      }
    }
  }
}

static int
set_input(fd_set *rset, fd_set *wset)
{
  (void)wset;
  FD_SET(STDIN_FILENO, rset);
  return 1;
}

static void
take_character(fd_set *rset, fd_set *wset)
{
  static char line[SERIAL_LINE_CONF_BUFSIZE];
  static size_t len;
  char character;

  (void)wset;
  if(!FD_ISSET(STDIN_FILENO, rset)) {
    return;
  }
  if(read(STDIN_FILENO, &character, 1) != 1) {
    exit(EXIT_SUCCESS);
  }
  if(character == '\n') {
    line[len] = '\0';
    len = 0;
    do_line(line);
  } else if(len + 1 < sizeof(line)) {
    /* The rest of a line that is too long is lost, as with Contiki-NG. */
    line[len++] = character;
  }
}
static const struct select_callback input = { set_input, take_character };
/*---------------------------------------------------------------------------*/
int
main(void)
{
  struct process *const *p;

  setvbuf(stdout, NULL, _IOLBF, 0);
  serial_line_event_message = process_alloc_event();
  for(p = autostart_processes; *p != NULL; p++) {
    process_start(*p, NULL);
  }
  select_set_callback(STDIN_FILENO, &input);
  for(;;) {
    bool more = process_run();
    /* Behind the processes, which set timers. */
    long wait = look_at_timers();
    wait_for_input(more ? 0 : wait);
  }
}
