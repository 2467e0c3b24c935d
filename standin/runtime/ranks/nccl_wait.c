/*
 * standin/runtime/ranks/nccl_wait.c - see nccl_wait.h.
 */
#include "standin/runtime/ranks/nccl_wait.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "standin/runtime/runtime.h"
#include "standin/runtime/unknown.h"

#define NAP_NS_MIN 50000
#define NAP_NS_MAX 2000000
/* So many naps between two looks whether a process has ended. */
#define NAPS 16

/* Report it, and wait for nobody of this communicator any more. */
static int rank_lost(const struct sti_missing *missing, bool has_ended)
{
    struct sti_communicator *c = missing->c;
    char how[64];
    char text[512];

    if (__atomic_exchange_n(&c->is_lost, true, __ATOMIC_RELAXED))
        return STI_SUCCESS;
    snprintf(how, sizeof(how), "%g s ", sti_exchange_limit());
    snprintf(text, sizeof(text),
             "rank %d of %d waited %sfor rank %d, %s: %s, number %" PRIu64 " of its communicator",
             c->rank, c->ranks, has_ended ? "" : how, missing->rank,
             has_ended ? "whose process has ended" : "which did not come", missing->name,
             missing->number);
    sti_log("rank", text);
    return STI_LAUNCH_TIMEOUT;
}

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int sti_wait(sti_done_fn *is_done, void *user)
{
    struct timespec nap = {.tv_nsec = NAP_NS_MIN};
    struct sti_missing last = {NULL, -1, NULL, 0};
    double since = seconds_now();
    int status = STI_SUCCESS;

    for (unsigned i = 1;; i++) {
        /* looked at before the tasks: it may have sent just before its end */
        const bool has_ended =
            i % NAPS == 0 && last.c && sti_group_has_ended(last.c->group, last.rank);
        struct sti_missing missing = {NULL, -1, NULL, 0};
        bool is_there;

        sti_tasks_lock();
        if (sti_tasks_advance())
            since = seconds_now();
        is_there = is_done(user, &missing);
        sti_tasks_unlock();
        if (is_there)
            return status;
        if (missing.c && has_ended && missing.c == last.c && missing.rank == last.rank)
            status |= rank_lost(&missing, true);
        else if (missing.c && seconds_now() - since > sti_exchange_limit())
            status |= rank_lost(&missing, false);
        last = missing;
        nanosleep(&nap, NULL);
        if (nap.tv_nsec < NAP_NS_MAX)
            nap.tv_nsec *= 2;
    }
}

/* ---- the thread ---- */

static struct {
    pthread_mutex_t lock;
    bool is_running;
    bool is_registered; /* for forks */
} thread = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_all_sent(void *user, struct sti_missing *missing)
{
    const size_t task = sti_task_unsent(NULL);

    (void)user;
    if (task != STI_NO_TASK)
        *missing = sti_task_missing(task);
    return task == STI_NO_TASK;
}

static void *work(void *user)
{
    for (;;) {
        sti_tasks_lock();
        sti_tasks_sleep();
        sti_tasks_unlock();
        (void)sti_wait(is_all_sent, NULL);
    }
    return user;
}

/* A process that is forked has the lock free, and no thread. */
static void forked(void)
{
    sti_tasks_unlock();
    thread.is_running = false;
}

/* The program's signals are for its own threads. */
static bool thread_start(void)
{
    pthread_t id;
    sigset_t all;
    sigset_t old;
    bool is_started;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    is_started = pthread_create(&id, NULL, work, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (is_started)
        pthread_detach(id);
    return is_started;
}

void sti_wait_in_thread(void)
{
    pthread_mutex_lock(&thread.lock);
    if (!thread.is_registered)
        thread.is_registered = pthread_atfork(sti_tasks_lock, sti_tasks_unlock, forked) == 0;
    if (!thread.is_running)
        thread.is_running = thread_start();
    pthread_mutex_unlock(&thread.lock);
}
