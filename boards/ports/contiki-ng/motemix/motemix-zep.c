/*
 * A radio for Contiki-NG on a PC: IEEE 802.15.4 frames in ZEP datagrams (version 2), which RIOT's
 * boards on a PC and `motemix-lab air --zep` exchange as well. MOTEMIX_ZEP is the address of the
 * dispatcher, [::1]:17754 unless it is set.
 */

#include "contiki.h"

#if defined(CONTIKI_TARGET_NATIVE)

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "net/linkaddr.h"
#include "net/netstack.h"
#include "net/packetbuf.h"
#include "motemix-arch.h"

#define HEADER_LEN 32
#define CHECK_LEN 2
#define MOST_FRAME 127
#define CHANNEL 26
#define DATA 1
#define HELLO 255
/* A dispatcher that was started later, or again, knows nobody. */
#define HELLO_INTERVAL (2 * CLOCK_SECOND)
/* Frames that wait until Contiki-NG reads them. */
#define FRAMES 8
/* Datagrams taken in at a time. Whoever floods the socket must not keep the program there. */
#define BATCH 32
/* An acknowledgement of IEEE 802.15.4: frame control, sequence number. */
#define ACKNOWLEDGEMENT_LEN 3

struct frame {
  uint8_t len;
  uint8_t bytes[MOST_FRAME];
};

static int zep = -1;
static struct frame frames[FRAMES];
static unsigned first, count;
/* Sent, and to be acknowledged; what else comes waits behind the acknowledgement. */
static bool awaits_acknowledgement;
static struct frame acknowledgement;
static struct frame prepared;
static uint32_t sequence;
/* There is no dispatcher, and that was said. */
static bool is_refused;

PROCESS(motemix_zep_process, "ZEP");
/*---------------------------------------------------------------------------*/
/* The kernel tells whoever sends or receives next that nobody took the last datagram. */
static void
say_refused(void)
{
  if(errno == ECONNREFUSED && !is_refused) {
    is_refused = true;
    fprintf(stderr, "nobody is at MOTEMIX_ZEP; start `motemix-lab air --zep`\n");
  }
}

static void
send_datagram(uint8_t kind, const uint8_t *frame, size_t len)
{
  uint8_t datagram[HEADER_LEN + MOST_FRAME] = { 'E', 'X', 2, kind, CHANNEL };

  sequence++;
  memcpy(datagram + 17, &(uint32_t){ htonl(sequence) }, sizeof(uint32_t));
  datagram[31] = (uint8_t)len;
  memcpy(datagram + HEADER_LEN, frame, len);
  /* One that the kernel does not take is a frame that nobody heard. */
  if(send(zep, datagram, HEADER_LEN + len, 0) < 0) {
    say_refused();
  }
}

/* So that others' frames come before the first of one's own left. */
static void
say_hello(void)
{
  send_datagram(HELLO, linkaddr_node_addr.u8, sizeof(linkaddr_node_addr.u8));
}
/*---------------------------------------------------------------------------*/
static bool
is_acknowledgement(const uint8_t *bytes, size_t len)
{
  return len == ACKNOWLEDGEMENT_LEN && (bytes[0] & 7) == 2;
}
/*---------------------------------------------------------------------------*/
/* Takes datagrams out of the socket: not too many at a time, and only while there is room for their
 * frames. */
static void
take_in(void)
{
  uint8_t datagram[HEADER_LEN + MOST_FRAME + 1];
  struct frame frame;
  unsigned taken;
  ssize_t len;

  for(taken = 0; taken < BATCH && count < FRAMES; taken++) {
    len = recv(zep, datagram, sizeof(datagram), MSG_DONTWAIT);
    if(len < 0) {
      say_refused();
      break;
    }
    is_refused = false;
    if(len < HEADER_LEN + CHECK_LEN || len > HEADER_LEN + MOST_FRAME ||
       memcmp(datagram, "EX\2\1", 4) != 0 || datagram[4] != CHANNEL ||
       datagram[31] != len - HEADER_LEN) {
      continue;
    }
    frame.len = (uint8_t)(len - HEADER_LEN - CHECK_LEN);
    memcpy(frame.bytes, datagram + HEADER_LEN, frame.len);
    if(is_acknowledgement(frame.bytes, frame.len)) {
      if(awaits_acknowledgement && frame.bytes[2] == prepared.bytes[2]) {
        acknowledgement = frame;
        awaits_acknowledgement = false;
      }
    } else {
      frames[(first + count++) % FRAMES] = frame;
    }
  }
  /* Whoever looked, perhaps for an acknowledgement alone: the frames are read, and the rest is
   * taken in. */
  if(count > 0 || taken == BATCH) {
    process_poll(&motemix_zep_process);
  }
}
/*---------------------------------------------------------------------------*/
static int
set_fd(fd_set *rset, fd_set *wset)
{
  (void)wset;
  if(count < FRAMES) {
    FD_SET(zep, rset);
  }
  return 1;
}

static void
handle_fd(fd_set *rset, fd_set *wset)
{
  (void)wset;
  if(FD_ISSET(zep, rset)) {
    take_in();
    process_poll(&motemix_zep_process);
  }
}
static const struct select_callback callback = { set_fd, handle_fd };
/*---------------------------------------------------------------------------*/
/* An address as `[::1]:17754` or `127.0.0.1:17754`. */
static int
open_socket(const char *text)
{
  struct addrinfo hints = { .ai_socktype = SOCK_DGRAM,
                            .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
  struct addrinfo *found;
  char host[64];
  const char *port = strrchr(text, ':');
  size_t len = port != NULL ? (size_t)(port - text) : 0;
  int opened;

  if(len > 2 && text[0] == '[' && text[len - 1] == ']') {
    text++;
    len -= 2;
  }
  if(len == 0 || len >= sizeof(host)) {
    return -1;
  }
  memcpy(host, text, len);
  host[len] = '\0';
  if(getaddrinfo(host, port + 1, &hints, &found) != 0) {
    return -1;
  }
  opened = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if(opened >= 0 && connect(opened, found->ai_addr, found->ai_addrlen) != 0) {
    close(opened);
    opened = -1;
  }
  freeaddrinfo(found);
  return opened;
}
/*---------------------------------------------------------------------------*/
static int
init(void)
{
  const char *text = getenv("MOTEMIX_ZEP");

  text = text != NULL ? text : "[::1]:17754";
  zep = open_socket(text);
  if(zep < 0) {
    fprintf(stderr, "MOTEMIX_ZEP=%s: no address, as in [::1]:17754\n", text);
    exit(EXIT_FAILURE);
  }
  if(!select_set_callback(zep, &callback)) {
    fprintf(stderr, "too many open files: raise SELECT_CONF_MAX\n");
    exit(EXIT_FAILURE);
  }
  /* Contiki-NG gives all programs on a PC one address. */
  if(motemix_arch_address(linkaddr_node_addr.u8) != 0) {
    exit(EXIT_FAILURE);
  }
  process_start(&motemix_zep_process, NULL);
  say_hello();
  return 1;
}

/* An acknowledgement that comes from now on is for nobody. */
static void
forget_acknowledgement(void)
{
  awaits_acknowledgement = false;
  acknowledgement.len = 0;
}

static int
prepare(const void *payload, unsigned short len)
{
  forget_acknowledgement();
  prepared.len = 0;
  if(len > MOST_FRAME - CHECK_LEN) {
    return 1;
  }
  prepared.len = (uint8_t)len;
  memcpy(prepared.bytes, payload, len);
  return 0;
}

/* The dispatcher puts the check sequence in. */
static void
send_unchecked(const uint8_t *frame, size_t len)
{
  uint8_t bytes[MOST_FRAME] = { 0 };

  memcpy(bytes, frame, len);
  send_datagram(DATA, bytes, len + CHECK_LEN);
}

static int
transmit(unsigned short len)
{
  /* Nobody asks what `prepare` said. */
  if(len == 0 || len != prepared.len) {
    return RADIO_TX_ERR;
  }
  awaits_acknowledgement = (prepared.bytes[0] & 0x20) != 0;
  send_unchecked(prepared.bytes, len);
  return RADIO_TX_OK;
}

static int
send_frame(const void *payload, unsigned short len)
{
  /* An acknowledgement of somebody's frame: of one's own, another may be awaited. */
  if(is_acknowledgement(payload, len)) {
    send_unchecked(payload, len);
    return RADIO_TX_OK;
  }
  return prepare(payload, len) == 0 ? transmit(len) : RADIO_TX_ERR;
}

static int
read_frame(void *out, unsigned short most)
{
  struct frame *frame = &acknowledgement;
  int len;

  if(acknowledgement.len == 0) {
    if(count == 0) {
      return 0;
    }
    frame = &frames[first];
    first = (first + 1) % FRAMES;
    count--;
  }
  len = frame->len <= most ? frame->len : 0;
  memcpy(out, frame->bytes, (size_t)len);
  acknowledgement.len = 0;
  return len;
}

static int
channel_clear(void)
{
  return 1;
}

static int
receiving_packet(void)
{
  return 0;
}

static int
pending_packet(void)
{
  take_in();
  /* Between a frame and its acknowledgement there is nothing else. */
  return acknowledgement.len != 0 || (!awaits_acknowledgement && count != 0);
}

static int
on(void)
{
  return 1;
}

static int
off(void)
{
  return 1;
}

static radio_result_t
get_value(radio_param_t param, radio_value_t *value)
{
  switch(param) {
  case RADIO_CONST_MAX_PAYLOAD_LEN:
    *value = MOST_FRAME - CHECK_LEN;
    return RADIO_RESULT_OK;
  case RADIO_PARAM_CHANNEL:
    *value = CHANNEL;
    return RADIO_RESULT_OK;
  case RADIO_PARAM_RX_MODE:
  case RADIO_PARAM_TX_MODE:
    *value = 0;
    return RADIO_RESULT_OK;
  default:
    return RADIO_RESULT_NOT_SUPPORTED;
  }
}

static radio_result_t
set_value(radio_param_t param, radio_value_t value)
{
  (void)value;
  return param == RADIO_PARAM_RX_MODE || param == RADIO_PARAM_TX_MODE ? RADIO_RESULT_OK
                                                                      : RADIO_RESULT_NOT_SUPPORTED;
}

static radio_result_t
get_object(radio_param_t param, void *out, size_t size)
{
  (void)param, (void)out, (void)size;
  return RADIO_RESULT_NOT_SUPPORTED;
}

static radio_result_t
set_object(radio_param_t param, const void *in, size_t size)
{
  (void)param, (void)in, (void)size;
  return RADIO_RESULT_NOT_SUPPORTED;
}

const struct radio_driver motemix_zep_driver = {
  init, prepare, transmit, send_frame, read_frame, channel_clear, receiving_packet, pending_packet,
  on, off, get_value, set_value, get_object, set_object,
};
/*---------------------------------------------------------------------------*/
PROCESS_THREAD(motemix_zep_process, ev, data)
{
  static struct etimer hello;
  unsigned turn;
  int len;

  PROCESS_BEGIN();
  (void)data;

  etimer_set(&hello, HELLO_INTERVAL);
  while(1) {
    PROCESS_YIELD_UNTIL(ev == PROCESS_EVENT_POLL || ev == PROCESS_EVENT_TIMER);
    if(ev == PROCESS_EVENT_TIMER) {
      say_hello();
      etimer_set(&hello, HELLO_INTERVAL);
      continue;
    }
    /* What an acknowledgement was awaited for is over. */
    forget_acknowledgement();
    take_in();
    for(turn = 0; turn < FRAMES && count > 0; turn++) {
      packetbuf_clear();
      len = read_frame(packetbuf_dataptr(), PACKETBUF_SIZE);
      if(len > 0) {
        packetbuf_set_datalen((uint16_t)len);
        NETSTACK_MAC.input();
      }
      take_in();
    }
  }

  PROCESS_END();
}

#endif /* CONTIKI_TARGET_NATIVE */
