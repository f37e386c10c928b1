/* Stand-in for Contiki-NG's arch/cpu/cc2538/dev/cc2538-sensors.h. See README.md. */

#ifndef CC2538_SENSORS_H_
#define CC2538_SENSORS_H_

#include "lib/sensors.h"

#define CC2538_SENSORS_VALUE_TYPE_CONVERTED 1
#define CC2538_SENSORS_ERROR 0x80000000

extern const struct sensors_sensor cc2538_temp_sensor;

#endif
