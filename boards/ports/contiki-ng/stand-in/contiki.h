/*
 * Stand-in for Contiki-NG's contiki.h: protothreads, processes, clock and event timer, as far as
 * the port uses them. See README.md.
 */

#ifndef CONTIKI_H
#define CONTIKI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A protothread: a function that remembers the line where it waited. */
struct pt {
  unsigned short line;
};

#define PT_YIELDED 1
#define PT_ENDED 3
#define PT_THREAD(declaration) char declaration
#define PT_BEGIN(pt) switch((pt)->line) { case 0:
#define PT_END(pt) } (pt)->line = 0; return PT_ENDED

/* Processes. */
typedef unsigned char process_event_t;
typedef void *process_data_t;

struct process {
  struct process *next;
  const char *name;
  char (*thread)(struct pt *pt, process_event_t ev, process_data_t data);
  struct pt pt;
  bool running;
  bool polled;
};

#define PROCESS_ERR_OK 0
#define PROCESS_ERR_FULL 1
#define PROCESS_CONF_NUMEVENTS 32
#define PROCESS_EVENT_INIT 0x81
#define PROCESS_EVENT_POLL 0x82
#define PROCESS_EVENT_TIMER 0x88
/* What process_alloc_event begins with. */
#define PROCESS_EVENT_MAX 0x8a

#define PROCESS_THREAD(name, ev, data) \
  static char process_thread_##name(struct pt *process_pt, process_event_t ev, process_data_t data)
#define PROCESS_NAME(name) extern struct process name
#define PROCESS(name, text) \
  PROCESS_THREAD(name, ev, data); \
  struct process name = { NULL, text, process_thread_##name, { 0 }, false, false }
#define PROCESS_BEGIN() PT_BEGIN(process_pt)
#define PROCESS_END() PT_END(process_pt)
#define PROCESS_EXIT() \
  do { \
    process_pt->line = 0; \
    return PT_ENDED; \
  } while(0)
#define PROCESS_YIELD_UNTIL(condition) \
  do { \
    process_pt->line = __LINE__; \
    return PT_YIELDED; \
  case __LINE__: \
    if(!(condition)) { \
      return PT_YIELDED; \
    } \
  } while(0)
#define PROCESS_WAIT_EVENT() PROCESS_YIELD_UNTIL(true)
#define AUTOSTART_PROCESSES(...) struct process *const autostart_processes[] = { __VA_ARGS__, NULL }

void process_start(struct process *p, process_data_t data);
int process_post(struct process *p, process_event_t ev, process_data_t data);
void process_post_synch(struct process *p, process_event_t ev, process_data_t data);
void process_poll(struct process *p);
process_event_t process_alloc_event(void);

/* Time. */
typedef unsigned long clock_time_t;
#define CLOCK_SECOND 1000
clock_time_t clock_time(void);
unsigned long clock_seconds(void);

struct etimer {
  struct etimer *next;
  struct process *p;
  clock_time_t due;
};

void etimer_set(struct etimer *et, clock_time_t interval);
void etimer_stop(struct etimer *et);

#ifdef CONTIKI_TARGET_NATIVE
/* What a PC's main loop waits for. */
#include <sys/select.h>

struct select_callback {
  int (*set_fd)(fd_set *rset, fd_set *wset);
  void (*handle_fd)(fd_set *rset, fd_set *wset);
};

int select_set_callback(int fd, const struct select_callback *callback);
#endif

#endif
