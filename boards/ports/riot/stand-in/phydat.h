/* Stand-in for RIOT's sys/include/phydat.h. See README.md. */

#ifndef PHYDAT_H
#define PHYDAT_H

#include <stdint.h>

enum { UNIT_TEMP_C = 2 };

typedef struct {
    int16_t val[3];
    uint8_t unit;
    int8_t scale;
} phydat_t;

#endif
