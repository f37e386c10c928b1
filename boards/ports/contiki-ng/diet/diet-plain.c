/* The baseline: a datagram is a text, and nobody protects it. */

#include <string.h>

#include "diet.h"

const bool diet_acknowledges = false;
/*---------------------------------------------------------------------------*/
bool
diet_start(void)
{
  return true;
}

bool
diet_obey(const char *word, const char *rest)
{
  (void)word, (void)rest;
  return false;
}
/*---------------------------------------------------------------------------*/
/* Whoever hears it is the router. */
bool
diet_knows_router(void)
{
  return true;
}

void
diet_forget_router(void)
{
}

bool
diet_ask(struct diet_datagram *out)
{
  (void)out;
  return false;
}

bool
diet_meet(const struct diet_datagram *in)
{
  (void)in;
  return false;
}

bool
diet_seal(const char *text, size_t len, struct diet_datagram *out)
{
  memcpy(out->bytes, text, len);
  out->len = (uint16_t)len;
  return true;
}

bool
diet_is_receipt(const struct diet_datagram *in)
{
  (void)in;
  return false;
}

const char *
diet_router_name(void)
{
  return "";
}
/*---------------------------------------------------------------------------*/
void
diet_handle(const struct diet_address *from, struct diet_datagram *in, struct diet_datagram *reply,
            struct diet_heard *heard)
{
  (void)from, (void)reply;
  heard->text = in->bytes;
  heard->len = in->len;
}
