/*
 * tracer/cupti/cupti_work.c - see cupti_work.h.
 *
 * Must not know:  ops beyond their numbers.
 * Invariant:      calls are stored in a window indexed by the low bits of their correlation id, so a call is forgotten
 *                 when one `window` later arrives.
 */
#include "tracer/cupti/cupti_work.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tracer/intern.h"

#define WINDOW (1u << 18)
/* Name of the task for all further kernels; a net has some hundred kernels. */
#define OTHERS "others"

struct call {
    uint64_t op_seq;
    uint32_t correlation;
    uint32_t call;
    bool is_driver;
    bool has_call;
    bool has_op;
};

/*
 * A record whose call has not arrived; task is 0 for memory. What is known of the call is copied into the record,
 * because the call may be forgotten.
 */
struct waiting {
    struct cupti_record record;
    uint32_t task;
    bool has_call;
    bool has_op;
};

struct cupti_work {
    struct call *calls;
    uint32_t mask;
    uint32_t newest; /* highest correlation id of a record so far */
    struct waiting *waiting;
    size_t waiting_count;
    size_t waiting_cap;
    struct trc_intern *intern;    /* names; their ids are those of the tasks */
    struct trc_intern *libraries; /* names of libraries that allocated memory */
    struct sto_task *tasks;       /* not returned by cupti_work_drain() yet */
    size_t task_count;
    size_t task_cap;
    struct sto_work *work; /* not returned by cupti_work_drain() yet */
    size_t work_count;
    size_t work_cap;
    uint32_t others; /* task of all kernels beyond STO_TASKS_MAX */
    cupti_memory_fn *memory;
    void *user;
    struct cupti_work_counts counts;
};

struct cupti_work *cupti_work_new(size_t window, cupti_memory_fn *memory, void *user)
{
    struct cupti_work *w = vs_calloc(1, sizeof(*w));

    if (!window)
        window = WINDOW;
    VS_ASSERT((window & (window - 1)) == 0);
    w->calls = vs_calloc(window, sizeof(*w->calls));
    w->mask = (uint32_t)(window - 1);
    w->intern = trc_intern_new();
    w->libraries = trc_intern_new();
    w->memory = memory;
    w->user = user;
    return w;
}

void cupti_work_free(struct cupti_work *w)
{
    if (!w)
        return;
    trc_intern_free(w->intern);
    trc_intern_free(w->libraries);
    vs_free(w->calls);
    vs_free(w->waiting);
    vs_free(w->tasks);
    vs_free(w->work);
    vs_free(w);
}

const struct cupti_work_counts *cupti_work_counts(const struct cupti_work *w)
{
    return &w->counts;
}

/* ---- calls ---- */

/* Correlation ids wrap around. */
static bool is_newer(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) > 0;
}

static void see(struct cupti_work *w, uint32_t correlation)
{
    if (w->counts.records == 1 || is_newer(correlation, w->newest))
        w->newest = correlation;
}

/* The slot of a call, cleared if an older call had it; NULL if a newer call has it. */
static struct call *call_at(struct cupti_work *w, uint32_t correlation)
{
    struct call *c = &w->calls[correlation & w->mask];
    bool is_used = c->has_call || c->has_op;

    if (is_used && c->correlation == correlation)
        return c;
    if (is_used && is_newer(c->correlation, correlation))
        return NULL;
    *c = (struct call){.correlation = correlation};
    return c;
}

static void take_call(struct cupti_work *w, const struct cupti_record *r)
{
    struct call *c = call_at(w, r->correlation);

    if (!c || (c->has_call && !c->is_driver))
        return; /* the runtime function is what the program called; the driver function is its implementation */
    c->call = r->call;
    c->is_driver = r->is_driver;
    c->has_call = true;
}

static void take_tie(struct cupti_work *w, const struct cupti_record *r)
{
    struct call *c = call_at(w, r->correlation);

    if (!c)
        return;
    c->op_seq = r->op_seq;
    c->has_op = true;
}

/* ---- device tasks ---- */

static enum sto_task_kind kind_of(enum cupti_what what)
{
    return what == CUPTI_KERNEL ? STO_TASK_KERNEL
           : what == CUPTI_COPY ? STO_TASK_COPY
                                : STO_TASK_FILL;
}

static void task_add(struct cupti_work *w, uint32_t id, enum sto_task_kind kind, const char *name)
{
    w->tasks = vs_grow(w->tasks, w->task_count, &w->task_cap, sizeof(*w->tasks));
    w->tasks[w->task_count++] = (struct sto_task){.id = id, .kind = kind, .name = name};
}

/* The id of a task. Kernel symbols contain no spaces, so names such as "to the device" are unambiguous. */
static uint32_t task_of(struct cupti_work *w, const struct cupti_record *r)
{
    const char *new_name = NULL;
    uint32_t id;

    if (w->others)
        return w->others;
    id = trc_intern_string(w->intern, r->name && *r->name ? r->name : "without a name", &new_name);
    if (new_name && id == STO_TASKS_MAX - 1) {
        w->others = id;
        new_name = OTHERS;
    }
    if (new_name)
        task_add(w, id, kind_of(r->what), new_name);
    return id;
}

static void count(struct cupti_work *w, const struct cupti_record *r)
{
    w->counts.kernels += r->what == CUPTI_KERNEL;
    w->counts.copies += r->what == CUPTI_COPY;
    w->counts.fills += r->what == CUPTI_FILL;
    w->counts.untimed += !r->start_ns && !r->end_ns;
    if (r->end_ns > r->start_ns)
        w->counts.device_ns += r->end_ns - r->start_ns;
}

static void work_add(struct cupti_work *w, const struct cupti_record *r, uint32_t task)
{
    uint64_t ns = r->end_ns > r->start_ns ? r->end_ns - r->start_ns : 0;
    struct sto_work *last = w->work_count ? &w->work[w->work_count - 1] : NULL;

    if (last && last->op_seq == r->op_seq && last->task == task) {
        last->count++;
        last->ns += ns;
        last->bytes += r->bytes;
        return;
    }
    w->work = vs_grow(w->work, w->work_count, &w->work_cap, sizeof(*w->work));
    w->work[w->work_count++] = (struct sto_work){r->op_seq, task, 1, ns, r->bytes};
}

static void call_apply(const struct cupti_work *w, struct waiting *x)
{
    const struct call *c = &w->calls[x->record.correlation & w->mask];

    if (c->correlation != x->record.correlation)
        return;
    if (c->has_op)
        x->record.op_seq = c->op_seq;
    if (c->has_call) {
        x->record.call = c->call;
        x->record.is_driver = c->is_driver;
    }
    x->has_op |= c->has_op;
    x->has_call |= c->has_call;
}

/*
 * Resolve the record if its call is known; for memory the call's name must be known, too. is_last: nothing more will
 * arrive, so use what is known.
 */
static bool try_settle(struct cupti_work *w, struct waiting *x, bool is_last)
{
    bool is_late = is_last || w->newest - x->record.correlation > w->mask;

    call_apply(w, x);
    if (!is_late && !(x->has_op && (x->task || x->has_call)))
        return false;
    w->counts.untied += !x->has_op && !x->has_call;
    if (x->task)
        work_add(w, &x->record, x->task);
    else
        w->memory(w->user, &x->record);
    return true;
}

void cupti_work_settle(struct cupti_work *w, bool is_last)
{
    size_t kept = 0;

    for (size_t i = 0; i < w->waiting_count; i++)
        if (!try_settle(w, &w->waiting[i], is_last))
            w->waiting[kept++] = w->waiting[i];
    w->waiting_count = kept;
}

static void wait_for_call(struct cupti_work *w, const struct cupti_record *r, uint32_t task)
{
    struct waiting *x;

    w->waiting = vs_grow(w->waiting, w->waiting_count, &w->waiting_cap, sizeof(*w->waiting));
    x = &w->waiting[w->waiting_count++];
    *x = (struct waiting){.record = *r, .task = task};
    /* the name is valid only during the call */
    x->record.name = task || !r->name ? NULL : trc_intern_text(w->libraries, r->name);
}

void cupti_work_take(struct cupti_work *w, const struct cupti_record *r)
{
    w->counts.records++;
    see(w, r->correlation);
    switch (r->what) {
    case CUPTI_KERNEL:
    case CUPTI_COPY:
    case CUPTI_FILL:
        count(w, r);
        wait_for_call(w, r, task_of(w, r));
        return;
    case CUPTI_TAKEN:
    case CUPTI_GIVEN:
    case CUPTI_POOL:
        wait_for_call(w, r, 0);
        return;
    case CUPTI_CALL:
        take_call(w, r);
        return;
    case CUPTI_TIE:
        take_tie(w, r);
        return;
    }
}

/* ---- output ---- */

static int by_op(const void *a, const void *b)
{
    const struct sto_work *x = a;
    const struct sto_work *y = b;

    if (x->op_seq != y->op_seq)
        return x->op_seq < y->op_seq ? -1 : 1;
    return x->task < y->task ? -1 : x->task > y->task;
}

/* Merge rows of the same op and task. */
static size_t merge(struct sto_work *work, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (kept && by_op(&work[kept - 1], &work[i]) == 0) {
            work[kept - 1].count += work[i].count;
            work[kept - 1].ns += work[i].ns;
            work[kept - 1].bytes += work[i].bytes;
        } else {
            work[kept++] = work[i];
        }
    }
    return kept;
}

void cupti_work_drain(struct cupti_work *w, struct sto_task **tasks, size_t *task_count,
                      struct sto_work **work, size_t *work_count)
{
    if (w->work_count)
        qsort(w->work, w->work_count, sizeof(*w->work), by_op);
    *tasks = w->tasks;
    *task_count = w->task_count;
    *work = w->work;
    *work_count = merge(w->work, w->work_count);
    w->tasks = NULL;
    w->work = NULL;
    w->task_count = w->task_cap = 0;
    w->work_count = w->work_cap = 0;
}
