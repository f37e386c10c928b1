/* Stand-in for a board's board.h: one flash device. See README.md. */

#ifndef BOARD_H
#define BOARD_H

#include "mtd.h"

extern mtd_dev_t *mtd0;
#define MTD_0 mtd0

#endif
