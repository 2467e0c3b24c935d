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

/*
 * What step `at` leaves behind when the next one ends. Blocks are numbered in order of allocation, so those of the next
 * step follow.
 */
static enum vs_status kept_fill(struct rpl_steps *steps, size_t at, struct rpl_index *index,
                                struct vs_error *err)
{
    struct rpl_step_row *row = &steps->rows[at];
    uint64_t ids = rpl_lifetime_count(index);
    uint64_t largest = 0;
    enum vs_status st = VS_OK;
    uint64_t id = row->first_block;

    row->kept = row->kept_count = row->kept_block = 0;
    for (; !st && id <= ids; id++) {
        struct rpl_lifetime life;

        st = rpl_lifetime_get(index, id, &life, err);
        if (st == VS_E_NOT_FOUND) { /* a block of another device */
            st = VS_OK;
            continue;
        }
        if (st || life.alloc_seq > row->last)
            break;
        if (life.alloc_seq < row->first || (life.free_seq && life.free_seq <= row[1].last))
            continue;
        if (!row->kept_block || life.bytes > largest) {
            row->kept_block = id;
            largest = life.bytes;
        }
        row->kept += life.bytes;
        row->kept_count++;
    }
    row[1].first_block = id;
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

static void compare(struct rpl_steps *steps)
{
    outliers_mark(steps);
    growth_fill(steps);
    steps->is_compared = true;
}

/* ---- curves ---- */

enum vs_status rpl_steps_curve(const struct rpl_steps *steps, size_t row, struct rpl_index *index,
                               uint64_t *out, struct vs_error *err)
{
    struct rpl_column columns[RPL_STEP_POINTS];
    enum vs_status st = rpl_timeline_columns(index, steps->rows[row].first, steps->rows[row].last,
                                             columns, RPL_STEP_POINTS, err);

    for (size_t i = 0; !st && i < RPL_STEP_POINTS; i++)
        out[i] = columns[i].allocated_max;
    return st;
}

static enum vs_status curve_add(struct rpl_steps *steps, size_t row, struct rpl_index *index,
                                struct vs_error *err)
{
    uint64_t *curve = &steps->curves[steps->curve_count * RPL_STEP_POINTS];
    enum vs_status st = rpl_steps_curve(steps, row, index, curve, err);

    if (!st)
        steps->curve_rows[steps->curve_count++] = row;
    return st;
}

/* Moves next_curve to the next row that gets one. */
static void curve_seek(struct rpl_steps *steps)
{
    size_t every = steps->count / RPL_STEP_CURVES_MAX + 1;

    while (steps->next_curve < steps->count) {
        const struct rpl_step_row *row = &steps->rows[steps->next_curve];

        if (steps->curve_count == RPL_STEP_CURVES_MAX)
            steps->next_curve = steps->count;
        else if (row->step >= 0 && row->last >= row->first &&
                 (steps->next_curve % every == 0 || row->is_outlier))
            return;
        else
            steps->next_curve++;
    }
}

/* ---- piece by piece ---- */

void rpl_steps_begin(struct rpl_steps *steps, const struct rpl_index *index, bool is_grown)
{
    const struct rpl_trace *trace = rpl_index_trace(index);
    /* the last step may have been cut off, and what the one before keeps was not known */
    size_t known = is_grown && steps->done > 2 ? steps->done - 2 : 0;
    struct rpl_step_row *rows = steps->rows;

    steps->rows = NULL;
    rpl_steps_release(steps);
    steps->count = rpl_trace_step_count(trace);
    steps->rows = vs_calloc(steps->count + 1, sizeof(*steps->rows));
    steps->curves = vs_calloc((size_t)RPL_STEP_CURVES_MAX * RPL_STEP_POINTS, sizeof(uint64_t));
    steps->curve_rows = vs_calloc(RPL_STEP_CURVES_MAX, sizeof(*steps->curve_rows));
    for (size_t i = 0; i < steps->count; i++) {
        struct rpl_step step = rpl_trace_step(trace, i);

        steps->rows[i] = (struct rpl_step_row){
            .step = step.step, .first = step.first_seq, .last = step.last_seq, .loss = step.loss};
    }
    if (known > steps->count)
        known = 0;
    for (size_t i = 0; i < known; i++)
        steps->rows[i] = rows[i];
    if (steps->count)
        steps->rows[known].first_block = known ? rows[known].first_block : 1;
    steps->done = known;
    vs_free(rows);
}

bool rpl_steps_is_done(const struct rpl_steps *steps)
{
    return !steps->count || (steps->is_compared && steps->next_curve >= steps->count);
}

enum vs_status rpl_steps_next(struct rpl_steps *steps, struct rpl_index *index,
                              struct vs_error *err)
{
    enum vs_status st = VS_OK;

    if (rpl_steps_is_done(steps))
        return VS_OK;
    if (steps->done < steps->count) {
        struct rpl_step_row *row = &steps->rows[steps->done];

        if (row->last >= row->first)
            st = row_fill(row, index, err);
        if (!st && steps->done)
            st = kept_fill(steps, steps->done - 1, index, err);
        steps->done += st == VS_OK;
    } else if (!steps->is_compared) {
        compare(steps);
        curve_seek(steps);
    } else {
        st = curve_add(steps, steps->next_curve, index, err);
        steps->next_curve += st == VS_OK;
        curve_seek(steps);
    }
    return st;
}
