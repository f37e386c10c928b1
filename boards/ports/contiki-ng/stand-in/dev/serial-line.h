/* Stand-in for Contiki-NG's os/dev/serial-line.h. See README.md. */

#ifndef SERIAL_LINE_H_
#define SERIAL_LINE_H_

#include "contiki.h"

/* To every process, with the line as text. */
extern process_event_t serial_line_event_message;

#endif
