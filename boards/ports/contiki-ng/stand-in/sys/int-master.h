/* Stand-in for Contiki-NG's os/sys/int-master.h. See README.md. */

#ifndef INT_MASTER_H_
#define INT_MASTER_H_

#include <stdint.h>

typedef uint32_t int_master_status_t;

int_master_status_t int_master_read_and_disable(void);
void int_master_status_set(int_master_status_t status);

#endif
