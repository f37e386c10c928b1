/*
 * What the mote signs (module motemix_readings): a temperature of the board's SAUL registry, one that
 * a PC makes up, or what a function of the application says (CONFIG_MOTEMIX_MEASURE).
 */

#include "internal.h"

#ifdef MODULE_MOTEMIX_READINGS

#if !defined(CONFIG_MOTEMIX_MEASURE)
#define CONFIG_MOTEMIX_MEASURE measure_here

/* A message has room for two bytes of digits: tenths of a degree up to 25.5, and whole ones beyond. */
static void temperature(motemix_record *record, int32_t tenths)
{
    bool fits = tenths >= -256 && tenths <= 255;

    record->name = "t";
    record->unit = "Cel";
    record->value = fits ? tenths : tenths / 10;
    record->places = fits ? 1 : 0;
}

#if defined(MODULE_SAUL_REG)

#include <stdint.h>

#include "phydat.h"
#include "saul.h"
#include "saul_reg.h"

/* Reads the first thermometer of the board. */
static int measure_here(void *context, motemix_record *record)
{
    phydat_t read;
    saul_reg_t *device = saul_reg_find_type(SAUL_SENSE_TEMP);

    (void)context;
    if (device == NULL || saul_reg_read(device, &read) < 1 || read.unit != UNIT_TEMP_C) {
        return -1;
    }
    int32_t tenths = read.val[0];
    for (int8_t scale = read.scale; scale < -1; scale++) {
        tenths /= 10;
    }
    for (int8_t scale = read.scale; scale > -1 && scale < 4; scale++) {
        tenths *= 10;
    }
    temperature(record, tenths);
    return 0;
}

#elif defined(CPU_NATIVE)

/* A PC has no thermometer: it gets warmer by a tenth of a degree each second, for a while. */
static int measure_here(void *context, motemix_record *record)
{
    (void)context;
    temperature(record, 200 + (int32_t)(motemix_now_us() / 1000000 % 50));
    return 0;
}

#else
#error "The mote has nothing to measure with: use the module saul_default, or name a function of your \
own in CONFIG_MOTEMIX_MEASURE; see boards/ports/riot/README.md."
#endif

#else
int CONFIG_MOTEMIX_MEASURE(void *context, motemix_record *record);
#endif

motemix_status motemix_let_sign(motemix_mote *mote)
{
    static motemix_readings readings;
    static const motemix_sensor sensor = { .measure = CONFIG_MOTEMIX_MEASURE };

    return motemix_mote_sign_readings(mote, &readings, &sensor);
}

#endif /* MODULE_MOTEMIX_READINGS */
