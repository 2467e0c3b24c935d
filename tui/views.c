/*
 * tui/views.c - the list of views.
 *
 * Must not know:  what a view shows.
 * Invariant:      the order is that of the header.
 */
#include "tui/view.h"

#include <string.h>

#include "tui/views.h"

static const struct tui_view *const VIEWS[] = {
    &tui_view_timeline, &tui_view_source,      &tui_view_blocks,   &tui_view_why,   &tui_view_peak,
    &tui_view_whatif,   &tui_view_sweep,       &tui_view_results,  &tui_view_curve, &tui_view_ops,
    &tui_view_modules,  &tui_view_calls,       &tui_view_segments, &tui_view_sizes, &tui_view_steps,
    &tui_view_retained, &tui_view_waiting,     &tui_view_ranks,    &tui_view_sql,   &tui_view_diff,
    &tui_view_pairs,    &tui_view_breakpoints, &tui_view_help,
};
#define VIEW_COUNT (sizeof(VIEWS) / sizeof(VIEWS[0]))

_Static_assert(VIEW_COUNT <= TUI_VIEW_MAX, "there is a place for the state of each");

const struct tui_view *tui_view_at(size_t i)
{
    return i < VIEW_COUNT ? VIEWS[i] : NULL;
}

int tui_view_find(const char *name)
{
    for (size_t i = 0; i < VIEW_COUNT; i++)
        if (strcmp(VIEWS[i]->name, name) == 0)
            return (int)i;
    return -1;
}
