/*
 * replay/diff/compare.c - see compare.h.
 *
 * Must not know:  drawing, how the second run was made.
 * Invariant:      everything but the location of the peak is read from the index.
 */
#include "replay/diff/compare.h"

#include <string.h>

#include "replay/index/index_internal.h"
#include "replay/index/timeline.h"
#include "replay/index/walk.h"

/* Find the location of the peak. */
static enum vs_status where_fill(struct rpl_run *out, struct rpl_index *index, struct vs_error *err)
{
    struct rpl_column top;
    struct rpl_walk walk;
    enum vs_status st = rpl_timeline_range(index, 1, index->event_count, &top, err);

    if (st)
        return st;
    memcpy(out->by_category, top.by_category, sizeof(out->by_category));
    rpl_walk_init(&walk, index);
    st = rpl_walk_to(&walk, out->event, err);
    out->step = walk.step;
    out->phase = (enum vs_phase)walk.phase;
    out->location = walk.location;
    return st;
}

enum vs_status rpl_run_fill(struct rpl_run *out, struct rpl_index *index, struct vs_error *err)
{
    const struct rpl_facts *f = &index->facts;

    *out = (struct rpl_run){
        .peak = f->allocated_max,
        .event = f->max_seq,
        .reserved = f->reserved_max,
        .step = -1,
        .phase = VS_PHASE_SETUP,
        .is_recompute = f->max_is_recompute != 0,
        .flops = f->flops,
        .recompute_flops = f->recompute_flops,
        .steps = f->steps,
        .oom = f->oom_seq,
    };
    return out->event ? where_fill(out, index, err) : VS_OK;
}

/* Arithmetic per training step; all of it if there are no steps. */
static double flops_a_step(const struct rpl_run *run)
{
    return (double)run->flops / (double)(run->steps ? run->steps : 1);
}

void rpl_compare_fill(struct rpl_compare *out, const struct rpl_run *before,
                      const struct rpl_run *after)
{
    out->before = *before;
    out->after = *after;
    out->delta = (int64_t)(out->after.peak - out->before.peak);
    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++)
        out->by_category[i] = (int64_t)(out->after.by_category[i] - out->before.by_category[i]);
    out->recompute =
        out->after.flops ? (double)out->after.recompute_flops / (double)out->after.flops : 0;
    out->flops_ratio =
        out->before.flops ? flops_a_step(&out->after) / flops_a_step(&out->before) : 1;
}
