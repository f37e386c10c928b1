/* The shell's lines hold a piece of a network document. The length is a power of two, and the most
 * that Contiki-NG has. */
#define SERIAL_LINE_CONF_BUFSIZE 128

/* Neighbours on the link need no routes. */
#define NETSTACK_MAX_ROUTE_ENTRIES 0
#define UIP_CONF_UDP_CONNS 2

/* The mote signs readings. */
#define MOTEMIX_CONF_READINGS_PAGES 2

/* On the CC2538: the pages below the last, which has the lock, are the mote's flash, see
 * motemix-flash.c. */
#define MOTEMIX_FLASH_PAGES 13
#define FLASH_CONF_FW_ADDR CC2538_DEV_FLASH_ADDR
#define FLASH_CONF_FW_SIZE (CC2538_DEV_FLASH_SIZE - FLASH_PAGE_SIZE - MOTEMIX_FLASH_PAGES * 4096)
/* And the mote's tables need all of its RAM, of which half is lost in deeper sleep. */
#define LPM_CONF_MAX_PM 1
