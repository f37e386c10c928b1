/* Stand-in for RIOT's drivers/include/mtd.h (2023.01 and later). See README.md. */

#ifndef MTD_H
#define MTD_H

#include <stdint.h>

typedef struct {
    uint32_t sector_count;
    uint32_t pages_per_sector;
    uint32_t page_size;
} mtd_dev_t;

int mtd_init(mtd_dev_t *mtd);
int mtd_read(mtd_dev_t *mtd, void *dest, uint32_t addr, uint32_t count);
/* Only clears bits, and goes on into the pages behind `page`. */
int mtd_write_page_raw(mtd_dev_t *mtd, const void *src, uint32_t page, uint32_t offset, uint32_t size);
int mtd_erase(mtd_dev_t *mtd, uint32_t addr, uint32_t count);

#endif
