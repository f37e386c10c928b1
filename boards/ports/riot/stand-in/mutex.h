/* Stand-in for RIOT's core/lib/include/mutex.h: any thread may unlock what another one has locked.
 * See README.md. */

#ifndef MUTEX_H
#define MUTEX_H

typedef struct {
    int is_locked;
} mutex_t;

#define MUTEX_INIT { 0 }
#define MUTEX_INIT_LOCKED { 1 }

void mutex_init(mutex_t *mutex);
void mutex_lock(mutex_t *mutex);
void mutex_unlock(mutex_t *mutex);

#endif
