/* A generator for secrets, seeded by the platform. */
#define CSPRNG_CONF_ENABLED 1

/* A packet is three frames, and a mix holds some packets at once. */
#define QUEUEBUF_CONF_NUM 16

/* The shell's lines hold a whole message. */
#define SERIAL_LINE_CONF_BUFSIZE 160
