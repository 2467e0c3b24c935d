/*
 * tui/search.c - goes to the next row, or op, that contains the search text; decides which rows filters keep.
 *
 * Must not know:  what a view shows.
 * Invariant:      the matches backwards are the matches forwards, reversed.
 */
#include <string.h>

#include "tui/act.h"
#include "tui/waiting.h"

/* Rows that one search reads at most, so that a missing word is not looked for in all ops of a long run. */
#define ROWS_MAX 200000

static bool has_word(const char *text, const char *word, size_t len)
{
    for (; *text; text++)
        if (strncasecmp(text, word, len) == 0)
            return true;
    return false;
}

static bool contains(const char *text, const char *word)
{
    return has_word(text, word, strlen(word));
}

/* The next row whose text has the word, as view->find. */
static enum vs_status find_by_text(struct tui_app *app, const struct tui_view *view, void *state,
                                   bool is_backward, size_t *row)
{
    const struct tui_list *list = state;
    size_t at = *row;

    for (size_t i = 0; i < list->count && i < ROWS_MAX; i++) {
        struct vs_text text = {NULL, 0, 0};
        bool is_match;

        at = is_backward ? (at ? at - 1 : list->count - 1) : at + 1 < list->count ? at + 1 : 0;
        view->text(state, app, at, &text);
        is_match = contains(vs_text_get(&text), app->search);
        vs_text_release(&text);
        if (is_match) {
            *row = at;
            return VS_OK;
        }
    }
    return VS_E_NOT_FOUND;
}

/* From row to row of a list, round its ends; false: no other row was found. */
static bool search_list(struct tui_app *app, const struct tui_view *view, void *state,
                        bool is_backward)
{
    struct tui_list *list = state;
    struct vs_error err = VS_ERROR_INIT;
    size_t row = list->at;
    enum vs_status st = VS_E_NOT_FOUND;

    vs_text_clear(&app->message);
    if (view->find && list->count)
        st = view->find(state, app, app->search, is_backward, &row, &err);
    else
        st = find_by_text(app, view, state, is_backward, &row);
    vs_text_clear(&app->message);
    if (st == VS_E_NOT_FOUND)
        tui_app_say(app, "no row with `%s` here", app->search);
    else if (st)
        tui_app_fail(app, "%s", err.text);
    if (st)
        return false;
    if (is_backward ? row >= list->at : row <= list->at)
        tui_app_say(app, "search continued at the other end");
    tui_list_go(list, row);
    app->moves++;
    if (view->moved)
        view->moved(state, app);
    return true;
}

/* In a view without rows: ops and modules of the run. */
static bool search_run(struct tui_app *app, bool is_backward)
{
    struct rpl_breakpoints *breaks = rpl_breakpoints_new(tui_app_run(app)->index);
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    static const char *const WHERE[] = {"op", "module"};
    struct rpl_hit hit = {.seq = 0};
    struct tui_waiting waiting;
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
    tui_waiting_init(&waiting, app, "searching");
    if (rpl_breakpoints_run(breaks, app->at, is_backward, tui_waiting_show, &waiting, &hit, &err))
        tui_app_fail(app, "%s", err.text);
    else if (hit.seq)
        tui_app_go(app, hit.seq, true);
    else
        tui_app_say(app, "no op or layer with `%s` %s", app->search,
                    is_backward ? "before this" : "after this");
out:
    vs_text_release(&text);
    rpl_breakpoints_free(breaks);
    return hit.seq != 0;
}

void tui_search(struct tui_app *app, bool is_backward, int64_t count)
{
    const struct tui_view *view = tui_app_focused(app);
    void *state = app->view_state[app->panes[app->focus]];

    if (!app->search) {
        tui_app_say(app, "nothing to repeat: / searches");
        return;
    }
    for (int64_t i = 0; i < count && i < 1000; i++)
        if (!(view->is_list ? search_list(app, view, state, is_backward)
                            : search_run(app, is_backward)))
            return;
}

/* ---- filters ---- */

bool tui_app_is_hidden(const struct tui_app *app, int category)
{
    return (app->hidden >> category & 1) != 0;
}

bool tui_app_passes(const struct tui_app *app, const char *text)
{
    for (size_t i = 0; i < app->filter_count; i++) {
        const char *word = app->filters[i];

        while (*word) {
            size_t len = strcspn(word, " ");

            if (len && !has_word(text, word, len))
                return false;
            word += len + (word[len] == ' ');
        }
    }
    return true;
}
