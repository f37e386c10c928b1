/*
 * Calls on a stack that is this program's own: it is searched when the call has returned.
 */

#ifndef OWN_STACK_H
#define OWN_STACK_H

#include <pthread.h>

#include "expect.h"

#define STACK_SIZE (256u * 1024u)

static uint8_t stack[STACK_SIZE] __attribute__((aligned(4096)));

/* Looks for secrets in it. */
static void search(const char *name);

typedef motemix_status call(void);

struct job {
    call *call;
    motemix_status status;
};

static void *run(void *argument)
{
    struct job *job = argument;
    job->status = job->call();
    return NULL;
}

/* A call that says that there is nothing more to do succeeds, too. */
static void on_own_stack(const char *name, call *what)
{
    struct job job = { what, MOTEMIX_STATUS_OK };
    pthread_attr_t attributes;
    pthread_t thread;

    memset(stack, 0, sizeof(stack));
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstack(&attributes, stack, sizeof(stack)) == 0);
    CHECK(pthread_create(&thread, &attributes, run, &job) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    pthread_attr_destroy(&attributes);
    if (job.status != MOTEMIX_STATUS_OK && job.status != MOTEMIX_STATUS_NOTHING) {
        fprintf(stderr, "%s: %s\n", name, motemix_status_text(job.status));
        exit(EXIT_FAILURE);
    }
    search(name);
}

#endif
