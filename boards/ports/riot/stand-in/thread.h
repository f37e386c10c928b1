/* Stand-in for RIOT's core/include/thread.h. See README.md. */

#ifndef THREAD_H
#define THREAD_H

#include <stdint.h>

typedef int16_t kernel_pid_t;
typedef void *(*thread_task_func_t)(void *arg);

#define KERNEL_PID_UNDEF 0
#define THREAD_PRIORITY_MAIN 7
#define THREAD_STACKSIZE_DEFAULT 1024
#define THREAD_CREATE_STACKTEST 8

kernel_pid_t thread_create(char *stack, int stacksize, uint8_t priority, int flags,
                           thread_task_func_t task_func, void *arg, const char *name);
kernel_pid_t thread_getpid(void);

typedef enum {
    STATUS_STOPPED,
    STATUS_ZOMBIE,
    STATUS_RECEIVE_BLOCKED = 3,
    STATUS_NOT_FOUND = -1,
} thread_status_t;

thread_status_t thread_getstatus(kernel_pid_t pid);

#endif
