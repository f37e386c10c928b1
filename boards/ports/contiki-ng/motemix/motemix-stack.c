/*
 * A stack of one's own for calls of the library: Contiki-NG's CC2538 has 2 kB in all. Interrupts
 * that come meanwhile use it as well. A mote in Cooja has a small stack, too.
 */

#include "contiki.h"
#include "motemix-contiki.h"
#include "motemix-stack.h"

#if defined(__arm__) || (defined(CONTIKI_TARGET_COOJA) && defined(__x86_64__))
#define STACK_FILL 0x6d6f7465u
static uint32_t stack[MOTEMIX_STACK_SIZE / 4] __attribute__((aligned(16)));
_Static_assert(MOTEMIX_STACK_SIZE % 16 == 0, "the processor wants its stack in steps of 16 bytes");
static bool on_own_stack;

void
motemix_stack_fill(void)
{
  size_t at;

  for(at = 0; at < MOTEMIX_STACK_SIZE / 4; at++) {
    stack[at] = STACK_FILL;
  }
}

void
motemix_on_stack(void (*run)(void *arg), void *arg)
{
  if(on_own_stack) {
    run(arg);
    return;
  }
  on_own_stack = true;
  motemix_call_with_stack(run, arg, stack + MOTEMIX_STACK_SIZE / 4);
  on_own_stack = false;
}

size_t
motemix_stack_used(void)
{
  size_t unused = 0;

  while(unused < MOTEMIX_STACK_SIZE / 4 && stack[unused] == STACK_FILL) {
    unused++;
  }
  return MOTEMIX_STACK_SIZE - 4 * unused;
}
#else
void
motemix_stack_fill(void)
{
}

void
motemix_on_stack(void (*run)(void *arg), void *arg)
{
  run(arg);
}

size_t
motemix_stack_used(void)
{
  return 0;
}
#endif
