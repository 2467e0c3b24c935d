/*
 * tui/prefetch.c - reads what the next key may need while no input is waiting.
 *
 * Must not know:  terminals, views.
 * Invariant:      on the screen only the marks of blocks, the effects of toggles and what views read bit by bit change;
 *                 a call reads at most a few chunks of events, seeks what would lower the peak of the run, or works on
 *                 one what-if run until a key is typed.
 */
#include "replay/breakpoints/breakpoints.h"
#include "replay/inspect/step.h"
#include "tui/act.h"
#include "tui/app.h"
#include "tui/change.h"
#include "tui/gains.h"

/* Panes show ops that began before the event, up to so many events. */
#define AROUND_EVENTS (RPL_CHUNK_EVENTS / 8)
/* So many events before it an event mostly has an alloc. */
#define ALLOC_WITHIN 256

/* Read the chunk of event `seq`, or of the last one or the first; false: it was there. */
static bool read_at(const struct tui_run *run, uint64_t seq)
{
    return rpl_index_prefetch(run->index, seq < 1 ? 1 : seq > run->events ? run->events : seq);
}

static uint64_t back(uint64_t seq, uint64_t by)
{
    return seq > by ? seq - by : 1;
}

/* The record of the tensor that was allocated last: those of its neighbours are read with it. */
static void read_tensor(const struct tui_run *run, uint64_t seq)
{
    struct vs_error ignored = VS_ERROR_INIT;
    struct vs_tensor_desc tensor;
    struct vs_event event = {.kind = VS_EV_FREE};

    for (uint64_t at = seq; at >= 1 && seq - at < ALLOC_WITHIN && event.kind != VS_EV_ALLOC; at--)
        if (rpl_index_event(run->index, at, &event, &ignored))
            return;
    if (event.kind == VS_EV_ALLOC)
        (void)!rpl_trace_tensor(run->trace, event.alloc.tensor, &tensor);
}

/*
 * Read what the panes need at event `seq`, at most one chunk; false: all of it was there. These are up to four chunks:
 * of the event, of the ops before it, of their ends, and of the line that ran last.
 */
static bool read_place(const struct tui_run *run, uint64_t seq)
{
    struct vs_error ignored = VS_ERROR_INIT;
    uint64_t stop;

    if (read_at(run, seq) || read_at(run, back(seq, AROUND_EVENTS)) ||
        read_at(run, seq + RPL_CHUNK_EVENTS))
        return true;
    read_tensor(run, seq);
    return !rpl_step(run->index, seq < run->events ? seq + 1 : seq, RPL_VERB_LINE, -1, &stop, NULL,
                     &ignored) &&
           read_at(run, stop - 1);
}

/* Training steps before and after; the panes show what lies before a step, too: ops, and the line that ran last. */
static bool read_steps(const struct tui_run *run, uint64_t at)
{
    struct vs_error ignored = VS_ERROR_INIT;
    uint64_t to;

    if (!rpl_step(run->index, at, RPL_VERB_STEP, -1, &to, NULL, &ignored) &&
        (read_place(run, to) || read_at(run, back(to, RPL_CHUNK_EVENTS))))
        return true;
    return !rpl_step(run->index, at, RPL_VERB_STEP, 1, &to, NULL, &ignored) && read_place(run, to);
}

/* Where h, l, H and L lead. */
static bool read_columns(const struct tui_app *app)
{
    const int64_t quarter = tui_move_quarter(app);
    const int64_t by[] = {1, -1, quarter, -quarter};

    for (size_t i = 0; app->columns > 0 && i < sizeof(by) / sizeof(by[0]); i++)
        if (read_place(tui_app_run(app), tui_move_column(app, by[i])))
            return true;
    return false;
}

/* Read a chunk that the next key may need; false: all of them are there. They are no more than RPL_WINDOW. */
static bool read_next(const struct tui_app *app)
{
    const struct tui_run *run = tui_app_run(app);
    const uint64_t at = app->at;

    if (read_at(run, at) || read_at(run, back(at, RPL_CHUNK_EVENTS)) ||
        read_at(run, at + RPL_CHUNK_EVENTS) || read_steps(run, at) || read_at(run, 1) ||
        read_at(run, run->events) || (run->top.event && read_place(run, run->top.event)) ||
        read_columns(app))
        return true;
    /* most breakpoints are hit within one training step */
    return rpl_breakpoints_count(run->breaks) && (read_at(run, back(at, 2 * RPL_CHUNK_EVENTS)) ||
                                                  read_at(run, at + 2 * RPL_CHUNK_EVENTS));
}

bool tui_app_background(struct tui_app *app)
{
    if (tui_marks_store(app))
        return true;
    if (!app->at)
        return false;
    return tui_app_read_on(app) || tui_gains_update(app) || read_next(app) ||
           tui_precompute_next(app);
}
