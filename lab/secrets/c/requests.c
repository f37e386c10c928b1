/* valgrind's client requests are macros, which Rust cannot call. Outside valgrind they do nothing. */
#include <stddef.h>
#include <valgrind/memcheck.h>

int motemix_runs_under_valgrind(void) { return RUNNING_ON_VALGRIND != 0; }

void motemix_mark_secret(const void *bytes, size_t len) { (void)VALGRIND_MAKE_MEM_UNDEFINED(bytes, len); }

void motemix_mark_public(const void *bytes, size_t len) { (void)VALGRIND_MAKE_MEM_DEFINED(bytes, len); }

/* How often a branch or an address depended on a secret so far, repetitions included. */
unsigned motemix_dependences(void) { return (unsigned)VALGRIND_COUNT_ERRORS; }

/* One bit of `shadow` for each bit of `bytes`: 1 is secret. 1 on success, as valgrind has it. */
int motemix_copy_marks(const void *bytes, void *shadow, size_t len) {
    return (int)VALGRIND_GET_VBITS(bytes, shadow, len);
}

