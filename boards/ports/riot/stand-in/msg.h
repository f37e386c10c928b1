/* Stand-in for RIOT's core/include/msg.h. See README.md. */

#ifndef MSG_H
#define MSG_H

typedef struct {
    unsigned type;
} msg_t;

void msg_init_queue(msg_t *array, int num);

#endif
