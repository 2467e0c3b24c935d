/*
 * replay/ranks/shared.c - see shared.h.
 *
 * Must not know:  files.
 */
#include "replay/ranks/shared.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/ranks/ranks.h"
#include "replay/state/live.h"

/* ---- which GPU ---- */

/* The number or identifier of the rank's GPU on its machine; heap memory. */
static char *gpu_of(const struct rpl_trace *trace)
{
    const char *visible = rpl_trace_meta(trace, "cuda_visible_devices");
    struct vs_text name = {NULL, 0, 0};
    uint64_t number = 0;

    if (!rpl_trace_meta_uint(trace, "device_number", &number))
        number = 0;
    for (uint64_t i = 0; visible && *visible; i++) {
        const size_t len = strcspn(visible, ",");

        if (i == number) {
            vs_text_add_n(&name, visible, len);
            return vs_text_take(&name);
        }
        visible += len + (visible[len] == ',');
    }
    vs_text_addf(&name, "%" PRIu64, number);
    return vs_text_take(&name);
}

/* Whether two traces are of one machine, or at least one of them does not say where it was recorded. */
static bool may_be_one_machine(const struct rpl_trace *a, const struct rpl_trace *b)
{
    const char *here = rpl_trace_meta(a, "rerun_recorded_by");
    const char *there = rpl_trace_meta(b, "rerun_recorded_by");

    return !here || !there || strcmp(here, there) == 0;
}

/* The GPU of that name of the machine on which `trace` was recorded. */
static struct rpl_shared *gpu_find(struct rpl_ranks *ranks, const char *name,
                                   const struct rpl_trace *trace)
{
    for (size_t i = 0; i < ranks->shared_count; i++)
        if (strcmp(ranks->shared[i].name, name) == 0 &&
            may_be_one_machine(ranks->items[ranks->shared[i].parts[0].rank].trace, trace))
            return &ranks->shared[i];
    ranks->shared[ranks->shared_count].name = vs_strdup(name);
    ranks->shared[ranks->shared_count].parts =
        vs_calloc(ranks->count, sizeof(struct rpl_shared_part));
    return &ranks->shared[ranks->shared_count++];
}

static void gpu_release(struct rpl_shared *gpu)
{
    vs_free(gpu->name);
    vs_free(gpu->parts);
    vs_free(gpu->curve);
}

/* The trace of a rank that is read, and when it began. False: it does not say. */
static bool trace_of(const struct rpl_rank *rank, struct rpl_trace **out, uint64_t *began_ns)
{
    uint64_t us;

    *out = rank->driver && rpl_trace_meta_uint(rank->driver, "began_us", &us) ? rank->driver
                                                                              : rank->trace;
    if (!rpl_trace_meta_uint(*out, "began_us", &us) || us > UINT64_MAX / 1000 / 2)
        return false;
    *began_ns = us * 1000;
    return true;
}

/* ---- on one axis ---- */

/* A trace that is read. now: bytes after the events so far; next: the one that comes, NULL at its end. */
struct stream {
    struct rpl_scan *scan;
    struct rpl_live live;
    const struct vs_event *next;
    uint64_t began_ns;
    uint64_t now;
    bool is_driver;
};

static uint64_t time_of(const struct stream *s)
{
    return s->began_ns + s->next->time_ns;
}

/* Apply the next event. A process has nothing any more after its last one. */
static enum vs_status stream_step(struct stream *s, struct vs_error *err)
{
    enum vs_status st = rpl_live_apply(&s->live, s->scan->seq, s->next, err);

    s->now = s->is_driver ? s->live.allocated : s->live.reserved;
    s->next = st ? NULL : rpl_scan_next(s->scan, err);
    return st ? st : s->scan->status;
}

static void take_highest(struct rpl_shared *gpu, struct stream *streams, uint64_t at_ns)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < gpu->part_count; i++) {
        sum += streams[i].now;
        if (streams[i].now > gpu->parts[i].highest)
            gpu->parts[i].highest = streams[i].now;
    }
    if (sum <= gpu->together)
        return;
    gpu->together = sum;
    gpu->at_ns = at_ns;
    for (size_t i = 0; i < gpu->part_count; i++)
        gpu->parts[i].bytes = streams[i].now;
}

static uint64_t *point_of(const struct rpl_shared *gpu, size_t point)
{
    return &gpu->curve[point * gpu->part_count];
}

/* Point `to` has the values of `from` unless its own sum is higher. */
static void point_take(struct rpl_shared *gpu, size_t to, const uint64_t *from)
{
    uint64_t have = 0;
    uint64_t sum = 0;

    for (size_t i = 0; i < gpu->part_count; i++) {
        have += point_of(gpu, to)[i];
        sum += from[i];
    }
    if (sum > have)
        memcpy(point_of(gpu, to), from, gpu->part_count * sizeof(*from));
}

/* Points twice as long, each of two. */
static void points_halve(struct rpl_shared *gpu)
{
    for (size_t i = 0; i < gpu->point_count; i++) {
        if (i % 2)
            point_take(gpu, i / 2, point_of(gpu, i));
        else
            memmove(point_of(gpu, i / 2), point_of(gpu, i), gpu->part_count * sizeof(*gpu->curve));
    }
    gpu->point_count = (gpu->point_count + 1) / 2;
    gpu->point_ns *= 2;
}

/* `now`, part_count values, begins at_ns after the first event; what was there before lasted until then. */
static void curve_add(struct rpl_shared *gpu, const uint64_t *before, const uint64_t *now,
                      uint64_t at_ns)
{
    const size_t size = gpu->part_count * sizeof(*now);

    while (at_ns / gpu->point_ns >= RPL_SHARED_POINTS)
        points_halve(gpu);
    while (gpu->point_count <= at_ns / gpu->point_ns)
        memcpy(point_of(gpu, gpu->point_count++), before, size);
    point_take(gpu, gpu->point_count - 1, now);
}

/* The stream whose next event is the earliest; part_count: all are at their ends. */
static size_t earliest(const struct rpl_shared *gpu, const struct stream *streams)
{
    size_t found = gpu->part_count;

    for (size_t i = 0; i < gpu->part_count; i++)
        if (streams[i].next &&
            (found == gpu->part_count || time_of(&streams[i]) < time_of(&streams[found])))
            found = i;
    return found;
}

static enum vs_status gpu_fill(const struct rpl_ranks *ranks, struct rpl_shared *gpu,
                               struct vs_error *err)
{
    struct stream *streams = vs_calloc(gpu->part_count, sizeof(*streams));
    enum vs_status st = VS_OK;
    uint64_t *held = vs_calloc(2 * gpu->part_count, sizeof(*held));
    uint64_t first_ns = 0;
    size_t at;

    gpu->curve = vs_calloc(RPL_SHARED_POINTS * gpu->part_count, sizeof(*gpu->curve));
    gpu->point_ns = 1;
    for (size_t i = 0; i < gpu->part_count; i++) {
        struct stream *s = &streams[i];
        struct rpl_trace *trace;

        (void)!trace_of(&ranks->items[gpu->parts[i].rank], &trace, &s->began_ns);
        s->is_driver = gpu->parts[i].is_driver = trace != ranks->items[gpu->parts[i].rank].trace;
        rpl_live_init(&s->live);
        s->scan = vs_calloc(1, sizeof(*s->scan));
        rpl_scan_init(s->scan, trace, 1, rpl_trace_event_count(trace));
        s->next = rpl_scan_next(s->scan, err);
        st = st ? st : s->scan->status;
    }
    at = earliest(gpu, streams);
    if (!st && at < gpu->part_count)
        first_ns = time_of(&streams[at]);
    while (!st && (at = earliest(gpu, streams)) < gpu->part_count) {
        const uint64_t now_ns = time_of(&streams[at]);

        st = stream_step(&streams[at], err);
        take_highest(gpu, streams, now_ns - first_ns);
        memcpy(held, &held[gpu->part_count], gpu->part_count * sizeof(*held));
        held[gpu->part_count + at] = streams[at].now;
        curve_add(gpu, held, &held[gpu->part_count], now_ns - first_ns);
        if (!streams[at].next)
            streams[at].now = held[gpu->part_count + at] = 0;
    }
    vs_free(held);
    for (size_t i = 0; i < gpu->part_count; i++) {
        gpu->alone += gpu->parts[i].highest;
        rpl_live_release(&streams[i].live);
        vs_free(streams[i].scan);
    }
    vs_free(streams);
    return st;
}

enum vs_status rpl_shared_fill(struct rpl_ranks *ranks, struct vs_error *err)
{
    enum vs_status st = VS_OK;
    size_t kept = 0;

    ranks->shared = vs_calloc(ranks->count + 1, sizeof(*ranks->shared));
    for (size_t i = 0; i < ranks->count; i++) {
        struct rpl_trace *trace;
        uint64_t began_ns;

        if (trace_of(&ranks->items[i], &trace, &began_ns)) {
            char *name = gpu_of(ranks->items[i].trace);
            struct rpl_shared *gpu = gpu_find(ranks, name, ranks->items[i].trace);

            gpu->parts[gpu->part_count++].rank = i;
            vs_free(name);
        }
    }
    for (size_t i = 0; i < ranks->shared_count; i++) {
        struct rpl_shared gpu = ranks->shared[i];

        if (gpu.part_count < 2) {
            gpu_release(&gpu);
            continue;
        }
        st = st ? st : gpu_fill(ranks, &gpu, err);
        ranks->shared[kept++] = gpu;
    }
    ranks->shared_count = kept;
    return st;
}

void rpl_shared_release(struct rpl_ranks *ranks)
{
    for (size_t i = 0; i < ranks->shared_count; i++)
        gpu_release(&ranks->shared[i]);
    vs_free(ranks->shared);
    ranks->shared = NULL;
    ranks->shared_count = 0;
}

/* ---- saying it ---- */

static void add_parts(const struct rpl_ranks *ranks, const struct rpl_shared *gpu,
                      struct vs_text *out)
{
    char bytes[VS_BYTES_TEXT_MAX];

    for (size_t i = 0; i < gpu->part_count; i++) {
        const struct rpl_shared_part *part = &gpu->parts[i];

        vs_text_add(out, "  ");
        rpl_rank_text(&ranks->items[part->rank], out);
        vs_text_addf(out, ": %s of them", vs_bytes_text(part->bytes, bytes));
        vs_text_addf(out, ", at most %s, %s\n", vs_bytes_text(part->highest, bytes),
                     part->is_driver ? "as the driver gave it" : "in PyTorch's segments");
    }
}

void rpl_shared_text(const struct rpl_ranks *ranks, struct vs_text *out)
{
    char together[VS_BYTES_TEXT_MAX];
    char alone[VS_BYTES_TEXT_MAX];

    for (size_t i = 0; i < ranks->shared_count; i++) {
        const struct rpl_shared *gpu = &ranks->shared[i];

        vs_text_addf(out,
                     "\nGPU %s is shared by %zu processes: together they have at most %s, %.3f s "
                     "after the first event; %s if all had most at once\n",
                     gpu->name, gpu->part_count, vs_bytes_text(gpu->together, together),
                     (double)gpu->at_ns / 1e9, vs_bytes_text(gpu->alone, alone));
        add_parts(ranks, gpu, out);
    }
}

void rpl_shared_json(const struct rpl_ranks *ranks, struct vs_json *json)
{
    vs_json_key(json, "shared");
    vs_json_array(json);
    for (size_t i = 0; i < ranks->shared_count; i++) {
        const struct rpl_shared *gpu = &ranks->shared[i];

        vs_json_object(json);
        vs_json_put_string(json, "gpu", gpu->name);
        vs_json_put_uint(json, "together", gpu->together);
        vs_json_put_uint(json, "alone", gpu->alone);
        vs_json_put_uint(json, "at_ns", gpu->at_ns);
        vs_json_key(json, "processes");
        vs_json_array(json);
        for (size_t k = 0; k < gpu->part_count; k++) {
            const struct rpl_shared_part *part = &gpu->parts[k];

            vs_json_object_flat(json);
            vs_json_put_string(json, "trace", ranks->items[part->rank].path);
            vs_json_put_string(json, "of", part->is_driver ? "driver" : "pytorch");
            vs_json_put_uint(json, "bytes", part->bytes);
            vs_json_put_uint(json, "highest", part->highest);
            vs_json_end(json);
        }
        vs_json_end(json);
        vs_json_end(json);
    }
    vs_json_end(json);
}
