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
#include "tui/app.h"
#include "tui/change.h"
#include "tui/gains.h"

/* The chosen event, its neighbours, steps, ends, peak, columns, and where a break may be hit. */
#define LOCATIONS_MAX 16

struct locations {
    uint64_t seqs[LOCATIONS_MAX];
    size_t count;
    uint64_t events;
};

/* `by` events before or behind `from`, no further than the run goes. */
static void add(struct locations *p, uint64_t from, uint64_t by, bool is_back)
{
    uint64_t seq;

    VS_ASSERT(p->count < LOCATIONS_MAX);
    if (is_back)
        seq = from > by ? from - by : 1;
    else
        seq = p->events - from > by ? from + by : p->events;
    p->seqs[p->count++] = seq;
}

static void add_both(struct locations *p, uint64_t from, uint64_t by)
{
    add(p, from, by, true);
    add(p, from, by, false);
}

/* Steps before and after; the panes show what lies before a step, too: ops, and the line that ran last. */
static void add_steps(struct locations *p, struct rpl_index *index, uint64_t at)
{
    struct vs_error ignored = VS_ERROR_INIT;
    uint64_t to;

    if (!rpl_step(index, at, RPL_VERB_STEP, -1, &to, NULL, &ignored)) {
        add(p, to, 0, true);
        add(p, to, RPL_CHUNK_EVENTS, true);
    }
    if (!rpl_step(index, at, RPL_VERB_STEP, 1, &to, NULL, &ignored))
        add(p, to, 0, true);
}

bool tui_app_background(struct tui_app *app)
{
    const struct tui_run *run = tui_app_run(app);
    uint64_t size = app->window.last - app->window.first + 1;
    struct locations p = {.count = 0, .events = run->events};

    if (tui_marks_store(app))
        return true;
    if (!app->at)
        return false;
    if (tui_app_read_on(app) || tui_gains_update(app))
        return true;
    add(&p, app->at, 0, true);
    add_both(&p, app->at, RPL_CHUNK_EVENTS);
    add_steps(&p, run->index, app->at);
    add(&p, 1, 0, true);
    add(&p, run->events, 0, true);
    add(&p, run->top.event ? run->top.event : 1, 0, true);
    if (app->columns > 0) {
        add_both(&p, app->at, size / (uint64_t)app->columns);
        add_both(&p, app->at, size / 4);
    }
    /* most breakpoints are hit within one training step */
    if (rpl_breakpoints_count(run->breaks))
        add_both(&p, app->at, 2 * RPL_CHUNK_EVENTS);
    for (size_t i = 0; i < p.count; i++)
        if (rpl_index_prefetch(run->index, p.seqs[i]))
            return true;
    return tui_precompute_next(app);
}
