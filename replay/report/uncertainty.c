/*
 * replay/report/uncertainty.c - see uncertainty.h.
 *
 * Must not know:  how it is shown.
 * Invariant:      each op is looked up once per pass.
 */
#include "replay/report/uncertainty.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/toggle.h"

#define UNMEASURED "cuDNN's workspace, not measured for these shapes,"

struct unmodelled {
    const char *op;
    int capability;
    const char *what;
};

/* clang-format off */
static const struct unmodelled ROWS[] = {
#define VS_UNMODELLED(op, capability, what) {op, capability, what},
#include "base/unmodelled.def"
#undef VS_UNMODELLED
};
/* clang-format on */

const struct vs_target *rpl_target(const struct rpl_trace *trace)
{
    const char *name = vs_toggle_info(VS_TOGGLE_TARGET)->name;

    for (size_t i = 0; i < rpl_trace_toggle_count(trace); i++) {
        struct rpl_toggle toggle = rpl_trace_toggle(trace, i);

        if (!strcmp(toggle.name, name))
            return vs_target_find(toggle.value);
    }
    return NULL;
}

bool rpl_is_measured(const struct rpl_trace *trace)
{
    return rpl_trace_meta(trace, "workspaces") && !rpl_target(trace);
}

uint64_t rpl_capacity(const struct rpl_trace *trace)
{
    const struct vs_target *target = rpl_target(trace);
    uint64_t capacity;

    if (rpl_trace_meta_uint(trace, "capacity", &capacity))
        return capacity;
    return target ? target->capacity_bytes : 0;
}

static const char *row_text(const struct rpl_trace *trace, uint32_t op)
{
    const struct vs_target *target = rpl_target(trace);
    const char *name = rpl_trace_string(trace, op);

    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        if (!strcmp(ROWS[i].op, name))
            return !ROWS[i].capability || (target && target->capability >= ROWS[i].capability)
                       ? ROWS[i].what
                       : NULL;
    }
    return NULL;
}

/* The numbers of the meta key `unmeasured`, "3,17". */
static void begin(struct rpl_uncertainty_ops *ops, const struct rpl_trace *trace)
{
    const char *text = rpl_trace_meta(trace, "unmeasured");

    ops->is_begun = true;
    ops->is_measured = rpl_is_measured(trace);
    ops->locations = rpl_trace_location_count(trace) + 1;
    ops->is_unmeasured = vs_calloc(ops->locations, sizeof(*ops->is_unmeasured));
    while (text && *text) {
        char *after;
        unsigned long long location = strtoull(text, &after, 10);

        if (after == text)
            break;
        if (location < ops->locations)
            ops->is_unmeasured[location] = true;
        text = after + (*after == ',');
    }
}

static const char *what_of(struct rpl_uncertainty_ops *ops, const struct rpl_trace *trace,
                           uint32_t op)
{
    /* the file may be damaged: an id without a string is no op */
    if (op > rpl_trace_string_count(trace))
        return NULL;
    if (op >= ops->cap) {
        size_t cap = (size_t)op * 2 + 64;

        ops->what = vs_realloc((void *)(uintptr_t)ops->what, cap, sizeof(*ops->what));
        ops->is_known = vs_realloc(ops->is_known, cap, sizeof(*ops->is_known));
        memset(ops->is_known + ops->cap, 0, (cap - ops->cap) * sizeof(*ops->is_known));
        ops->cap = cap;
    }
    if (!ops->is_known[op]) {
        ops->is_known[op] = true;
        ops->what[op] = row_text(trace, op);
    }
    return ops->what[op];
}

void rpl_uncertainty_note(struct rpl_uncertainty *uncertainty, struct rpl_uncertainty_ops *ops,
                          const struct rpl_trace *trace, uint64_t seq, uint32_t location,
                          uint64_t allocated)
{
    uint32_t op = rpl_trace_location(trace, location)->op;
    const char *what = NULL;

    if (!ops->is_begun)
        begin(ops, trace);
    if (!ops->is_measured)
        what = op ? what_of(ops, trace, op) : NULL;
    else if (location < ops->locations && ops->is_unmeasured[location])
        what = UNMEASURED;
    if (!what)
        return;
    uncertainty->allocs++;
    if (allocated <= uncertainty->highest)
        return;
    uncertainty->highest = allocated;
    uncertainty->event = seq;
    uncertainty->location = location;
    uncertainty->what = what;
}

void rpl_uncertainty_explain(struct rpl_uncertainty *uncertainty, const struct rpl_trace *trace)
{
    const uint32_t op = rpl_trace_location(trace, uncertainty->location)->op;

    uncertainty->what = !uncertainty->allocs     ? NULL
                        : rpl_is_measured(trace) ? UNMEASURED
                                                 : row_text(trace, op);
}

void rpl_uncertainty_ops_release(struct rpl_uncertainty_ops *ops)
{
    vs_free((void *)(uintptr_t)ops->what);
    vs_free(ops->is_known);
    vs_free(ops->is_unmeasured);
    memset(ops, 0, sizeof(*ops));
}

enum vs_status rpl_uncertainty_fill(struct rpl_uncertainty *out, struct rpl_trace *trace,
                                    struct vs_error *err)
{
    const bool is_ours = rpl_trace_source_text(trace) != NULL;
    struct rpl_uncertainty_ops ops = {.what = NULL};
    const struct vs_event *event;
    uint64_t allocated = 0;
    struct rpl_scan *scan;
    enum vs_status st;

    *out = (struct rpl_uncertainty){.is_tensors_only =
                                        is_ours && !rpl_target(trace) && !rpl_is_measured(trace)};
    if (!is_ours || out->is_tensors_only)
        return VS_OK;
    scan = vs_alloc(sizeof(*scan));
    rpl_scan_init(scan, trace, 1, rpl_trace_event_count(trace));
    while ((event = rpl_scan_next(scan, err)) != NULL) {
        if (event->kind == VS_EV_FREE)
            allocated -= event->free.block_bytes;
        if (event->kind != VS_EV_ALLOC)
            continue;
        allocated += event->alloc.block_bytes;
        rpl_uncertainty_note(out, &ops, trace, scan->seq, event->location, allocated);
    }
    st = scan->status;
    rpl_uncertainty_ops_release(&ops);
    vs_free(scan);
    return st;
}
