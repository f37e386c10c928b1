/* Stand-in for Contiki-NG's os/net/netstack.h and os/dev/radio.h. See README.md. */

#ifndef NETSTACK_H
#define NETSTACK_H

#include <stddef.h>

typedef int radio_value_t;
typedef unsigned radio_param_t;

typedef enum {
  RADIO_RESULT_OK,
  RADIO_RESULT_NOT_SUPPORTED,
} radio_result_t;

enum {
  RADIO_PARAM_CHANNEL = 1,
  RADIO_PARAM_RX_MODE,
  RADIO_PARAM_TX_MODE,
  RADIO_PARAM_IQ_LSBS,
  RADIO_CONST_MAX_PAYLOAD_LEN,
};

enum {
  RADIO_TX_OK,
  RADIO_TX_ERR,
};

struct radio_driver {
  int (*init)(void);
  int (*prepare)(const void *payload, unsigned short payload_len);
  int (*transmit)(unsigned short transmit_len);
  int (*send)(const void *payload, unsigned short payload_len);
  int (*read)(void *buf, unsigned short buf_len);
  int (*channel_clear)(void);
  int (*receiving_packet)(void);
  int (*pending_packet)(void);
  int (*on)(void);
  int (*off)(void);
  radio_result_t (*get_value)(radio_param_t param, radio_value_t *value);
  radio_result_t (*set_value)(radio_param_t param, radio_value_t value);
  radio_result_t (*get_object)(radio_param_t param, void *dest, size_t size);
  radio_result_t (*set_object)(radio_param_t param, const void *src, size_t size);
};

struct mac_driver {
  void (*input)(void);
};

extern const struct mac_driver stand_in_mac;
#define NETSTACK_MAC stand_in_mac

extern const struct radio_driver NETSTACK_CONF_RADIO;
#define NETSTACK_RADIO NETSTACK_CONF_RADIO

#endif
