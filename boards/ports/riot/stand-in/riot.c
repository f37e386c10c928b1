/*
 * What the stand-in's headers declare, on Linux: threads are POSIX threads, an event queue waits in
 * poll, neighbours are sockets of the loopback interface. For tests. The flash is in mtd.c.
 *
 *   RIOT_STAND_IN_SOCKET   number of an inherited UDP socket that is bound already
 *   RIOT_STAND_IN_LINK     the UDP ports of all that is on the link, as in "40001 40002". The first
 *                          has the address fe80::1, and so on; who is not among them is
 *                          fe80::1:PORT. Every board's port is the one that the program asks for
 *   RIOT_STAND_IN_NO_THREAD  if it is set, no thread can be made
 */

#define _GNU_SOURCE

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "event.h"
#include "event/timeout.h"
#include "msg.h"
#include "mutex.h"
#include "net/ipv6/addr.h"
#include "net/netif.h"
#include "net/sock/async/event.h"
#include "net/sock/udp.h"
#include "periph/hwrng.h"
#include "shell.h"
#include "thread.h"
#include "ztimer.h"

static void check(bool sound, const char *what)
{
    if (!sound) {
        perror(what);
        abort();
    }
}

/* Time. */

ztimer_clock_t *const ZTIMER_MSEC = NULL;

static uint64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* As with ztimer_ondemand: a clock that nobody has acquired stands. */
static bool is_acquired;

bool ztimer_acquire(ztimer_clock_t *clock)
{
    (void)clock;
    bool is_first = !is_acquired;
    is_acquired = true;
    return is_first;
}

uint32_t ztimer_now(ztimer_clock_t *clock)
{
    (void)clock;
    if (!is_acquired) {
        return 0;
    }
    return (uint32_t)clock_ms();
}

/* Threads. POSIX forbids that another thread unlocks a mutex, so that those of RIOT are words. */

static pthread_mutex_t words = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t word_changed = PTHREAD_COND_INITIALIZER;

void mutex_init(mutex_t *mutex)
{
    mutex->is_locked = 0;
}

void mutex_lock(mutex_t *mutex)
{
    pthread_mutex_lock(&words);
    while (mutex->is_locked) {
        pthread_cond_wait(&word_changed, &words);
    }
    mutex->is_locked = 1;
    pthread_mutex_unlock(&words);
}

void mutex_unlock(mutex_t *mutex)
{
    pthread_mutex_lock(&words);
    mutex->is_locked = 0;
    pthread_cond_broadcast(&word_changed);
    pthread_mutex_unlock(&words);
}

/* The thread of main, and the one that it makes. */
#define PIDS 2

static _Thread_local kernel_pid_t own_pid = 1;
static thread_task_func_t made_task;

static void *begin_thread(void *arg)
{
    own_pid = PIDS;
    return made_task(arg);
}

kernel_pid_t thread_getpid(void)
{
    return own_pid;
}

kernel_pid_t thread_create(char *stack, int stacksize, uint8_t priority, int flags,
                           thread_task_func_t task_func, void *arg, const char *name)
{
    pthread_t thread;
    (void)stack, (void)stacksize, (void)priority, (void)flags, (void)name;
    if (getenv("RIOT_STAND_IN_NO_THREAD") != NULL) {
        return -EOVERFLOW;
    }
    made_task = task_func;
    check(pthread_create(&thread, NULL, begin_thread, arg) == 0 && pthread_detach(thread) == 0,
          "thread_create");
    return PIDS;
}

void msg_init_queue(msg_t *array, int num)
{
    (void)array, (void)num;
}

/* Events: a list that any thread may post to, and one thread that waits. */

static pthread_mutex_t events = PTHREAD_MUTEX_INITIALIZER;

void event_queue_init_detached(event_queue_t *queue)
{
    memset(queue, 0, sizeof(*queue));
    check(pipe2(queue->wake, O_NONBLOCK | O_CLOEXEC) == 0, "pipe");
}

void event_queue_claim(event_queue_t *queue)
{
    (void)queue;
}

void event_post(event_queue_t *queue, event_t *event)
{
    pthread_mutex_lock(&events);
    event_t **last = &queue->first;
    while (*last != NULL && *last != event) {
        last = &(*last)->next;
    }
    if (*last == NULL) {
        event->next = NULL;
        *last = event;
    }
    pthread_mutex_unlock(&events);
    /* A full pipe wakes as well as one more byte. */
    check(write(queue->wake[1], "", 1) == 1 || errno == EAGAIN, "event_post");
}

static event_t *take(event_queue_t *queue)
{
    pthread_mutex_lock(&events);
    event_t *event = queue->first;
    if (event != NULL) {
        queue->first = event->next;
    }
    pthread_mutex_unlock(&events);
    return event;
}

static void look(event_queue_t *queue, bool wait)
{
    struct pollfd fds[2] = { { .fd = queue->wake[0], .events = POLLIN },
                             { .fd = queue->sock != NULL ? queue->sock->fd : -1, .events = POLLIN } };
    uint64_t now = clock_ms();
    int timeout = wait ? -1 : 0;
    if (wait && queue->timeout != NULL) {
        timeout = queue->timeout->due_ms > now ? (int)(queue->timeout->due_ms - now) : 0;
    }
    check(poll(fds, 2, timeout) >= 0 || errno == EINTR, "poll");
    if (fds[0].revents != 0) {
        char bytes[64];
        while (read(queue->wake[0], bytes, sizeof(bytes)) > 0) {
        }
    }
    if (fds[1].revents != 0) {
        event_post(queue, &queue->sock->event);
    }
    if (queue->timeout != NULL && queue->timeout->due_ms <= clock_ms()) {
        event_timeout_t *timeout_due = queue->timeout;
        queue->timeout = NULL;
        event_post(queue, timeout_due->event);
    }
}

event_t *event_get(event_queue_t *queue)
{
    look(queue, false);
    return take(queue);
}

event_t *event_wait(event_queue_t *queue)
{
    for (;;) {
        event_t *event = take(queue);
        if (event != NULL) {
            return event;
        }
        look(queue, true);
    }
}

void event_timeout_ztimer_init(event_timeout_t *event_timeout, ztimer_clock_t *clock, event_queue_t *queue,
                               event_t *event)
{
    (void)clock;
    event_timeout->queue = queue;
    event_timeout->event = event;
}

void event_timeout_set(event_timeout_t *event_timeout, uint32_t timeout)
{
    event_timeout->due_ms = clock_ms() + timeout;
    event_timeout->queue->timeout = event_timeout;
}

void event_timeout_clear(event_timeout_t *event_timeout)
{
    event_timeout->queue->timeout = NULL;
}

/* Network: one interface, whose address says which place the inherited socket has on the link. */

#define INTERFACE 6

int16_t stand_in_interface = INTERFACE;
#define PLACES 32

static uint16_t places[PLACES];
static unsigned place_count;
/* What the program takes its port to be. */
static uint16_t asked_port;

static int inherited_socket(void)
{
    const char *inherited = getenv("RIOT_STAND_IN_SOCKET");
    return inherited != NULL ? atoi(inherited) : -1;
}

static void read_link(void)
{
    const char *at = getenv("RIOT_STAND_IN_LINK");
    char *end;

    place_count = 0;
    while (at != NULL && *at != '\0' && place_count < PLACES) {
        places[place_count++] = (uint16_t)strtoul(at, &end, 10);
        check(end != at, "RIOT_STAND_IN_LINK");
        at = end;
    }
}

/* fe80::1 and so on, in the link's order. */
static void address_of(uint16_t port, uint8_t address[16])
{
    memset(address, 0, 16);
    address[0] = 0xfe;
    address[1] = 0x80;
    for (unsigned place = 0; place < place_count; place++) {
        if (places[place] == port) {
            address[15] = (uint8_t)(place + 1);
            return;
        }
    }
    address[13] = 1;
    address[14] = (uint8_t)(port >> 8);
    address[15] = (uint8_t)port;
}

netif_t *netif_iter(const netif_t *last)
{
    static int interface;
    return last == NULL ? (netif_t *)(void *)&interface : NULL;
}

int stand_in_radio_is_dead;

/* In RIOT's own network stack the number of an interface is that of its thread. */
thread_status_t thread_getstatus(kernel_pid_t pid)
{
    (void)pid;
    return stand_in_radio_is_dead ? STATUS_ZOMBIE : STATUS_RECEIVE_BLOCKED;
}

int16_t netif_get_id(const netif_t *netif)
{
    (void)netif;
    return stand_in_interface;
}

/* A global address in front of the link-local one, as a board has that hears a router. */
int netif_get_opt(netif_t *netif, netopt_t opt, uint16_t context, void *value, size_t max_len)
{
    struct sockaddr_in6 bound;
    socklen_t len = sizeof(bound);
    uint8_t addresses[2][16] = { { 0xfd, [15] = 9 } };

    (void)netif, (void)context;
    while (stand_in_radio_is_dead) {
        pause();
    }
    if (opt != NETOPT_IPV6_ADDR) {
        return -ENOTSUP;
    }
    read_link();
    if (getsockname(inherited_socket(), (struct sockaddr *)&bound, &len) != 0 || place_count == 0) {
        return 0;
    }
    address_of(ntohs(bound.sin6_port), addresses[1]);
    if (max_len < sizeof(addresses)) {
        return -EOVERFLOW;
    }
    memcpy(value, addresses, sizeof(addresses));
    return sizeof(addresses);
}

char *ipv6_addr_to_str(char *result, const ipv6_addr_t *addr, uint8_t result_len)
{
    return (char *)(uintptr_t)inet_ntop(AF_INET6, addr->u8, result, result_len);
}

int sock_udp_create(sock_udp_t *sock, const sock_udp_ep_t *local, const sock_udp_ep_t *remote, uint16_t flags)
{
    (void)remote, (void)flags;
    memset(sock, 0, sizeof(*sock));
    sock->fd = dup(inherited_socket());
    if (sock->fd < 0 || fcntl(sock->fd, F_SETFL, O_NONBLOCK) < 0) {
        return -EADDRINUSE;
    }
    read_link();
    asked_port = local->port;
    return 0;
}

static void on_readable(event_t *event)
{
    sock_udp_t *sock = container_of(event, sock_udp_t, event);
    sock->handler(sock, SOCK_ASYNC_MSG_RECV, sock->arg);
}

void sock_udp_event_init(sock_udp_t *sock, event_queue_t *ev_queue, sock_udp_cb_t handler, void *handler_arg)
{
    sock->handler = handler;
    sock->arg = handler_arg;
    sock->event.handler = on_readable;
    ev_queue->sock = sock;
}

/* As GNRC's: a datagram, and nothing when it is let go. Whoever does not let it go has one less of
 * the few that there is memory for, so that is a mistake from the first one on. */
ssize_t sock_udp_recv_buf(sock_udp_t *sock, void **data, void **buf_ctx, uint32_t timeout,
                          sock_udp_ep_t *remote)
{
    static uint8_t datagram[65536];
    static bool is_held;
    struct sockaddr_in6 from;
    socklen_t from_len = sizeof(from);

    (void)timeout;
    if (*buf_ctx != NULL) {
        *data = *buf_ctx = NULL;
        is_held = false;
        return 0;
    }
    check(!is_held, "a datagram was not let go");
    ssize_t len = recvfrom(sock->fd, datagram, sizeof(datagram), 0, (struct sockaddr *)&from, &from_len);
    if (len < 0) {
        return -EAGAIN;
    }
    remote->family = AF_INET6;
    remote->netif = INTERFACE;
    remote->port = asked_port;
    address_of(ntohs(from.sin6_port), remote->addr.ipv6);
    is_held = true;
    *data = *buf_ctx = datagram;
    return len;
}

/* Only to neighbours: their addresses mean something on one interface, so that has to be named. */
ssize_t sock_udp_send(sock_udp_t *sock, const void *data, size_t len, const sock_udp_ep_t *remote)
{
    struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    uint8_t address[16];

    for (unsigned place = 0; place < place_count; place++) {
        address_of(places[place], address);
        if (memcmp(address, remote->addr.ipv6, sizeof(address)) == 0) {
            to.sin6_port = htons(places[place]);
        }
    }
    if (to.sin6_port == 0 || remote->netif != INTERFACE || remote->port != asked_port) {
        return -EHOSTUNREACH;
    }
    ssize_t sent = sendto(sock->fd, data, len, 0, (struct sockaddr *)&to, sizeof(to));
    return sent < 0 ? -errno : sent;
}

void hwrng_read(void *buf, unsigned int num)
{
    check(getrandom(buf, num, 0) == (ssize_t)num, "getrandom");
}

/* The shell: words between spaces, until the input ends. */

#define COMMANDS 12

static const shell_command_t *added[COMMANDS];

void stand_in_add_command(const shell_command_t *command)
{
    unsigned at = 0;
    while (at < COMMANDS && added[at] != NULL) {
        at++;
    }
    check(at < COMMANDS, "too many commands");
    added[at] = command;
}

/* Drops the rest of a line that is too long, as RIOT does. */
static bool is_whole(char *line)
{
    char *end = strchr(line, '\n');
    if (end != NULL) {
        *end = '\0';
        return true;
    }
    for (int dropped = getchar(); dropped != '\n' && dropped != EOF; dropped = getchar()) {
    }
    puts("shell: maximum line length exceeded");
    return false;
}

/* Before any thread: whoever reads waits for lines. */
__attribute__((constructor(101))) static void write_lines_at_once(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
}

void shell_run(const shell_command_t *commands, char *line_buf, int len)
{
    (void)commands;
    while (fgets(line_buf, len, stdin) != NULL) {
        char *argv[64];
        int argc = 0;
        if (!is_whole(line_buf)) {
            continue;
        }
        for (char *word = strtok(line_buf, " "); word != NULL && argc < 63; word = strtok(NULL, " ")) {
            argv[argc++] = word;
        }
        argv[argc] = NULL;
        unsigned at = 0;
        if (argc == 0) {
            continue;
        }
        while (at < COMMANDS && added[at] != NULL && strcmp(added[at]->name, argv[0]) != 0) {
            at++;
        }
        if (at < COMMANDS && added[at] != NULL) {
            added[at]->handler(argc, argv);
        }
        else {
            printf("shell: command not found: %s\n", argv[0]);
        }
    }
}
