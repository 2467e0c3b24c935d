/*
 * replay/diff/diff.c - computes the difference; see diff.h.
 *
 * Must not know:  how it is shown.
 * Invariant:      what is counted at an event is the complete live set.
 */
#include "replay/diff/diff.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "replay/diff/diff_internal.h"
#include "replay/index/cursor.h"
#include "replay/index/timeline.h"
#include "replay/inspect/modules.h"
#include "replay/report/figures.h"

static const char *const BY_NAMES[RPL_DIFF_BY_COUNT] = {"category", "module", "line", "tensor"};
static const char *const CAUSE_NAMES[RPL_DIFF_CAUSE_COUNT] = {"both", "only_a", "only_b",
                                                              "not_in_b", "not_in_a"};

const char *rpl_diff_by_name(enum rpl_diff_by by)
{
    return BY_NAMES[by];
}

const char *rpl_diff_cause_name(enum rpl_diff_cause cause)
{
    return CAUSE_NAMES[cause];
}

bool rpl_diff_by_parse(const char *name, enum rpl_diff_by *out)
{
    for (int i = 0; i < RPL_DIFF_BY_COUNT; i++)
        if (strcmp(name, BY_NAMES[i]) == 0) {
            *out = (enum rpl_diff_by)i;
            return true;
        }
    return false;
}

/* ---- a side ---- */

static enum vs_status side_open(struct rpl_diff_side *side, struct rpl_index *index,
                                struct vs_error *err)
{
    enum vs_status st;

    side->index = index;
    side->trace = rpl_index_trace(index);
    side->cursor = rpl_cursor_new(index);
    st = rpl_figures_summary(side->trace, &side->sum, err);
    side->at = side->sum.peak;
    return st ? st : rpl_modules_new(index, &side->modules, err);
}

static const struct rpl_align_side *align_side(const struct rpl_diff *diff,
                                               const struct rpl_diff_side *side)
{
    return side == &diff->a ? &diff->align.a : &diff->align.b;
}

/* The number of complete training steps: a recording that was stopped early ends within its last step. */
static size_t whole_steps(const struct rpl_trace *trace)
{
    size_t count = rpl_trace_step_count(trace);

    return count && !rpl_trace_is_complete(trace) ? count - 1 : count;
}

static bool step_find(const struct rpl_trace *trace, size_t count, int64_t step,
                      struct rpl_step *out)
{
    for (size_t i = count; i-- > 0;) {
        *out = rpl_trace_step(trace, i);
        if (out->step == step)
            return true;
    }
    return false;
}

/* The step that is compared; -1 if the traces have none in common. */
static enum vs_status step_choose(struct rpl_diff *diff, struct vs_error *err)
{
    struct rpl_step found;
    size_t count_a = whole_steps(diff->a.trace);
    size_t count_b = whole_steps(diff->b.trace);

    if (diff->options.step != RPL_DIFF_STEP_LAST) {
        if (step_find(diff->a.trace, rpl_trace_step_count(diff->a.trace), diff->options.step,
                      &found) &&
            step_find(diff->b.trace, rpl_trace_step_count(diff->b.trace), diff->options.step,
                      &found))
            return VS_OK;
        return vs_fail(err, VS_E_NOT_FOUND, "step %" PRId64 " is not in both traces",
                       diff->options.step);
    }
    diff->options.step = -1;
    for (size_t i = count_a; i-- > 0 && diff->options.step < 0;)
        if (step_find(diff->b.trace, count_b, rpl_trace_step(diff->a.trace, i).step, &found))
            diff->options.step = found.step;
    return VS_OK;
}

/* ---- events ---- */

/* Compare this side right after `event`. */
static enum vs_status event_set(struct rpl_diff_side *side, uint64_t event, struct vs_error *err)
{
    const struct rpl_live *live = rpl_cursor_live(side->cursor);
    enum vs_status st = rpl_cursor_seek(side->cursor, event, err);
    struct rpl_here here = rpl_cursor_here(side->cursor);

    if (!st) {
        side->at.event = event;
        side->at.allocated = live->allocated;
        side->at.requested_there = live->requested;
        side->at.reserved_there = live->reserved;
        side->at.step = here.step;
        side->at.phase = here.phase;
        side->at.location = here.event.location;
        side->at.is_recompute = here.is_recompute;
        memcpy(side->at.by_category, live->by_category, sizeof(side->at.by_category));
    }
    return st;
}

/* Compare this side at the peak of the step. */
static enum vs_status step_top_set(struct rpl_diff_side *side, int64_t number, struct vs_error *err)
{
    struct rpl_column top;
    struct rpl_step step;
    enum vs_status st;

    if (!step_find(side->trace, rpl_trace_step_count(side->trace), number, &step))
        return vs_fail(err, VS_E_NOT_FOUND, "the two traces have no complete step in common");
    st = rpl_timeline_range(side->index, step.first_seq, step.last_seq, &top, err);
    return st ? st : event_set(side, top.max_seq, err);
}

const struct rpl_pairs *rpl_diff_pairs(struct rpl_diff *diff)
{
    if (!diff->pairs.rows)
        rpl_pairs_fill(&diff->pairs, &diff->align);
    return &diff->pairs;
}

static enum vs_status event_check(const struct rpl_diff_side *side, uint64_t event,
                                  const char *which, struct vs_error *err)
{
    uint64_t count = rpl_index_event_count(side->index);

    if (event <= count)
        return VS_OK;
    return vs_fail(err, VS_E_NOT_FOUND, "%s has %" PRIu64 " events, so there is no event %" PRIu64,
                   which, count, event);
}

static enum vs_status events_set(struct rpl_diff *diff, struct vs_error *err)
{
    const struct rpl_diff_options *options = &diff->options;
    uint64_t event_a = options->event_a;
    uint64_t event_b = options->event_b;
    enum vs_status st = VS_OK;

    switch (options->at) {
    case RPL_DIFF_AT_PEAK:
        diff->a.at = diff->a.sum.peak;
        diff->b.at = diff->b.sum.peak;
        break;
    case RPL_DIFF_AT_STEP:
        st = step_top_set(&diff->a, options->step, err);
        if (!st)
            st = step_top_set(&diff->b, options->step, err);
        break;
    case RPL_DIFF_AT_EVENT:
        st = event_check(&diff->a, event_a, "A", err);
        if (!st)
            st = event_check(&diff->b, event_b, "B", err);
        if (!st && !event_b)
            event_b = rpl_pairs_event(rpl_diff_pairs(diff), false, event_a);
        else if (!st && !event_a)
            event_a = rpl_pairs_event(rpl_diff_pairs(diff), true, event_b);
        if (!st)
            st = event_set(&diff->a, event_a, err);
        if (!st)
            st = event_set(&diff->b, event_b, err);
        break;
    }
    return st;
}

/* ---- counting ---- */

/* Add the live set right after `event`. is_saved: only what autograd holds, by requested bytes. */
static enum vs_status alive_add(struct rpl_diff *diff, struct rpl_diff_side *side,
                                struct rpl_items *items, uint64_t event, bool is_saved,
                                struct vs_error *err)
{
    const struct rpl_align_side *allocs = align_side(diff, side);
    const struct rpl_live *live = rpl_cursor_live(side->cursor);
    enum vs_status st = rpl_cursor_seek(side->cursor, event, err);

    for (size_t i = 0; !st && i < live->block_count; i++) {
        const struct rpl_block *block = &live->blocks[i];
        size_t number = rpl_align_after(allocs, block->alloc_seq - 1);
        size_t count;
        size_t at;

        if (is_saved && (!block->saves || !rpl_counts_as_saved(block)))
            continue;
        if (number == allocs->alloc_count || allocs->allocs[number].block != block->id)
            st = vs_fail(err, VS_E_DAMAGED,
                         "block %" PRIu64 " was never allocated; the trace is damaged", block->id);
        else
            st = rpl_modules_of(side->modules, side->cursor, block, &at, err);
        if (!st)
            rpl_items_add(items, diff, side, number, (enum vs_category)block->category,
                          rpl_modules_all(side->modules, &count)[at].path,
                          is_saved ? block->requested : block->bytes);
    }
    return st;
}

/* Add everything that the step allocates. */
static void step_add(struct rpl_diff *diff, const struct rpl_diff_side *side,
                     struct rpl_items *items)
{
    const struct rpl_align_side *allocs = align_side(diff, side);

    for (size_t i = 0; i < allocs->alloc_count; i++) {
        const struct rpl_alloc *alloc = &allocs->allocs[i];
        const struct vs_location *location = rpl_trace_location(side->trace, alloc->location);

        if (alloc->step == diff->options.step)
            rpl_items_add(items, diff, side, i, (enum vs_category)alloc->category,
                          rpl_trace_string(side->trace, location->module), alloc->bytes);
    }
}

/* The items that were counted: the live sets after the two events, what is saved there, or what a step allocates. */
struct rpl_diff_counted {
    struct rpl_items items;
    bool is_there;
    enum rpl_diff_what what;
    uint64_t event_a;
    uint64_t event_b;
    int64_t step;
};

/* Count the live sets of A and B after their events. */
static enum vs_status alive_count(struct rpl_diff *diff, const struct rpl_diff_counted *wanted,
                                  struct vs_error *err)
{
    struct rpl_items *items = &diff->counted->items;
    bool is_saved = wanted->what == RPL_DIFF_SAVED;
    enum vs_status st = alive_add(diff, &diff->a, items, wanted->event_a, is_saved, err);

    return st ? st : alive_add(diff, &diff->b, items, wanted->event_b, is_saved, err);
}

/* Count the live sets at the two events; events in different steps are paired by rpl_align_cross. */
static enum vs_status live_count(struct rpl_diff *diff, const struct rpl_diff_counted *wanted,
                                 struct vs_error *err)
{
    int64_t step_a = diff->a.at.step;
    int64_t step_b = diff->b.at.step;
    bool is_crossed = step_a >= 0 && step_b >= 0 && step_a != step_b;
    enum vs_status st;

    if (is_crossed)
        rpl_align_cross(&diff->align, step_a, step_b);
    st = alive_count(diff, wanted, err);
    if (is_crossed)
        rpl_align_uncross(&diff->align, step_a, step_b);
    return st;
}

/* Make diff->counted what is wanted, unless it is already. */
static enum vs_status count(struct rpl_diff *diff, const struct rpl_diff_counted *wanted,
                            struct vs_error *err)
{
    struct rpl_diff_counted *counted = diff->counted;
    enum vs_status st = VS_OK;

    if (counted->is_there && counted->what == wanted->what && counted->step == wanted->step &&
        counted->event_a == wanted->event_a && counted->event_b == wanted->event_b)
        return VS_OK;
    vs_free(counted->items.all);
    *counted = *wanted;
    switch (wanted->what) {
    case RPL_DIFF_LIVE:
        st = live_count(diff, wanted, err);
        break;
    case RPL_DIFF_STEP:
        if (wanted->step >= 0) {
            step_add(diff, &diff->a, &counted->items);
            step_add(diff, &diff->b, &counted->items);
        }
        break;
    case RPL_DIFF_SAVED:
        st = alive_count(diff, wanted, err);
        break;
    }
    counted->is_there = !st;
    return st;
}

/* Group the counted items into rows; the items stay for the next grouping. */
static enum vs_status part_take(struct rpl_diff *diff, struct rpl_diff_part *part,
                                struct vs_error *err)
{
    const struct rpl_items *all = &diff->counted->items;
    struct rpl_items items = {.all = vs_calloc(all->count + 1, sizeof(*items.all)),
                              .count = all->count,
                              .cap = all->count + 1};

    if (all->count)
        memcpy(items.all, all->all, all->count * sizeof(*items.all));
    part->event_a = diff->counted->event_a;
    part->event_b = diff->counted->event_b;
    return rpl_items_take(&items, diff, part, err);
}

/* ---- settings and net files ---- */

static const char *toggle_value(const struct rpl_trace *trace, const char *name)
{
    for (size_t i = 0; i < rpl_trace_toggle_count(trace); i++)
        if (strcmp(rpl_trace_toggle(trace, i).name, name) == 0)
            return rpl_trace_toggle(trace, i).value;
    return NULL;
}

static void toggles_fill(struct rpl_diff *diff)
{
    size_t count_a = rpl_trace_toggle_count(diff->a.trace);
    size_t count_b = rpl_trace_toggle_count(diff->b.trace);

    diff->toggles = vs_arena_calloc(diff->arena, count_a + count_b + 1, sizeof(*diff->toggles));
    for (size_t i = 0; i < count_a + count_b; i++) {
        const char *name = i < count_a ? rpl_trace_toggle(diff->a.trace, i).name
                                       : rpl_trace_toggle(diff->b.trace, i - count_a).name;
        const char *a = toggle_value(diff->a.trace, name);
        const char *b = toggle_value(diff->b.trace, name);

        if ((i >= count_a && a) || (a && b && strcmp(a, b) == 0))
            continue;
        diff->toggles[diff->toggle_count++] = (struct rpl_diff_toggle){name, a, b};
    }
}

static void line_add(struct rpl_diff *diff, uint32_t a, uint32_t b,
                     const struct rpl_line_text *line)
{
    if (line->indent == line->len)
        return;
    diff->lines[diff->line_count++] =
        (struct rpl_diff_line){a, b, vs_arena_strndup(diff->arena, line->text, line->len)};
}

/* The differing lines in the order of the files; those of A before those of B that replace them. */
static void lines_fill(struct rpl_diff *diff)
{
    const struct rpl_align_side *a = &diff->align.a;
    const struct rpl_align_side *b = &diff->align.b;
    uint32_t i = 0;
    uint32_t k = 0;

    diff->lines =
        vs_arena_calloc(diff->arena, a->line_count + b->line_count + 1, sizeof(*diff->lines));
    if (!a->line_mates)
        return;
    while (i < a->line_count || k < b->line_count) {
        if (i < a->line_count && !a->line_mates[i + 1]) {
            line_add(diff, i + 1, 0, &a->lines[i]);
            i++;
        } else if (k < b->line_count && !b->line_mates[k + 1]) {
            line_add(diff, 0, k + 1, &b->lines[k]);
            k++;
        } else {
            if (a->lines[i].indent != b->lines[k].indent)
                line_add(diff, i + 1, k + 1, &b->lines[k]);
            i++;
            k++;
        }
    }
}

static void pairs_count(struct rpl_diff *diff)
{
    for (size_t i = 0; i < diff->align.a.alloc_count; i++) {
        diff->paired += diff->align.a.allocs[i].mate != 0;
        diff->moved += diff->align.a.allocs[i].is_moved;
    }
    diff->only_a = diff->align.a.alloc_count - diff->paired;
    diff->only_b = diff->align.b.alloc_count - diff->paired;
}

/* ---- the whole ---- */

enum vs_status rpl_diff_open(struct rpl_diff *out, struct rpl_index *a, struct rpl_index *b,
                             rpl_progress_fn *progress, void *user, struct vs_error *err)
{
    enum vs_status st;

    out->arena = vs_arena_new();
    out->counted = vs_calloc(1, sizeof(*out->counted));
    st = side_open(&out->a, a, err);
    if (!st)
        st = side_open(&out->b, b, err);
    if (!st)
        st = rpl_align_fill(&out->align, a, b, progress, user, err);
    if (st)
        return st;
    toggles_fill(out);
    lines_fill(out);
    pairs_count(out);
    return VS_OK;
}

enum vs_status rpl_diff_take(struct rpl_diff *diff, enum rpl_diff_what what,
                             const struct rpl_diff_options *options, struct rpl_diff_part *out,
                             struct vs_error *err)
{
    struct rpl_diff_counted wanted = {.what = what, .step = -1};
    enum vs_status st;

    diff->options = *options;
    st = step_choose(diff, err);
    switch (what) {
    case RPL_DIFF_LIVE:
        if (!st)
            st = events_set(diff, err);
        wanted.event_a = diff->a.at.event;
        wanted.event_b = diff->b.at.event;
        break;
    case RPL_DIFF_STEP:
        wanted.step = diff->options.step;
        break;
    case RPL_DIFF_SAVED:
        wanted.event_a = diff->a.sum.saved.event;
        wanted.event_b = diff->b.sum.saved.event;
        break;
    }
    if (!st)
        st = count(diff, &wanted, err);
    return st ? st : part_take(diff, out, err);
}

static enum vs_status leak_fill(struct rpl_diff_side *side, struct vs_error *err)
{
    enum vs_status st = rpl_alive_leak(side->index, &side->leak, err);

    return st ? st : rpl_leak_owner(side->index, &side->leak, &side->leak_owner, err);
}

enum vs_status rpl_diff_fill(struct rpl_diff *out, struct rpl_index *a, struct rpl_index *b,
                             const struct rpl_diff_options *options, struct vs_error *err)
{
    enum vs_status st = rpl_diff_open(out, a, b, NULL, NULL, err);

    if (!st)
        st = rpl_diff_take(out, RPL_DIFF_LIVE, options, &out->live, err);
    if (!st)
        st = rpl_diff_take(out, RPL_DIFF_STEP, options, &out->step, err);
    if (!st)
        st = rpl_diff_take(out, RPL_DIFF_SAVED, options, &out->saved, err);
    if (!st)
        st = leak_fill(&out->a, err);
    if (!st)
        st = leak_fill(&out->b, err);
    if (st)
        return st;
    out->is_same = out->live.is_same && out->step.is_same && out->saved.is_same &&
                   !out->toggle_count && !out->line_count && !out->moved && !out->only_a &&
                   !out->only_b;
    return VS_OK;
}

static void side_release(struct rpl_diff_side *side)
{
    rpl_modules_free(side->modules);
    rpl_cursor_free(side->cursor);
    rpl_summary_release(&side->sum);
}

void rpl_diff_part_release(struct rpl_diff_part *part)
{
    vs_free(part->rows);
    vs_arena_free(part->arena);
    memset(part, 0, sizeof(*part));
}

void rpl_diff_release(struct rpl_diff *diff)
{
    rpl_diff_part_release(&diff->live);
    rpl_diff_part_release(&diff->step);
    rpl_diff_part_release(&diff->saved);
    rpl_pairs_release(&diff->pairs);
    if (diff->counted)
        vs_free(diff->counted->items.all);
    vs_free(diff->counted);
    side_release(&diff->a);
    side_release(&diff->b);
    rpl_align_release(&diff->align);
    vs_arena_free(diff->arena);
    memset(diff, 0, sizeof(*diff));
}
