/* Stand-in for Contiki-NG's os/lib/random.h. See README.md. */

#ifndef RANDOM_H_
#define RANDOM_H_

unsigned short random_rand(void);

#endif
