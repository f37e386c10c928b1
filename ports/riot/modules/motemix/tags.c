/*
 * What was admitted, in flash: records of 8 bytes, one after the other, in some sectors of MTD_0. A record that
 * was cut off by a loss of power does not add up and is passed over. A new epoch erases the sectors.
 */

#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "motemix_riot.h"

#if defined(MODULE_MTD)

#include "board.h"
#include "mtd.h"

#ifndef MTD_0
#error "The module mtd is used, and this board has no MTD_0; leave the module out, or define the device."
#endif

struct record {
    uint32_t digest;
    uint16_t epoch; /* its low bits, which tell neighbouring epochs apart */
    uint16_t check;
};

_Static_assert(sizeof(struct record) == 8, "records divide every page");

/* Bytes from the beginning of the device: where the sectors begin, end, and are free from. */
static uint32_t begin, end, next;
/* A record could not be written. */
static int failed;

static uint16_t check(const struct record *record)
{
    return (uint16_t)~(record->digest ^ record->digest >> 16 ^ record->epoch);
}

static int erase(mtd_dev_t *mtd)
{
    next = begin;
    failed = 0;
    return mtd_erase(mtd, begin, end - begin);
}

int motemix_riot_tags_restore(motemix_node *node, uint32_t epoch)
{
    mtd_dev_t *mtd = MTD_0;
    size_t admitted, most;
    int foreign = 0;

    if (mtd_init(mtd) != 0) {
        puts("motemix: MTD_0 does not start; the replay tags cannot be kept");
        return -1;
    }
    uint32_t sector = mtd->pages_per_sector * mtd->page_size;
    begin = CONFIG_MOTEMIX_MTD_FIRST_SECTOR * sector;
    end = begin + CONFIG_MOTEMIX_MTD_SECTORS * sector;
    if (motemix_node_replay_filter_fill(node, &admitted, &most) != MOTEMIX_STATUS_OK ||
        (end - begin) / sizeof(struct record) < 2 * most) {
        puts("motemix: too few sectors for the replay tags; raise CONFIG_MOTEMIX_MTD_SECTORS");
        return -1;
    }
    for (next = begin; next < end; next += sizeof(struct record)) {
        struct record record;
        if (mtd_read(mtd, &record, next, sizeof(record)) != 0) {
            return -1;
        }
        if (record.digest == UINT32_MAX && record.epoch == UINT16_MAX && record.check == UINT16_MAX) {
            break;
        }
        if (record.check != check(&record)) {
            continue;
        }
        if (record.epoch != (uint16_t)epoch) {
            foreign = 1;
            break;
        }
        motemix_admitted admitted_before = { .digest = record.digest, .epoch = epoch };
        if (motemix_node_restore_admitted(node, &admitted_before) != MOTEMIX_STATUS_OK) {
            return -1;
        }
    }
    /* Nothing at the beginning: perhaps an erasure that was cut off, with old records behind it. */
    return foreign || next == begin ? erase(mtd) : 0;
}

static void admit(void *context, const motemix_admitted *admitted)
{
    (void)context;
    struct record record = { .digest = admitted->digest, .epoch = (uint16_t)admitted->epoch };
    record.check = check(&record);
    if (failed || next + sizeof(record) > end || mtd_write(MTD_0, &record, next, sizeof(record)) != 0) {
        failed = 1;
        return;
    }
    next += sizeof(record);
}

static int commit(void *context)
{
    (void)context;
    return failed ? -1 : 0;
}

motemix_journal motemix_riot_journal(void)
{
    failed = 0;
    return (motemix_journal){ .admit = admit, .commit = commit, .context = NULL };
}

#else

int motemix_riot_tags_restore(motemix_node *node, uint32_t epoch)
{
    (void)node;
    (void)epoch;
    return 0;
}

motemix_journal motemix_riot_journal(void)
{
    return motemix_no_journal();
}

#endif
