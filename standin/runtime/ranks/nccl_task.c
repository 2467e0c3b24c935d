/*
 * standin/runtime/ranks/nccl_task.c - see nccl_task.h.
 */
#include "standin/runtime/ranks/nccl_task.h"

#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "standin/runtime/runtime.h"

/* More than that nobody has looked at for long: the oldest are dropped. */
#define TASKS_MAX 4096u
/* So many are looked at now and then though nobody reads. */
#define TASKS_MANY 256u

/*
 * stamp      when it began
 * dropped    the number of the stamp from which on something else is where it puts its result
 * own        what this rank has, heap memory, or NULL; own_number: of the stamp when that was put there
 * exchanged  see sti_task_begin
 * is_sent    its data has been sent, if it sends any
 */
struct task {
    struct sti_communicator *c;
    struct sti_collective what;
    uint64_t number;
    struct sti_stamp stamp;
    uint64_t dropped;
    char *own;
    uint64_t own_number;
    char **exchanged;
    bool is_sent;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t is_unsent;
    struct task *tasks;
    size_t count, cap;
} list = {.lock = PTHREAD_MUTEX_INITIALIZER, .is_unsent = PTHREAD_COND_INITIALIZER};

void sti_tasks_lock(void)
{
    pthread_mutex_lock(&list.lock);
}

void sti_tasks_unlock(void)
{
    pthread_mutex_unlock(&list.lock);
}

void sti_tasks_sleep(void)
{
    while (sti_task_unsent(NULL) == STI_NO_TASK)
        pthread_cond_wait(&list.is_unsent, &list.lock);
}

/* ---- which tasks depend on which ---- */

static bool is_collective(const struct task *task)
{
    return task->what.kind < STI_SEND;
}

static size_t result_bytes(const struct task *task)
{
    const struct sti_collective *what = &task->what;
    const size_t ranks = task->c ? (size_t)task->c->ranks : 1;

    if (what->kind == STI_ALL_GATHER || what->kind == STI_GATHER)
        return what->bytes * ranks;
    return what->kind == STI_REDUCE_SCATTER ? what->bytes / ranks : what->bytes;
}

static bool overlaps(const struct task *task, const char *at, size_t len)
{
    const char *to = task->what.to;

    return to && at < to + result_bytes(task) && to < at + len;
}

/* Does a read of these bytes at `read` see what the task puts there? */
static bool feeds(const struct task *task, const char *at, size_t len, struct sti_stamp read)
{
    return task->stamp.number < read.number && read.number < task->dropped &&
           overlaps(task, at, len) && sti_values_last(task->stamp, read);
}

/* The last task before the `end`-th that feeds such a read. */
static size_t feeder_before(size_t end, const char *at, size_t len, struct sti_stamp read)
{
    while (end-- > 0)
        if (feeds(&list.tasks[end], at, len, read))
            return end;
    return STI_NO_TASK;
}

/* The last task before task `of` that must send first: each rank sends its collectives in order. */
static size_t sender_before(size_t of)
{
    for (size_t i = of; i-- > 0;)
        if (list.tasks[i].c == list.tasks[of].c && is_collective(&list.tasks[i]) &&
            !list.tasks[i].is_sent)
            return i;
    return STI_NO_TASK;
}

/* The last task before task `of` that must receive first: the data of a rank is received in order. */
static size_t receiver_before(size_t of)
{
    const struct task *last = &list.tasks[of];
    const bool is_message = last->what.kind == STI_RECEIVE;

    for (size_t i = of; i-- > 0;) {
        const struct task *task = &list.tasks[i];

        if (task->c != last->c)
            continue;
        if (is_message ? task->what.kind == STI_RECEIVE && task->what.root == last->what.root
                       : is_collective(task))
            return i;
    }
    return STI_NO_TASK;
}

/* The task before task `i` that it waits for now. */
static size_t task_before(size_t i)
{
    const struct task *task = &list.tasks[i];
    size_t before = STI_NO_TASK;

    if (!task->is_sent) {
        if (task->what.from && !task->exchanged)
            before = feeder_before(i, task->what.from, task->what.bytes, task->stamp);
        return before == STI_NO_TASK && is_collective(task) ? sender_before(i) : before;
    }
    return is_collective(task) || task->what.kind == STI_RECEIVE ? receiver_before(i) : before;
}

size_t sti_task_of_read(const char *at, size_t len)
{
    return feeder_before(list.count, at, len, sti_values_stamp());
}

size_t sti_task_unsent(const struct sti_communicator *c)
{
    for (size_t i = 0; i < list.count; i++)
        if (!list.tasks[i].is_sent && list.tasks[i].c && (!c || list.tasks[i].c == c))
            return i;
    return STI_NO_TASK;
}

size_t sti_task_of_exchange(char *const *exchanged)
{
    for (size_t i = 0; i < list.count; i++)
        if (list.tasks[i].exchanged == exchanged)
            return i;
    return STI_NO_TASK;
}

static bool is_lost(const struct sti_communicator *c)
{
    return __atomic_load_n(&c->is_lost, __ATOMIC_RELAXED);
}

/* A rank whose data of a collective is missing; -1: all have sent, or nobody is waited for. */
static int missing_of(const struct task *task)
{
    for (int rank = 0; rank < task->c->ranks && !is_lost(task->c); rank++)
        if (rank != task->c->rank && sti_group_sent(task->c->group, rank) < task->number)
            return rank;
    return -1;
}

struct sti_missing sti_task_missing(size_t i)
{
    struct sti_missing missing = {.rank = -1};
    const struct task *task;

    for (size_t before = task_before(i); before != STI_NO_TASK; before = task_before(i))
        i = before;
    task = &list.tasks[i];
    if (task->is_sent && task->c)
        missing.rank = task->what.kind == STI_RECEIVE ? task->what.root : missing_of(task);
    if (missing.rank >= 0) {
        missing.c = task->c;
        missing.name = task->what.name;
        missing.number = task->number;
    }
    return missing;
}

/* ---- results ---- */

/* The task puts `len` bytes at `at`: for the host, and for the tasks that it feeds. */
static void put(const struct task *task, char *at, const char *bytes, size_t len)
{
    if (task->dropped == UINT64_MAX)
        sti_values_put_at(at, bytes, len, task->stamp);
    for (size_t i = 0; i < list.count; i++) {
        struct task *fed = &list.tasks[i];
        const char *from = fed->what.from;

        if (fed->is_sent || !from || fed->exchanged || from < at ||
            from + fed->what.bytes > at + len || fed->own_number > task->stamp.number ||
            !feeds(task, from, fed->what.bytes, fed->stamp))
            continue;
        vs_free(fed->own);
        fed->own = vs_strndup(bytes + (from - at), fed->what.bytes);
        fed->own_number = task->stamp.number;
    }
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
    put(task, task->what.to, data[0] + from, bytes);
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
            put(task, (char *)task->what.to + i * each, all + i * each, each);
    if (is_known)
        put(task, task->what.to, all, each * ranks);
    vs_free(all);
}

/* data: what each rank has; those of an exchange are taken out. */
static void collected_put(const struct task *task, char **data)
{
    const struct sti_collective *what = &task->what;
    const size_t ranks = (size_t)task->c->ranks;

    switch (what->kind) {
    case STI_ALL_REDUCE:
    case STI_REDUCE:
        reduced_put(task, data, 0, what->bytes);
        break;
    case STI_REDUCE_SCATTER:
        reduced_put(task, data, (size_t)task->c->rank * (what->bytes / ranks), what->bytes / ranks);
        break;
    case STI_BROADCAST:
        if (data[what->root])
            put(task, what->to, data[what->root], what->bytes);
        break;
    case STI_ALL_GATHER:
    case STI_GATHER:
        gathered_put(task, data, 0, what->bytes);
        break;
    case STI_ALL_TO_ALL:
        gathered_put(task, data, (size_t)task->c->rank, what->bytes / ranks);
        break;
    case STI_EXCHANGE:
        for (size_t i = 0; i < ranks; i++) {
            task->exchanged[i] = data[i];
            data[i] = NULL;
        }
        break;
    case STI_SEND:
    case STI_RECEIVE:
    case STI_COPY:
        break;
    }
}

static bool collective_finish(const struct task *task)
{
    struct sti_communicator *c = task->c;
    char **data;

    if (missing_of(task) >= 0)
        return false;
    data = vs_calloc((size_t)c->ranks, sizeof(*data));
    for (int rank = 0; rank < c->ranks; rank++) {
        size_t len = task->what.bytes;

        if (rank == c->rank)
            data[rank] = task->own ? vs_strndup(task->own, len) : NULL;
        else
            (void)sti_group_receive(c->group, rank, task->number, &data[rank], &len);
        if (data[rank] && len != task->what.bytes) {
            vs_free(data[rank]);
            data[rank] = NULL;
        }
    }
    collected_put(task, data);
    for (int rank = 0; rank < c->ranks; rank++)
        vs_free(data[rank]);
    vs_free(data);
    return true;
}

static bool message_finish(const struct task *task)
{
    const struct sti_collective *what = &task->what;
    char *bytes = NULL;
    size_t len = 0;
    const enum sti_arrival arrival =
        sti_group_receive_from(task->c->group, what->root, task->number, &bytes, &len);

    if (arrival == STI_ARRIVED && len == what->bytes)
        put(task, what->to, bytes, len);
    vs_free(bytes);
    return arrival != STI_NOT_YET || is_lost(task->c);
}

/* False: others have not sent what it needs. */
static bool finish(const struct task *task)
{
    if (task->what.kind == STI_SEND)
        return true;
    if (task->what.kind == STI_RECEIVE)
        return message_finish(task);
    if (task->what.kind != STI_COPY)
        return (!task->what.to && !task->exchanged) || collective_finish(task);
    if (task->own)
        put(task, task->what.to, task->own, task->what.bytes);
    return true;
}

/* ---- the list ---- */

static void task_send(struct task *task)
{
    if (task->what.kind == STI_SEND)
        sti_group_send_to(task->c->group, task->what.root, task->number, task->own,
                          task->what.bytes);
    else if (is_collective(task))
        sti_group_send(task->c->group, task->number, task->own, task->what.bytes);
    task->is_sent = true;
}

static void task_remove(size_t i)
{
    vs_free(list.tasks[i].own);
    memmove(list.tasks + i, list.tasks + i + 1, (list.count - i - 1) * sizeof(*list.tasks));
    list.count--;
}

/* Do what can be done of task `i`; true: it is done for good, and has been removed. */
static bool task_advance(size_t i)
{
    struct task *task = &list.tasks[i];

    if (!task->is_sent && task_before(i) == STI_NO_TASK)
        task_send(task);
    if (!task->is_sent || task_before(i) != STI_NO_TASK || !finish(task))
        return false;
    task_remove(i);
    return true;
}

size_t sti_tasks_advance(void)
{
    size_t done = 0;

    for (size_t i = 0; i < list.count;) /* a task depends on earlier ones alone */
        if (task_advance(i))
            done++;
        else
            i++;
    return done;
}

/* The oldest gives up; what it has not sent is not known to others. */
static void list_reserve(void)
{
    size_t oldest = 0;

    if (list.count % TASKS_MANY == TASKS_MANY - 1)
        (void)sti_tasks_advance();
    if (list.count < TASKS_MAX)
        return;
    while (list.tasks[oldest].exchanged)
        oldest++;
    if (!list.tasks[oldest].is_sent)
        task_send(&list.tasks[oldest]);
    task_remove(oldest);
}

/* What is at its source now. */
static void own_read(struct task *task)
{
    const struct sti_collective *what = &task->what;

    if (task->exchanged) {
        task->own = vs_strndup(what->from, what->bytes);
        return;
    }
    task->own = vs_alloc(what->bytes + 1);
    task->own_number = sti_values_get_at(what->from, task->own, what->bytes, task->stamp);
    if (!task->own_number) {
        vs_free(task->own);
        task->own = NULL;
    }
}

bool sti_task_begin(struct sti_communicator *c, const struct sti_collective *what, uint64_t number,
                    char **exchanged)
{
    struct task task = {c, *what,     number, sti_values_stamp(), UINT64_MAX, NULL,
                        0, exchanged, false};
    const bool is_small = what->bytes && (exchanged || what->bytes <= sti_values_limit());
    bool is_sent;

    if (!is_small || (what->kind == STI_BROADCAST && what->root != c->rank))
        task.what.from = NULL;
    if (!is_small)
        task.what.to = NULL;
    if (what->kind == STI_RECEIVE && !is_small)
        return true;
    task.is_sent = what->kind == STI_RECEIVE;
    if (task.what.from)
        own_read(&task);
    list_reserve();
    list.tasks = vs_grow(list.tasks, list.count, &list.cap, sizeof(*list.tasks));
    list.tasks[list.count++] = task;
    if (!task.is_sent && task_before(list.count - 1) == STI_NO_TASK)
        task_send(&list.tasks[list.count - 1]);
    is_sent = list.tasks[list.count - 1].is_sent;
    if (!is_sent)
        pthread_cond_signal(&list.is_unsent);
    else if (!task.what.to && !exchanged)
        task_remove(list.count - 1);
    return is_sent;
}

/* Has task `of` still to give something to a later one? */
static bool feeds_any(size_t of)
{
    for (size_t i = of + 1; i < list.count; i++) {
        const struct task *fed = &list.tasks[i];

        if (!fed->is_sent && fed->what.from && !fed->exchanged &&
            feeds(&list.tasks[of], fed->what.from, fed->what.bytes, fed->stamp))
            return true;
    }
    return false;
}

void sti_tasks_drop(const char *at, size_t len)
{
    const struct sti_stamp now = sti_values_stamp();

    for (size_t i = list.count; i-- > 0;) {
        struct task *task = &list.tasks[i];

        if (!overlaps(task, at, len))
            continue;
        if (task->dropped == UINT64_MAX)
            task->dropped = now.number;
        if (task->is_sent && !feeds_any(i))
            task_remove(i);
    }
}

void sti_tasks_forget(const struct sti_communicator *c)
{
    for (size_t i = list.count; i-- > 0;)
        if (list.tasks[i].c == c)
            task_remove(i);
}
