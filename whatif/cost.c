/*
 * whatif/cost.c - see cost.h.
 *
 * Must not know:  drawing.
 * Invariant:      locations are compared by their texts: two runs number them differently.
 */
#include "whatif/cost.h"

#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "replay/trace/work.h"

/*
 * The first executions (not recomputed) of one op at one location, of one size. read: bytes of the tensors that it
 * reads. Texts are borrowed from their trace.
 */
struct first {
    const char *module;
    const char *func;
    const char *op;
    uint32_t line;
    uint64_t flops;
    uint64_t read;
    uint64_t calls;
    uint64_t ns;
};

struct wif_costs {
    bool is_measured;
    struct first *rows;
    size_t count;
    size_t cap;
    /* Finds a row by the fields that is_same compares. */
    struct vs_table table;
    uint64_t first_ns;
    uint64_t steps;
};

static bool is_same(const struct first *a, const struct first *b)
{
    return a->line == b->line && a->flops == b->flops && a->read == b->read &&
           strcmp(a->op, b->op) == 0 && strcmp(a->module, b->module) == 0 &&
           strcmp(a->func, b->func) == 0;
}

static uint64_t hash_of(const struct first *key)
{
    uint64_t hash = vs_hash_mix(vs_hash_mix(key->line, key->flops), key->read);

    hash = vs_hash_mix(hash, vs_hash_text(key->op));
    hash = vs_hash_mix(hash, vs_hash_text(key->module));
    return vs_hash_mix(hash, vs_hash_text(key->func));
}

/* The row with the same fields; NULL: there is none. */
static struct first *find(const struct wif_costs *c, const struct first *key, uint64_t hash)
{
    struct vs_probe probe = vs_probe(hash);

    while (vs_table_next(&c->table, &probe))
        if (is_same(&c->rows[probe.item], key))
            return &c->rows[probe.item];
    return NULL;
}

/* The bytes of the tensor that a use refers to. */
static uint64_t bytes_of(const struct rpl_trace *trace, const struct vs_event *use)
{
    struct vs_tensor_desc desc;
    uint64_t bytes;

    if (!rpl_trace_tensor(trace, (uint32_t)use->use.tensor, &desc))
        return 0;
    bytes = vs_dtype_bytes((enum vs_dtype)desc.dtype);
    for (unsigned i = 0; i < desc.ndim; i++)
        bytes *= (uint64_t)desc.sizes[i];
    return bytes;
}

/* The fields known from an op_end event. */
static struct first key_of(const struct rpl_trace *trace, const struct vs_event *event,
                           uint64_t read)
{
    const struct vs_location *location = rpl_trace_location(trace, event->location);

    return (struct first){.module = rpl_trace_string(trace, location->module),
                          .func = rpl_trace_string(trace, location->func),
                          .op = rpl_trace_string(trace, (uint32_t)event->op.name),
                          .line = location->line,
                          .flops = event->op.flops,
                          .read = read};
}

static void first_add(struct wif_costs *c, const struct rpl_trace *trace,
                      const struct vs_event *event, uint64_t read, uint64_t ns)
{
    struct first key = key_of(trace, event, read);
    const uint64_t hash = hash_of(&key);
    struct first *row;

    row = find(c, &key, hash);
    if (!row) {
        vs_table_add(&c->table, hash, c->count);
        c->rows = vs_grow(c->rows, c->count, &c->cap, sizeof(*c->rows));
        row = &c->rows[c->count++];
        *row = key;
    }
    row->calls++;
    row->ns += ns;
}

/* Forward ops are not nested, so the next end is that of the last begin. */
static enum vs_status firsts_read(struct wif_costs *c, struct rpl_trace *base,
                                  const struct rpl_work *work, struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    const struct vs_event *event;
    enum vs_status st;
    uint64_t begin_ns = 0;
    uint64_t read = 0;

    rpl_scan_init(scan, base, 1, rpl_trace_event_count(base));
    while ((event = rpl_scan_next(scan, err)) != NULL) {
        if (event->kind == VS_EV_STEP)
            c->steps += vs_event_step(event) >= 0;
        if (event->kind == VS_EV_USE)
            read += bytes_of(base, event);
        if (event->kind == VS_EV_OP_BEGIN) {
            read = 0;
            begin_ns = rpl_work_ns(work, scan->seq);
            if (c->steps && event->op.role != VS_OP_RECOMPUTE)
                c->first_ns += begin_ns;
        } else if (event->kind == VS_EV_OP_END && event->op.role == VS_OP_FORWARD) {
            first_add(c, base, event, read, begin_ns);
        }
    }
    st = scan->status;
    vs_free(scan);
    return st;
}

enum vs_status wif_costs_new(struct rpl_trace *base, struct wif_costs **out, struct vs_error *err)
{
    struct wif_costs *c = vs_calloc(1, sizeof(*c));
    struct rpl_work work = {.is_measured = false};
    enum vs_status st = rpl_work_fill_times(&work, base, err);

    *out = NULL;
    c->is_measured = work.is_measured && work.time_count > 0;
    if (!st && c->is_measured)
        st = firsts_read(c, base, &work, err);
    rpl_work_release(&work);
    if (st)
        wif_costs_free(c);
    else
        *out = c;
    return st;
}

void wif_costs_free(struct wif_costs *c)
{
    if (!c)
        return;
    vs_free(c->rows);
    vs_table_release(&c->table);
    vs_free(c);
}

static void rerun_add(const struct wif_costs *c, const struct rpl_trace *run,
                      const struct vs_event *event, uint64_t read, struct wif_cost *out)
{
    struct first key = key_of(run, event, read);
    const struct first *row = find(c, &key, hash_of(&key));

    out->rerun_ops++;
    if (row)
        out->rerun_ns += (double)row->ns / (double)row->calls;
    else
        out->unmeasured++;
}

enum vs_status wif_cost_fill(const struct wif_costs *c, struct rpl_trace *run, struct wif_cost *out,
                             struct vs_error *err)
{
    struct rpl_scan *scan;
    const struct vs_event *event;
    double steps = 0;
    uint64_t read = 0;
    enum vs_status st;

    memset(out, 0, sizeof(*out));
    out->is_measured = c->is_measured;
    if (!c->is_measured || !rpl_trace_event_count(run))
        return VS_OK;
    scan = vs_alloc(sizeof(*scan));
    rpl_scan_init(scan, run, 1, rpl_trace_event_count(run));
    while ((event = rpl_scan_next(scan, err)) != NULL) {
        if (event->kind == VS_EV_STEP)
            steps += vs_event_step(event) >= 0;
        else if (event->kind == VS_EV_OP_BEGIN)
            read = 0;
        else if (event->kind == VS_EV_USE)
            read += bytes_of(run, event);
        else if (event->kind == VS_EV_OP_END && event->op.role == VS_OP_RECOMPUTE)
            rerun_add(c, run, event, read, out);
    }
    st = scan->status;
    vs_free(scan);
    if (steps > 0) {
        out->rerun_ns /= steps;
        out->rerun_ops /= steps;
        out->unmeasured /= steps;
    }
    out->first_ns = (double)c->first_ns / (double)(c->steps ? c->steps : 1);
    return st;
}

double wif_cost_share(const struct wif_cost *cost)
{
    double all = cost->first_ns + cost->rerun_ns;

    return all > 0 ? cost->rerun_ns / all : 0;
}

void wif_cost_json(const struct wif_cost *cost, struct vs_json *json)
{
    vs_json_key(json, "gpu_cost");
    if (!cost->is_measured) {
        vs_json_null(json);
        return;
    }
    vs_json_object_flat(json);
    vs_json_put_double(json, "recompute_ns", cost->rerun_ns);
    vs_json_put_double(json, "first_ns", cost->first_ns);
    vs_json_put_double(json, "share", wif_cost_share(cost));
    vs_json_put_double(json, "recomputed_ops", cost->rerun_ops);
    vs_json_put_double(json, "unmeasured_ops", cost->unmeasured);
    vs_json_end(json);
}
