/*
 * Messages between two neighbours that have never met: the application of IoT-CryptoDiet's paper, a
 * sensor and a router over simple_udp. `motemix link sensor` and `motemix link router` are the same
 * on a PC, with the same mode.
 *
 * diet-sensor.c and diet-router.c send, wait and print. One of three files makes datagrams of texts
 * and texts of datagrams, as MODE says to make: diet-plain.c, diet-literal.c, diet-settled.c.
 */

#ifndef DIET_H_
#define DIET_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contiki.h"
#include "net/ipv6/uip.h"

/* The UDP port of both, which is `motemix link`'s. 6LoWPAN writes 61616 to 61631 in four bits. */
#ifdef DIET_CONF_PORT
#define DIET_PORT DIET_CONF_PORT
#else
#define DIET_PORT 61618
#endif

/* The longest datagram: what UIP_CONF_BUFFER_SIZE leaves besides the headers of IPv6 and UDP. */
#define DIET_DATAGRAM_LEN (UIP_CONF_BUFFER_SIZE - 40 - 8)

/* The longest text that a sensor sends: a line of the serial port. */
#define DIET_TEXT_LEN 120

/* Neighbours of a router at a time. */
#ifdef DIET_CONF_NEIGHBOURS
#define DIET_NEIGHBOURS DIET_CONF_NEIGHBOURS
#else
#define DIET_NEIGHBOURS 4
#endif

struct diet_datagram {
  uint16_t len;
  uint8_t bytes[DIET_DATAGRAM_LEN];
};

struct diet_address {
  uip_ipaddr_t ip;
  uint16_t port;
};

/* A text for whoever reads, and who said it; `text` is null if there is none. */
struct diet_heard {
  const uint8_t *text;
  size_t len;
  /* The beginning of the sender's identity, empty if it has none. */
  char who[13];
};

/* Why a router dropped datagrams. */
enum diet_drop {
  DIET_DROP_ALIEN,
  DIET_DROP_NOT_ADMITTED,
  DIET_DROP_REPLAYED,
  DIET_DROP_ALTERED,
  DIET_DROP_NO_HANDSHAKE,
  DIET_DROP_UNDER_WAY,
  DIET_DROP_FULL,
  DIET_DROP_TOO_MANY,
  DIET_DROPS,
};

/* Counts a datagram that a router dropped. */
void diet_drop(enum diet_drop reason);

/* ---- What MODE chooses. ---- */

/* Whether a router answers each message with a receipt. */
extern const bool diet_acknowledges;

/* Makes or reads the node's keys. False if there is none; why was printed. */
bool diet_start(void);

/* Does what a typed word says. False if the word is not of this protocol. */
bool diet_obey(const char *word, const char *rest);

/* A sensor's side. Whether a router is known, and to forget it. */
bool diet_knows_router(void);
void diet_forget_router(void);

/* What asks for a router. False if it cannot be made; why was printed. */
bool diet_ask(struct diet_datagram *out);

/* Whether this is a router's answer, and the right one. */
bool diet_meet(const struct diet_datagram *in);

/* A text on its way to the router. */
bool diet_seal(const char *text, size_t len, struct diet_datagram *out);

/* Whether this is the router's receipt. */
bool diet_is_receipt(const struct diet_datagram *in);

/* The beginning of the router's identity; empty if it has none. */
const char *diet_router_name(void);

/* A router's side: what a datagram says, and what is to be answered once that was printed. The
 * datagram may be overwritten. */
void diet_handle(const struct diet_address *from, struct diet_datagram *in,
                 struct diet_datagram *reply, struct diet_heard *heard);

#endif /* DIET_H_ */
