/* News on their way to the process that motemix_notify named. */

#ifndef MOTEMIX_NEWS_H_
#define MOTEMIX_NEWS_H_

#include "motemix-contiki.h"

/* News to be filled in, which motemix_news_hand_over hands over. Never null: if there is no room,
 * they are counted as lost. */
struct motemix_news *motemix_news_of(enum motemix_news_kind kind);

/* Hands over what there is, but no more than there is room for at a time. True if that was not all.
 * For motemix_process in its own turn: nobody else's call is under way then. */
bool motemix_news_hand_over(void);

#endif /* MOTEMIX_NEWS_H_ */
