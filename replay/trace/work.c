/*
 * replay/trace/work.c - see work.h.
 *
 * Must not know:  CUPTI.
 * Invariant:      rows of work are ordered by op, so one pass over events and rows together finds those of each op.
 */
#include "replay/trace/work.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "replay/trace/trace_internal.h"

/* The state of reading the tables. */
struct loading {
    struct rpl_work *out;
    size_t time_cap;
    size_t task_cap;
    size_t foreign_cap;
    /* Op_begin events that rows of foreign memory refer to. */
    uint64_t *foreign_ops;
    size_t foreign_op_cap;
    struct sto_work *rows;
    size_t row_count;
    size_t row_cap;
    bool is_damaged;
};

static void on_task(void *user, const struct sto_task *task)
{
    struct loading *l = user;
    struct rpl_work *out = l->out;

    /* Ids count from 1 without gaps. */
    l->is_damaged |= task->id != out->task_count + 1;
    out->tasks = vs_grow(out->tasks, out->task_count, &l->task_cap, sizeof(*out->tasks));
    out->tasks[out->task_count++] =
        (struct rpl_task){.kind = task->kind, .name = vs_strdup(task->name)};
}

static void time_add(struct loading *l, const struct sto_work *work)
{
    struct rpl_work *out = l->out;

    if (out->time_count && out->times[out->time_count - 1].seq == work->op_seq) {
        out->times[out->time_count - 1].ns += work->ns;
        return;
    }
    out->times = vs_grow(out->times, out->time_count, &l->time_cap, sizeof(*out->times));
    out->times[out->time_count++] = (struct rpl_op_time){work->op_seq, work->ns};
}

static void on_work(void *user, const struct sto_work *work)
{
    struct loading *l = user;
    struct rpl_task *task;

    if (!work->task || work->task > l->out->task_count) {
        l->is_damaged = true;
        return;
    }
    task = &l->out->tasks[work->task - 1];
    task->count += work->count;
    task->ns += work->ns;
    task->bytes += work->bytes;
    l->out->device_ns += work->ns;
    if (work->op_seq)
        time_add(l, work);
    else
        l->out->outside_ns += work->ns;
    l->rows = vs_grow(l->rows, l->row_count, &l->row_cap, sizeof(*l->rows));
    l->rows[l->row_count++] = *work;
}

static void on_foreign(void *user, const struct sto_foreign *foreign)
{
    struct loading *l = user;
    struct rpl_work *out = l->out;

    l->foreign_ops =
        vs_grow(l->foreign_ops, out->foreign_count, &l->foreign_op_cap, sizeof(*l->foreign_ops));
    l->foreign_ops[out->foreign_count] = foreign->op_seq;
    out->foreign =
        vs_grow(out->foreign, out->foreign_count, &l->foreign_cap, sizeof(*out->foreign));
    out->foreign[out->foreign_count++] =
        (struct rpl_foreign){.api = vs_strdup(foreign->api),
                             .library = vs_strdup(foreign->library),
                             .allocs = foreign->allocs,
                             .alloc_bytes = foreign->alloc_bytes,
                             .frees = foreign->frees,
                             .free_bytes = foreign->free_bytes};
}

static uint64_t number(const struct rpl_trace *trace, const char *key)
{
    uint64_t value = 0;

    return rpl_trace_meta_uint(trace, key, &value) ? value : 0;
}

static void counts_fill(struct rpl_work *out, const struct rpl_trace *trace)
{
    const char *device = rpl_trace_meta(trace, "device");
    uint64_t records;

    out->is_measured = rpl_trace_meta_uint(trace, "cupti_records", &records);
    if (!out->is_measured && device && strcmp(device, "cuda") == 0 && !rpl_trace_is_imported(trace))
        out->why = rpl_trace_meta(trace, "cupti");
    out->lost = number(trace, "cupti_dropped") + number(trace, "cupti_unknown") +
                number(trace, "cupti_cut");
    out->untimed = number(trace, "cupti_untimed");
    out->untied = number(trace, "cupti_untied");
    out->memory = number(trace, "cupti_memory");
    out->unseen = number(trace, "cupti_unseen");
    out->pools = number(trace, "cupti_pools");
}

/* ---- by op ---- */

/* The row of an op in one role, added if necessary; a net has some dozens, so a linear search is enough. */
static struct rpl_op_work *op_row(struct rpl_work *out, size_t *cap, uint32_t name, uint8_t role)
{
    for (size_t i = 0; i < out->op_count; i++)
        if (out->ops[i].name == name && out->ops[i].role == role)
            return &out->ops[i];
    out->ops = vs_grow(out->ops, out->op_count, cap, sizeof(*out->ops));
    out->ops[out->op_count] = (struct rpl_op_work){.name = name, .role = role};
    return &out->ops[out->op_count++];
}

static void op_add(struct rpl_work *out, size_t *cap, const struct rpl_trace *trace,
                   const struct vs_event *event, const struct sto_work *rows, size_t count)
{
    struct rpl_op_work *row = op_row(out, cap, (uint32_t)event->op.name, event->op.role);
    uint32_t phase = rpl_trace_location(trace, event->location)->phase;

    row->calls++;
    for (size_t i = 0; i < count; i++) {
        row->tasks += rows[i].count;
        row->ns += rows[i].ns;
        if (phase < VS_PHASE_COUNT)
            out->by_phase[phase] += rows[i].ns;
        if (event->op.role == VS_OP_RECOMPUTE)
            out->recompute_ns += rows[i].ns;
    }
}

static enum vs_status ops_fill(struct loading *l, struct rpl_trace *trace, struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    uint64_t events = rpl_trace_event_count(trace);
    const struct vs_event *event;
    enum vs_status st = VS_OK;
    size_t cap = 0;
    size_t at = 0;

    while (at < l->row_count && !l->rows[at].op_seq)
        at++;
    if (events)
        rpl_scan_init(scan, trace, 1, events);
    while (events && (event = rpl_scan_next(scan, err)) != NULL) {
        size_t first;

        if (event->kind != VS_EV_OP_BEGIN)
            continue;
        while (at < l->row_count && l->rows[at].op_seq < scan->seq)
            at++;
        for (first = at; at < l->row_count && l->rows[at].op_seq == scan->seq;)
            at++;
        op_add(l->out, &cap, trace, event, l->rows + first, at - first);
    }
    if (events)
        st = scan->status;
    vs_free(scan);
    return st;
}

/* Look up the locations of the ops that rows of foreign memory refer to. */
static enum vs_status foreign_locations_fill(struct loading *l, struct rpl_trace *trace,
                                             struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < l->out->foreign_count && !st; i++) {
        uint64_t seq = l->foreign_ops[i];
        const struct vs_event *event;

        if (!seq || seq > rpl_trace_event_count(trace))
            continue;
        rpl_scan_init(scan, trace, seq, seq);
        event = rpl_scan_next(scan, err);
        st = scan->status;
        if (event)
            l->out->foreign[i].location = event->location;
    }
    vs_free(scan);
    return st;
}

static int ops_by_time(const void *a, const void *b)
{
    const struct rpl_op_work *x = a;
    const struct rpl_op_work *y = b;

    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    return (int)x->role - (int)y->role;
}

static int tasks_by_time(const void *a, const void *b)
{
    const struct rpl_task *x = a;
    const struct rpl_task *y = b;

    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* ---- filling ---- */

static enum vs_status load(struct loading *l, struct rpl_trace *trace, struct vs_error *err)
{
    struct sto_reader *reader = rpl_trace_reader(trace);
    enum vs_status st;

    counts_fill(l->out, trace);
    if (!l->out->is_measured || !reader)
        return VS_OK;
    st = sto_reader_tasks(reader, on_task, l, err);
    if (!st)
        st = sto_reader_work(reader, on_work, l, err);
    if (!st && l->is_damaged)
        st = vs_fail(err, VS_E_DAMAGED, "%s: it has GPU times without the name of what ran",
                     sto_reader_path(reader));
    return st;
}

enum vs_status rpl_work_fill_times(struct rpl_work *out, struct rpl_trace *trace,
                                   struct vs_error *err)
{
    struct loading l = {.out = out};
    enum vs_status st = load(&l, trace, err);

    vs_free(l.rows);
    return st;
}

enum vs_status rpl_work_fill(struct rpl_work *out, struct rpl_trace *trace, struct vs_error *err)
{
    struct loading l = {.out = out};
    enum vs_status st = load(&l, trace, err);

    if (!st && out->is_measured && rpl_trace_reader(trace))
        st = sto_reader_foreign(rpl_trace_reader(trace), on_foreign, &l, err);
    if (!st && out->is_measured)
        st = ops_fill(&l, trace, err);
    if (!st)
        st = foreign_locations_fill(&l, trace, err);
    if (out->task_count)
        qsort(out->tasks, out->task_count, sizeof(*out->tasks), tasks_by_time);
    if (out->op_count)
        qsort(out->ops, out->op_count, sizeof(*out->ops), ops_by_time);
    vs_free(l.rows);
    vs_free(l.foreign_ops);
    return st;
}

void rpl_work_release(struct rpl_work *work)
{
    for (size_t i = 0; i < work->task_count; i++)
        vs_free(work->tasks[i].name);
    for (size_t i = 0; i < work->foreign_count; i++) {
        vs_free(work->foreign[i].api);
        vs_free(work->foreign[i].library);
    }
    vs_free(work->times);
    vs_free(work->tasks);
    vs_free(work->ops);
    vs_free(work->foreign);
    memset(work, 0, sizeof(*work));
}

uint64_t rpl_work_ns(const struct rpl_work *work, uint64_t seq)
{
    size_t at = vs_search_below(work->times, work->time_count, sizeof(*work->times),
                                offsetof(struct rpl_op_time, seq), seq);

    return at < work->time_count && work->times[at].seq == seq ? work->times[at].ns : 0;
}

/* ---- names of kernels ---- */

/* A name that the compiler generates for an unnamed namespace: _GLOBAL__N__… */
static bool is_of_file(const char *name, size_t len)
{
    return len >= 10 && memcmp(name, "_GLOBAL__N", 10) == 0;
}

const char *rpl_kernel_short(const char *symbol, char *buf, size_t size)
{
    const char *at = symbol;
    size_t used = 0;
    bool is_nested;

    VS_ASSERT(size > 0);
    if (strncmp(at, "_Z", 2) != 0)
        return symbol;
    at += 2;
    is_nested = *at == 'N';
    at += is_nested;
    buf[0] = '\0';
    while (isdigit((unsigned char)*at)) {
        char *name;
        unsigned long len = strtoul(at, &name, 10);

        if (len > strlen(name))
            return symbol;
        if (!is_of_file(name, len)) {
            if (used + len + 3 > size)
                break;
            if (used) {
                memcpy(buf + used, "::", 2);
                used += 2;
            }
            memcpy(buf + used, name, len);
            used += len;
            buf[used] = '\0';
        }
        at = name + len;
        if (!is_nested)
            break;
    }
    return used ? buf : symbol;
}
