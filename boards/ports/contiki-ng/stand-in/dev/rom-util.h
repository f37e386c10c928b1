/* Stand-in for arch/cpu/cc2538/dev/rom-util.h: functions of the CC2538's ROM, which return 0, or -1
 * if no page or no word begins there, or -2 if the flash failed. See README.md. */

#ifndef ROM_UTIL_H_
#define ROM_UTIL_H_

#include <stdint.h>

int32_t rom_util_page_erase(uint32_t flash_addr, uint32_t size);
int32_t rom_util_program_flash(uint32_t *ram_data, uint32_t flash_addr, uint32_t byte_count);

#endif
