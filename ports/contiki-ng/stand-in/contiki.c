/*
 * What the stand-in's headers declare, on Linux: processes take turns in one thread, which waits in poll
 * for the shell's input, for datagrams and for timers. For tests. See README.md.
 *
 *   CONTIKI_STAND_IN_SOCKET   number of an inherited UDP socket that is bound already
 */

#define _GNU_SOURCE

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "contiki.h"
#include "net/ipv6/simple-udp.h"
#include "shell.h"
#include "shell-commands.h"

extern struct process *const autostart_process;

struct process *process_current;
static struct process *processes;
static struct etimer *timers;
static struct simple_udp_connection *connection;
static int connection_fd = -1;
static struct shell_command_set_t *command_sets;

static void
run(struct process *p, process_event_t ev, process_data_t data)
{
  PROCESS_CONTEXT_BEGIN(p);
  if(p->running && p->thread(&p->pt, ev, data) == PT_ENDED) {
    p->running = false;
  }
  PROCESS_CONTEXT_END(p);
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

void
process_poll(struct process *p)
{
  p->polled = true;
}

clock_time_t
clock_time(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (clock_time_t)now.tv_sec * CLOCK_SECOND + (clock_time_t)now.tv_nsec / (1000000000 / CLOCK_SECOND);
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
  et->p = process_current;
  et->next = timers;
  timers = et;
}

int
simple_udp_register(struct simple_udp_connection *c, uint16_t local_port, uip_ipaddr_t *remote_addr,
                    uint16_t remote_port, simple_udp_callback receive_callback)
{
  const char *inherited = getenv("CONTIKI_STAND_IN_SOCKET");
  (void)local_port, (void)remote_addr, (void)remote_port;
  c->receive_callback = receive_callback;
  c->client_process = process_current;
  connection = c;
  connection_fd = inherited != NULL ? atoi(inherited) : -1;
  return connection_fd >= 0;
}

int
simple_udp_sendto_port(struct simple_udp_connection *c, const void *data, uint16_t datalen,
                       const uip_ipaddr_t *to, uint16_t to_port)
{
  struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_port = htons(to_port) };
  (void)c;
  memcpy(&address.sin6_addr, to, sizeof(*to));
  return sendto(connection_fd, data, datalen, 0, (struct sockaddr *)&address, sizeof(address)) >= 0;
}

void
shell_command_set_register(struct shell_command_set_t *set)
{
  set->next = command_sets;
  command_sets = set;
}

char *
shell_next_argument(char **rest)
{
  char *argument = *rest;
  if(argument == NULL || *argument == '\0') {
    *rest = NULL;
    return NULL;
  }
  *rest = strchr(argument, ' ');
  if(*rest != NULL) {
    *(*rest)++ = '\0';
  }
  return argument;
}

static void
output(const char *str)
{
  fputs(str, stdout);
}

static void
shell(char *line)
{
  char *args = line;
  char *name = shell_next_argument(&args);
  const struct shell_command_set_t *set;
  const struct shell_command_t *command;
  struct pt pt = { 0 };

  for(set = command_sets; name != NULL && set != NULL; set = set->next) {
    for(command = set->commands; command->name != NULL; command++) {
      if(strcmp(command->name, name) == 0) {
        command->func(&pt, output, args);
      }
    }
  }
}

static void
take_datagram(void)
{
  static const uip_ipaddr_t nowhere;
  uint8_t bytes[1280];
  ssize_t len = recv(connection_fd, bytes, sizeof(bytes), MSG_DONTWAIT);
  if(len >= 0) {
    PROCESS_CONTEXT_BEGIN(connection->client_process);
    connection->receive_callback(connection, &nowhere, 0, &nowhere, 0, bytes, (uint16_t)len);
    PROCESS_CONTEXT_END(connection->client_process);
  }
}

/* Calls what was polled and what is due. True if there is more to do at once. */
static bool
turn(void)
{
  bool more = false;
  struct process *p;
  struct etimer *et;

  for(p = processes; p != NULL; p = p->next) {
    if(p->polled) {
      p->polled = false;
      run(p, PROCESS_EVENT_POLL, NULL);
      more = true;
    }
  }
  for(et = timers; et != NULL; et = et->next) {
    if((long)(clock_time() - et->due) >= 0) {
      etimer_stop(et);
      run(et->p, PROCESS_EVENT_TIMER, et);
      return true;
    }
  }
  return more;
}

int
main(void)
{
  static char line[256];
  size_t len = 0;

  setvbuf(stdout, NULL, _IOLBF, 0);
  process_start(autostart_process, NULL);
  for(;;) {
    bool busy = turn();
    struct pollfd fds[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
                             { .fd = connection_fd, .events = POLLIN } };
    struct etimer *et;
    long wait = busy ? 0 : 1000;
    for(et = timers; et != NULL; et = et->next) {
      long left = (long)(et->due - clock_time());
      wait = left < wait ? (left > 0 ? left : 0) : wait;
    }
    if(poll(fds, 2, (int)wait) < 0 && errno != EINTR) {
      return EXIT_FAILURE;
    }
    if(fds[1].revents != 0) {
      take_datagram();
    }
    if(fds[0].revents != 0) {
      if(len + 1 >= sizeof(line) || read(STDIN_FILENO, &line[len], 1) != 1) {
        return EXIT_SUCCESS;
      }
      if(line[len] == '\n') {
        line[len] = '\0';
        len = 0;
        shell(line);
      } else {
        len++;
      }
    }
  }
}
