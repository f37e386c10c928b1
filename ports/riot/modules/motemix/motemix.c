/*
 * The node's thread. It waits for datagrams, for the time that the node names and for what other threads
 * want, and builds headers when there is nothing else to do. Whoever touches the node holds the lock.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "event.h"
#include "event/timeout.h"
#include "mutex.h"
#include "net/af.h"
#include "net/sock/async/event.h"
#include "net/sock/udp.h"
#include "thread.h"
#include "ztimer.h"

#include "internal.h"
#include "motemix_riot.h"

/* Datagrams taken in before the node may do something else. */
#define BATCH 4
/* The longest time between two looks at the clock, which has 32 bits of milliseconds. */
#define LONGEST_WAIT_MS 3600000u

static char stack[CONFIG_MOTEMIX_STACK_SIZE];
static uint64_t memory[MOTEMIX_NODE_SIZE(CONFIG_MOTEMIX_LIMITS) / 8];

/* Held by whoever uses anything below. */
static mutex_t lock = MUTEX_INIT;
static motemix_node *node;
static motemix_document document;
static uint16_t own_id;
static const motemix_riot_application_t *application;
static uint64_t datagrams_unsent;

/* Kept over stops, as RAM keeps it. */
static uint64_t newest_epoch = MOTEMIX_NO_EPOCH;

static kernel_pid_t pid = KERNEL_PID_UNDEF;
/* How the start went: the thread has it, because only the thread has the stack for it. */
static volatile motemix_status outcome;
static event_queue_t queue;
static sock_udp_t sock;
static event_timeout_t timeout;
static volatile bool stopping;
/* What was admitted could not be written down: nothing is taken in or sent any more. */
static bool deaf;

static void on_timeout(event_t *event);
static void on_wake(event_t *event);
static void on_more(event_t *event);
static event_t timeout_event = { .handler = on_timeout };
static event_t wake_event = { .handler = on_wake };
static event_t more_event = { .handler = on_more };

/* Microseconds that do not go back: the milliseconds of a timer that may run in sleep, counted on. */
static uint64_t now_us(void)
{
    static uint32_t last_ms;
    static uint64_t elapsed_ms;
    uint32_t ms = ztimer_now(ZTIMER_MSEC);
    elapsed_ms += ms - last_ms;
    last_ms = ms;
    return elapsed_ms * 1000;
}

static bool address_of(uint16_t id, sock_udp_ep_t *to)
{
    motemix_descriptor described;
    if (motemix_document_node(&document, id, &described) != MOTEMIX_STATUS_OK) {
        return false;
    }
    for (unsigned at = 0; at < described.address_count; at++) {
        const motemix_address *address = &described.addresses[at];
        if (address->version == 6) {
            memset(to, 0, sizeof(*to));
            to->family = AF_INET6;
            to->netif = SOCK_ADDR_ANY_NETIF;
            to->port = address->port;
            memcpy(to->addr.ipv6, address->ip, sizeof(to->addr.ipv6));
            return true;
        }
    }
    return false;
}

static void handle_event(const motemix_event *event)
{
    uint8_t data[MOTEMIX_DATA_LEN], reply[MOTEMIX_DATA_LEN];
    size_t reply_len = 0;
    /* The event's data ends with the next call. */
    memcpy(data, event->data, event->len);

    switch (event->kind) {
    case MOTEMIX_EVENT_KIND_RECEIVED:
        if (application->received(data, event->len, reply, &reply_len)) {
            motemix_node_reply(node, now_us(), event->token, reply, reply_len);
        }
        else {
            motemix_node_refuse(node, event->token);
        }
        break;
    case MOTEMIX_EVENT_KIND_ACKNOWLEDGED:
        application->acknowledged(event->message, data, event->len, event->round_trip_us);
        break;
    case MOTEMIX_EVENT_KIND_DISCARDED:
        application->discarded(event->message);
        break;
    default:
        break;
    }
}

/* What is due after anything has happened. */
static void service(void)
{
    uint8_t packet[MOTEMIX_PACKET_LEN];
    motemix_transmit transmit;
    motemix_event event;
    uint64_t at_us;

    if (deaf) {
        return;
    }
    while (motemix_node_poll_event(node, &event) == MOTEMIX_STATUS_OK) {
        handle_event(&event);
    }
    motemix_status due;
    while ((due = motemix_node_poll_transmit(node, now_us(), packet, sizeof(packet), &transmit)) ==
           MOTEMIX_STATUS_OK) {
        sock_udp_ep_t to;
        if (!address_of(transmit.to, &to) || sock_udp_send(&sock, packet, transmit.len, &to) < 0) {
            /* As if the air had lost it: the sender of the message tries again. */
            datagrams_unsent++;
        }
    }
    if (due == MOTEMIX_STATUS_JOURNAL_FAILED) {
        puts("motemix: a replay tag cannot be kept; the node goes silent, stop it and see to the flash");
        deaf = true;
    }
    event_timeout_clear(&timeout);
    if (motemix_node_poll_timeout(node, &at_us) == MOTEMIX_STATUS_OK) {
        uint64_t now = now_us();
        uint64_t wait_ms = at_us > now ? (at_us - now + 999) / 1000 : 0;
        event_timeout_set(&timeout, wait_ms < LONGEST_WAIT_MS ? (uint32_t)wait_ms : LONGEST_WAIT_MS);
    }
    else {
        event_timeout_set(&timeout, LONGEST_WAIT_MS);
    }
}

static void on_timeout(event_t *event)
{
    (void)event;
    motemix_node_handle_timeout(node, now_us());
}

/* Something was sent, or the thread is to stop: the loop looks. */
static void on_wake(event_t *event)
{
    (void)event;
}

/* Tells neighbours apart. */
static uint64_t link_of(const sock_udp_ep_t *remote)
{
    uint64_t halves[2];
    memcpy(halves, remote->addr.ipv6, sizeof(halves));
    return halves[0] ^ halves[1];
}

static void take_in(void)
{
    /* One byte more than a packet, so that a longer datagram is not taken for one. */
    uint8_t bytes[MOTEMIX_PACKET_LEN + 1];

    for (unsigned taken = 0; taken < BATCH; taken++) {
        sock_udp_ep_t remote = { .family = AF_UNSPEC };
        ssize_t len = sock_udp_recv(&sock, bytes, sizeof(bytes), 0, &remote);
        if (len == -ENOBUFS) {
            continue;
        }
        if (len < 0) {
            return;
        }
        if (deaf) {
            continue;
        }
        /* Why one was dropped, the counters say. */
        (void)motemix_node_handle_datagram(node, now_us(), link_of(&remote), bytes, (size_t)len);
    }
    event_post(&queue, &more_event);
}

static void on_more(event_t *event)
{
    (void)event;
    take_in();
}

static void on_datagram(sock_udp_t *from, sock_async_flags_t flags, void *arg)
{
    (void)from;
    (void)arg;
    if (flags & SOCK_ASYNC_MSG_RECV) {
        take_in();
    }
}

/* Opens the document and makes the node. */
static motemix_status make_node(const motemix_riot_network_t *network, motemix_descriptor *self)
{
    static const motemix_limits limits = { CONFIG_MOTEMIX_LIMITS };
    const motemix_random random = { .fill = motemix_riot_fill, .context = NULL };
    const motemix_journal journal = motemix_riot_journal();
    const motemix_trust trust = {
        .authority_keys = network->authority_keys,
        .authorities = network->authorities,
        .threshold = network->threshold,
    };
    motemix_config config = { .answer_within_us = 0, .id = 0, .receiver = MOTEMIX_NO_NODE };
    uint8_t public_key[32];
    motemix_about about;
    motemix_status status;

    status = motemix_document_open(&document, network->document, network->document_len, &trust,
                                   network->unix_time, newest_epoch);
    if (status != MOTEMIX_STATUS_OK) {
        return status;
    }
    motemix_document_about(&document, &about);
    newest_epoch = about.epoch;
    status = motemix_public_key(network->secret, public_key);
    if (status == MOTEMIX_STATUS_OK) {
        status = motemix_document_find_key(&document, public_key, self);
    }
    if (status != MOTEMIX_STATUS_OK) {
        return status;
    }
    own_id = config.id = self->id;
    status = motemix_node_new(memory, sizeof(memory), &limits, &config, &random, &journal, &node);
    if (status != MOTEMIX_STATUS_OK) {
        return status;
    }
    status = motemix_node_prepare_epoch(node, about.epoch, network->secret);
    if (status == MOTEMIX_STATUS_OK) {
        /* Without a clock, what was just handed out is taken to be new. */
        uint64_t unix_time = network->unix_time == MOTEMIX_TIME_UNKNOWN ? about.valid_after
                                                                        : network->unix_time;
        uint64_t now = now_us();
        status = motemix_node_begin_epoch(node, now, now + (about.valid_until - unix_time) * 1000000,
                                          &document);
    }
    if (status == MOTEMIX_STATUS_OK && motemix_riot_tags_restore(node, about.epoch) != 0) {
        status = MOTEMIX_STATUS_FILTER_FULL;
    }
    return status;
}

/* Makes the node, and the sock at the port that the document has for it. */
static motemix_status set_up(const motemix_riot_network_t *network)
{
    motemix_descriptor self;
    sock_udp_ep_t local = SOCK_IPV6_EP_ANY;
    motemix_status status = make_node(network, &self);

    if (status != MOTEMIX_STATUS_OK) {
        return status;
    }
    for (unsigned at = 0; at < self.address_count; at++) {
        if (self.addresses[at].version == 6) {
            local.port = self.addresses[at].port;
        }
    }
    if (local.port == 0 || sock_udp_create(&sock, &local, NULL, 0) != 0) {
        puts("motemix: the node's IPv6 port in the network document cannot be bound");
        return MOTEMIX_STATUS_UNKNOWN_NODE;
    }
    sock_udp_event_init(&sock, &queue, on_datagram, NULL);
    return MOTEMIX_STATUS_OK;
}

/* The thread, until it is to stop. Holds the lock but where it waits. */
static void serve(void)
{
    bool working = true;

    while (!stopping) {
        service();
        mutex_unlock(&lock);
        /* Others take their turn here, between two scalar multiplications at the latest. */
        event_t *event = working ? event_get(&queue) : event_wait(&queue);
        mutex_lock(&lock);
        if (event != NULL) {
            event->handler(event);
        }
        if (!stopping) {
            working = motemix_node_work(node, now_us()) == MOTEMIX_STATUS_OK;
        }
    }
    event_timeout_clear(&timeout);
    sock_udp_close(&sock);
}

static void *run(void *network)
{
    mutex_lock(&lock);
    event_queue_claim(&queue);
    motemix_status status = set_up(network);
    outcome = status;
    if (status == MOTEMIX_STATUS_OK) {
        serve();
    }
    if (node != NULL) {
        motemix_node_end(node);
        node = NULL;
    }
    motemix_document_close(&document);
    mutex_unlock(&lock);
    return NULL;
}

/* Waits until the thread has left its stack. */
static void until_gone(void)
{
    while (thread_getstatus(pid) != STATUS_NOT_FOUND) {
        ztimer_sleep(ZTIMER_MSEC, 1);
    }
    pid = KERNEL_PID_UNDEF;
}

motemix_status motemix_riot_start(const motemix_riot_network_t *network,
                                  const motemix_riot_application_t *handlers)
{
    mutex_lock(&lock);
    if (pid != KERNEL_PID_UNDEF) {
        mutex_unlock(&lock);
        return MOTEMIX_STATUS_BUSY;
    }
    application = handlers;
    stopping = deaf = false;
    datagrams_unsent = 0;
    outcome = MOTEMIX_STATUS_NOTHING;
    event_queue_init_detached(&queue);
    event_timeout_ztimer_init(&timeout, ZTIMER_MSEC, &queue, &timeout_event);
    /* Below the shell and the network stack: a scalar multiplication takes its time. */
    pid = thread_create(stack, sizeof(stack), THREAD_PRIORITY_MAIN + 1, THREAD_CREATE_STACKTEST, run,
                        (void *)(uintptr_t)network, "motemix");
    mutex_unlock(&lock);
    if (pid <= KERNEL_PID_UNDEF) {
        pid = KERNEL_PID_UNDEF;
        return MOTEMIX_STATUS_FULL;
    }
    while (outcome == MOTEMIX_STATUS_NOTHING) {
        ztimer_sleep(ZTIMER_MSEC, 1);
    }
    if (outcome != MOTEMIX_STATUS_OK) {
        until_gone();
    }
    return outcome;
}

motemix_status motemix_riot_stop(void)
{
    mutex_lock(&lock);
    if (node == NULL) {
        mutex_unlock(&lock);
        return MOTEMIX_STATUS_NOT_A_NODE;
    }
    stopping = true;
    event_post(&queue, &wake_event);
    mutex_unlock(&lock);
    until_gone();
    return MOTEMIX_STATUS_OK;
}

motemix_status motemix_riot_send(const char *name, const uint8_t *data, size_t len, uint64_t *message)
{
    motemix_descriptor to;
    motemix_status status;

    mutex_lock(&lock);
    status = node == NULL ? MOTEMIX_STATUS_NOT_A_NODE
                          : motemix_document_find(&document, name, strlen(name), &to);
    if (status == MOTEMIX_STATUS_OK) {
        status = motemix_node_send(node, now_us(), to.id, data, len, message);
    }
    if (status == MOTEMIX_STATUS_OK) {
        event_post(&queue, &wake_event);
    }
    mutex_unlock(&lock);
    return status;
}

static void print_counters(void)
{
    motemix_counters counters;
    motemix_node_counters(node, &counters);
    printf("sent %lu, acknowledged %lu, discarded %lu, retransmitted %lu\n", (unsigned long)counters.sent,
           (unsigned long)counters.acknowledged, (unsigned long)counters.discarded,
           (unsigned long)counters.retransmitted);
    printf("delivered %lu, forwarded %lu, transmitted %lu, not taken by the stack %lu\n",
           (unsigned long)counters.delivered, (unsigned long)counters.forwarded,
           (unsigned long)counters.transmitted, (unsigned long)datagrams_unsent);
    for (uint8_t reason = 0; reason < MOTEMIX_DROP_REASONS; reason++) {
        if (counters.dropped[reason] != 0) {
            printf("dropped %lu: %s\n", (unsigned long)counters.dropped[reason],
                   motemix_drop_reason_text(reason));
        }
    }
}

motemix_status motemix_riot_print(void)
{
    motemix_about about;
    size_t admitted, most;

    mutex_lock(&lock);
    if (node == NULL) {
        mutex_unlock(&lock);
        return MOTEMIX_STATUS_NOT_A_NODE;
    }
    motemix_document_about(&document, &about);
    motemix_node_replay_filter_fill(node, &admitted, &most);
    printf("network %s, epoch %lu, %u nodes\n", about.network, (unsigned long)about.epoch, about.nodes);
    for (uint16_t id = 0; id < about.nodes; id++) {
        motemix_descriptor described;
        if (motemix_document_node(&document, id, &described) == MOTEMIX_STATUS_OK) {
            printf("%c %u %s, %s, port %u\n", id == own_id ? '*' : ' ', id, described.name,
                   described.is_mix ? "mix" : "endpoint", described.addresses[0].port);
        }
    }
    printf("packets admitted this epoch: %u of %u\n", (unsigned)admitted, (unsigned)most);
    print_counters();
    mutex_unlock(&lock);
    return MOTEMIX_STATUS_OK;
}
