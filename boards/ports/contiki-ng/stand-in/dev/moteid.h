/* Stand-in for the mote's number in Cooja. See README.md. */

#ifndef MOTEID_H_
#define MOTEID_H_

extern int simMoteID;

#endif
