/* What the settled protocol's two sides share. */

#ifndef DIET_SETTLED_H_
#define DIET_SETTLED_H_

#include "motemix.h"

extern motemix_diet diet;
extern motemix_diet_admission diet_admission;

/* The first six bytes of an identity, in hex. */
void diet_name(const uint8_t *of, char name[13]);

/* Tells a person whom to compare, if nobody was named. */
void diet_warn_of(const uint8_t *peer);

#endif /* DIET_SETTLED_H_ */
