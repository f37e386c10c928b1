/*
 * What the stand-in's headers declare, on Linux: threads are POSIX threads, an event queue waits in
 * poll, the network is the loopback interface, flash is a file. For tests. See README.md.
 *
 *   RIOT_STAND_IN_SOCKET   number of an inherited UDP socket that is bound already
 *   RIOT_STAND_IN_FLASH    the file
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

#include "board.h"
#include "event.h"
#include "event/timeout.h"
#include "mutex.h"
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

uint32_t ztimer_now(ztimer_clock_t *clock)
{
    (void)clock;
    return (uint32_t)clock_ms();
}

void ztimer_sleep(ztimer_clock_t *clock, uint32_t duration)
{
    (void)clock;
    struct timespec time = { duration / 1000, (long)(duration % 1000) * 1000000 };
    nanosleep(&time, NULL);
}

/* Threads. */

void mutex_lock(mutex_t *mutex)
{
    check(pthread_mutex_lock(mutex) == 0, "mutex_lock");
}

void mutex_unlock(mutex_t *mutex)
{
    check(pthread_mutex_unlock(mutex) == 0, "mutex_unlock");
}

static struct {
    thread_task_func_t run;
    void *arg;
} task;
static int running;

static void *run_task(void *unused)
{
    (void)unused;
    task.run(task.arg);
    __atomic_store_n(&running, 0, __ATOMIC_SEQ_CST);
    return NULL;
}

kernel_pid_t thread_create(char *stack, int stacksize, uint8_t priority, int flags,
                           thread_task_func_t task_func, void *arg, const char *name)
{
    pthread_t thread;
    (void)stack, (void)stacksize, (void)priority, (void)flags, (void)name;
    task.run = task_func;
    task.arg = arg;
    __atomic_store_n(&running, 1, __ATOMIC_SEQ_CST);
    check(pthread_create(&thread, NULL, run_task, NULL) == 0 && pthread_detach(thread) == 0, "thread_create");
    return 2;
}

thread_status_t thread_getstatus(kernel_pid_t pid)
{
    return pid == 2 && __atomic_load_n(&running, __ATOMIC_SEQ_CST) ? STATUS_RUNNING : STATUS_NOT_FOUND;
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

/* Network: the inherited socket, whatever port is asked for. */

int sock_udp_create(sock_udp_t *sock, const sock_udp_ep_t *local, const sock_udp_ep_t *remote, uint16_t flags)
{
    const char *inherited = getenv("RIOT_STAND_IN_SOCKET");
    (void)local, (void)remote, (void)flags;
    memset(sock, 0, sizeof(*sock));
    sock->fd = inherited != NULL ? dup(atoi(inherited)) : -1;
    if (sock->fd < 0 || fcntl(sock->fd, F_SETFL, O_NONBLOCK) < 0) {
        return -EADDRINUSE;
    }
    return 0;
}

static void on_readable(event_t *event)
{
    sock_udp_t *sock = (sock_udp_t *)(void *)((char *)event - offsetof(sock_udp_t, event));
    sock->handler(sock, SOCK_ASYNC_MSG_RECV, sock->arg);
}

void sock_udp_event_init(sock_udp_t *sock, event_queue_t *ev_queue, sock_udp_cb_t handler, void *handler_arg)
{
    sock->handler = handler;
    sock->arg = handler_arg;
    sock->event.handler = on_readable;
    ev_queue->sock = sock;
}

void sock_udp_close(sock_udp_t *sock)
{
    close(sock->fd);
    sock->fd = -1;
}

ssize_t sock_udp_recv(sock_udp_t *sock, void *data, size_t max_len, uint32_t timeout, sock_udp_ep_t *remote)
{
    (void)timeout, (void)remote;
    ssize_t len = recv(sock->fd, data, max_len, MSG_TRUNC);
    if (len < 0) {
        return -EAGAIN;
    }
    return (size_t)len > max_len ? -ENOBUFS : len;
}

ssize_t sock_udp_send(sock_udp_t *sock, const void *data, size_t len, const sock_udp_ep_t *remote)
{
    struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_port = htons(remote->port) };
    memcpy(&to.sin6_addr, remote->addr.ipv6, 16);
    ssize_t sent = sendto(sock->fd, data, len, 0, (struct sockaddr *)&to, sizeof(to));
    return sent < 0 ? -errno : sent;
}

void hwrng_read(void *buf, unsigned int num)
{
    check(getrandom(buf, num, 0) == (ssize_t)num, "getrandom");
}

/* Flash: a file that is 0xff where nothing was written, and whose bits a write can only clear. */

static mtd_dev_t flash = { .sector_count = 4, .pages_per_sector = 16, .page_size = 256 };
mtd_dev_t *mtd0 = &flash;
static int flash_fd = -1;

int mtd_init(mtd_dev_t *mtd)
{
    const char *name = getenv("RIOT_STAND_IN_FLASH");
    uint32_t size = mtd->sector_count * mtd->pages_per_sector * mtd->page_size;
    if (flash_fd >= 0) {
        return 0;
    }
    flash_fd = name != NULL ? open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (flash_fd < 0) {
        return -ENODEV;
    }
    return lseek(flash_fd, 0, SEEK_END) == (off_t)size ? 0 : mtd_erase(mtd, 0, size);
}

int mtd_read(mtd_dev_t *mtd, void *dest, uint32_t addr, uint32_t count)
{
    (void)mtd;
    return pread(flash_fd, dest, count, addr) == (ssize_t)count ? 0 : -EIO;
}

int mtd_write(mtd_dev_t *mtd, const void *src, uint32_t addr, uint32_t count)
{
    uint8_t bytes[256];
    if (count > mtd->page_size || addr % mtd->page_size + count > mtd->page_size ||
        mtd_read(mtd, bytes, addr, count) != 0) {
        return -EOVERFLOW;
    }
    for (uint32_t at = 0; at < count; at++) {
        bytes[at] &= ((const uint8_t *)src)[at];
    }
    return pwrite(flash_fd, bytes, count, addr) == (ssize_t)count ? 0 : -EIO;
}

int mtd_erase(mtd_dev_t *mtd, uint32_t addr, uint32_t count)
{
    uint32_t sector = mtd->pages_per_sector * mtd->page_size;
    if (addr % sector != 0 || count % sector != 0) {
        return -EOVERFLOW;
    }
    for (uint32_t at = addr; at < addr + count; at++) {
        if (pwrite(flash_fd, "\xff", 1, at) != 1) {
            return -EIO;
        }
    }
    return 0;
}

/* The shell: words between spaces, until the input ends. */

void shell_run(const shell_command_t *commands, char *line_buf, int len)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line_buf, len, stdin) != NULL) {
        char *argv[32];
        int argc = 0;
        for (char *word = strtok(line_buf, " \n"); word != NULL && argc < 31; word = strtok(NULL, " \n")) {
            argv[argc++] = word;
        }
        argv[argc] = NULL;
        for (const shell_command_t *command = commands; argc > 0 && command->name != NULL; command++) {
            if (strcmp(command->name, argv[0]) == 0) {
                command->handler(argc, argv);
            }
        }
    }
}
