/*
 * engine/device/cpu/cpu_thread.c - a small fork-join pool.
 *
 * For:            every kernel that is worth running in parallel.
 * Must not know:  what the tasks do.
 * Invariant:      each task runs exactly once, and all are done when cpu_parallel returns. Which thread runs a task
 *                 is not fixed, so tasks must not depend on it.
 *
 * There is one pool per process, because kernels get no context argument: it is the only writable state here. It is
 * created at the first call that needs it; its threads are detached and wait for work until the process ends.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "base/error.h"
#include "engine/device/cpu/cpu_internal.h"

#define MAX_THREADS 64

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t work; /* there are tasks */
    pthread_cond_t done; /* the last task is done */
    bool started;
    bool busy;
    int threads; /* callers included */
    cpu_task_fn *fn;
    void *ctx;
    int64_t next;
    int64_t tasks;
    int64_t unfinished;
};

static struct pool pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
                           .work = PTHREAD_COND_INITIALIZER,
                           .done = PTHREAD_COND_INITIALIZER};

/* VRAMSCOPE_THREADS, else the processors this process may run on. */
static int wanted_threads(void)
{
    const char *text = getenv("VRAMSCOPE_THREADS");
    cpu_set_t set;
    long n = 0;

    if (text)
        n = strtol(text, NULL, 10);
    if (n <= 0 && sched_getaffinity(0, sizeof(set), &set) == 0)
        n = CPU_COUNT(&set);
    if (n < 1)
        n = 1;
    return n > MAX_THREADS ? MAX_THREADS : (int)n;
}

/* Runs tasks until none is left. The lock is held on entry and on return. */
static void run_tasks(void)
{
    while (pool.next < pool.tasks) {
        int64_t task = pool.next++;
        cpu_task_fn *fn = pool.fn;
        void *ctx = pool.ctx;

        pthread_mutex_unlock(&pool.lock);
        fn(ctx, task);
        pthread_mutex_lock(&pool.lock);
        pool.unfinished--;
        if (pool.unfinished == 0)
            pthread_cond_signal(&pool.done);
    }
}

static void *worker(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        run_tasks();
        pthread_cond_wait(&pool.work, &pool.lock);
    }
    return NULL;
}

/* The caller holds the lock. If a thread cannot be created, the pool works with fewer. */
static void start(void)
{
    pthread_attr_t attr;
    int wanted = wanted_threads();

    pool.started = true;
    pool.threads = 1;
    if (pthread_attr_init(&attr) != 0)
        return;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    while (pool.threads < wanted) {
        pthread_t id;

        if (pthread_create(&id, &attr, worker, NULL) != 0)
            break;
        pool.threads++;
    }
    pthread_attr_destroy(&attr);
}

int cpu_thread_count(void)
{
    int n;

    pthread_mutex_lock(&pool.lock);
    if (!pool.started)
        start();
    n = pool.threads;
    pthread_mutex_unlock(&pool.lock);
    return n;
}

void cpu_parallel(int64_t tasks, cpu_task_fn *fn, void *ctx)
{
    bool alone;

    pthread_mutex_lock(&pool.lock);
    if (!pool.started)
        start();
    alone = tasks <= 1 || pool.busy || pool.threads == 1;
    if (alone) {
        pthread_mutex_unlock(&pool.lock);
        for (int64_t i = 0; i < tasks; i++)
            fn(ctx, i);
        return;
    }
    pool.busy = true;
    pool.fn = fn;
    pool.ctx = ctx;
    pool.next = 0;
    pool.tasks = tasks;
    pool.unfinished = tasks;
    pthread_cond_broadcast(&pool.work);
    run_tasks();
    while (pool.unfinished > 0)
        pthread_cond_wait(&pool.done, &pool.lock);
    pool.busy = false;
    pthread_mutex_unlock(&pool.lock);
}
