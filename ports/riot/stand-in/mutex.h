/* Stand-in for RIOT's core/lib/include/mutex.h. See README.md. */

#ifndef MUTEX_H
#define MUTEX_H

#if defined(__linux__)
#include <pthread.h>
typedef pthread_mutex_t mutex_t;
#define MUTEX_INIT PTHREAD_MUTEX_INITIALIZER
#else
typedef struct {
    void *queue;
} mutex_t;
#define MUTEX_INIT { 0 }
#endif

void mutex_lock(mutex_t *mutex);
void mutex_unlock(mutex_t *mutex);

#endif
