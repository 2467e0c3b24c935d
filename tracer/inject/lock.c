/*
 * tracer/inject/lock.c - see lock.h.
 */
#include "tracer/inject/lock.h"

#include <pthread.h>
#include <time.h>

#define LOCK PTHREAD_MUTEX_INITIALIZER

static pthread_mutex_t locks[INJ_LOCK_COUNT] = {LOCK, LOCK, LOCK, LOCK, LOCK, LOCK};

void inj_lock(enum inj_lock lock)
{
    pthread_mutex_lock(&locks[lock]);
}

void inj_unlock(enum inj_lock lock)
{
    pthread_mutex_unlock(&locks[lock]);
}

bool inj_lock_within(enum inj_lock lock, int seconds)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    return pthread_mutex_timedlock(&locks[lock], &until) == 0;
}
