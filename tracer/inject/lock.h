/*
 * tracer/inject/lock.h - every lock of the library, so that a fork can take them all.
 *
 * For:            the other files of this folder.
 * Must not know:  what they guard.
 * Invariant:      a thread has one of them at a time, but for a fork, which has all; so their order does not matter.
 *
 * A child has only the thread that forked. A lock that another thread had would stay taken in it for ever.
 */
#ifndef TRC_INJECT_LOCK_H
#define TRC_INJECT_LOCK_H

#include <stdbool.h>

/*
 * session  files, sinks and blocks
 * ranges   open ranges of the process
 * texts    texts and addresses that are kept
 * unwind   walking of stacks: the C library may take a lock of its own for that
 * python   Python's functions
 * pools    which pool is of which device
 */
enum inj_lock {
    INJ_LOCK_SESSION,
    INJ_LOCK_RANGES,
    INJ_LOCK_TEXTS,
    INJ_LOCK_UNWIND,
    INJ_LOCK_PYTHON,
    INJ_LOCK_POOLS,
    INJ_LOCK_COUNT
};

void inj_lock(enum inj_lock lock);
void inj_unlock(enum inj_lock lock);
/* false: it was not to be had within the seconds. */
bool inj_lock_within(enum inj_lock lock, int seconds);

#endif
