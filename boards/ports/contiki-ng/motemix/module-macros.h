/* Read in front of each source of a program with this module. */

/* A generator for secrets, seeded by the platform or by the module. */
#ifndef CSPRNG_CONF_ENABLED
#define CSPRNG_CONF_ENABLED 1
#endif

/* The network of the project's own motes. */
#ifndef IEEE802154_CONF_PANID
#define IEEE802154_CONF_PANID 0x0023
#endif

/* A packet is three frames, a protected one four, and a mix holds some packets for some neighbours at
 * once. The CC2538 has room for one fewer: the mote's stack and tables need the rest of its RAM. */
#ifndef QUEUEBUF_CONF_NUM
#if defined(CONTIKI_TARGET_CC2538DK) || defined(CONTIKI_TARGET_ZOUL) || \
  defined(CONTIKI_TARGET_OPENMOTE)
#define QUEUEBUF_CONF_NUM 9
#else
#define QUEUEBUF_CONF_NUM 12
#endif
#endif
#ifndef CSMA_CONF_MAX_NEIGHBOR_QUEUES
#define CSMA_CONF_MAX_NEIGHBOR_QUEUES 4
#endif
#ifndef SICSLOWPAN_CONF_REASS_CONTEXTS
#define SICSLOWPAN_CONF_REASS_CONTEXTS 4
#endif
#ifndef UIP_CONF_BUFFER_SIZE
#define UIP_CONF_BUFFER_SIZE 360
#endif

#if defined(CONTIKI_TARGET_NATIVE) && !defined(MOTEMIX_CONF_TUN)
/* The frames of a PC travel in datagrams. */
#define NETSTACK_CONF_RADIO motemix_zep_driver
#define NETSTACK_CONF_NETWORK sicslowpan_driver
/* Acknowledgements are made by software, and come when the other program runs. */
#define CSMA_CONF_SEND_SOFT_ACK 1
#define CSMA_CONF_ACK_WAIT_TIME (RTIMER_SECOND / 100)
#define CSMA_CONF_AFTER_ACK_DETECTED_WAIT_TIME 0
/* Timers are looked at so often, in milliseconds. */
#define SELECT_CONF_TIMEOUT 2
#define SELECT_CONF_MAX 16
#endif
