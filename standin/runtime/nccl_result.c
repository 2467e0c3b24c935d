/*
 * standin/runtime/nccl_result.c - see nccl_internal.h, and runtime.h: sti_ranks_wait, sti_results_settle.
 *
 * A collective sends at once what this rank has, and its result is kept as a task. The task is done when the host looks
 * at the result, or waits for the device: then the others are waited for, too, as on a GPU.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "standin/runtime/nccl_internal.h"
#include "standin/runtime/runtime.h"
#include "standin/runtime/unknown.h"

/* More than that nobody has looked at for long: the oldest are dropped. */
#define TASKS_MAX 4096u

/* own: what this rank sent, or NULL; number: of the collective, or of the message; is_busy: a thread works it out. */
struct task {
    struct sti_communicator *c;
    struct sti_collective what;
    uint64_t number;
    uint64_t launch;
    char *own;
    bool is_busy;
};

static struct {
    pthread_mutex_t lock;
    struct sti_communicator *communicators;
    struct task *tasks;
    size_t count, cap;
    int is_used;
} results = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_used(void)
{
    return __atomic_load_n(&results.is_used, __ATOMIC_RELAXED) != 0;
}

/* ---- a rank that is not there ---- */

/* Report it, and wait for nobody of this communicator any more. */
static int rank_lost(struct sti_communicator *c, int rank, enum sti_arrival how, const char *name,
                     uint64_t number)
{
    char text[512];

    if (__atomic_exchange_n(&c->is_lost, true, __ATOMIC_RELAXED))
        return STI_SUCCESS;
    if (how == STI_RANK_ENDED)
        snprintf(text, sizeof(text),
                 "rank %d of %d waited for rank %d, whose process has ended: %s, number %" PRIu64
                 " of its communicator",
                 c->rank, c->ranks, rank, name, number);
    else
        snprintf(text, sizeof(text),
                 "rank %d of %d waited %g s for rank %d, which did not come: %s, number %" PRIu64
                 " of its communicator",
                 c->rank, c->ranks, sti_exchange_limit(), rank, name, number);
    sti_log("rank", text);
    return STI_LAUNCH_TIMEOUT;
}

static bool is_gone(enum sti_arrival arrival)
{
    return arrival == STI_RANK_ENDED || arrival == STI_RANK_LATE;
}

/* ---- working a task out ---- */

static void data_free(char **data, int ranks)
{
    for (int i = 0; i < ranks; i++)
        vs_free(data[i]);
    vs_free(data);
}

/* What each rank has, `len` bytes; NULL: not known. */
static int data_receive(struct sti_communicator *c, const char *name, uint64_t number,
                        const void *own, size_t len, char **data)
{
    for (int rank = 0; rank < c->ranks; rank++) {
        size_t got = 0;
        enum sti_arrival arrival;

        if (rank == c->rank) {
            data[rank] = own ? vs_strndup(own, len) : NULL;
            continue;
        }
        arrival =
            sti_group_receive(c->group, rank, number,
                              !__atomic_load_n(&c->is_lost, __ATOMIC_RELAXED), &data[rank], &got);
        if (data[rank] && got != len) {
            vs_free(data[rank]);
            data[rank] = NULL;
        }
        if (is_gone(arrival))
            return rank_lost(c, rank, arrival, name, number);
    }
    return STI_SUCCESS;
}

static void reduced_put(const struct task *task, char **data, size_t from, size_t bytes)
{
    const int ranks = task->c->ranks;
    const size_t count = task->what.count;

    for (int i = 0; i < ranks; i++)
        if (!data[i])
            return;
    for (int i = 1; i < ranks; i++)
        if (!sti_reduce(data[0] + from, data[i] + from, count, task->what.type,
                        task->what.operation, i + 1 == ranks ? ranks : 0))
            return;
    sti_values_put_since(task->what.to, data[0] + from, bytes, task->launch);
}

/* part: which of each rank's parts, `each` bytes; those that are known, in order of the ranks */
static void gathered_put(const struct task *task, char **data, size_t part, size_t each)
{
    const size_t ranks = (size_t)task->c->ranks;
    char *all = vs_alloc(each * ranks + 1);
    bool is_known = true;

    for (size_t i = 0; i < ranks; i++) {
        if (data[i])
            memcpy(all + i * each, data[i] + part * each, each);
        is_known = is_known && data[i];
    }
    for (size_t i = 0; i < ranks && !is_known; i++)
        if (data[i])
            sti_values_put_since((char *)task->what.to + i * each, all + i * each, each,
                                 task->launch);
    if (is_known)
        sti_values_put_since(task->what.to, all, each * ranks, task->launch);
    vs_free(all);
}

/* is_done: it came, or never will. */
static int receive(const struct task *task, bool wait, bool *is_done)
{
    const struct sti_collective *what = &task->what;
    char *bytes = NULL;
    size_t len = 0;
    enum sti_arrival arrival;

    wait = wait && !__atomic_load_n(&task->c->is_lost, __ATOMIC_RELAXED);
    arrival = sti_group_receive_from(task->c->group, what->root, task->number, wait, &bytes, &len);
    if (arrival == STI_ARRIVED && len == what->bytes)
        sti_values_put_since(what->to, bytes, len, task->launch);
    vs_free(bytes);
    *is_done = arrival != STI_NOT_YET || __atomic_load_n(&task->c->is_lost, __ATOMIC_RELAXED);
    return is_gone(arrival) ? rank_lost(task->c, what->root, arrival, what->name, task->number)
                            : STI_SUCCESS;
}

static int collective_finish(const struct task *task)
{
    const struct sti_collective *what = &task->what;
    const size_t ranks = (size_t)task->c->ranks;
    char **data = vs_calloc(ranks, sizeof(*data));
    const int status =
        data_receive(task->c, what->name, task->number, task->own, what->bytes, data);

    if (!status) {
        switch (what->kind) {
        case STI_ALL_REDUCE:
        case STI_REDUCE:
            reduced_put(task, data, 0, what->bytes);
            break;
        case STI_REDUCE_SCATTER:
            reduced_put(task, data, (size_t)task->c->rank * (what->bytes / ranks),
                        what->bytes / ranks);
            break;
        case STI_BROADCAST:
            if (data[what->root])
                sti_values_put_since(what->to, data[what->root], what->bytes, task->launch);
            break;
        case STI_ALL_GATHER:
        case STI_GATHER:
            gathered_put(task, data, 0, what->bytes);
            break;
        case STI_ALL_TO_ALL:
            gathered_put(task, data, (size_t)task->c->rank, what->bytes / ranks);
            break;
        case STI_RECEIVE:
            break;
        }
    }
    data_free(data, task->c->ranks);
    return status;
}

/* ---- tasks ---- */

static size_t result_bytes(const struct task *task)
{
    const struct sti_collective *what = &task->what;
    const size_t ranks = (size_t)task->c->ranks;

    if (what->kind == STI_ALL_GATHER || what->kind == STI_GATHER)
        return what->bytes * ranks;
    return what->kind == STI_REDUCE_SCATTER ? what->bytes / ranks : what->bytes;
}

static bool overlaps(const struct task *task, const char *at, size_t len)
{
    const char *to = task->what.to;

    return at < to + result_bytes(task) && to < at + len;
}

static void task_remove(size_t i)
{
    vs_free(results.tasks[i].own);
    memmove(results.tasks + i, results.tasks + i + 1,
            (results.count - i - 1) * sizeof(*results.tasks));
    results.count--;
}

static size_t task_index(const struct sti_communicator *c, uint64_t number, const void *to)
{
    for (size_t i = 0; i < results.count; i++)
        if (results.tasks[i].c == c && results.tasks[i].number == number &&
            results.tasks[i].what.to == to)
            return i;
    return results.count;
}

/* Messages of a rank are received in order: the first task that receives the same ones as task `of`. */
static size_t task_before(size_t of)
{
    const struct task *last = &results.tasks[of];

    for (size_t i = 0; i < of; i++) {
        const struct task *task = &results.tasks[i];
        const bool is_message = task->what.kind == STI_RECEIVE;

        if (task->c == last->c && is_message == (last->what.kind == STI_RECEIVE) &&
            (!is_message || task->what.root == last->what.root))
            return i;
    }
    return of;
}

static void nap(void)
{
    const struct timespec time = {.tv_nsec = 200000};

    nanosleep(&time, NULL);
}

/*
 * Is task `i` next? One whose result is looked for; or, where nobody waits for messages, a message with none before it
 * that has not come: which one comes next was asked a moment ago, and it may have come since.
 */
static bool is_next(size_t i, const char *at, size_t len)
{
    if (at)
        return overlaps(&results.tasks[i], at, len);
    return results.tasks[i].what.kind != STI_RECEIVE || task_before(i) == i;
}

/*
 * Work out the tasks whose result overlaps [at, at + len), in order; at NULL: all but messages that have not come. The
 * lock is not held while others are waited for: this rank's other threads must be able to send.
 */
static int tasks_settle(const char *at, size_t len)
{
    int status = STI_SUCCESS;

    for (size_t i = 0;;) {
        struct task task;
        bool is_done = true;

        pthread_mutex_lock(&results.lock);
        while (i < results.count && !is_next(i, at, len))
            i++;
        if (i >= results.count) {
            pthread_mutex_unlock(&results.lock);
            return status;
        }
        if (at)
            i = task_before(i);
        if (results.tasks[i].is_busy) {
            pthread_mutex_unlock(&results.lock);
            nap();
            i = 0;
            continue;
        }
        results.tasks[i].is_busy = true;
        task = results.tasks[i];
        pthread_mutex_unlock(&results.lock);
        status = task.what.kind == STI_RECEIVE ? receive(&task, at != NULL, &is_done)
                                               : collective_finish(&task);
        pthread_mutex_lock(&results.lock);
        i = task_index(task.c, task.number, task.what.to);
        if (i < results.count && is_done)
            task_remove(i);
        else if (i < results.count)
            results.tasks[i++].is_busy = false;
        pthread_mutex_unlock(&results.lock);
        i = is_done ? 0 : i;
        if (status)
            return status;
    }
}

void sti_results_settle(const void *address, size_t len)
{
    if (is_used())
        (void)tasks_settle(address, len);
}

void sti_results_drop(const void *address, size_t len)
{
    if (!is_used())
        return;
    pthread_mutex_lock(&results.lock);
    for (size_t i = results.count; i-- > 0;)
        if (!results.tasks[i].is_busy && overlaps(&results.tasks[i], address, len))
            task_remove(i);
    pthread_mutex_unlock(&results.lock);
}

static void task_add(struct sti_communicator *c, const struct sti_collective *what, uint64_t number,
                     char *own)
{
    pthread_mutex_lock(&results.lock);
    if (results.count >= TASKS_MAX && !results.tasks[0].is_busy)
        task_remove(0);
    results.tasks = vs_grow(results.tasks, results.count, &results.cap, sizeof(*results.tasks));
    results.tasks[results.count++] =
        (struct task){c, *what, number, sti_values_launch(), own, false};
    pthread_mutex_unlock(&results.lock);
}

/* ---- collectives ---- */

static char *value_of(const void *from, size_t bytes)
{
    char *own;

    if (!from || !bytes || bytes > sti_values_limit())
        return NULL;
    sti_results_settle(from, bytes);
    own = vs_alloc(bytes + 1);
    if (sti_values_get(from, own, bytes))
        return own;
    vs_free(own);
    return NULL;
}

void sti_collective_begin(struct sti_communicator *c, const struct sti_collective *collective)
{
    char *own;
    uint64_t number;

    if (collective->kind == STI_RECEIVE) {
        number = __atomic_add_fetch(&c->received[collective->root], 1, __ATOMIC_RELAXED);
        if (collective->bytes <= sti_values_limit())
            task_add(c, collective, number, NULL);
        return;
    }
    own = collective->kind == STI_BROADCAST && collective->root != c->rank
              ? NULL
              : value_of(collective->from, collective->bytes);
    __atomic_store_n(&c->last, collective->name, __ATOMIC_RELAXED);
    number = __atomic_add_fetch(&c->number, 1, __ATOMIC_RELAXED);
    sti_group_send(c->group, number, own, collective->bytes);
    if (collective->to && collective->bytes && collective->bytes <= sti_values_limit())
        task_add(c, collective, number, own);
    else
        vs_free(own);
}

void sti_message_send(struct sti_communicator *c, const void *from, size_t bytes, int to)
{
    char *own = value_of(from, bytes);

    sti_group_send_to(c->group, to, __atomic_add_fetch(&c->sent[to], 1, __ATOMIC_RELAXED), own,
                      bytes);
    vs_free(own);
}

int sti_collective_exchange(struct sti_communicator *c, const char *name, const void *own,
                            size_t len, char **bytes)
{
    const uint64_t number = __atomic_add_fetch(&c->number, 1, __ATOMIC_RELAXED);

    __atomic_store_n(&c->last, name, __ATOMIC_RELAXED);
    sti_group_send(c->group, number, own, len);
    return data_receive(c, name, number, own, len, bytes);
}

/* ---- waiting for the device ---- */

void sti_communicator_add(struct sti_communicator *c)
{
    pthread_mutex_lock(&results.lock);
    c->next = results.communicators;
    results.communicators = c;
    pthread_mutex_unlock(&results.lock);
    __atomic_store_n(&results.is_used, 1, __ATOMIC_RELAXED);
}

void sti_communicator_remove(struct sti_communicator *c)
{
    struct sti_communicator **at = &results.communicators;

    pthread_mutex_lock(&results.lock);
    while (*at && *at != c)
        at = &(*at)->next;
    if (*at)
        *at = c->next;
    for (size_t i = results.count; i-- > 0;)
        if (results.tasks[i].c == c && !results.tasks[i].is_busy)
            task_remove(i);
    pthread_mutex_unlock(&results.lock);
}

/* A communicator whose last collective not all ranks are known to have got to; it stays while `users` is not 0. */
static struct sti_communicator *unfinished_take(uint64_t *number)
{
    struct sti_communicator *c;

    pthread_mutex_lock(&results.lock);
    for (c = results.communicators; c; c = c->next) {
        *number = __atomic_load_n(&c->number, __ATOMIC_RELAXED);
        if (c->waited < *number && !__atomic_load_n(&c->is_lost, __ATOMIC_RELAXED))
            break;
    }
    if (c)
        c->users++;
    pthread_mutex_unlock(&results.lock);
    return c;
}

int sti_ranks_wait(void)
{
    struct sti_communicator *c;
    uint64_t number;
    int status = STI_SUCCESS;

    if (!is_used())
        return STI_SUCCESS;
    while (!status && (c = unfinished_take(&number)) != NULL) {
        for (int rank = 0; rank < c->ranks && !status; rank++) {
            const enum sti_arrival arrival =
                rank == c->rank ? STI_NOT_KNOWN : sti_group_reached(c->group, rank, number, true);

            if (is_gone(arrival))
                status = rank_lost(c, rank, arrival, __atomic_load_n(&c->last, __ATOMIC_RELAXED),
                                   number);
        }
        pthread_mutex_lock(&results.lock);
        if (c->waited < number)
            c->waited = number;
        c->users--;
        pthread_mutex_unlock(&results.lock);
    }
    return status ? status : tasks_settle(NULL, 0);
}
