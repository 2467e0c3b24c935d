/*
 * replay/report/traffic.c - see traffic.h.
 *
 * Must not know:  how the engine runs an op.
 * Invariant:      an event belongs to the innermost op that has begun and not ended.
 */
#include "replay/report/traffic.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/dtype.h"
#include "base/mem.h"
#include "replay/report/dropped.h"

#define ROWS_SHOWN 8
/* enum vs_op_role */
#define ROLE_COUNT 3

/*
 * An op that has begun. read_at: index of its first read in the pass's list; written: bytes allocated and overwritten;
 * flops: of its own, without those of ops inside.
 */
struct open_op {
    uint32_t name;
    uint8_t role;
    size_t read_at;
    uint64_t written;
};

/*
 * reads    tensors read by the open ops, one op after the other; a tensor may be there several times
 * row_at   for each name * ROLE_COUNT + role: index of its row, plus 1; 0: not seen yet
 */
struct pass {
    struct rpl_traffic *out;
    const struct rpl_trace *trace;
    struct open_op *ops;
    size_t op_count, op_cap;
    uint32_t *reads;
    size_t read_count, read_cap;
    uint32_t *row_at;
};

static struct rpl_traffic_row *row_of(struct pass *p, uint32_t name, uint8_t role)
{
    struct rpl_traffic *out = p->out;
    const size_t names = (size_t)rpl_trace_string_count(p->trace) + 1;
    uint32_t *at;

    if (!p->row_at)
        p->row_at = vs_calloc((names + 1) * ROLE_COUNT, sizeof(*p->row_at));
    /* a damaged file may have a name that is no string */
    at = &p->row_at[(name < names ? name : names) * ROLE_COUNT + (role < ROLE_COUNT ? role : 0)];
    if (!*at) {
        out->rows = vs_grow(out->rows, out->row_count, &out->row_cap, sizeof(*out->rows));
        out->rows[out->row_count++] = (struct rpl_traffic_row){.name = name, .role = role};
        *at = (uint32_t)out->row_count;
    }
    return &out->rows[*at - 1];
}

/* Of a tensor, the elements that are in memory: an expanded dimension has one. */
static uint64_t tensor_bytes(const struct rpl_trace *trace, uint32_t id)
{
    struct vs_tensor_desc desc;
    uint64_t elements = 1;

    if (!rpl_trace_tensor(trace, id, &desc))
        return 0;
    for (unsigned i = 0; i < desc.ndim && i < VS_MAX_DIMS; i++)
        if (desc.strides[i] || !desc.sizes[i])
            elements *= (uint64_t)desc.sizes[i];
    return elements * vs_dtype_bytes((enum vs_dtype)desc.dtype);
}

static void op_begin(struct pass *p, const struct vs_event *event)
{
    p->ops = vs_grow(p->ops, p->op_count, &p->op_cap, sizeof(*p->ops));
    p->ops[p->op_count++] = (struct open_op){.name = (uint32_t)event->op.name,
                                             .role = event->op.role,
                                             .read_at = p->read_count,
                                             .written = event->op.overwritten_bytes};
}

/* The innermost op reads a tensor. */
static void use(struct pass *p, uint32_t tensor)
{
    if (!p->op_count)
        return;
    p->reads = vs_grow(p->reads, p->read_count, &p->read_cap, sizeof(*p->reads));
    p->reads[p->read_count++] = tensor;
}

static int by_tensor(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a;
    const uint32_t y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Of the tensors that the innermost op reads, each once. */
static uint64_t read_bytes(const struct pass *p, const struct open_op *op)
{
    const size_t count = p->read_count - op->read_at;
    uint32_t *reads = count ? p->reads + op->read_at : NULL; /* there may be none yet */
    uint64_t bytes = 0;

    if (count > 1) /* a foreach op reads thousands */
        qsort(reads, count, sizeof(*reads), by_tensor);
    for (size_t i = 0; i < count; i++)
        if (!i || reads[i] != reads[i - 1])
            bytes += tensor_bytes(p->trace, reads[i]);
    return bytes;
}

static void op_end(struct pass *p, const struct vs_event *event)
{
    const struct open_op *op;
    struct rpl_traffic_row *row;
    uint64_t bytes;

    if (!p->op_count)
        return;
    op = &p->ops[--p->op_count];
    bytes = op->written ? op->written + read_bytes(p, op) : 0;
    p->read_count = op->read_at;
    row = row_of(p, op->name, op->role);
    row->calls++;
    row->bytes += bytes;
    row->flops += event->op.flops;
    p->out->bytes += bytes;
}

static void note(struct pass *p, const struct vs_event *event)
{
    if (event->kind == VS_EV_OP_BEGIN)
        op_begin(p, event);
    else if (event->kind == VS_EV_OP_END)
        op_end(p, event);
    else if (event->kind == VS_EV_USE)
        use(p, (uint32_t)event->use.tensor);
    else if (event->kind == VS_EV_ALLOC && event->alloc.tensor && p->op_count)
        p->ops[p->op_count - 1].written += event->alloc.requested_bytes;
}

static int by_bytes(const void *a, const void *b)
{
    const struct rpl_traffic_row *x = a;
    const struct rpl_traffic_row *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    return (x->role > y->role) - (x->role < y->role);
}

void rpl_traffic_sort(struct rpl_traffic *traffic)
{
    if (traffic->row_count)
        qsort(traffic->rows, traffic->row_count, sizeof(*traffic->rows), by_bytes);
}

enum vs_status rpl_traffic_fill(struct rpl_traffic *out, struct rpl_trace *trace,
                                struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    struct pass pass = {.out = out, .trace = trace};
    const struct vs_event *event;
    enum vs_status st = VS_OK;

    if (rpl_trace_event_count(trace) && rpl_trace_has_arithmetic(trace)) {
        rpl_scan_init(scan, trace, 1, rpl_trace_event_count(trace));
        while ((event = rpl_scan_next(scan, err)) != NULL)
            note(&pass, event);
        st = scan->status;
    }
    rpl_traffic_sort(out);
    vs_free(pass.ops);
    vs_free(pass.reads);
    vs_free(pass.row_at);
    vs_free(scan);
    return st;
}

void rpl_traffic_release(struct rpl_traffic *traffic)
{
    vs_free(traffic->rows);
    memset(traffic, 0, sizeof(*traffic));
}

uint64_t rpl_traffic_of(const struct rpl_traffic *traffic, const struct rpl_trace *trace,
                        const char *name)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < traffic->row_count; i++)
        if (strcmp(rpl_trace_string(trace, traffic->rows[i].name), name) == 0)
            bytes += traffic->rows[i].bytes;
    return bytes;
}

/* ---- as text and JSON ---- */

static const char *role_text(uint8_t role)
{
    static const char *const TEXTS[ROLE_COUNT] = {"", ", in backward", ", recomputed"};

    return role < ROLE_COUNT ? TEXTS[role] : "";
}

void rpl_traffic_text(const struct rpl_traffic *traffic, const struct rpl_trace *trace,
                      struct vs_text *out)
{
    char buf[VS_BYTES_TEXT_MAX];

    if (!traffic->bytes)
        return;
    vs_text_addf(out, "\nRead and written by ops%s: %s\n",
                 rpl_has_dropped(trace) ? " of what was kept" : "",
                 vs_bytes_text(traffic->bytes, buf));
    vs_text_addf(out, "  %-44s  %8s  %10s  %12s\n", "", "calls", "bytes", "FLOP / byte");
    for (size_t i = 0; i < traffic->row_count && i < ROWS_SHOWN && traffic->rows[i].bytes; i++) {
        const struct rpl_traffic_row *row = &traffic->rows[i];
        struct vs_text name = {NULL, 0, 0};

        vs_text_addf(&name, "%s%s", rpl_trace_string(trace, row->name), role_text(row->role));
        vs_text_addf(out, "  %-44s  %8" PRIu64 "  %10s  %12.1f\n", vs_text_get(&name), row->calls,
                     vs_bytes_text(row->bytes, buf), (double)row->flops / (double)row->bytes);
        vs_text_release(&name);
    }
}

void rpl_traffic_json(const struct rpl_traffic *traffic, const struct rpl_trace *trace,
                      struct vs_json *json)
{
    static const char *const ROLE_NAMES[] = {"forward", "backward", "recompute"};

    vs_json_key(json, "traffic");
    vs_json_array(json);
    for (size_t i = 0; i < traffic->row_count; i++) {
        const struct rpl_traffic_row *row = &traffic->rows[i];

        vs_json_object_flat(json);
        vs_json_put_string(json, "op", rpl_trace_string(trace, row->name));
        vs_json_put_string(json, "role", row->role < 3 ? ROLE_NAMES[row->role] : "forward");
        vs_json_put_uint(json, "calls", row->calls);
        vs_json_put_uint(json, "bytes", row->bytes);
        vs_json_put_uint(json, "flops", row->flops);
        vs_json_end(json);
    }
    vs_json_end(json);
}
