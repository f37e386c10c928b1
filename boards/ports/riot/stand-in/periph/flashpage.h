/* Stand-in for RIOT's drivers/include/periph/flashpage.h, of an nRF52840: to compile with.
 * See README.md. */

#ifndef PERIPH_FLASHPAGE_H
#define PERIPH_FLASHPAGE_H

#include <stddef.h>

#ifndef FLASHPAGE_SIZE
#define FLASHPAGE_SIZE 4096u
#endif
#define FLASHPAGE_NUMOF 256u
#define FLASHPAGE_WRITE_BLOCK_SIZE 4u

void *flashpage_addr(unsigned page);
void flashpage_erase(unsigned page);
void flashpage_write(void *target_addr, const void *data, size_t len);

#endif
