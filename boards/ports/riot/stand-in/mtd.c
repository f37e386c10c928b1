/*
 * What mtd.h declares, on Linux: a file that is 0xff where nothing was written, and whose bits a
 * write can only clear. RIOT_STAND_IN_FLASH names it. It is made if there is none; its length is
 * that of the flash.
 */

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board.h"
#include "mtd.h"

#define SECTORS 16

static mtd_dev_t flash = { .pages_per_sector = 16, .page_size = 256 };
mtd_dev_t *mtd0 = &flash;
static int flash_fd = -1;

int mtd_init(mtd_dev_t *mtd)
{
    const char *name = getenv("RIOT_STAND_IN_FLASH");
    uint32_t sector = mtd->pages_per_sector * mtd->page_size;
    off_t len;

    flash_fd = name != NULL ? open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    len = lseek(flash_fd, 0, SEEK_END);
    if (len < 0) {
        return -ENODEV;
    }
    mtd->sector_count = len > 0 ? (uint32_t)len / sector : SECTORS;
    return len > 0 ? 0 : mtd_erase(mtd, 0, SECTORS * sector);
}

int mtd_read(mtd_dev_t *mtd, void *dest, uint32_t addr, uint32_t count)
{
    (void)mtd;
    return pread(flash_fd, dest, count, addr) == (ssize_t)count ? 0 : -EIO;
}

int mtd_write_page_raw(mtd_dev_t *mtd, const void *src, uint32_t page, uint32_t offset,
                       uint32_t size)
{
    uint32_t at = page * mtd->page_size + offset;
    uint8_t bytes[256];

    for (uint32_t done = 0, count; done < size; done += count) {
        count = size - done < sizeof(bytes) ? size - done : sizeof(bytes);
        if (mtd_read(mtd, bytes, at + done, count) != 0) {
            return -EIO;
        }
        for (uint32_t byte = 0; byte < count; byte++) {
            bytes[byte] &= ((const uint8_t *)src)[done + byte];
        }
        if (pwrite(flash_fd, bytes, count, at + done) != (ssize_t)count) {
            return -EIO;
        }
    }
    return 0;
}

int mtd_erase(mtd_dev_t *mtd, uint32_t addr, uint32_t count)
{
    uint32_t sector = mtd->pages_per_sector * mtd->page_size;
    uint8_t erased[256];

    if (addr % sector != 0 || count % sector != 0 || addr + count > mtd->sector_count * sector) {
        return -EOVERFLOW;
    }
    memset(erased, 0xff, sizeof(erased));
    for (uint32_t at = addr; at < addr + count; at += sizeof(erased)) {
        if (pwrite(flash_fd, erased, sizeof(erased), at) != (ssize_t)sizeof(erased)) {
            return -EIO;
        }
    }
    return 0;
}
