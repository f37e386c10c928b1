/*
 * What other threads ask of the mote: the functions of motemix_riot.h. Each puts a call into the
 * queue of the mote's thread, which runs it, and waits until that is done.
 */

#include <string.h>

#include "container.h"
#include "event.h"
#include "mutex.h"

#include "internal.h"

/* A call: what it is given, and where its results go. Each `run_` says which. */
typedef struct call {
    event_t super;
    mutex_t done;
    motemix_status (*run)(motemix_mote *mote, struct call *call);
    motemix_status status;
    const void *in;
    void *out;
    size_t len;
    uint64_t number;
    void *more;
} call_t;

static void on_call(event_t *event)
{
    call_t *call = container_of(event, call_t, super);
    motemix_mote *mote;

    call->status = motemix_opened(&mote);
    if (call->status == MOTEMIX_STATUS_OK) {
        call->status = call->run(mote, call);
    }
    mutex_unlock(&call->done);
}

static motemix_status ask(call_t *call)
{
    call->super = (event_t){ .handler = on_call };
    mutex_init(&call->done);
    mutex_lock(&call->done);
    motemix_status status = motemix_post(&call->super);
    if (status != MOTEMIX_STATUS_OK) {
        return status;
    }
    mutex_lock(&call->done);
    return call->status;
}

#ifdef MODULE_MOTEMIX_CONSOLE
static motemix_status run_command(motemix_mote *mote, call_t *call)
{
    /* An authority must not be told an address at which nobody is reached. */
    motemix_status status = motemix_settle(), radio = motemix_radio();
    const char *line = call->in;

    /* Without a radio a mote still says what it has, and stops. */
    if (status != MOTEMIX_STATUS_OK &&
        (status != MOTEMIX_STATUS_NO_RADIO || strncmp(line, "start", 5) == 0 ||
         strncmp(line, "key", 3) == 0)) {
        return status;
    }
    motemix_print_to((motemix_print_t)(uintptr_t)call->number, call->more);
    status = motemix_mote_command(mote, motemix_now_us(), call->in, call->len);
    motemix_print_to(NULL, NULL);
    return status == MOTEMIX_STATUS_OK && strncmp(line, "status", 6) == 0 ? radio : status;
}

motemix_status motemix_command(const char *line, motemix_print_t print, void *arg)
{
    if (line == NULL) {
        return MOTEMIX_STATUS_NULL;
    }
    return ask(&(call_t){ .run = run_command, .in = line, .len = strlen(line),
                          .number = (uintptr_t)print, .more = arg });
}
#endif

static motemix_status run_key(motemix_mote *mote, call_t *call)
{
    uint16_t from;

    if (!motemix_find_address(call->more, &from)) {
        return MOTEMIX_STATUS_NO_ADDRESS;
    }
    return motemix_mote_public_key(mote, (uint32_t)call->number, call->out);
}

motemix_status motemix_key(uint32_t epoch, motemix_address *address, uint8_t key[32])
{
    if (address == NULL || key == NULL) {
        return MOTEMIX_STATUS_NULL;
    }
    return ask(&(call_t){ .run = run_key, .number = epoch, .out = key, .more = address });
}

static motemix_status run_trust(motemix_mote *mote, call_t *call)
{
    return motemix_mote_trust(mote, (uint8_t)call->number, call->in, (uint8_t)call->len);
}

motemix_status motemix_trust_authorities(uint8_t threshold, const uint8_t *keys, uint8_t count)
{
    return ask(&(call_t){ .run = run_trust, .number = threshold, .in = keys, .len = count });
}

static motemix_status run_trust_also(motemix_mote *mote, call_t *call)
{
    return motemix_mote_trust_also(mote, (uint8_t)call->number, call->in, (uint8_t)call->len);
}

motemix_status motemix_trust_also(uint8_t threshold, const uint8_t *keys, uint8_t count)
{
    return ask(&(call_t){
        .run = run_trust_also, .number = threshold, .in = keys, .len = count });
}

static motemix_status run_set_time(motemix_mote *mote, call_t *call)
{
    return motemix_mote_set_time(mote, motemix_now_us(), call->number);
}

motemix_status motemix_set_time(uint64_t unix_time)
{
    return ask(&(call_t){ .run = run_set_time, .number = unix_time });
}

static motemix_status run_give(motemix_mote *mote, call_t *call)
{
    return motemix_mote_give_document(mote, (size_t)call->number, call->in, call->len);
}

motemix_status motemix_give_document(size_t at, const uint8_t *piece, size_t len)
{
    return ask(&(call_t){ .run = run_give, .number = at, .in = piece, .len = len });
}

static motemix_status run_keep(motemix_mote *mote, call_t *call)
{
    return motemix_mote_keep_document(mote, motemix_now_us(), call->len);
}

motemix_status motemix_keep_document(size_t len)
{
    return ask(&(call_t){ .run = run_keep, .len = len });
}

static motemix_status run_start(motemix_mote *mote, call_t *call)
{
    motemix_status status = motemix_settle();

    (void)call;
    return status != MOTEMIX_STATUS_OK ? status : motemix_mote_start(mote, motemix_now_us());
}

motemix_status motemix_start(void)
{
    return ask(&(call_t){ .run = run_start });
}

static motemix_status run_stop(motemix_mote *mote, call_t *call)
{
    (void)call;
    return motemix_mote_stop(mote);
}

motemix_status motemix_stop(void)
{
    return ask(&(call_t){ .run = run_stop });
}

static motemix_status run_send(motemix_mote *mote, call_t *call)
{
    const char *name = call->more;
    motemix_sent_t *sent = call->out;

    if (sent != NULL && motemix_is_awaited(sent)) {
        return MOTEMIX_STATUS_UNDER_WAY;
    }
    motemix_status status = motemix_mote_send(mote, motemix_now_us(), (const uint8_t *)name,
                                              strlen(name), call->in, call->len, &call->number);

    if (status == MOTEMIX_STATUS_OK && sent != NULL) {
        sent->message = call->number;
        motemix_await(sent);
    }
    return status;
}

motemix_status motemix_send(const char *name, const void *data, size_t len, motemix_sent_t *sent)
{
    if (name == NULL || data == NULL) {
        return MOTEMIX_STATUS_NULL;
    }
    return ask(&(call_t){
        .run = run_send, .more = (void *)(uintptr_t)name, .in = data, .len = len, .out = sent });
}

motemix_status motemix_send_numbered(const char *name, const void *data, size_t len,
                                     uint64_t *message)
{
    call_t call = { .run = run_send, .more = (void *)(uintptr_t)name, .in = data, .len = len };
    motemix_status status = ask(&call);

    *message = call.number;
    return status;
}

/* A message whose end a thread waits for. */
typedef struct {
    motemix_sent_t super;
    mutex_t done;
    bool acknowledged;
    uint32_t round_trip_ms;
} awaited_t;

static void on_ended(motemix_sent_t *sent, bool is_acknowledged, uint32_t round_trip_ms)
{
    awaited_t *awaited = container_of(sent, awaited_t, super);

    awaited->acknowledged = is_acknowledged;
    awaited->round_trip_ms = round_trip_ms;
    mutex_unlock(&awaited->done);
}

motemix_status motemix_send_wait(const char *name, const void *data, size_t len,
                                 uint32_t *round_trip_ms)
{
    awaited_t awaited = { .super = { .ended = on_ended }, .done = MUTEX_INIT_LOCKED };
    motemix_status status = motemix_send(name, data, len, &awaited.super);

    if (status != MOTEMIX_STATUS_OK) {
        return status;
    }
    mutex_lock(&awaited.done);
    if (round_trip_ms != NULL) {
        *round_trip_ms = awaited.round_trip_ms;
    }
    return awaited.acknowledged ? MOTEMIX_STATUS_OK : MOTEMIX_STATUS_NOT_WAITING;
}

static motemix_status run_on_received(motemix_mote *mote, call_t *call)
{
    (void)mote;
    motemix_hand_to((motemix_received_t)(uintptr_t)call->number, call->out);
    return MOTEMIX_STATUS_OK;
}

motemix_status motemix_on_received(motemix_received_t to, void *arg)
{
    return ask(&(call_t){ .run = run_on_received, .number = (uintptr_t)to, .out = arg });
}

static motemix_status run_message(motemix_mote *mote, call_t *call)
{
    return motemix_mote_message(mote, NULL, call->out, call->more);
}

motemix_status motemix_message(uint8_t *data, size_t *len)
{
    return ask(&(call_t){ .run = run_message, .out = data, .more = len });
}

static motemix_status run_forget(motemix_mote *mote, call_t *call)
{
    (void)call;
    return motemix_mote_forget_message(mote);
}

motemix_status motemix_forget_message(void)
{
    return ask(&(call_t){ .run = run_forget });
}

static motemix_status run_take(motemix_mote *mote, call_t *call)
{
    motemix_status status = motemix_mote_message(mote, NULL, call->out, call->more);

    return status == MOTEMIX_STATUS_OK ? motemix_mote_forget_message(mote) : status;
}

motemix_status motemix_take(uint8_t *data, size_t *len)
{
    return ask(&(call_t){ .run = run_take, .out = data, .more = len });
}

#ifdef MODULE_MOTEMIX_READINGS
static motemix_status run_identity(motemix_mote *mote, call_t *call)
{
    return motemix_mote_identity(mote, call->out, call->more);
}

motemix_status motemix_own_identity(uint8_t identity[MOTEMIX_IDENTITY_LEN],
                                    uint8_t introduction[MOTEMIX_INTRODUCTION_LEN])
{
    return ask(&(call_t){ .run = run_identity, .out = identity, .more = introduction });
}

static motemix_status run_readings(motemix_mote *mote, call_t *call)
{
    return motemix_mote_send_readings(mote, motemix_now_us(), call->in, call->len,
                                      (uint32_t)call->number);
}

motemix_status motemix_send_readings(const char *name, uint32_t seconds)
{
    size_t len = name != NULL ? strlen(name) : 0;
    return ask(&(call_t){ .run = run_readings, .in = name, .len = len, .number = seconds });
}
#endif

static motemix_status run_counters(motemix_mote *mote, call_t *call)
{
    motemix_status status = motemix_mote_counters(mote, call->out);

    if (status == MOTEMIX_STATUS_OK) {
        status = motemix_mote_epoch(mote, call->more);
    }
    return status == MOTEMIX_STATUS_OK ? motemix_radio() : status;
}

motemix_status motemix_counters_get(motemix_counters *counters, uint32_t *epoch)
{
    return ask(&(call_t){ .run = run_counters, .out = counters, .more = epoch });
}
