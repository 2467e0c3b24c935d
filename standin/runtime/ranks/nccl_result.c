/*
 * standin/runtime/ranks/nccl_result.c - see nccl_internal.h, and runtime.h: what the host waits for.
 *
 * A collective sends what this rank has, at once or when it is known, and its result is a task (nccl_task.h). The
 * result is waited for when the host looks at it; who waits for the device waits for the other ranks, too, as on a GPU.
 */
#include <pthread.h>

#include "standin/runtime/ranks/nccl_internal.h"
#include "standin/runtime/ranks/nccl_task.h"
#include "standin/runtime/ranks/nccl_wait.h"
#include "standin/runtime/runtime.h"

/* Guarded by the lock of the tasks. A communicator that others may wait for stays for ever, among those that ended. */
static struct {
    struct sti_communicator *communicators;
    struct sti_communicator *ended;
    int is_used;
} results;

static bool is_used(void)
{
    return __atomic_load_n(&results.is_used, __ATOMIC_RELAXED) != 0;
}

/* ---- collectives ---- */

/* A collective, or a message: the next one of this rank. The caller has the lock. */
static bool task_begin(struct sti_communicator *c, const struct sti_collective *what,
                       char **exchanged)
{
    if (what->kind == STI_SEND)
        return sti_task_begin(c, what, ++c->sent[what->root], NULL);
    if (what->kind == STI_RECEIVE)
        return sti_task_begin(c, what, ++c->received[what->root], NULL);
    c->last = what->name;
    sti_group_reach(c->group, ++c->number);
    return sti_task_begin(c, what, c->number, exchanged);
}

void sti_collective_begin(struct sti_communicator *c, const struct sti_collective *collective)
{
    bool is_sent;

    sti_tasks_lock();
    is_sent = task_begin(c, collective, NULL);
    sti_tasks_unlock();
    if (!is_sent)
        sti_wait_in_thread();
}

void sti_message_send(struct sti_communicator *c, const void *from, size_t bytes, int to)
{
    const struct sti_collective what = {
        .kind = STI_SEND, .name = "ncclSend", .from = from, .bytes = bytes, .root = to};

    sti_collective_begin(c, &what);
}

static bool is_exchanged(void *user, struct sti_missing *missing)
{
    const size_t task = sti_task_of_exchange(user);

    if (task != STI_NO_TASK)
        *missing = sti_task_missing(task);
    return task == STI_NO_TASK;
}

int sti_collective_exchange(struct sti_communicator *c, const char *name, const void *own,
                            size_t len, char **bytes)
{
    const struct sti_collective what = {
        .kind = STI_EXCHANGE, .name = name, .from = own, .bytes = len};

    sti_tasks_lock();
    (void)task_begin(c, &what, bytes);
    sti_tasks_unlock();
    return sti_wait(is_exchanged, bytes);
}

bool sti_results_copy(void *to, const void *from, size_t len)
{
    const struct sti_collective what = {.kind = STI_COPY, .from = from, .to = to, .bytes = len};
    bool is_later;

    if (!is_used())
        return false;
    sti_tasks_lock();
    sti_tasks_drop(to, len);
    is_later = len <= sti_values_limit() && sti_task_of_read(from, len) != STI_NO_TASK;
    if (is_later)
        (void)sti_task_begin(NULL, &what, 0, NULL);
    sti_tasks_unlock();
    return is_later;
}

void sti_results_drop(const void *address, size_t len)
{
    if (!is_used())
        return;
    sti_tasks_lock();
    sti_tasks_drop(address, len);
    sti_tasks_unlock();
}

/* ---- waiting ---- */

struct read {
    const char *at;
    size_t len;
};

static bool is_settled(void *user, struct sti_missing *missing)
{
    const struct read *read = user;
    const size_t task = sti_task_of_read(read->at, read->len);

    if (task != STI_NO_TASK)
        *missing = sti_task_missing(task);
    return task == STI_NO_TASK;
}

void sti_results_settle(const void *address, size_t len)
{
    struct read read = {address, len};
    bool is_there;

    if (!is_used())
        return;
    sti_tasks_lock();
    is_there = sti_task_of_read(address, len) == STI_NO_TASK;
    sti_tasks_unlock();
    if (!is_there)
        (void)sti_wait(is_settled, &read);
}

/* Has everybody got to the collective of this number? */
struct goal {
    struct sti_communicator *c;
    uint64_t number;
};

static bool is_reached(void *user, struct sti_missing *missing)
{
    const struct goal *goal = user;
    struct sti_communicator *c = goal->c;

    for (int rank = 0; rank < c->ranks && !__atomic_load_n(&c->is_lost, __ATOMIC_RELAXED); rank++)
        if (rank != c->rank && sti_group_reached(c->group, rank) < goal->number) {
            *missing = (struct sti_missing){c, rank, c->last, goal->number};
            return false;
        }
    if (c->waited < goal->number)
        c->waited = goal->number;
    return true;
}

/* A communicator whose last collective not all ranks are known to have got to. */
static bool unfinished_find(struct goal *out)
{
    struct sti_communicator *c;

    sti_tasks_lock();
    for (c = results.communicators; c; c = c->next)
        if (c->waited < c->number && !__atomic_load_n(&c->is_lost, __ATOMIC_RELAXED))
            break;
    if (c)
        *out = (struct goal){c, c->number};
    sti_tasks_unlock();
    return c != NULL;
}

int sti_ranks_wait(void)
{
    struct goal goal;
    int status = STI_SUCCESS;

    while (!status && is_used() && unfinished_find(&goal))
        status = sti_wait(is_reached, &goal);
    return status;
}

/* ---- communicators ---- */

void sti_communicator_add(struct sti_communicator *c)
{
    sti_tasks_lock();
    c->next = results.communicators;
    results.communicators = c;
    sti_tasks_unlock();
    __atomic_store_n(&results.is_used, 1, __ATOMIC_RELAXED);
}

static bool is_sent(void *user, struct sti_missing *missing)
{
    const size_t task = sti_task_unsent(user);

    if (task != STI_NO_TASK)
        *missing = sti_task_missing(task);
    return task == STI_NO_TASK;
}

void sti_communicator_remove(struct sti_communicator *c)
{
    struct sti_communicator **at = &results.communicators;

    (void)sti_wait(is_sent, c);
    sti_tasks_lock();
    while (*at && *at != c)
        at = &(*at)->next;
    if (*at)
        *at = c->next;
    c->next = results.ended;
    results.ended = c;
    __atomic_store_n(&c->is_lost, true, __ATOMIC_RELAXED);
    sti_tasks_forget(c);
    sti_tasks_unlock();
}
