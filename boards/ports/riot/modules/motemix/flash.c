/*
 * Where the mote keeps what outlives a restart: sectors of a memory technology device (module
 * motemix_mtd), or the last pages of the processor's own flash (module motemix_flashpage).
 */

#include <stdio.h>
#include <string.h>

#include "internal.h"

#define PAGES \
    (CONFIG_MOTEMIX_SETTINGS_PAGES + CONFIG_MOTEMIX_TAGS_PAGES + CONFIG_MOTEMIX_MESSAGES_PAGES + \
     CONFIG_MOTEMIX_READINGS_PAGES)

#if defined(MODULE_MOTEMIX_MTD)

#include "board.h"
#include "mtd.h"

static mtd_dev_t *device;
/* Bytes from the beginning of the device to the mote's. */
static uint32_t begin;

static uint32_t sector_len(void)
{
    return device->pages_per_sector * device->page_size;
}

static int read_flash(void *context, uint32_t address, uint8_t *out, size_t len)
{
    (void)context;
    return mtd_read(device, out, begin + address, len);
}

static int write_flash(void *context, uint32_t address, const uint8_t *bytes, size_t len)
{
    (void)context;
    uint32_t at = begin + address;
    return mtd_write_page_raw(device, bytes, at / device->page_size, at % device->page_size, len);
}

static int erase_flash(void *context, uint32_t address, size_t len)
{
    (void)context;
    return mtd_erase(device, begin + address, len);
}

int motemix_flash_open(motemix_flash *flash)
{
    device = CONFIG_MOTEMIX_MTD;
    if (device == NULL || mtd_init(device) != 0) {
        puts("motemix: the memory device does not start");
        return -1;
    }
    begin = CONFIG_MOTEMIX_MTD_FIRST_SECTOR * sector_len();
    if (MOTEMIX_PAGE_LEN % sector_len() != 0) {
        printf("motemix: sectors of %lu bytes do not divide pages of %u\n", (unsigned long)sector_len(),
               (unsigned)MOTEMIX_PAGE_LEN);
        return -1;
    }
    if (begin + PAGES * MOTEMIX_PAGE_LEN > device->sector_count * sector_len()) {
        puts("motemix: the memory device is too small");
        return -1;
    }
    flash->read = read_flash;
    flash->write = write_flash;
    flash->erase = erase_flash;
    return 0;
}

#elif defined(MODULE_MOTEMIX_FLASHPAGE)

#include "periph/flashpage.h"

_Static_assert(MOTEMIX_PAGE_LEN % FLASHPAGE_SIZE == 0, "pages of the flash divide those of the mote");


/* The linker keeps the program away from it: see Makefile.include. */
_Static_assert(PAGES == MOTEMIX_PAGES, "MOTEMIX_PAGES says how many pages the mote has in all");
#define FIRST (FLASHPAGE_NUMOF - PAGES * MOTEMIX_PAGE_LEN / FLASHPAGE_SIZE)

static uint8_t *place(uint32_t address)
{
    return (uint8_t *)flashpage_addr(FIRST) + address;
}

static int read_flash(void *context, uint32_t address, uint8_t *out, size_t len)
{
    (void)context;
    memcpy(out, place(address), len);
    return 0;
}

static int write_flash(void *context, uint32_t address, const uint8_t *bytes, size_t len)
{
    (void)context;
    /* The flash writes from where bytes are aligned. */
    for (size_t at = 0; at < len; at += 4) {
        uint32_t word;
        memcpy(&word, bytes + at, sizeof(word));
        if (word != UINT32_MAX) {
            flashpage_write(place(address + at), &word, sizeof(word));
        }
    }
    return 0;
}

static int erase_flash(void *context, uint32_t address, size_t len)
{
    (void)context;
    for (size_t at = 0; at < len; at += FLASHPAGE_SIZE) {
        flashpage_erase(FIRST + (address + at) / FLASHPAGE_SIZE);
    }
    return 0;
}

int motemix_flash_open(motemix_flash *flash)
{
    flash->read = read_flash;
    flash->write = write_flash;
    flash->erase = erase_flash;
    return 0;
}

#else
#error "The mote has nowhere to keep its key: use the module motemix_mtd or motemix_flashpage; see \
boards/ports/riot/README.md."
#endif
