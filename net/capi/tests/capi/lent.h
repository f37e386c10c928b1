/*
 * What a mote is lent: a flash that can be made to fail, and callbacks that use the mote that they
 * are called for.
 */

#ifndef LENT_H
#define LENT_H

#include "given.h"

#define PAGES 12

static uint8_t flash_bytes[PAGES * MOTEMIX_PAGE_LEN];

static motemix_mote *reentered;
static unsigned busy;

static void reenter(void);

/* What the sensor says, and how often it was asked. */
static motemix_record measured = { "s", "Cel", 215, 0, 1 };
static unsigned measurements;

static int measure(void *context, motemix_record *record)
{
    CHECK(context == &measured);
    *record = measured;
    measurements++;
    reenter();
    return 0;
}

static const motemix_sensor sensor = { measure, &measured };
static motemix_readings readings;

/* Every call of the mote that this callback is called for. */
static void reenter(void)
{
    motemix_counters counters;
    motemix_address address = { { 0xfe, 0x80 }, 61616, 6 };
    uint8_t data[MOTEMIX_DATA_LEN] = { 'x' };
    uint64_t number;
    uint32_t epoch;
    size_t count;

    if (reentered == NULL) {
        return;
    }
    EXPECT(BUSY, motemix_mote_close(reentered));
    EXPECT(BUSY, motemix_mote_sign_readings(reentered, &readings, &sensor));
    EXPECT(BUSY, motemix_mote_identity(reentered, data, data));
    EXPECT(BUSY, motemix_mote_send_readings(reentered, 0, data, 1, 1));
    EXPECT(BUSY, motemix_mote_set_address(reentered, &address));
    EXPECT(BUSY, motemix_mote_set_time(reentered, 0, 0));
    EXPECT(BUSY, motemix_mote_public_key(reentered, 0, data));
    EXPECT(BUSY, motemix_mote_trust(reentered, 1, data, 1));
    EXPECT(BUSY, motemix_mote_give_document(reentered, 0, data, 1));
    EXPECT(BUSY, motemix_mote_keep_document(reentered, 0, 1));
    EXPECT(BUSY, motemix_mote_command(reentered, 0, data, 1));
    EXPECT(BUSY, motemix_mote_start(reentered, 0));
    EXPECT(BUSY, motemix_mote_stop(reentered));
    EXPECT(BUSY, motemix_mote_handle_datagram(reentered, 0, &(motemix_address){ .version = 6 }, data, 1));
    EXPECT(BUSY, motemix_mote_poll(reentered, 0, &number));
    EXPECT(BUSY, motemix_mote_send(reentered, 0, data, 0, data, 1, &number));
    EXPECT(BUSY, motemix_mote_message(reentered, NULL, data, &count));
    EXPECT(BUSY, motemix_mote_forget_message(reentered));
    EXPECT(BUSY, motemix_mote_epoch(reentered, &epoch));
    EXPECT(BUSY, motemix_mote_counters(reentered, &counters));
    busy++;
}

/* Fails from the given call on. */
static unsigned flash_calls, flash_fails_at;
/* From this access on nothing is written or erased, and nobody is told. */
static unsigned flash_lies_at;

static int flash_works(uint32_t address, size_t count)
{
    CHECK(address <= sizeof(flash_bytes) && count <= sizeof(flash_bytes) - address);
    reenter();
    return ++flash_calls >= flash_fails_at && flash_fails_at > 0 ? -1 : 0;
}

static bool flash_lies(void)
{
    return flash_lies_at > 0 && flash_calls >= flash_lies_at;
}

static int read_flash(void *context, uint32_t address, uint8_t *out, size_t count)
{
    (void)context;
    memcpy(out, flash_bytes + address, count);
    return flash_works(address, count);
}

static int write_flash(void *context, uint32_t address, const uint8_t *from, size_t count)
{
    (void)context;
    CHECK(address % 4 == 0 && count % 4 == 0);
    if (flash_works(address, count) != 0) {
        return -1;
    }
    for (size_t at = 0; at < count && !flash_lies(); at++) {
        flash_bytes[address + at] &= from[at];
    }
    return 0;
}

static int erase_flash(void *context, uint32_t address, size_t count)
{
    (void)context;
    CHECK(address % MOTEMIX_PAGE_LEN == 0 && count % MOTEMIX_PAGE_LEN == 0);
    if (flash_works(address, count) != 0) {
        return -1;
    }
    if (!flash_lies()) {
        memset(flash_bytes + address, 0xff, count);
    }
    return 0;
}

static int transmit(void *context, const motemix_address *to, const uint8_t *packet, size_t count)
{
    (void)context, (void)packet;
    CHECK(to->version == 6 && count == MOTEMIX_PACKET_LEN);
    reenter();
    return 0;
}

static void print(void *context, const uint8_t *text, size_t count)
{
    (void)context;
    CHECK(count == 0 || text != NULL);
    reenter();
}

static motemix_platform platform(void)
{
    motemix_platform made = {
        .random = { counting, &counter },
        .flash = { read_flash, write_flash, erase_flash, NULL, 4, 4, 2, 2 },
        .send = transmit,
        .print = print,
    };
    return made;
}

#endif
