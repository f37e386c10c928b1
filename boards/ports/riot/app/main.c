/* A mote with RIOT's shell. The module brings its commands: `motemix` lists them. */

#include "msg.h"
#include "shell.h"

#include "motemix_riot.h"

/* Network commands of the shell get messages faster than it takes them. */
#define QUEUE_LEN 8
static msg_t queue[QUEUE_LEN];

int main(void)
{
    /* For every line that the mote takes. */
    static char line[sizeof("motemix ") + MOTEMIX_LINE_LEN + 1];

    msg_init_queue(queue, QUEUE_LEN);
    shell_run(NULL, line, sizeof(line));
    return 0;
}
