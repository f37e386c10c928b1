/* Stand-in for RIOT's drivers/include/saul.h. See README.md. */

#ifndef SAUL_H
#define SAUL_H

enum { SAUL_SENSE_TEMP = 0x82 };

#endif
