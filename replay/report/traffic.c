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

#define ROWS_SHOWN 8

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

struct pass {
    struct rpl_traffic *out;
    const struct rpl_trace *trace;
    struct open_op *ops;
    size_t op_count, op_cap;
    uint32_t *reads; /* tensors, of the open ops one after the other */
    size_t read_count, read_cap;
};

static struct rpl_traffic_row *row_of(struct rpl_traffic *out, uint32_t name, uint8_t role)
{
    for (size_t i = 0; i < out->row_count; i++)
        if (out->rows[i].name == name && out->rows[i].role == role)
            return &out->rows[i];
    out->rows = vs_grow(out->rows, out->row_count, &out->row_cap, sizeof(*out->rows));
    out->rows[out->row_count] = (struct rpl_traffic_row){.name = name, .role = role};
    return &out->rows[out->row_count++];
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

/* The innermost op reads a tensor, unless it has already. */
static void use(struct pass *p, uint32_t tensor)
{
    const struct open_op *op = p->op_count ? &p->ops[p->op_count - 1] : NULL;

    if (!op)
        return;
    for (size_t i = op->read_at; i < p->read_count; i++)
        if (p->reads[i] == tensor)
            return;
    p->reads = vs_grow(p->reads, p->read_count, &p->read_cap, sizeof(*p->reads));
    p->reads[p->read_count++] = tensor;
}

static void op_end(struct pass *p, const struct vs_event *event)
{
    const struct open_op *op;
    struct rpl_traffic_row *row;
    uint64_t bytes;

    if (!p->op_count)
        return;
    op = &p->ops[--p->op_count];
    bytes = op->written;
    for (size_t i = op->read_at; i < p->read_count && op->written; i++)
        bytes += tensor_bytes(p->trace, p->reads[i]);
    p->read_count = op->read_at;
    row = row_of(p->out, op->name, op->role);
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

enum vs_status rpl_traffic_fill(struct rpl_traffic *out, struct rpl_trace *trace,
                                struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    struct pass pass = {.out = out, .trace = trace};
    const struct vs_event *event;
    enum vs_status st = VS_OK;

    if (rpl_trace_event_count(trace)) {
        rpl_scan_init(scan, trace, 1, rpl_trace_event_count(trace));
        while ((event = rpl_scan_next(scan, err)) != NULL)
            note(&pass, event);
        st = scan->status;
    }
    if (out->row_count)
        qsort(out->rows, out->row_count, sizeof(*out->rows), by_bytes);
    vs_free(pass.ops);
    vs_free(pass.reads);
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
    static const char *const ROLES[] = {"", ", in backward", ", recomputed"};

    return role < sizeof(ROLES) / sizeof(ROLES[0]) ? ROLES[role] : "";
}

void rpl_traffic_text(const struct rpl_traffic *traffic, const struct rpl_trace *trace,
                      struct vs_text *out)
{
    char buf[VS_BYTES_TEXT_MAX];

    if (!traffic->bytes)
        return;
    vs_text_addf(out, "\nRead and written by ops: %s\n", vs_bytes_text(traffic->bytes, buf));
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
    static const char *const ROLES[] = {"forward", "backward", "recompute"};

    vs_json_key(json, "traffic");
    vs_json_array(json);
    for (size_t i = 0; i < traffic->row_count; i++) {
        const struct rpl_traffic_row *row = &traffic->rows[i];

        vs_json_object_flat(json);
        vs_json_put_string(json, "op", rpl_trace_string(trace, row->name));
        vs_json_put_string(json, "role", row->role < 3 ? ROLES[row->role] : "forward");
        vs_json_put_uint(json, "calls", row->calls);
        vs_json_put_uint(json, "bytes", row->bytes);
        vs_json_put_uint(json, "flops", row->flops);
        vs_json_end(json);
    }
    vs_json_end(json);
}
