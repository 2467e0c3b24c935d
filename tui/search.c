/*
 * tui/search.c - goes to the next row, or op, that contains the search text.
 *
 * Must not know:  what a view shows.
 * Invariant:      the matches backwards are the matches forwards, reversed.
 */
#include <string.h>

#include "tui/act.h"

/* Rows that one search reads at most, so that a missing word is not looked for in all ops of a long run. */
#define ROWS_MAX 200000

static bool contains(const char *text, const char *word)
{
    size_t len = strlen(word);

    for (; *text; text++)
        if (strncasecmp(text, word, len) == 0)
            return true;
    return false;
}

/* From row to row of a list, round its ends. */
static void search_list(struct tui_app *app, const struct tui_view *view, void *state,
                        bool is_backward)
{
    struct tui_list *list = state;
    size_t row = list->at;

    if (view->lacks && view->lacks(state, app, app->search)) {
        tui_app_say(app, "no row with `%s` here", app->search);
        return;
    }
    for (size_t i = 0; i < list->count && i < ROWS_MAX; i++) {
        struct vs_text text = {NULL, 0, 0};
        bool is_match;

        row = is_backward ? (row ? row - 1 : list->count - 1) : row + 1 < list->count ? row + 1 : 0;
        view->text(state, app, row, &text);
        is_match = contains(vs_text_get(&text), app->search);
        vs_text_release(&text);
        if (!is_match)
            continue;
        if (is_backward ? row >= list->at : row <= list->at)
            tui_app_say(app, "search continued at the other end");
        tui_list_go(list, row);
        app->moves++;
        if (view->moved)
            view->moved(state, app);
        return;
    }
    tui_app_say(app, "no row with `%s` here", app->search);
}

/* In a view without rows: ops and modules of the run. */
static void search_run(struct tui_app *app, bool is_backward)
{
    struct rpl_breakpoints *breaks = rpl_breakpoints_new(tui_app_run(app)->index);
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    static const char *const WHERE[] = {"op", "module"};
    struct rpl_hit hit = {.seq = 0};
    uint32_t number;

    for (size_t i = 0; i < 2; i++) {
        vs_text_clear(&text);
        vs_text_addf(&text, "%s ~ \"%s\"", WHERE[i], app->search);
        /* a quote would end the quoted word, so it is replaced by `.`, which matches any character */
        for (size_t k = strlen(WHERE[i]) + 4; k + 1 < text.len; k++)
            if (text.data[k] == '"')
                text.data[k] = '.';
        if (rpl_breakpoints_add(breaks, vs_text_get(&text), &number, &err)) {
            tui_app_fail(app, "%s", err.text);
            goto out;
        }
    }
    if (rpl_breakpoints_run(breaks, app->at, is_backward, NULL, NULL, &hit, &err))
        tui_app_fail(app, "%s", err.text);
    else if (hit.seq)
        tui_app_go(app, hit.seq, true);
    else
        tui_app_say(app, "no op or layer with `%s` %s", app->search,
                    is_backward ? "before this" : "after this");
out:
    vs_text_release(&text);
    rpl_breakpoints_free(breaks);
}

void tui_search(struct tui_app *app, bool is_backward, int64_t count)
{
    const struct tui_view *view = tui_app_focused(app);
    void *state = app->view_state[app->panes[app->focus]];

    if (!app->search) {
        tui_app_say(app, "nothing to repeat: / searches");
        return;
    }
    for (int64_t i = 0; i < count && i < 1000; i++) {
        if (view->is_list)
            search_list(app, view, state, is_backward);
        else
            search_run(app, is_backward);
    }
}
