/*
 * whatif/why.c - see why.h.
 *
 * Must not know:  what a toggle is for.
 * Invariant:      every figure in a reason is of one of the two runs.
 */
#include "whatif/why.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/index/index.h"
#include "replay/inspect/block_text.h"
#include "replay/inspect/leak_owner.h"
#include "replay/inspect/modules.h"
#include "whatif/whatif.h"

static void add_bytes(struct vs_text *out, uint64_t bytes)
{
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_add(out, vs_bytes_text(bytes, buf));
}

/* ---- the peak did not change ---- */

/* What the run says of the first toggle that has no effect. */
static bool add_no_effect(const struct rpl_trace *run, const struct vs_toggles *set,
                          struct vs_text *out)
{
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++) {
        const enum vs_toggle toggle = (enum vs_toggle)i;
        const char *reason = vs_toggles_is_set(set, toggle)
                                 ? wif_no_effect(run, toggle, vs_toggles_get(set, toggle))
                                 : NULL;

        if (!reason)
            continue;
        vs_text_addf(out, "%s=%s has no effect: ", vs_toggle_info(toggle)->name,
                     vs_toggles_get(set, toggle));
        vs_text_add_n(out, reason, strcspn(reason, "\n"));
        return true;
    }
    return false;
}

/* The highest bytes of a phase over all steps; 0: there is no such phase. */
static uint64_t highest_in(const struct rpl_summary *sum, enum vs_phase phase)
{
    uint64_t highest = 0;

    for (size_t i = 0; i < sum->step_count; i++)
        for (size_t k = 0; k < sum->steps[i].phase_count; k++)
            if (sum->steps[i].phases[k].phase == phase &&
                sum->steps[i].phases[k].allocated_peak > highest)
                highest = sum->steps[i].phases[k].allocated_peak;
    return highest;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* The phase whose highest bytes changed most. */
static void add_elsewhere(const struct rpl_summary *before, const struct rpl_summary *after,
                          struct vs_text *out)
{
    enum vs_phase most = VS_PHASE_SETUP;

    for (int i = 0; i < VS_PHASE_COUNT; i++) {
        const enum vs_phase phase = (enum vs_phase)i;

        if (apart(highest_in(before, phase), highest_in(after, phase)) >
            apart(highest_in(before, most), highest_in(after, most)))
            most = phase;
    }
    if (highest_in(before, most) == highest_in(after, most)) {
        vs_text_add(out, ", and in no phase did the highest change");
        return;
    }
    vs_text_addf(out, "; what it changes is elsewhere: the highest in %s %s by ",
                 vs_phase_name(most),
                 highest_in(before, most) > highest_in(after, most) ? "falls" : "rises");
    add_bytes(out, apart(highest_in(before, most), highest_in(after, most)));
    vs_text_add(out, ", to ");
    add_bytes(out, highest_in(after, most));
}

static void add_reserved(const struct rpl_peak *before, const struct rpl_peak *after,
                         struct vs_text *out)
{
    if (before->reserved == after->reserved)
        return;
    vs_text_addf(out, "; reserved bytes %s by ",
                 before->reserved > after->reserved ? "fall" : "rise");
    add_bytes(out, apart(before->reserved, after->reserved));
}

static void add_same(const struct rpl_summary *before, const struct rpl_trace *run,
                     const struct rpl_summary *after, struct vs_text *out)
{
    const struct vs_location *location = rpl_trace_location(run, after->peak.location);
    const char *op = rpl_trace_string(run, location->op);

    vs_text_addf(out, "the peak is in %s%s%s", vs_phase_name(after->peak.phase), *op ? ", " : "",
                 op);
    if (location->line)
        vs_text_addf(out, " of line %" PRIu32, location->line);
    vs_text_add(out, ", where as much is alive as before");
    add_elsewhere(before, after, out);
    add_reserved(&before->peak, &after->peak, out);
}

/* ---- it rose ---- */

/* What earlier steps allocated and is still alive at the peak. False: it is less than half of the rise. */
static bool add_carried(struct rpl_index *index, const struct rpl_peak *peak, uint64_t rise,
                        struct vs_text *out, bool *found, struct vs_error *err)
{
    struct rpl_trace *run = rpl_index_trace(index);
    struct rpl_leak_owner owner;
    uint64_t by_category[VS_CATEGORY_COUNT];
    uint64_t first = 0, last = 0, total = 0;
    size_t most = 0;

    *found = false;
    for (size_t i = 0; i < rpl_trace_step_count(run); i++) {
        const struct rpl_step step = rpl_trace_step(run, i);

        if (step.step == 0)
            first = step.first_seq;
        if (step.step == peak->step)
            last = step.first_seq;
    }
    if (!first || last <= first)
        return true;
    if (rpl_owner_of(index, peak->event, first, last, &owner, by_category, err))
        return false;
    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++) {
        total += by_category[i];
        if (by_category[i] > by_category[most])
            most = i;
    }
    if (total < rise / 2)
        return true;
    *found = true;
    add_bytes(out, total);
    vs_text_addf(out,
                 " of the peak, most of it `%s`, are from before step %" PRId64 " and still alive",
                 vs_category_name((enum vs_category)most), peak->step);
    if (owner.is_known && owner.bytes >= total / 2) {
        vs_text_add(out, ", kept by ");
        rpl_holder_text(run, &owner.holder, out);
        vs_text_add(out, owner.by_history ? " and the autograd history of its tensor" : "");
    }
    return true;
}

/* The category that grew most. */
static void add_category(const struct rpl_peak *before, const struct rpl_peak *after,
                         struct vs_text *out)
{
    size_t most = 0;
    int64_t grown = 0;

    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++) {
        const int64_t by = (int64_t)(after->by_category[i] - before->by_category[i]);

        if (by > grown) {
            grown = by;
            most = i;
        }
    }
    if (grown <= 0)
        return;
    add_bytes(out, (uint64_t)grown);
    vs_text_addf(out, " more of `%s` (%s) are alive at the peak",
                 vs_category_name((enum vs_category)most),
                 vs_category_text((enum vs_category)most));
}

static enum vs_status add_rise(const struct rpl_summary *before, struct rpl_trace *run,
                               const struct rpl_summary *after, struct vs_text *out,
                               struct vs_error *err)
{
    struct rpl_index *index = NULL;
    bool found = false;
    enum vs_status st = rpl_index_open(run, NULL, NULL, &index, err);

    if (!st && !add_carried(index, &after->peak, after->peak.allocated - before->peak.allocated,
                            out, &found, err))
        st = err->status;
    if (!st && !found)
        add_category(&before->peak, &after->peak, out);
    rpl_index_free(index);
    return st;
}

/* ---- it fell, but checkpoints reach only a part ---- */

/* Shortens `common` to the path that it and `path` have in common, in whole names. */
static void path_join(struct vs_text *common, bool *is_first, const char *path)
{
    const char *have = vs_text_get(common);
    size_t len = 0;

    if (*is_first) {
        *is_first = false;
        vs_text_add(common, path);
        return;
    }
    for (size_t i = 0; have[i] == path[i] || !have[i] || !path[i]; i++) {
        if ((!have[i] || have[i] == '.') && (!path[i] || path[i] == '.'))
            len = i;
        if (!have[i] || !path[i])
            break;
    }
    common->data[len] = '\0';
    common->len = len;
}

/* The path of the innermost module around all that is run again. False: nothing is, or not inside of one module. */
static bool rerun_module(struct rpl_trace *run, struct vs_text *out, struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    const struct vs_event *event;
    bool is_first = true;

    rpl_scan_init(scan, run, 1, rpl_trace_event_count(run));
    while ((event = rpl_scan_next(scan, err)) != NULL) {
        if (event->kind == VS_EV_OP_BEGIN && event->op.role == VS_OP_RECOMPUTE) {
            const struct vs_location *location = rpl_trace_location(run, event->location);

            path_join(out, &is_first, rpl_trace_string(run, location->module));
        }
    }
    vs_free(scan);
    return out->len > 0;
}

/* Whether the module at `path` is the one at `of`, which has `len` characters, or inside of it. */
static bool is_inside(const char *path, const char *of, size_t len)
{
    return strncmp(of, path, len) == 0 && (path[len] == '.' || !path[len]);
}

/* What is saved at the peak by modules outside of `path`, and of these the one directly below the net with the most. */
static uint64_t saved_outside(const struct rpl_module *all, size_t count, const char *path,
                              const struct rpl_module **most)
{
    uint64_t outside = all[0].by_category[VS_CAT_SAVED];

    *most = NULL;
    for (size_t i = 1; i < count; i++) {
        const uint64_t bytes = all[i].by_category[VS_CAT_SAVED];
        const size_t len = strlen(all[i].path);

        if (strcmp(all[i].path, path) == 0)
            outside -= bytes;
        if (all[i].depth == 1 && !is_inside(path, all[i].path, len) &&
            (!*most || bytes > (*most)->by_category[VS_CAT_SAVED]))
            *most = &all[i];
    }
    return outside;
}

/* Whether the checkpoints are those of checkpoint_sequential. */
static bool cuts_one(const struct vs_toggles *set)
{
    const char *value = vs_toggles_get(set, VS_TOGGLE_CHECKPOINT);

    return vs_toggles_is_set(set, VS_TOGGLE_CHECKPOINT) &&
           (strcmp(value, "sqrt") == 0 || strncmp(value, "segments=", 9) == 0);
}

/* That checkpoint_sequential cuts one Sequential, where others save more than half of what is saved at the peak. */
static enum vs_status add_segments(struct rpl_trace *run, const struct rpl_summary *after,
                                   const char *value, struct vs_text *out, struct vs_error *err)
{
    struct rpl_index *index = NULL;
    struct rpl_modules *modules = NULL;
    struct rpl_cursor *cursor = NULL;
    struct vs_text path = {NULL, 0, 0};
    const struct rpl_module *all;
    const struct rpl_module *most;
    uint64_t outside;
    size_t count;
    enum vs_status st = VS_OK;

    if (!rerun_module(run, &path, err)) {
        st = err->status;
        goto out;
    }
    st = rpl_index_open(run, NULL, NULL, &index, err);
    if (!st)
        st = rpl_modules_new(index, &modules, err);
    if (st)
        goto out;
    cursor = rpl_cursor_new(index);
    st = rpl_cursor_seek(cursor, after->peak.event, err);
    if (!st)
        st = rpl_modules_fill(modules, cursor, err);
    if (st)
        goto out;
    all = rpl_modules_all(modules, &count);
    outside = saved_outside(all, count, vs_text_get(&path), &most);
    if (2 * outside <= all[0].by_category[VS_CAT_SAVED] || !most)
        goto out;
    vs_text_addf(out, "checkpoint=%s cuts `%s` alone, the longest Sequential; of the ", value,
                 vs_text_get(&path));
    add_bytes(out, all[0].by_category[VS_CAT_SAVED]);
    vs_text_add(out, " saved at the peak, ");
    add_bytes(out, outside);
    vs_text_add(out, " are outside of it");
    if (most->by_category[VS_CAT_SAVED]) {
        vs_text_addf(out, ", most in `%s` (", most->path);
        add_bytes(out, most->by_category[VS_CAT_SAVED]);
        vs_text_add_char(out, ')');
    }
    vs_text_add(out, ": checkpoint=blocks and checkpoint=auto reach all of the net");
out:
    rpl_cursor_free(cursor);
    rpl_modules_free(modules);
    rpl_index_free(index);
    vs_text_release(&path);
    return st;
}

enum vs_status wif_why(const struct rpl_summary *before, struct rpl_trace *run,
                       const struct rpl_summary *after, const struct vs_toggles *set,
                       struct vs_text *out, struct vs_error *err)
{
    if (!after->peak.event || rpl_trace_is_imported(run))
        return VS_OK;
    if (after->peak.allocated > before->peak.allocated)
        return add_rise(before, run, after, out, err);
    if (after->peak.allocated < before->peak.allocated && cuts_one(set))
        return add_segments(run, after, vs_toggles_get(set, VS_TOGGLE_CHECKPOINT), out, err);
    if (after->peak.allocated == before->peak.allocated && !add_no_effect(run, set, out))
        add_same(before, run, after, out);
    return VS_OK;
}
