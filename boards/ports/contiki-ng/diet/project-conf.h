/* Neighbours on the link need no routes. */
#define NETSTACK_MAX_ROUTE_ENTRIES 0
#define UIP_CONF_UDP_CONNS 2

/* On the CC2538: the pages below the last, which has the lock, are the mote's flash, see
 * motemix-flash.c. */
#define MOTEMIX_FLASH_PAGES 11
#define FLASH_CONF_FW_ADDR CC2538_DEV_FLASH_ADDR
#define FLASH_CONF_FW_SIZE (CC2538_DEV_FLASH_SIZE - FLASH_PAGE_SIZE - MOTEMIX_FLASH_PAGES * 4096)
/* And its RAM is lost in deeper sleep. */
#define LPM_CONF_MAX_PM 1

/* The deepest call checks a signature: 8.5 kB on a Cortex-M3. The tests measure all of them. */
#define MOTEMIX_CONF_STACK_SIZE 9472

#ifdef MOTEMIX_CONF_TUN
/* Nobody answers a neighbour solicitation in a tunnel: who is there is taken for a neighbour. */
#define UIP_CONF_ND6_AUTOFILL_NBR_CACHE 1
#endif
