/*
 * tests/replay/inspect/naive_leak.c - what training steps leave allocated, found by reading every event from the start.
 */
#include "tests/replay/inspect/naive.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void leak_begin(struct rpl_leak *out, const struct rpl_trace *trace, bool without_last)
{
    size_t count = rpl_trace_step_count(trace);

    memset(out, 0, sizeof(*out));
    /* where the recording was cut off, the last step is not whole */
    if (count && !rpl_trace_is_complete(trace))
        count--;
    if (count && without_last)
        count--;
    /* the setup, the first step, one that may leak, one after it */
    if (count < 4)
        return;
    out->first_seq = rpl_trace_step(trace, 2).first_seq;
    out->last_seq = rpl_trace_step(trace, count - 2).last_seq;
    out->at = rpl_trace_step(trace, count - 1).last_seq;
    out->steps = count - 3;
}

static size_t step_of(const struct rpl_trace *trace, uint64_t seq)
{
    size_t step = 0;

    for (size_t i = 0; i < rpl_trace_step_count(trace); i++)
        if (rpl_trace_step(trace, i).first_seq <= seq)
            step = i;
    return step;
}

static bool is_repeated(const struct rpl_block *block, const struct rpl_leak *leak,
                        const struct rpl_trace *trace, const struct rpl_live *live)
{
    for (size_t i = 0; i < live->block_count; i++) {
        const struct rpl_block *other = &live->blocks[i];
        const size_t step = step_of(trace, other->alloc_seq);

        if (other->alloc_location == block->alloc_location && step > 0 &&
            other->alloc_seq <= leak->last_seq && step != step_of(trace, block->alloc_seq))
            return true;
    }
    return false;
}

static void leak_take(struct rpl_leak *out, const struct rpl_trace *trace,
                      const struct rpl_live *live)
{
    struct rpl_block *leaked = vs_alloc((live->block_count + 1) * sizeof(*leaked));

    for (size_t i = 0; i < live->block_count; i++) {
        const struct rpl_block *block = &live->blocks[i];

        if (block->alloc_seq < out->first_seq || block->alloc_seq > out->last_seq ||
            !is_repeated(block, out, trace, live))
            continue;
        out->bytes += block->bytes;
        leaked[out->count++] = *block;
    }
    qsort(leaked, out->count, sizeof(*leaked), rpl_block_by_bytes);
    out->block_count = out->count < RPL_LEAK_MAX ? (size_t)out->count : RPL_LEAK_MAX;
    memcpy(out->blocks, leaked, out->block_count * sizeof(*leaked));
    vs_free(leaked);
}

static enum vs_status leak_read(struct rpl_leak *out, struct rpl_trace *trace, bool without_last,
                                struct vs_error *err)
{
    struct rpl_live live;
    enum vs_status st;

    leak_begin(out, trace, without_last);
    if (!out->at)
        return VS_OK;
    rpl_live_init(&live);
    st = rpl_live_read(&live, trace, out->at, err);
    if (!st)
        leak_take(out, trace, &live);
    rpl_live_release(&live);
    return st;
}

/* Of a program the last step is left out where nothing is left at its end. */
enum vs_status naive_leak_fill(struct rpl_leak *out, struct rpl_trace *trace, struct vs_error *err)
{
    enum vs_status st = leak_read(out, trace, false, err);
    struct rpl_leak shorter;

    if (st || !out->at || out->count || !rpl_trace_is_imported(trace))
        return st;
    st = leak_read(&shorter, trace, true, err);
    if (!st && shorter.count)
        *out = shorter;
    return st;
}
