/*
 * whatif/grid/pool.c - see pool.h.
 *
 * Must not know:  files of results, what a run is.
 * Invariant:      a worker runs one configuration at a time, and ends when its parent does.
 *
 * Processes rather than threads: a run that ends its process, by a mistake in this program or for want of the host's
 * memory, is the result of one configuration.
 */
#include "whatif/grid/pool.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

#define POLL_MS 200

/*
 * A process. pid 0: none. requests, replies: the ends of pipes that this process has; item: what it runs; count of
 * items: nothing.
 */
struct worker {
    pid_t pid;
    int requests;
    int replies;
    size_t item;
};

struct session {
    const struct wif_grid_pool *pool;
    const size_t *items;
    size_t count;
    size_t next; /* the first item that no worker was given */
    struct worker *workers;
    struct sto_result *result;
};

size_t wif_grid_pool_cores(void)
{
    cpu_set_t set;
    int cores = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

    return cores > WIF_GRID_WORKERS_MAX ? WIF_GRID_WORKERS_MAX : (size_t)cores;
}

/* ---- pipes ---- */

/* False: the other end is closed. */
static bool read_all(int fd, void *data, size_t len)
{
    char *at = data;

    while (len) {
        ssize_t got = read(fd, at, len);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        len -= (size_t)got;
    }
    return true;
}

static bool write_all(int fd, const void *data, size_t len)
{
    const char *at = data;

    while (len) {
        ssize_t put = write(fd, at, len);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        at += put;
        len -= (size_t)put;
    }
    return true;
}

/* ---- a worker ---- */

VS_NORETURN static void worker_main(struct session *s, int requests, int replies)
{
    size_t config;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /*
     * ^C and what `timeout` sends reach the whole group. The parent ends its workers when it has kept their results: a
     * worker that such a signal ended would be taken for a run that failed.
     */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    while (read_all(requests, &config, sizeof(config))) {
        s->pool->run(s->pool->user, config, s->result);
        if (!write_all(replies, s->result, sizeof(*s->result)))
            break;
    }
    _exit(0);
}

static void pair_close(const int *pair)
{
    close(pair[0]);
    close(pair[1]);
}

static enum vs_status worker_start(struct session *s, struct worker *worker, struct vs_error *err)
{
    int requests[2], replies[2];

    if (pipe(requests) != 0)
        return vs_fail(err, VS_E_IO, "no pipe to another process can be made: %s", strerror(errno));
    if (pipe(replies) != 0) {
        pair_close(requests);
        return vs_fail(err, VS_E_IO, "no pipe to another process can be made: %s", strerror(errno));
    }
    fflush(NULL); /* or the child has what is buffered, too */
    worker->pid = fork();
    if (worker->pid == 0) {
        for (size_t i = 0; i < s->pool->workers; i++)
            if (s->workers[i].pid > 0) {
                close(s->workers[i].requests);
                close(s->workers[i].replies);
            }
        close(requests[1]);
        close(replies[0]);
        worker_main(s, requests[0], replies[1]);
    }
    close(requests[0]);
    close(replies[1]);
    worker->requests = requests[1];
    worker->replies = replies[0];
    worker->item = s->count;
    if (worker->pid > 0)
        return VS_OK;
    worker->pid = 0;
    close(requests[1]);
    close(replies[0]);
    return vs_fail(err, VS_E_IO, "no further process can be started: %s", strerror(errno));
}

/* Wait for its end; returns its status as of waitpid. */
static int worker_end(struct worker *worker, bool by_force)
{
    int status = 0;

    if (!worker->pid)
        return 0;
    if (by_force)
        kill(worker->pid, SIGKILL);
    close(worker->requests);
    close(worker->replies);
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
        ;
    worker->pid = 0;
    return status;
}

/* Give the worker the next item, if there is one. A worker that has ended is found when its reply is read. */
static void worker_request(struct session *s, struct worker *worker)
{
    worker->item = s->count;
    if (s->next == s->count)
        return;
    worker->item = s->next++;
    (void)!write_all(worker->requests, &s->items[worker->item], sizeof(s->items[worker->item]));
}

/* ---- results ---- */

static void ended_fill(int status, struct sto_result *out)
{
    memset(out, 0, sizeof(*out));
    out->is_refused = true;
    out->is_ended = true;
    if (WIFSIGNALED(status))
        snprintf(out->reason, sizeof(out->reason), "the run was ended by signal %d (%s)",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(out->reason, sizeof(out->reason), "the run ended its process with status %d",
                 WEXITSTATUS(status));
}

/* The worker has replied, or ended. */
static enum vs_status worker_read(struct session *s, struct worker *worker, struct vs_error *err)
{
    const size_t item = worker->item;
    enum vs_status st = VS_OK;

    if (!read_all(worker->replies, s->result, sizeof(*s->result))) {
        ended_fill(worker_end(worker, false), s->result);
        st = worker_start(s, worker, err);
    }
    if (!st)
        worker_request(s, worker);
    if (!st)
        st = s->pool->done(s->pool->user, s->items[item], s->result, err);
    return st;
}

static enum vs_status workers_read(struct session *s, struct vs_error *err)
{
    struct pollfd *fds = vs_calloc(s->pool->workers, sizeof(*fds));
    enum vs_status st = VS_OK;
    int ready;

    for (size_t i = 0; i < s->pool->workers; i++) {
        const bool has_item = s->workers[i].pid && s->workers[i].item < s->count;

        fds[i] = (struct pollfd){.fd = has_item ? s->workers[i].replies : -1, .events = POLLIN};
    }
    ready = poll(fds, (nfds_t)s->pool->workers, POLL_MS);
    for (size_t i = 0; i < s->pool->workers && ready > 0 && !st; i++)
        if (fds[i].revents)
            st = worker_read(s, &s->workers[i], err);
    vs_free(fds);
    return st;
}

static bool is_busy(const struct session *s)
{
    for (size_t i = 0; i < s->pool->workers; i++)
        if (s->workers[i].pid && s->workers[i].item < s->count)
            return true;
    return false;
}

enum vs_status wif_grid_pool_run(const struct wif_grid_pool *pool, const size_t *items,
                                 size_t count, struct vs_error *err)
{
    struct wif_grid_pool most = *pool;
    struct session s = {
        .pool = &most, .items = items, .count = count, .result = vs_alloc(sizeof(*s.result))};
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction before;
    enum vs_status st = VS_OK;

    VS_ASSERT(pool->workers >= 1 && pool->workers <= WIF_GRID_WORKERS_MAX);
    if (most.workers > count)
        most.workers = count;
    s.workers = vs_calloc(most.workers + 1, sizeof(*s.workers));
    sigaction(SIGPIPE, &ignore,
              &before); /* a worker that has ended is not an end of this process */
    for (size_t i = 0; i < most.workers && !st; i++) {
        st = worker_start(&s, &s.workers[i], err);
        if (!st)
            worker_request(&s, &s.workers[i]);
    }
    while (!st && is_busy(&s)) {
        st = workers_read(&s, err);
        if (!st && pool->goes_on && !pool->goes_on(pool->user))
            st = vs_fail(err, VS_E_STOPPED, "stopped");
    }
    for (size_t i = 0; i < most.workers; i++)
        worker_end(&s.workers[i], true);
    sigaction(SIGPIPE, &before, NULL);
    vs_free(s.workers);
    vs_free(s.result);
    return st;
}
