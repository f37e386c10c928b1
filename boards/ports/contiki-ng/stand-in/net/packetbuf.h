/* Stand-in for Contiki-NG's os/net/packetbuf.h. See README.md. */

#ifndef PACKETBUF_H_
#define PACKETBUF_H_

#include <stdint.h>

#define PACKETBUF_SIZE 128

void packetbuf_clear(void);
void *packetbuf_dataptr(void);
uint16_t packetbuf_datalen(void);
void packetbuf_set_datalen(uint16_t len);

#endif
