/*
 * replay/inspect/steps.c - see steps.h.
 *
 * Must not know:  drawing.
 * Invariant:      what a step leaves behind is read from lifetimes alone.
 */
#include "replay/inspect/steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "replay/index/lifetimes.h"
#include "replay/index/timeline.h"

void rpl_steps_release(struct rpl_steps *steps)
{
    vs_free(steps->rows);
    vs_free(steps->curves);
    vs_free(steps->curve_rows);
    memset(steps, 0, sizeof(*steps));
}

/* ---- figures ---- */

static enum vs_status row_fill(struct rpl_step_row *row, struct rpl_index *index,
                               struct vs_error *err)
{
    struct rpl_column column;
    enum vs_status st = rpl_timeline_range(index, row->first, row->last, &column, err);

    if (st)
        return st;
    row->peak = column.allocated_max;
    row->peak_seq = column.max_seq;
    row->reserved = column.reserved_max;
    st = rpl_timeline_range(index, row->last, row->last, &column, err);
    row->end = st ? 0 : column.allocated_max;
    return st;
}

/* Blocks are numbered in order of allocation, so their steps follow each other. */
static enum vs_status kept_fill(struct rpl_steps *steps, struct rpl_index *index,
                                struct vs_error *err)
{
    uint64_t ids = rpl_lifetime_count(index);
    enum vs_status st = VS_OK;
    size_t at = 0;

    for (uint64_t id = 1; !st && id <= ids; id++) {
        struct rpl_lifetime life;
        struct rpl_lifetime largest = {.bytes = 0};
        struct rpl_step_row *row;

        st = rpl_lifetime_get(index, id, &life, err);
        while (at < steps->count && steps->rows[at].last < life.alloc_seq)
            at++;
        if (st || at + 1 >= steps->count || life.alloc_seq < steps->rows[at].first)
            continue;
        row = &steps->rows[at];
        if (life.free_seq && life.free_seq <= row[1].last)
            continue;
        if (row->kept_block)
            st = rpl_lifetime_get(index, row->kept_block, &largest, err);
        if (!row->kept_block || life.bytes > largest.bytes)
            row->kept_block = id;
        row->kept += life.bytes;
        row->kept_count++;
    }
    return st;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static uint64_t median_of(uint64_t *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return count ? values[count / 2] : 0;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static void outliers_mark(struct rpl_steps *steps)
{
    uint64_t *values = vs_calloc(steps->count + 1, sizeof(*values));
    uint64_t spread;
    size_t count = 0;

    for (size_t i = 0; i < steps->count; i++)
        if (steps->rows[i].step >= 0)
            values[count++] = steps->rows[i].peak;
    steps->median = median_of(values, count);
    for (size_t i = 0; i < count; i++)
        values[i] = distance(values[i], steps->median);
    spread = median_of(values, count);
    for (size_t i = 0; i < steps->count; i++) {
        uint64_t far = distance(steps->rows[i].peak, steps->median);

        steps->rows[i].is_outlier =
            steps->rows[i].step >= 0 && far > steps->median / 64 && far / 4 > spread;
    }
    vs_free(values);
}

/* Without the first training step, which allocates the optimizer's state, and the last, which no step follows. */
static void growth_fill(struct rpl_steps *steps)
{
    uint64_t bytes = 0;
    size_t count = 0;

    for (size_t i = 0; i + 1 < steps->count; i++)
        if (steps->rows[i].step > 0) {
            bytes += steps->rows[i].kept;
            count++;
        }
    steps->growth = count ? bytes / count : 0;
}

/* ---- curves ---- */

static enum vs_status curve_add(struct rpl_steps *steps, size_t row, struct rpl_index *index,
                                struct vs_error *err)
{
    struct rpl_column columns[RPL_STEP_POINTS];
    uint64_t *curve = &steps->curves[steps->curve_count * RPL_STEP_POINTS];
    enum vs_status st = rpl_timeline_columns(index, steps->rows[row].first, steps->rows[row].last,
                                             columns, RPL_STEP_POINTS, err);

    if (st)
        return st;
    for (size_t i = 0; i < RPL_STEP_POINTS; i++)
        curve[i] = columns[i].allocated_max;
    steps->curve_rows[steps->curve_count++] = row;
    return VS_OK;
}

static enum vs_status curves_fill(struct rpl_steps *steps, struct rpl_index *index,
                                  rpl_progress_fn *progress, void *user, struct vs_error *err)
{
    size_t every = steps->count / RPL_STEP_CURVES_MAX + 1;
    size_t most = RPL_STEP_CURVES_MAX;
    enum vs_status st = VS_OK;

    steps->curves = vs_calloc((size_t)RPL_STEP_CURVES_MAX * RPL_STEP_POINTS, sizeof(uint64_t));
    steps->curve_rows = vs_calloc(RPL_STEP_CURVES_MAX, sizeof(*steps->curve_rows));
    for (size_t i = 0; !st && i < steps->count && steps->curve_count < most; i++) {
        const struct rpl_step_row *row = &steps->rows[i];

        if (row->step < 0 || (i % every && !row->is_outlier))
            continue;
        if (progress && !progress(user, steps->count + i, 2 * steps->count))
            return vs_fail(err, VS_E_STOPPED, "stopped");
        st = curve_add(steps, i, index, err);
    }
    return st;
}

enum vs_status rpl_steps_fill(struct rpl_steps *out, struct rpl_index *index,
                              rpl_progress_fn *progress, void *user, struct vs_error *err)
{
    const struct rpl_trace *trace = rpl_index_trace(index);
    enum vs_status st = VS_OK;

    rpl_steps_release(out);
    out->count = rpl_trace_step_count(trace);
    out->rows = vs_calloc(out->count + 1, sizeof(*out->rows));
    for (size_t i = 0; !st && i < out->count; i++) {
        struct rpl_step step = rpl_trace_step(trace, i);

        if (progress && !progress(user, i, 2 * out->count))
            return vs_fail(err, VS_E_STOPPED, "stopped");
        out->rows[i] = (struct rpl_step_row){
            .step = step.step, .first = step.first_seq, .last = step.last_seq, .loss = step.loss};
        if (step.last_seq >= step.first_seq)
            st = row_fill(&out->rows[i], index, err);
    }
    if (!st)
        st = kept_fill(out, index, err);
    if (st)
        return st;
    outliers_mark(out);
    growth_fill(out);
    return curves_fill(out, index, progress, user, err);
}
