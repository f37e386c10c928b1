/* Stand-in for Contiki-NG's os/lib/sensors.h. See README.md. */

#ifndef SENSORS_H_
#define SENSORS_H_

struct sensors_sensor {
  int (*value)(int type);
};

#endif
