/* Stand-in for Contiki-NG's arch/cpu/nrf/os/temp-arch.h. See README.md. */

#ifndef TEMP_ARCH_H_
#define TEMP_ARCH_H_

#include "lib/sensors.h"

extern const struct sensors_sensor temperature_sensor;

#endif
