/*
 * tests/wait.h - waits with a bound until a program or a thread has done something; a failure names what did not
 * happen.
 *
 * For:            every test that depends on another process or thread.
 * Must not know:  what is waited for.
 * Invariant:      no wait is longer than WAIT_S seconds. The bound is generous, because it is there for defects and not
 *                 for slow machines: a test waits for what has been done, never for time.
 *
 * WAIT_S is 300, and 1,200 under a sanitizer; the environment variable WAIT_S replaces it.
 */
#ifndef TESTS_WAIT_H
#define TESTS_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"

/* The bound, in seconds. */
unsigned wait_limit_s(void);

/*
 * One wait:
 *
 *     struct wait w = wait_for(pid, "10 committed events in %s", path);
 *
 *     while (events_in(path) < 10)
 *         wait_more(&w);
 */
struct wait {
    char what[400];
    uint64_t end_ns;
    pid_t pid;
};

/* pid: the child that does what is waited for, 0 where there is none. */
struct wait wait_for(pid_t pid, const char *what, ...) VS_PRINTF(2, 3);

/*
 * Sleep for some milliseconds. Fails the test, with what was waited for, when the bound is reached or the child has
 * ended meanwhile (its wait status may still be taken). The child is killed then.
 */
void wait_more(struct wait *w);

/* The same, without a test to fail: false where the bound is reached. The child may have ended. */
bool wait_some(struct wait *w);

/* Wait for a child's end and take its wait status. One that does not end is killed, and the test fails with `what`. */
int wait_child(pid_t pid, const char *what, ...) VS_PRINTF(2, 3);

/*
 * Around calls that block and cannot be polled (pthread_join, pclose, system): if wait_end does not follow within the
 * bound, the program reports what it waited for and ends. They do not nest.
 */
void wait_begin(const char *what);
void wait_end(void);

#endif
