/*
 * tui/precompute.c - see precompute.h.
 *
 * Must not know:  terminals, drawing.
 * Invariant:      the cursor of the run that is shown is not moved.
 */
#include "tui/precompute.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "tui/app.h"
#include "tui/change.h"
#include "tui/views.h"
#include "tui/waiting.h"
#include "whatif/cache.h"
#include "whatif/recipe.h"
#include "whatif/whatif.h"

/* For each toggle two values: the next one and the one before. */
#define CANDIDATES ((size_t)VS_TOGGLE_COUNT * 2)
/* Nothing is precomputed for a recording whose runs are so large that fewer than this would fit into the cache. */
#define RUNS_MIN 4
/* Events that a cursor moves between two polls for keys. */
#define SEEK_EVENTS ((uint64_t)4 * RPL_CHUNK_EVENTS)
/* Approximate memory of one event together with its share of the index. */
#define EVENT_BYTES 128

void tui_precompute_release(struct tui_precompute *precompute)
{
    vs_free(precompute->from);
}

/* ---- which, and in which order ---- */

/* The `n`-th toggle from that of row `row` outwards, 0: itself; below before above. */
static enum vs_toggle nearest(size_t row, size_t n)
{
    for (size_t d = 1; n; d++) {
        if (row + d < VS_TOGGLE_COUNT && --n == 0)
            return tui_change_row(row + d);
        if (row >= d && --n == 0)
            return tui_change_row(row - d);
    }
    return tui_change_row(row);
}

static size_t row_of(enum vs_toggle toggle)
{
    size_t row = 0;

    while (tui_change_row(row) != toggle)
        row++;
    return row;
}

/* Candidate `n`: both values of the chosen row, then the next ones of the others, then those before. *by: 1 or -1. */
static enum vs_toggle candidate(enum vs_toggle toggle, size_t n, int *by)
{
    size_t row = row_of(toggle);

    *by = n != 1 && n <= VS_TOGGLE_COUNT ? 1 : -1;
    if (n < 2)
        return toggle;
    return nearest(row, n <= VS_TOGGLE_COUNT ? n - 1 : n - VS_TOGGLE_COUNT);
}

/*
 * The toggles after this change of value; false: nothing new, or the recorded run, which is open anyway. `set` is
 * zeroed.
 */
static bool set_after(const struct tui_app *app, enum vs_toggle toggle, int by,
                      struct vs_toggles *set)
{
    struct vs_error ignored = VS_ERROR_INIT;
    char value[VS_TOGGLE_VALUE_MAX];

    if (!tui_change_next(app, toggle, by, value) ||
        strcmp(value, tui_change_value(app, toggle)) == 0)
        return false;
    vs_toggles_copy(set, &app->change.set);
    if (tui_change_put(app, set, toggle, value, &ignored))
        return false;
    for (int i = 0; i < VS_TOGGLE_COUNT; i++)
        if (vs_toggles_is_set(set, (enum vs_toggle)i))
            return true;
    return false;
}

/* ---- making one ---- */

/*
 * The what-if that is being run.
 *
 * is_whole    the complete run is to be kept; else its figures, and a key that requests it runs it itself
 * is_awaited  a key requested it and waits for it
 */
struct making {
    struct tui_app *app;
    enum vs_toggle toggle;
    const struct vs_toggles *set;
    bool is_whole;
    bool is_awaited;
    struct tui_waiting waiting;
};

static bool is_equal(const struct vs_toggles *a, const struct vs_toggles *b)
{
    for (int i = 0; i < VS_TOGGLE_COUNT; i++) {
        enum vs_toggle toggle = (enum vs_toggle)i;

        if (vs_toggles_is_set(a, toggle) != vs_toggles_is_set(b, toggle) ||
            strcmp(vs_toggles_get(a, toggle), vs_toggles_get(b, toggle)) != 0)
            return false;
    }
    return true;
}

/* Whether this key requests exactly the what-if that is being run. */
static bool requests(const struct making *m, const struct tui_input *input)
{
    const struct tui_app *app = m->app;
    struct tui_pending pending = app->pending;
    struct vs_toggles set = {{NULL}};
    struct tui_command command;
    bool is_it = false;

    if (app->prompt.kind || tui_app_focused(app) != &tui_view_whatif ||
        m->toggle != app->change.toggle ||
        tui_keys_type(&app->config.keys, &pending, input->key, TUI_IN_WHATIF, &command) !=
            TUI_TYPED_ACTION)
        return false;
    if (command.action == TUI_ACT || command.action == TUI_RIGHT)
        is_it = set_after(app, m->toggle, 1, &set) && is_equal(&set, m->set);
    else if (command.action == TUI_LEFT)
        is_it = set_after(app, m->toggle, -1, &set) && is_equal(&set, m->set);
    vs_toggles_release(&set);
    return is_it;
}

/* rpl_progress_fn; user: struct making. */
static bool on_progress(void *user, uint64_t done, uint64_t total)
{
    struct making *m = user;
    struct tui_input input;

    if (m->is_awaited)
        return tui_waiting_show(&m->waiting, done, total);
    if (!m->app->typed || !m->app->typed(&input))
        return true;
    if (!m->is_whole || !requests(m, &input))
        return false;
    m->is_awaited = true;
    tui_waiting_init(&m->waiting, m->app, TUI_RUNNING);
    return true;
}

static void make(struct tui_app *app, enum vs_toggle toggle, const struct vs_toggles *set,
                 bool is_whole)
{
    struct tui_precompute *precompute = &app->precompute;
    struct making m = {.app = app, .toggle = toggle, .set = set, .is_whole = is_whole};
    struct vs_error err = VS_ERROR_INIT;
    enum vs_status st = wif_cache_make(tui_change_results(app), set, wif_capacity(app->base.trace),
                                       is_whole, on_progress, &m, &err);

    precompute->is_made = st != VS_E_STOPPED;
    precompute->runs += precompute->is_made;
    /* what each toggle would do is shown as soon as it is known */
    app->news += precompute->is_made && tui_app_shows(app, "whatif");
    if (!m.is_awaited)
        return;
    vs_text_clear(&app->message);
    app->moves++; /* the views were drawn with the progress and have built their pages */
    if (precompute->is_made)
        return;
    /* the run was cancelled by another key: nothing is precomputed until a key requests something again */
    precompute->next = CANDIDATES;
    tui_app_say(app, "stopped");
    tui_app_show(app);
}

/* Seeks towards the state right after the peak, where a switched toggle leads. True: that took time. */
static bool seek(const struct tui_app *app, const struct wif_result *answer)
{
    uint64_t at = app->base.oom && rpl_index_oom(answer->index)
                      ? rpl_index_oom(answer->index)
                      : rpl_index_top(answer->index).event;
    uint64_t now = rpl_cursor_seq(answer->cursor);
    struct vs_error ignored = VS_ERROR_INIT;

    if (answer->cursor == app->change.run.cursor || now == at)
        return false;
    if (now < at && at - now > SEEK_EVENTS)
        at = now + SEEK_EVENTS;
    return rpl_cursor_seek(answer->cursor, at, &ignored) == VS_OK;
}

/* Work on one candidate. True: something was done, and it is to be asked again; false: it is done with. */
static bool work(struct tui_app *app, enum vs_toggle toggle, const struct vs_toggles *set)
{
    struct tui_precompute *precompute = &app->precompute;
    bool is_full;
    uint64_t bytes;
    const struct wif_result *answer =
        wif_cache_find(tui_change_results(app), set, wif_capacity(app->base.trace), &bytes);

    if (answer && answer->status)
        return false;
    if (answer && answer->trace) {
        /* the next run is assumed to be as large as the largest so far */
        precompute->largest = bytes > precompute->largest ? bytes : precompute->largest;
        if (seek(app, answer) || wif_cache_shrink(tui_change_results(app)))
            return true;
        precompute->bytes += bytes;
        return false;
    }
    is_full =
        wif_cache_shown_bytes(tui_change_results(app)) + precompute->bytes + precompute->largest >
        TUI_WHATIF_CACHE_BYTES;
    /* too large for the cache, or not readable; or only its figures are wanted, and they are known */
    if (precompute->is_made || (answer && is_full))
        return false;
    make(app, toggle, set, !is_full);
    return true;
}

/* ---- all of them ---- */

/* With two traces, what-ifs are requested in the panel only. */
static bool is_asked(const struct tui_app *app)
{
    return !app->change.name || tui_change_count(app) > 0 ||
           tui_app_focused(app) == &tui_view_whatif;
}

/* Whether there is something to precompute: the recording must be complete, as a growing one would make it obsolete. */
static bool is_wanted(const struct tui_app *app)
{
    return !app->is_lazy && is_asked(app) &&
           (rpl_trace_source_text(app->base.trace) || !rpl_trace_is_program(app->base.trace)) &&
           !wif_recipe_is_in(app->base.trace) && /* a program runs only when it is asked for */
           (!app->is_following || rpl_trace_is_complete(app->base.trace)) &&
           app->base.events < TUI_WHATIF_CACHE_BYTES / EVENT_BYTES / RUNS_MIN;
}

/* Restart the candidates from the toggles that are set now. */
static void start(struct tui_app *app)
{
    struct tui_precompute *precompute = &app->precompute;
    struct vs_text text = {NULL, 0, 0};

    tui_change_text(app, &text);
    if (precompute->from && strcmp(precompute->from, vs_text_get(&text)) == 0 &&
        precompute->toggle == app->change.toggle)
        goto out;
    vs_free(precompute->from);
    precompute->from = vs_strdup(vs_text_get(&text));
    precompute->toggle = app->change.toggle;
    precompute->next = 0;
    precompute->bytes = 0;
    precompute->is_made = false;
out:
    vs_text_release(&text);
}

bool tui_precompute_next(struct tui_app *app)
{
    struct tui_precompute *precompute = &app->precompute;
    struct vs_error ignored = VS_ERROR_INIT;
    bool did = false;

    if (!is_wanted(app))
        return false;
    start(app);
    if (precompute->next < CANDIDATES && !wif_prepare(app->base.trace, &did, &ignored) && did)
        return true;
    while (!did && precompute->next < CANDIDATES) {
        struct vs_toggles set = {{NULL}};
        int by;
        enum vs_toggle toggle = candidate(precompute->toggle, precompute->next, &by);

        did = set_after(app, toggle, by, &set) && work(app, toggle, &set);
        vs_toggles_release(&set);
        if (!did && precompute->next < CANDIDATES) {
            precompute->next++;
            precompute->is_made = false;
        }
    }
    return did;
}
