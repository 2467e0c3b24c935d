/*
 * tracer/inject/lock.h - all locks of the library, so that a fork can acquire them.
 *
 * For:            the other files of this folder.
 * Must not know:  what the locks protect.
 * Invariant:      a thread holds at most one of them, except during a fork, which acquires all; so there is no lock
 *                 order.
 *
 * A forked child has only the thread that forked. A lock held by another thread would never be released in the child.
 */
#ifndef TRC_INJECT_LOCK_H
#define TRC_INJECT_LOCK_H

#include <stdbool.h>

/*
 * session  files, sinks and blocks
 * ranges   open ranges of the process
 * texts    interned texts and known addresses
 * unwind   stack unwinding: the C library may take a lock of its own for it
 * python   the table of Python's functions
 * pools    the device of each memory pool
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
/* False: the lock could not be acquired within `seconds`. */
bool inj_lock_within(enum inj_lock lock, int seconds);

#endif
