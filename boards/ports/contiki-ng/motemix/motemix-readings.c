/*
 * What the mote signs: the temperature of the processor, one that a PC makes up, or what a function of
 * the application says (MOTEMIX_CONF_MEASURE).
 */

#include "contiki.h"
#include "motemix-arch.h"

#if MOTEMIX_READINGS_PAGES > 0

#if defined(MOTEMIX_CONF_MEASURE)
int MOTEMIX_CONF_MEASURE(void *context, motemix_record *record);
#define MEASURE MOTEMIX_CONF_MEASURE

#else
#define MEASURE measure_here

#if defined(CONTIKI_TARGET_CC2538DK) || defined(CONTIKI_TARGET_ZOUL) || \
  defined(CONTIKI_TARGET_OPENMOTE)
#include "dev/cc2538-sensors.h"
/* It says thousandths. */
#define TENTHS() (cc2538_temp_sensor.value(CC2538_SENSORS_VALUE_TYPE_CONVERTED) / 100)

#elif defined(CONTIKI_TARGET_NRF)
#include "temp-arch.h"
/* It says quarters. */
#define TENTHS() (temperature_sensor.value(0) * 10 / 4)

#elif defined(CONTIKI_TARGET_NATIVE) || defined(CONTIKI_TARGET_COOJA)
/* A PC has no thermometer: it gets warmer by a tenth of a degree each second, for a while. */
#define TENTHS() (200 + (int)(clock_time() / CLOCK_SECOND % 50))

#else
#error "The mote has nothing to measure with: name a function of your own in MOTEMIX_CONF_MEASURE, or \
set MOTEMIX_CONF_READINGS_PAGES to 0; see boards/ports/contiki-ng/README.md."
#endif
/*---------------------------------------------------------------------------*/
/* A message has room for two bytes of digits: tenths of a degree up to 25.5, and whole ones beyond. */
static int
measure_here(void *context, motemix_record *record)
{
  int tenths = TENTHS();
  bool fits = tenths >= -256 && tenths <= 255;

  (void)context;
  record->name = "t";
  record->unit = "Cel";
  record->value = fits ? tenths : tenths / 10;
  record->places = fits ? 1 : 0;
  return 0;
}
#endif
/*---------------------------------------------------------------------------*/
motemix_status
motemix_let_sign(motemix_mote *mote)
{
  static motemix_readings readings;
  static const motemix_sensor sensor = { .measure = MEASURE };

  return motemix_mote_sign_readings(mote, &readings, &sensor);
}
#endif
