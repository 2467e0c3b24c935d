/*
 * tui/diff.c - see diff.h.
 *
 * Must not know:  drawing.
 * Invariant:      the event of the current row in the shown run is the current event. A what-if is compared with all
 *                 steps of the recorded run: where the trace has only the last of them, the net runs once more.
 */
#include "tui/diff.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/report/dropped.h"
#include "replay/report/traffic.h"
#include "tui/change.h"
#include "tui/names.h"
#include "tui/waiting.h"
#include "whatif/whatif.h"

enum vs_status tui_diff_open(struct tui_app *app, rpl_progress_fn *progress, void *user,
                             struct vs_error *err)
{
    struct tui_diff *made = app->change.diff;
    enum vs_status st;

    if (!made)
        made = app->change.diff = vs_calloc(1, sizeof(*made));
    made->serial = ++app->change.diff_serial;
    made->is_busy = true;
    st = rpl_diff_open(&made->diff, app->base.index, app->change.run.index, progress, user, err);
    made->is_busy = false;
    if (st) {
        made->failure = vs_strdup(st == VS_E_STOPPED ? "stopped; <C-r> tries again" : err->text);
        return st;
    }
    rpl_diff_pairs(&made->diff);
    made->row = SIZE_MAX;
    made->is_made = true;
    return VS_OK;
}

struct tui_diff *tui_diff_get(struct tui_app *app)
{
    struct tui_diff *made = app->change.diff;
    struct tui_waiting waiting;
    struct vs_error err = VS_ERROR_INIT;

    if (!app->change.is_run)
        return NULL;
    if (made && (made->is_made || made->is_busy || made->failure))
        return made->is_made ? made : NULL;
    tui_waiting_init(&waiting, app, "comparing the two runs");
    if (tui_diff_open(app, tui_waiting_show, &waiting, &err))
        return NULL;
    app->moves++;
    return app->change.diff;
}

const char *tui_diff_missing(const struct tui_app *app)
{
    const struct tui_diff *made = app->change.diff;

    if (!app->change.is_run)
        return "only one run is open: gw switches a toggle, `vramscope tui A B` opens two traces";
    return made && made->failure ? made->failure : "the two runs are being compared";
}

bool tui_diff_key_missing(struct tui_app *app, enum tui_action action)
{
    /* a comparison that failed, or that a key stopped, is made again */
    if (action == TUI_RESET && app->change.diff && !app->change.diff->is_busy) {
        tui_diff_forget(app);
        app->moves++;
        return true;
    }
    if (action != TUI_DIFF_NEXT && action != TUI_DIFF_BACK && action != TUI_MODE &&
        action != TUI_SORT && action != TUI_ACT && action != TUI_OPEN)
        return false;
    tui_app_say(app, "%s", tui_diff_missing(app));
    return true;
}

void tui_diff_forget(struct tui_app *app)
{
    struct tui_diff *made = app->change.diff;

    if (!made)
        return;
    VS_ASSERT(!made->is_busy);
    rpl_diff_release(&made->diff);
    vs_free(made->failure);
    vs_free(made);
    app->change.diff = NULL;
}

/* ---- the current row ---- */

const struct rpl_pairs *tui_diff_pairs(const struct tui_app *app)
{
    const struct tui_diff *made = app->change.diff;

    return app->change.is_run && made && made->is_made ? &made->diff.pairs : NULL;
}

static uint64_t row_event(const struct rpl_pair_row *row, bool is_b)
{
    uint64_t seq = is_b ? row->seq_b : row->seq_a;

    /* there is nothing to look at before the first event */
    return seq ? seq : 1;
}

size_t tui_diff_row(const struct tui_app *app)
{
    const struct rpl_pairs *pairs = tui_diff_pairs(app);
    bool is_b = app->change.is_shown;
    size_t row;

    if (!pairs)
        return SIZE_MAX;
    row = app->change.diff->row;
    if (row < pairs->row_count && row_event(&pairs->rows[row], is_b) == app->at)
        return row;
    return rpl_pairs_at(pairs, is_b, app->at);
}

uint64_t tui_diff_other(const struct tui_app *app)
{
    const struct rpl_pairs *pairs = tui_diff_pairs(app);
    size_t row = tui_diff_row(app);

    if (pairs && row != SIZE_MAX && row == app->change.diff->row)
        return row_event(&pairs->rows[row], !app->change.is_shown);
    return tui_app_map(app, app->at);
}

void tui_diff_go(struct tui_app *app, size_t row, bool is_jump)
{
    const struct rpl_pairs *pairs = tui_diff_pairs(app);

    if (!pairs || row >= pairs->row_count)
        return;
    app->change.diff->row = row;
    tui_app_go(app, row_event(&pairs->rows[row], app->change.is_shown), is_jump);
}

/* ---- from difference to difference ---- */

/* "backward of blocks.11.attn" */
static void add_location(const struct rpl_pairs *pairs, size_t at, struct vs_text *out)
{
    const struct rpl_pair_row *row = &pairs->rows[at];
    const struct vs_location *location = rpl_pair_location(pairs, row);
    const struct rpl_align_side *side = row->alloc_a ? &pairs->align->a : &pairs->align->b;
    const char *module = rpl_trace_string(side->trace, location->module);

    vs_text_addf(out, "%s%s%s", vs_phase_name((enum vs_phase)location->phase),
                 *module ? " of " : "", module);
}

static void say_stretch(struct tui_app *app, const struct rpl_pairs *pairs, size_t n)
{
    static const char *const WORDS[] = {"of another size", "only in A", "only in B", "elsewhere"};
    const struct rpl_pair_stretch *stretch = &pairs->stretches[n];
    uint64_t counts[sizeof(WORDS) / sizeof(WORDS[0])] = {0};
    char buf[VS_BYTES_TEXT_MAX];
    struct vs_text text = {NULL, 0, 0};

    for (size_t i = stretch->first; i <= stretch->last; i++) {
        const struct rpl_pair_row *row = &pairs->rows[i];

        counts[0] += row->kind == RPL_PAIR_SIZE;
        counts[1] += row->kind == RPL_PAIR_ONLY && row->alloc_a;
        counts[2] += row->kind == RPL_PAIR_ONLY && row->alloc_b;
        counts[3] += row->kind == RPL_PAIR_MOVED;
    }
    vs_text_addf(&text, "difference %zu of %zu:", n + 1, pairs->stretch_count);
    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++)
        if (counts[i])
            vs_text_addf(&text, " %" PRIu64 " %s,", counts[i], WORDS[i]);
    vs_text_addf(&text, " B - A %s, ", vs_bytes_delta_text(stretch->delta, buf));
    add_location(pairs, stretch->first, &text);
    tui_app_say(app, "%s", vs_text_get(&text));
    vs_text_release(&text);
}

void tui_diff_next(struct tui_app *app, bool is_back, int64_t count)
{
    const struct rpl_pairs *pairs = tui_diff_pairs(app);
    size_t row = tui_diff_row(app);
    size_t found = SIZE_MAX;

    if (!pairs)
        return;
    for (int64_t i = 0; i < count; i++) {
        size_t n = row == SIZE_MAX ? 0 : rpl_pairs_stretch(pairs, row);

        if (is_back) {
            /* from inside a stretch the first step back is to its own beginning */
            n += n < pairs->stretch_count && row != SIZE_MAX && row > pairs->stretches[n].first;
            n = n ? n - 1 : pairs->stretch_count;
        } else if (n < pairs->stretch_count && row != SIZE_MAX &&
                   row >= pairs->stretches[n].first) {
            n++;
        }
        if (n >= pairs->stretch_count)
            break;
        found = n;
        row = pairs->stretches[n].first;
    }
    if (found == SIZE_MAX) {
        tui_app_say(app, "no event differs %s this", is_back ? "before" : "after");
        return;
    }
    tui_diff_go(app, row, true);
    say_stretch(app, pairs, found);
}

/* ---- figures ---- */

/* Bytes that ops move in a step of `trace`. */
static enum vs_status moved_fill(struct tui_moved *out, struct rpl_trace *trace, uint64_t steps,
                                 struct vs_error *err)
{
    struct rpl_traffic traffic = {NULL, 0, 0, 0};
    const uint64_t events = rpl_trace_event_count(trace);
    enum vs_status st = VS_OK;

    if (out->events != events) {
        st = rpl_traffic_fill(&traffic, trace, err);
        out->bytes = (double)traffic.bytes / (double)(steps ? steps : 1);
        out->events = st ? 0 : events;
        rpl_traffic_release(&traffic);
    }
    return st;
}

/* Bytes in each step of `run`, of `bytes` in all. */
static double of_each_step(uint64_t bytes, const struct rpl_run *run)
{
    return (double)bytes / (double)(run->steps ? run->steps : 1);
}

enum vs_status tui_change_whole(struct tui_app *app, struct vs_error *err)
{
    struct tui_whole *whole = &app->change.whole;
    const struct wif_result *result;
    struct tui_waiting waiting;
    enum vs_status st;

    if (whole->is_known || !rpl_has_dropped(app->base.trace) ||
        !rpl_trace_source_text(app->base.trace))
        return VS_OK;
    tui_waiting_init(&waiting, app, "running the net again as recorded");
    st = wif_cache_get(tui_change_cache(app), NULL, wif_capacity(app->base.trace), tui_waiting_show,
                       &waiting, &result, err);
    if (st)
        return st;
    whole->run = result->run;
    whole->moved = of_each_step(result->moved, &result->run);
    tui_peak_text(result->trace, &result->run, &whole->where);
    whole->is_known = true;
    return VS_OK;
}

enum vs_status tui_change_compare(struct tui_app *app, uint64_t moved, struct vs_error *err)
{
    struct tui_change *change = &app->change;
    const bool is_whole = tui_change_is_whole(app);
    struct rpl_run runs[2] = {change->whole.run, {.peak = 0}};
    struct tui_moved after = {0, 0};
    double before = change->whole.moved;
    enum vs_status st = rpl_run_fill(&runs[1], change->run.index, err);

    change->moved_ratio = 0;
    if (!st && !is_whole)
        st = rpl_run_fill(&runs[0], app->base.index, err);
    if (st)
        return st;
    rpl_compare_fill(&change->compare, &runs[0], &runs[1]);
    if (!is_whole) {
        st = moved_fill(&app->moved, app->base.trace, runs[0].steps, err);
        before = app->moved.bytes;
    }
    if (!st && moved)
        after.bytes = of_each_step(moved, &runs[1]);
    else if (!st && before > 0)
        st = moved_fill(&after, change->run.trace, runs[1].steps, err);
    if (!st && before > 0)
        change->moved_ratio = after.bytes / before;
    return st;
}

uint64_t tui_change_recorded_peak(const struct tui_app *app)
{
    struct rpl_run_peak peak = {.bytes = app->base.top.allocated};

    (void)!rpl_run_peak(app->base.trace, &peak);
    return peak.bytes;
}

bool tui_change_is_whole(const struct tui_app *app)
{
    return app->change.whole.is_known && !app->change.name;
}
