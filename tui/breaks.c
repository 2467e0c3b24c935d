/*
 * tui/breaks.c - the breakpoints and marks of a session: kept in the recorded trace; breakpoints are set in the runs
 * of what-ifs, too.
 *
 * Must not know:  drawing, what a condition means.
 * Invariant:      what is stored are the breakpoints of the recorded run, without those for one hit.
 */
#include <string.h>

#include "base/mem.h"
#include "tui/change.h"

void tui_breaks_copy(const struct rpl_breakpoints *from, struct rpl_breakpoints *to)
{
    for (size_t i = 0; i < rpl_breakpoints_count(from); i++) {
        const struct rpl_breakpoint *b = rpl_breakpoints_at(from, i);
        struct vs_error err = VS_ERROR_INIT;
        uint32_t number = 0;
        enum vs_status st = b->is_watch ? rpl_breakpoints_watch(to, b->text, &number, &err)
                                        : rpl_breakpoints_add(to, b->text, &number, &err);

        /* this is the canonical text of a value that was parsed before, so it cannot fail */
        VS_ASSERT(st == VS_OK);
        rpl_breakpoints_get(to, number)->is_on = b->is_on;
    }
}

void tui_breaks_load(struct tui_app *app)
{
    for (size_t i = 0; i < rpl_marks_break_count(app->marks); i++) {
        const struct rpl_stored_break *b = rpl_marks_break_at(app->marks, i);
        struct vs_error ignored = VS_ERROR_INIT;
        uint32_t number = 0;

        if (b->is_watch ? rpl_breakpoints_watch(app->base.breaks, b->condition, &number, &ignored)
                        : rpl_breakpoints_add(app->base.breaks, b->condition, &number, &ignored))
            continue;
        rpl_breakpoints_get(app->base.breaks, number)->is_on = b->is_on;
    }
}

/* The breakpoint or watch with this text; NULL: there is none. */
static struct rpl_breakpoint *break_find(struct rpl_breakpoints *breaks,
                                         const struct rpl_breakpoint *like)
{
    for (size_t i = 0; i < rpl_breakpoints_count(breaks); i++) {
        const struct rpl_breakpoint *b = rpl_breakpoints_at(breaks, i);

        if (b->is_watch == like->is_watch && strcmp(b->text, like->text) == 0)
            return rpl_breakpoints_get(breaks, b->number);
    }
    return NULL;
}

/* The same block has another number in each run. */
static bool is_of_run(const struct rpl_breakpoint *b)
{
    return !b->is_watch && strstr(b->text, "block ");
}

/* What was set or removed while a what-if is shown is that in the recorded run, too: `app` is one session. */
static void what_if_take(struct tui_app *app)
{
    struct rpl_breakpoints *to = app->base.breaks;
    struct rpl_breakpoints *from = app->change.run.breaks;
    struct vs_error ignored = VS_ERROR_INIT;
    uint32_t number = 0;

    for (size_t i = 0; i < rpl_breakpoints_count(from); i++) {
        const struct rpl_breakpoint *b = rpl_breakpoints_at(from, i);
        struct rpl_breakpoint *same = break_find(to, b);

        if (!same && !b->is_once && !is_of_run(b) &&
            (b->is_watch ? rpl_breakpoints_watch(to, b->text, &number, &ignored)
                         : rpl_breakpoints_add(to, b->text, &number, &ignored)) == VS_OK)
            same = rpl_breakpoints_get(to, number);
        if (same)
            same->is_on = b->is_on;
    }
    for (size_t i = rpl_breakpoints_count(to); i-- > 0;) {
        const struct rpl_breakpoint *b = rpl_breakpoints_at(to, i);

        if (!b->is_once && !is_of_run(b) && !break_find(from, b))
            (void)rpl_breakpoints_remove(to, b->number);
    }
}

void tui_breaks_store(struct tui_app *app)
{
    const struct rpl_breakpoints *from = app->base.breaks;
    struct rpl_stored_break *all;
    size_t count;
    size_t kept = 0;

    if (app->change.is_shown && !app->change.name)
        what_if_take(app);
    count = rpl_breakpoints_count(from);
    all = vs_calloc(count + 1, sizeof(*all));
    for (size_t i = 0; i < count; i++) {
        const struct rpl_breakpoint *b = rpl_breakpoints_at(from, i);

        if (!b->is_once)
            all[kept++] = (struct rpl_stored_break){b->is_watch, b->is_on, b->text};
    }
    rpl_marks_breaks_set(app->marks, all, kept);
    vs_free(all);
}

bool tui_marks_store(struct tui_app *app)
{
    struct vs_error err = VS_ERROR_INIT;

    if (!rpl_marks_is_changed(app->marks))
        return false;
    if (rpl_marks_store(app->marks, &err)) {
        tui_app_fail(app, "marks and breakpoints are for this session only: %s", err.text);
        app->news++;
    }
    return true;
}
