/*
 * tui/views/columns.c - see columns.h.
 *
 * Must not know:  terminals, views.
 * Invariant:      a run is identified by its index and its number (tui/app.h).
 */
#include "tui/views/columns.h"

#include "replay/index/index.h"
#include "tui/app.h"

static enum vs_status compute(const struct tui_run *run, struct tui_columns want,
                              struct rpl_column *out, struct vs_error *err)
{
    const size_t count = (size_t)want.count;
    size_t setup = (size_t)want.setup;
    struct vs_event from;
    struct vs_event to;
    enum vs_status st = VS_OK;

    if (want.is_by_time) {
        st = rpl_index_event(run->index, want.first, &from, err);
        if (!st)
            st = rpl_index_event(run->index, want.last, &to, err);
        /* the last event is inside, and there is some time to be cut */
        if (!st && to.time_ns > from.time_ns)
            return rpl_timeline_columns_by_time(run->index, from.time_ns, to.time_ns + 1, out,
                                                count, err);
    }
    if (want.is_by_time || want.first > run->setup_last || want.last <= run->setup_last)
        setup = 0;
    if (!st && setup)
        st = rpl_timeline_columns(run->index, want.first, run->setup_last, out, setup, err);
    if (!st)
        st = rpl_timeline_columns(run->index, setup ? run->setup_last + 1 : want.first, want.last,
                                  out + setup, count - setup, err);
    return st;
}

static bool is_made(const struct tui_run *run, const struct tui_columns *want,
                    const struct tui_columns_made *made)
{
    const struct tui_columns *of = &made->of;

    return made->index == run->index && made->number == run->number &&
           made->events == run->events && made->setup_last == run->setup_last &&
           of->first == want->first && of->last == want->last && of->count == want->count &&
           of->setup == want->setup && of->is_by_time == want->is_by_time;
}

enum vs_status tui_columns_fill(const struct tui_run *run, struct tui_columns want,
                                struct tui_columns_made *made, struct rpl_column *out,
                                struct vs_error *err)
{
    enum vs_status st;

    if (is_made(run, &want, made))
        return VS_OK;
    made->index = NULL;
    st = compute(run, want, out, err);
    if (!st)
        *made =
            (struct tui_columns_made){run->index, run->number, run->events, run->setup_last, want};
    return st;
}
