/* A call on another stack. */

#ifndef MOTEMIX_STACK_H_
#define MOTEMIX_STACK_H_

#include <stdint.h>

/* Calls `run` with the stack pointer at `top`. One register, which whatever is called keeps by the
 * calling convention, remembers where the stack was. */
static inline void
motemix_call_with_stack(void (*run)(void *arg), void *arg, uint32_t *top)
{
#if defined(__arm__)
  register void *argument __asm__("r0") = arg;
  register void (*function)(void *) __asm__("r1") = run;
  register uint32_t *begin __asm__("r2") = top;

  __asm__ volatile("mov r4, sp\n\t"
                   "mov sp, r2\n\t"
                   "blx r1\n\t"
                   "mov sp, r4\n\t"
                   : "+r"(argument), "+r"(function), "+r"(begin)
                   :
                   : "r3", "r4", "r12", "lr", "memory", "cc"
#if defined(__ARM_FP)
                     /* Nor are these kept. */
                     , "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11",
                     "s12", "s13", "s14", "s15"
#endif
                   );
#else
  __asm__ volatile("movq %%rsp, %%rbx\n\t"
                   "movq %2, %%rsp\n\t"
                   "call *%1\n\t"
                   "movq %%rbx, %%rsp\n\t"
                   : "+D"(arg), "+a"(run), "+d"(top)
                   :
                   : "rbx", "rcx", "rsi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3",
                     "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
                     "xmm13", "xmm14", "xmm15", "memory", "cc");
#endif
}

/* Fills the stack, so that motemix_stack_used can tell how much of it was used. Once, before the first
 * call. */
void motemix_stack_fill(void);

/* Calls `run` on the stack of MOTEMIX_STACK_SIZE bytes, or where it is called from if that is large. */
void motemix_on_stack(void (*run)(void *arg), void *arg);

#endif /* MOTEMIX_STACK_H_ */
