/*
 * replay/report/non_pytorch.c - see non_pytorch.h.
 *
 * Must not know:  where the traces are stored, but that they are in one folder.
 * Invariant:      blocks at addresses from PHYSICAL_FROM on are physical memory: docs/internals/injection.md.
 */
#include "replay/report/non_pytorch.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/mem.h"
#include "replay/state/live.h"

#define PHYSICAL_FROM (UINT64_C(1) << 56)

struct segment {
    uint64_t address;
    uint64_t bytes;
};

/* PyTorch's segments. mapped, mapped_peak: bytes of expandable segments now, and the most so far. */
struct segments {
    struct segment *items;
    size_t count, cap;
    uint64_t mapped, mapped_peak;
};

/* Bytes that the driver gave: all, those of PyTorch's segments, and those of physical memory. */
struct given {
    uint64_t all;
    uint64_t segments;
    uint64_t physical;
};

static int by_address(const void *a, const void *b)
{
    const struct segment *p = a;
    const struct segment *q = b;

    if (p->address != q->address)
        return p->address < q->address ? -1 : 1;
    return p->bytes < q->bytes ? -1 : p->bytes > q->bytes;
}

static enum vs_status segments_read(struct segments *out, struct rpl_trace *trace,
                                    struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    const struct vs_event *event;
    enum vs_status st;

    rpl_scan_init(scan, trace, 1, rpl_trace_event_count(trace));
    while ((event = rpl_scan_next(scan, err)) != NULL) {
        if (event->kind == VS_EV_SEGMENT_ALLOC) {
            out->items = vs_grow(out->items, out->count, &out->cap, sizeof(*out->items));
            out->items[out->count++] =
                (struct segment){event->segment.address, event->segment.bytes};
        } else if (event->kind == VS_EV_SEGMENT_MAP) {
            out->mapped += event->segment.bytes;
        } else if (event->kind == VS_EV_SEGMENT_UNMAP) {
            out->mapped -= event->segment.bytes < out->mapped ? event->segment.bytes : out->mapped;
        }
        if (out->mapped > out->mapped_peak)
            out->mapped_peak = out->mapped;
    }
    st = scan->status;
    vs_free(scan);
    if (out->count)
        qsort(out->items, out->count, sizeof(*out->items), by_address);
    return st;
}

static bool is_segment(const struct segments *segments, uint64_t address, uint64_t bytes)
{
    const struct segment key = {address, bytes};

    return segments->count && bsearch(&key, segments->items, segments->count,
                                      sizeof(*segments->items), by_address) != NULL;
}

static uint64_t of_pytorch(const struct segments *segments, const struct given *given)
{
    return given->segments +
           (given->physical < segments->mapped_peak ? given->physical : segments->mapped_peak);
}

/* Find the peak of the driver's trace. */
static enum vs_status peak_find(struct rpl_non_pytorch *out, const struct segments *segments,
                                struct rpl_trace *driver, struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    struct given now = {0, 0, 0};
    const struct vs_event *event;
    uint64_t seq = 0;
    enum vs_status st;

    rpl_scan_init(scan, driver, 1, rpl_trace_event_count(driver));
    while ((event = rpl_scan_next(scan, err)) != NULL) {
        const bool is_alloc = event->kind == VS_EV_ALLOC;
        uint64_t address, bytes, change;

        seq++;
        if (!is_alloc && event->kind != VS_EV_FREE)
            continue;
        address = is_alloc ? event->alloc.address : event->free.address;
        bytes = is_alloc ? event->alloc.block_bytes : event->free.block_bytes;
        change = is_alloc ? bytes : UINT64_C(0) - bytes;
        now.all += change;
        if (address >= PHYSICAL_FROM)
            now.physical += change;
        else if (is_segment(segments, address, bytes))
            now.segments += change;
        if (now.all <= out->peak)
            continue;
        out->at = seq;
        out->peak = now.all;
        out->pytorch = of_pytorch(segments, &now);
    }
    out->rest = out->peak - out->pytorch;
    st = scan->status;
    vs_free(scan);
    return st;
}

/* Sites of the blocks that are not PyTorch's. Physical memory is left out if PyTorch mapped any. */
static enum vs_status sites_fill(struct rpl_non_pytorch *out, const struct segments *segments,
                                 struct rpl_trace *driver, struct vs_error *err)
{
    struct rpl_live live;
    enum vs_status st;
    size_t kept = 0;

    rpl_live_init(&live);
    st = rpl_live_read(&live, driver, out->at, err);
    for (size_t i = 0; i < live.block_count && !st; i++) {
        const struct rpl_block *block = &live.blocks[i];
        const bool is_physical = block->address >= PHYSICAL_FROM;

        if (is_physical ? !segments->mapped_peak
                        : !is_segment(segments, block->address, block->bytes))
            live.blocks[kept++] = *block;
    }
    if (!st) {
        live.block_count = kept;
        rpl_alloc_sites_fill(&out->sites, driver, &live, RPL_ALLOC_SITES_BY_LINE);
    }
    rpl_live_release(&live);
    return st;
}

enum vs_status rpl_non_pytorch_fill(struct rpl_non_pytorch *out, struct rpl_trace *pytorch,
                                    struct rpl_trace *driver, struct vs_error *err)
{
    struct segments segments = {NULL, 0, 0, 0, 0};
    enum vs_status st = segments_read(&segments, pytorch, err);

    if (!st)
        st = peak_find(out, &segments, driver, err);
    if (!st && out->at)
        st = sites_fill(out, &segments, driver, err);
    vs_free(segments.items);
    return st;
}

void rpl_non_pytorch_release(struct rpl_non_pytorch *memory)
{
    rpl_alloc_sites_release(&memory->sites);
}

void rpl_non_pytorch_text(const struct rpl_non_pytorch *memory, size_t top, struct vs_text *out)
{
    char peak[VS_BYTES_TEXT_MAX];
    char pytorch[VS_BYTES_TEXT_MAX];
    char rest[VS_BYTES_TEXT_MAX];

    vs_text_addf(
        out,
        "\nMemory not from PyTorch: at the peak of %s from the driver, %s were PyTorch's segments, "
        "%s others; excludes CUDA contexts\n",
        vs_bytes_text(memory->peak, peak), vs_bytes_text(memory->pytorch, pytorch),
        vs_bytes_text(memory->rest, rest));
    rpl_alloc_sites_text(&memory->sites, NULL, top, out);
}

void rpl_non_pytorch_json(const struct rpl_non_pytorch *memory, size_t top, struct vs_json *json)
{
    if (!memory) {
        vs_json_null(json);
        return;
    }
    vs_json_object(json);
    vs_json_put_uint(json, "event", memory->at);
    vs_json_put_uint(json, "peak", memory->peak);
    vs_json_put_uint(json, "pytorch", memory->pytorch);
    vs_json_put_uint(json, "outside", memory->rest);
    vs_json_key(json, "by_line");
    rpl_alloc_sites_json(&memory->sites, NULL, RPL_ALLOC_SITES_BY_LINE, top, json);
    vs_json_end(json);
}

/* ---- the file ---- */

/* Path of the file `name` in the trace's folder; NULL: it does not exist, or is not of device `own`. */
static struct rpl_trace *driver_open_one(const char *path, const char *name, size_t len,
                                         uint64_t own)
{
    const char *slash = strrchr(path, '/');
    struct vs_text beside = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *driver = NULL;
    uint64_t other = 0;

    vs_text_add_n(&beside, path, slash ? (size_t)(slash + 1 - path) : 0);
    vs_text_add_n(&beside, name, len);
    if (rpl_trace_open(vs_text_get(&beside), &driver, &err))
        VS_LOG(VS_LOG_REPLAY, 1, "%s", err.text);
    vs_text_release(&beside);
    if (driver && (!rpl_trace_meta_uint(driver, "device_number", &other) || other != own)) {
        rpl_trace_free(driver);
        driver = NULL;
    }
    return driver;
}

struct rpl_trace *rpl_driver_trace_open(const struct rpl_trace *trace, const char *path)
{
    const char *name = rpl_trace_meta(trace, "driver_trace");
    struct rpl_trace *driver = NULL;
    uint64_t own = 0;

    if (rpl_trace_device_count(trace))
        own = rpl_trace_device(trace, rpl_trace_device_now(trace));
    else
        (void)!rpl_trace_meta_uint(trace, "device_number", &own);
    while (name && *name && !driver) {
        size_t len = strcspn(name, "\n");

        driver = driver_open_one(path, name, len, own);
        name += len + (name[len] == '\n');
    }
    return driver;
}
