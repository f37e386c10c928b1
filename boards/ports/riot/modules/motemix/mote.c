/*
 * The mote's thread. It waits for datagrams, for the time that the node names and for calls of
 * other threads (calls.c), and builds headers when there is nothing else to do. Nobody else touches
 * the mote.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "event.h"
#include "event/timeout.h"
#include "net/af.h"
#include "net/ipv6/addr.h"
#include "net/netif.h"
#include "net/netopt.h"
#include "net/sock/async/event.h"
#include "net/sock/udp.h"
#include "thread.h"
#include "ztimer.h"
#ifdef MODULE_AUTO_INIT
#include "auto_init_utils.h"
#endif

#include "internal.h"

/* Datagrams taken in before the node may do something else. */
#define BATCH 4
/* The longest time between two looks at the clock, which has 32 bits of milliseconds. */
#define LONGEST_WAIT_MS 3600000u
/* The most IPv6 addresses of an interface that are looked at. */
#define ADDRESSES 4

#ifdef MODULE_MOTEMIX_SHELL
#define HAS_SHELL 1
#else
#define HAS_SHELL 0
#endif

static char stack[THREAD_STACKSIZE_DEFAULT + CONFIG_MOTEMIX_STACK_EXTRA];
static uint64_t memory[MOTEMIX_MOTE_SIZE(CONFIG_MOTEMIX_LIMITS) / 8];

static motemix_mote *mote;
/* Why there is none. */
static motemix_status broken = MOTEMIX_STATUS_NOT_A_MOTE;
static kernel_pid_t thread = KERNEL_PID_UNDEF;
static event_queue_t queue;
static sock_udp_t sock;
static event_timeout_t timeout;
/* The interface whose link-local address is the mote's. */
static uint16_t interface = SOCK_ADDR_ANY_NETIF;
static motemix_sent_t *under_way;
static motemix_received_t handler;
static void *handler_arg;
/* Who hears what a line is answered. */
static motemix_print_t printer;
static void *printer_arg;

/* The milliseconds of a timer that may run in sleep, counted on. */
uint64_t motemix_now_us(void)
{
    static uint32_t last_ms;
    static uint64_t elapsed_ms;
    uint32_t ms = ztimer_now(ZTIMER_MSEC);
    uint32_t since = ms - last_ms;
    /* A timer that seems to go back by a tick must not count as 49 days. */
    if (since <= INT32_MAX) {
        elapsed_ms += since;
        last_ms = ms;
    }
    return elapsed_ms * 1000;
}

/* --- what the mote is lent --- */

/* Whether the thread of an interface has ended, as an assertion that fails ends it in RIOT. Whoever
 * asks it then waits for ever, and what is sent stays in the network stack's memory. */
static bool is_dead(uint16_t of)
{
#ifdef MODULE_GNRC_NETIF
    /* The number of an interface is that of its thread. */
    thread_status_t status = thread_getstatus((kernel_pid_t)of);
    return status == STATUS_ZOMBIE || status == STATUS_STOPPED || status == STATUS_NOT_FOUND;
#else
    (void)of;
    return false;
#endif
}

motemix_status motemix_radio(void)
{
    motemix_status none = MOTEMIX_STATUS_OK;

    if (interface != SOCK_ADDR_ANY_NETIF) {
        return is_dead(interface) ? MOTEMIX_STATUS_NO_RADIO : MOTEMIX_STATUS_OK;
    }
    for (netif_t *netif = netif_iter(NULL); netif != NULL; netif = netif_iter(netif)) {
        if (!is_dead((uint16_t)netif_get_id(netif))) {
            return MOTEMIX_STATUS_OK;
        }
        none = MOTEMIX_STATUS_NO_RADIO;
    }
    return none;
}

static int transmit(void *context, const motemix_address *to, const uint8_t *packet, size_t len)
{
    (void)context;
    if (is_dead(interface)) {
        return 1;
    }
    sock_udp_ep_t remote = { .family = AF_INET6, .netif = SOCK_ADDR_ANY_NETIF, .port = to->port };
    memcpy(remote.addr.ipv6, to->ip, sizeof(remote.addr.ipv6));
    if (ipv6_addr_is_link_local((const ipv6_addr_t *)remote.addr.ipv6)) {
        remote.netif = interface;
    }
    /* One that is not taken is as if the air had lost it: the sender of the message tries again. */
    return sock_udp_send(&sock, packet, len, &remote) < 0;
}

static motemix_sent_t *taken_out(uint64_t message)
{
    for (motemix_sent_t **link = &under_way; *link != NULL; link = &(*link)->next) {
        if ((*link)->message == message) {
            motemix_sent_t *sent = *link;
            *link = sent->next;
            return sent;
        }
    }
    return NULL;
}

/* What nobody waits for, the shell says. */
static bool end(uint64_t message, bool is_acknowledged, uint32_t round_trip_ms)
{
    motemix_sent_t *sent = taken_out(message);
    if (sent != NULL && sent->ended != NULL) {
        sent->ended(sent, is_acknowledged, round_trip_ms);
    }
    return sent == NULL && HAS_SHELL;
}

static void acknowledged(void *context, uint64_t message, uint64_t round_trip_us, uint8_t tries)
{
    uint32_t ms = (uint32_t)(round_trip_us / 1000);

    (void)context;
    if (end(message, true, ms)) {
        printf("acknowledged %lu after %lu ms, tries %u\n", (unsigned long)message,
               (unsigned long)ms, tries);
    }
}

static void discarded(void *context, uint64_t message, uint8_t tries)
{
    (void)context;
    if (end(message, false, 0)) {
        printf("discarded %lu after tries %u\n", (unsigned long)message, tries);
    }
}

static bool has_messages;

static void received(void *context)
{
    (void)context;
    has_messages = true;
    if (HAS_SHELL && handler == NULL) {
        puts("received a message; `motemix inbox` prints it");
    }
}

static void print(void *context, const uint8_t *text, size_t len)
{
    (void)context;
    if (printer != NULL) {
        printer(printer_arg, (const char *)text, len);
    }
}

static void epoch_begins(void *context, uint32_t epoch)
{
    (void)context;
    printf("motemix: epoch %lu begins\n", (unsigned long)epoch);
}

static void document_came(void *context, uint32_t epoch)
{
    (void)context;
    printf("motemix: a neighbour had the document of epoch %lu\n", (unsigned long)epoch);
}

static void warned(void *context, motemix_warning warning, motemix_status reason)
{
    (void)context;
    printf("motemix: %s (%s)\n", motemix_warning_text(warning), motemix_status_text(reason));
}

/* --- what calls need --- */

motemix_status motemix_post(event_t *event)
{
    if (thread <= KERNEL_PID_UNDEF) {
        return MOTEMIX_STATUS_NO_THREAD;
    }
    /* It would wait for itself. */
    if (thread_getpid() == thread) {
        return MOTEMIX_STATUS_BUSY;
    }
    event_post(&queue, event);
    return MOTEMIX_STATUS_OK;
}

motemix_status motemix_opened(motemix_mote **opened)
{
    *opened = mote;
    return broken;
}

void motemix_print_to(motemix_print_t to, void *arg)
{
    printer = to;
    printer_arg = arg;
}

bool motemix_find_address(motemix_address *address, uint16_t *from)
{
    ipv6_addr_t found[ADDRESSES];

    for (netif_t *netif = netif_iter(NULL); netif != NULL; netif = netif_iter(netif)) {
        if (is_dead((uint16_t)netif_get_id(netif))) {
            continue;
        }
        int len = netif_get_opt(netif, NETOPT_IPV6_ADDR, 0, found, sizeof(found));
        for (int at = 0; at < len / (int)sizeof(found[0]); at++) {
            if (ipv6_addr_is_link_local(&found[at])) {
                *from = (uint16_t)netif_get_id(netif);
                memcpy(address->ip, &found[at], sizeof(address->ip));
                address->port = CONFIG_MOTEMIX_PORT;
                address->version = 6;
                return true;
            }
        }
    }
    return false;
}

motemix_status motemix_settle(void)
{
    motemix_address address;
    uint16_t from;
    uint32_t epoch;

    if (motemix_mote_epoch(mote, &epoch) != MOTEMIX_STATUS_STANDS) {
        return MOTEMIX_STATUS_OK;
    }
    if (motemix_radio() != MOTEMIX_STATUS_OK) {
        return MOTEMIX_STATUS_NO_RADIO;
    }
    if (!motemix_find_address(&address, &from)) {
        return MOTEMIX_STATUS_NO_ADDRESS;
    }
    interface = from;
    return motemix_mote_set_address(mote, &address);
}

bool motemix_is_awaited(const motemix_sent_t *sent)
{
    const motemix_sent_t *at = under_way;

    while (at != NULL && at != sent) {
        at = at->next;
    }
    return at != NULL;
}

void motemix_await(motemix_sent_t *sent)
{
    sent->next = under_way;
    under_way = sent;
}

static void hand_over(void)
{
    uint8_t data[MOTEMIX_DATA_LEN];
    size_t len;

    has_messages = false;
    while (handler != NULL && motemix_mote_message(mote, NULL, data, &len) == MOTEMIX_STATUS_OK) {
        if (!handler(handler_arg, data, len) ||
            motemix_mote_forget_message(mote) != MOTEMIX_STATUS_OK) {
            return;
        }
    }
}

void motemix_hand_to(motemix_received_t to, void *arg)
{
    handler = to;
    handler_arg = arg;
    hand_over();
}

/* --- the thread --- */

/* Takes a datagram out of the network stack's memory: its length, of which `room` bytes at most are
 * in `bytes`, or negative if none waits. sock_udp_recv does not let go of an empty datagram, so that
 * a few of them would use up the memory of RIOT's network stack for ever. */
static ssize_t receive(uint8_t *bytes, size_t room, sock_udp_ep_t *remote)
{
    void *part, *held = NULL;
    ssize_t len = 0;

    do {
        ssize_t more = sock_udp_recv_buf(&sock, &part, &held, 0, remote);
        if (more < 0) {
            return more;
        }
        if (more > 0 && (size_t)len < room) {
            size_t fits = room - (size_t)len;
            memcpy(bytes + len, part, (size_t)more < fits ? (size_t)more : fits);
        }
        len += more;
    } while (held != NULL);
    return len;
}

static void take_in(event_t *event);
static event_t more = { .handler = take_in };

static void take_in(event_t *event)
{
    /* One byte more than the longest, so that a longer datagram is not taken for one. */
    static uint8_t bytes[MOTEMIX_DATAGRAM_LEN + 1];

    (void)event;
    for (unsigned taken = 0; taken < BATCH; taken++) {
        sock_udp_ep_t remote = { .family = AF_UNSPEC };
        ssize_t len = receive(bytes, sizeof(bytes), &remote);
        if (len < 0) {
            return;
        }
        if ((size_t)len > sizeof(bytes)) {
            len = sizeof(bytes);
        }
        motemix_address from = { .port = remote.port, .version = 6 };
        memcpy(from.ip, remote.addr.ipv6, sizeof(from.ip));
        /* What is not taken, the counters say; while the node stands, nobody wants it. */
        (void)motemix_mote_handle_datagram(mote, motemix_now_us(), &from, bytes, (size_t)len);
    }
    event_post(&queue, &more);
}

static void on_datagram(sock_udp_t *from, sock_async_flags_t flags, void *arg)
{
    (void)from;
    (void)arg;
    if (flags & SOCK_ASYNC_MSG_RECV) {
        take_in(NULL);
    }
}

/* It is enough that the thread looks. */
static void on_timeout(event_t *event)
{
    (void)event;
}
static event_t timeout_event = { .handler = on_timeout };

/* Until the mote wants to go on. Null if that is at once. */
static event_t *next_event(void)
{
    uint64_t next_us = MOTEMIX_NEVER, now;
    uint32_t wait_ms = LONGEST_WAIT_MS;
    motemix_status status = motemix_mote_poll(mote, motemix_now_us(), &next_us);

    if (has_messages) {
        hand_over();
    }
    if (status == MOTEMIX_STATUS_OK) {
        /* Others take their turn here, between two scalar multiplications at the latest. */
        return event_get(&queue);
    }
    /* While the mote stands, its clock has to go on. */
    now = motemix_now_us();
    if (next_us <= now) {
        return event_get(&queue);
    }
    if ((next_us - now) / 1000 < LONGEST_WAIT_MS) {
        wait_ms = (uint32_t)((next_us - now + 999) / 1000);
    }
    event_timeout_set(&timeout, wait_ms);
    event_t *event = event_wait(&queue);
    event_timeout_clear(&timeout);
    return event;
}

static motemix_status open_mote(void)
{
    static const motemix_limits limits = { CONFIG_MOTEMIX_LIMITS };
    sock_udp_ep_t local = SOCK_IPV6_EP_ANY;
    motemix_platform platform = {
        .random = { .fill = motemix_fill },
        .flash = {
            .settings_pages = CONFIG_MOTEMIX_SETTINGS_PAGES,
            .tags_pages = CONFIG_MOTEMIX_TAGS_PAGES,
            .messages_pages = CONFIG_MOTEMIX_MESSAGES_PAGES,
            .readings_pages = CONFIG_MOTEMIX_READINGS_PAGES,
        },
        .send = transmit,
        .print = print,
        .received = received,
        .acknowledged = acknowledged,
        .discarded = discarded,
        .epoch_begins = epoch_begins,
        .document_came = document_came,
        .warned = warned,
    };

    local.port = CONFIG_MOTEMIX_PORT;
    if (motemix_flash_open(&platform.flash) != 0) {
        return MOTEMIX_STATUS_FLASH_FAILED;
    }
    if (sock_udp_create(&sock, &local, NULL, 0) != 0) {
        return MOTEMIX_STATUS_REFUSED;
    }
    sock_udp_event_init(&sock, &queue, on_datagram, NULL);
    motemix_status status = motemix_mote_open(memory, sizeof(memory), &limits, &platform, &mote);
#ifdef MODULE_MOTEMIX_READINGS
    if (status == MOTEMIX_STATUS_OK) {
        status = motemix_let_sign(mote);
    }
#endif
    return status;
}

static void *run(void *arg)
{
    (void)arg;
    event_queue_claim(&queue);
    broken = open_mote();
    if (broken != MOTEMIX_STATUS_OK) {
        printf("motemix: %s\n", motemix_status_text(broken));
    }
    while (1) {
        event_t *event = broken == MOTEMIX_STATUS_OK ? next_event() : event_wait(&queue);
        if (event != NULL) {
            event->handler(event);
        }
    }
    return NULL;
}

void motemix_init(void)
{
    event_queue_init_detached(&queue);
    event_timeout_ztimer_init(&timeout, ZTIMER_MSEC, &queue, &timeout_event);
    /* With ztimer_ondemand a clock stands while nobody uses it, and the mote has no other. */
    ztimer_acquire(ZTIMER_MSEC);
    thread = thread_create(stack, sizeof(stack), CONFIG_MOTEMIX_PRIORITY, THREAD_CREATE_STACKTEST,
                           run, NULL, "motemix");
    if (thread <= KERNEL_PID_UNDEF) {
        printf("motemix: RIOT makes no thread for the mote (%d); raise MAXTHREADS, or see to "
               "CONFIG_MOTEMIX_PRIORITY\n", (int)thread);
    }
}

#ifdef MODULE_AUTO_INIT
/* Behind the network interfaces and all that RIOT initialises itself. */
#define AUTO_INIT_PRIO_MOTEMIX 2000
AUTO_INIT(motemix_init, AUTO_INIT_PRIO_MOTEMIX);
#endif
