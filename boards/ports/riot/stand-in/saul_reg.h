/* Stand-in for RIOT's sys/include/saul_reg.h. See README.md. */

#ifndef SAUL_REG_H
#define SAUL_REG_H

#include <stdint.h>

#include "phydat.h"

typedef struct saul_reg {
    struct saul_reg *next;
    void *dev;
    const char *name;
} saul_reg_t;

saul_reg_t *saul_reg_find_nth(int pos);
saul_reg_t *saul_reg_find_type(uint8_t type);
int saul_reg_read(saul_reg_t *dev, phydat_t *res);

#endif
