/* Stand-in for arch/cpu/cc2538/dev/flash.h: where things are in the flash. See README.md. */

#ifndef FLASH_H_
#define FLASH_H_

#define CC2538_DEV_FLASH_ADDR 0x00200000ul
#define CC2538_DEV_FLASH_SIZE 0x00080000ul
#define FLASH_PAGE_SIZE 2048

/* At the end of the last page: what says where the program begins, and which pages are locked. */
#define FLASH_CCA_SIZE 0x0000002cul
#define FLASH_CCA_ADDR (CC2538_DEV_FLASH_ADDR + CC2538_DEV_FLASH_SIZE - FLASH_CCA_SIZE)

/* The program. */
#ifdef FLASH_CONF_FW_ADDR
#define FLASH_FW_ADDR FLASH_CONF_FW_ADDR
#else
#define FLASH_FW_ADDR CC2538_DEV_FLASH_ADDR
#endif
#ifdef FLASH_CONF_FW_SIZE
#define FLASH_FW_SIZE FLASH_CONF_FW_SIZE
#else
#define FLASH_FW_SIZE (FLASH_CCA_ADDR - FLASH_FW_ADDR)
#endif

#endif
