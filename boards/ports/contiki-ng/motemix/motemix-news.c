/*
 * News wait in a queue until motemix_process has its turn, and are handed to their process one by
 * one. They do not go through Contiki-NG's queue of events, which others fill as well.
 */

#include <string.h>

#include "contiki.h"
#include "motemix-news.h"

/* A turn of the mote ends a few messages at most. More come together only if another process calls
 * the mote again and again in one turn of its own. */
#define NEWS 8

process_event_t motemix_news_event;

static struct process *listener;
static struct motemix_news news[NEWS];
static unsigned first, count;
static uint32_t lost;
/*---------------------------------------------------------------------------*/
struct motemix_news *
motemix_news_of(enum motemix_news_kind kind)
{
  static struct motemix_news nowhere;
  struct motemix_news *told = &nowhere;

  if(listener != NULL && count < NEWS) {
    told = &news[(first + count++) % NEWS];
  } else if(listener != NULL) {
    lost++;
  }
  memset(told, 0, sizeof(*told));
  told->kind = kind;
  return told;
}
/*---------------------------------------------------------------------------*/
bool
motemix_news_hand_over(void)
{
  unsigned turn;

  for(turn = 0; turn < NEWS && count > 0; turn++) {
    /* What was lost came after all that waits. */
    news[first].lost = count == 1 ? lost : 0;
    if(count == 1) {
      lost = 0;
    }
    if(listener != NULL) {
      process_post_synch(listener, motemix_news_event, &news[first]);
    }
    /* Only now may others be written there. */
    first = (first + 1) % NEWS;
    count--;
  }
  return count > 0;
}
/*---------------------------------------------------------------------------*/
void
motemix_notify(struct process *process)
{
  listener = process;
}
