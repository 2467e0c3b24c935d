/*
 * replay/report/account.c - see account.h.
 *
 * Must not know:  the driver.
 * Invariant:      figures are subtracted only from figures of the same source: CUDA and the driver count free bytes
 *                 differently.
 */
#include "replay/report/account.h"

#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"

static int64_t meta(const struct rpl_trace *trace, const char *key)
{
    uint64_t value;

    return rpl_trace_meta_uint(trace, key, &value) && value <= INT64_MAX ? (int64_t)value
                                                                         : RPL_UNKNOWN;
}

static int64_t minus(int64_t a, int64_t b)
{
    return a == RPL_UNKNOWN || b == RPL_UNKNOWN ? RPL_UNKNOWN : a - b;
}

/* The allocator's bytes right after a->event. */
static enum vs_status allocator_at(struct rpl_trace *trace, struct rpl_account *a,
                                   struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    const struct vs_event *ev;

    rpl_scan_init(scan, trace, 1, a->event);
    err->status = VS_OK;
    while ((ev = rpl_scan_next(scan, err)) != NULL) {
        if (ev->kind == VS_EV_SEGMENT_ALLOC || ev->kind == VS_EV_SEGMENT_MAP)
            a->reserved += ev->segment.bytes;
        else if (ev->kind == VS_EV_SEGMENT_FREE || ev->kind == VS_EV_SEGMENT_UNMAP)
            a->reserved -= ev->segment.bytes;
        else if (ev->kind == VS_EV_ALLOC)
            a->allocated += ev->alloc.block_bytes;
        else if (ev->kind == VS_EV_FREE)
            a->allocated -= ev->free.block_bytes;
    }
    vs_free(scan);
    return err->status;
}

/* Compute the parts from the figures in the trace. */
static void parts_fill(struct rpl_account *a, const struct rpl_trace *trace, int64_t free_then)
{
    int64_t context_free = meta(trace, "gpu_free");
    int64_t ready_free = meta(trace, "account_ready_free");
    int64_t since = minus(ready_free, free_then);
    int64_t whole =
        minus(meta(trace, "account_before_free"), meta(trace, "account_ready_smi_free"));

    a->libraries = minus(context_free, ready_free);
    a->beside = minus(since, (int64_t)a->reserved);
    a->before = meta(trace, "account_before_used");
    if (a->before != RPL_UNKNOWN && whole != RPL_UNKNOWN)
        a->context = minus(whole, a->libraries);
    else {
        a->before = RPL_UNKNOWN;
        a->context = minus(a->total, context_free);
    }
    a->is_read = a->used != RPL_UNKNOWN;
    a->others = RPL_UNKNOWN;
    if (!a->is_read || a->before == RPL_UNKNOWN)
        a->used = a->before == RPL_UNKNOWN ? minus(a->total, free_then)
                                           : a->before + a->context + a->libraries + since;
    else
        a->others = a->used - (a->before + a->context + a->libraries + since);
}

bool rpl_account_begin(struct rpl_account *out, const struct rpl_trace *trace,
                       const struct rpl_oom *oom)
{
    memset(out, 0, sizeof(*out));
    out->total = meta(trace, "gpu_total");
    out->used = meta(trace, "account_end_used");
    out->process = meta(trace, "account_end_process");
    out->missing = rpl_trace_meta(trace, "account_missing");
    out->event = oom->event;
    out->is_oom = oom->event != 0;
    if (out->is_oom)
        out->used = out->process = RPL_UNKNOWN;
    else if (meta(trace, "account_end_event") != RPL_UNKNOWN)
        out->event = (uint64_t)meta(trace, "account_end_event");
    return meta(trace, "account_ready_free") != RPL_UNKNOWN && out->event &&
           out->event <= rpl_trace_event_count(trace);
}

void rpl_account_finish(struct rpl_account *out, const struct rpl_trace *trace,
                        const struct rpl_oom *oom)
{
    parts_fill(out, trace,
               out->is_oom ? (int64_t)oom->device_free : meta(trace, "account_end_free"));
    out->is_known = out->used != RPL_UNKNOWN;
}

enum vs_status rpl_account_fill(struct rpl_account *out, struct rpl_trace *trace,
                                const struct rpl_oom *oom, struct vs_error *err)
{
    enum vs_status st;

    if (!rpl_account_begin(out, trace, oom))
        return VS_OK;
    st = allocator_at(trace, out, err);
    if (!st)
        rpl_account_finish(out, trace, oom);
    return st;
}

/* ---- text and JSON ---- */

static void add_part(struct vs_text *out, int64_t bytes, const char *what)
{
    char text[VS_BYTES_TEXT_MAX];

    if (bytes == RPL_UNKNOWN || bytes == 0)
        return;
    if (bytes > 0)
        vs_text_addf(out, "%12s", vs_bytes_text((uint64_t)bytes, text));
    else
        vs_text_addf(out, "%12s", vs_bytes_delta_text(bytes, text));
    vs_text_addf(out, "  %s\n", what);
}

static void add_reserved(const struct rpl_account *a, struct vs_text *out)
{
    char reserved[VS_BYTES_TEXT_MAX];
    char allocated[VS_BYTES_TEXT_MAX];
    char cached[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%12s  reserved by the allocator: %s allocated, %s cached\n",
                 vs_bytes_text(a->reserved, reserved), vs_bytes_text(a->allocated, allocated),
                 vs_bytes_text(a->reserved - a->allocated, cached));
}

void rpl_account_text(const struct rpl_account *a, struct vs_text *out)
{
    char used[VS_BYTES_TEXT_MAX];

    if (!a->is_known)
        return;
    vs_text_addf(out, "\n%s %s (%s)\n",
                 a->is_read ? "Why nvidia-smi says" : "In use on the GPU by CUDA's account:",
                 vs_bytes_text((uint64_t)a->used, used),
                 a->is_oom ? "when the allocation was refused" : "at the end of the last step");
    add_part(out, a->before, "used before this run: other programs, and the driver itself");
    add_part(out, a->context,
             a->before == RPL_UNKNOWN
                 ? "CUDA context, other programs and the driver itself (only their sum is known)"
                 : "CUDA context");
    add_part(out, a->libraries, "handles of cuBLAS and cuDNN");
    add_reserved(a, out);
    add_part(out, a->beside, "outside the allocator: kernels loaded at their first call, scratch");
    add_part(out, a->others, "other programs, since this run began");
    if (a->process != RPL_UNKNOWN)
        add_part(out, a->process, "of all this is this process's, by the driver's list");
    if (a->missing)
        vs_text_addf(out, "  (%s)\n", a->missing);
}

static void put(struct vs_json *json, const char *key, int64_t bytes)
{
    vs_json_key(json, key);
    if (bytes == RPL_UNKNOWN)
        vs_json_null(json);
    else
        vs_json_int(json, bytes);
}

void rpl_account_json(const struct rpl_account *a, struct vs_json *json)
{
    vs_json_key(json, "nvidia_smi");
    if (!a->is_known) {
        vs_json_null(json);
        return;
    }
    vs_json_object(json);
    vs_json_put_uint(json, "event", a->event);
    vs_json_put_bool(json, "is_oom", a->is_oom);
    vs_json_put_bool(json, "is_read", a->is_read);
    put(json, "total", a->total);
    put(json, "used", a->used);
    put(json, "before", a->before);
    put(json, "context", a->context);
    put(json, "libraries", a->libraries);
    vs_json_put_uint(json, "reserved", a->reserved);
    vs_json_put_uint(json, "allocated", a->allocated);
    put(json, "beside", a->beside);
    put(json, "others", a->others);
    put(json, "process", a->process);
    vs_json_put_string(json, "missing", a->missing);
    vs_json_end(json);
}
