/*
 * tui/compare.c - compares the other run with the recorded one.
 *
 * Must not know:  drawing, how the other run was made.
 * Invariant:      a what-if, which has all steps, is compared with all steps of the recorded run: where the trace has
 *                 only its end, the net runs once more as recorded.
 */
#include "base/mem.h"
#include "replay/report/dropped.h"
#include "replay/report/traffic.h"
#include "tui/change.h"
#include "tui/names.h"
#include "tui/waiting.h"
#include "whatif/whatif.h"

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
