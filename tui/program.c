/*
 * tui/program.c - see program.h.
 *
 * Must not know:  how a program is run, terminals.
 */
#include "tui/program.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/trace/found.h"
#include "tui/change.h"
#include "tui/views.h"
#include "tui/waiting.h"
#include "whatif/holders.h"
#include "whatif/recipe.h"
#include "whatif/rerun.h"
#include "whatif/whatif.h"

#define OWN_EXECUTABLE "/proc/self/exe"

enum vs_status tui_program_agree(struct tui_app *app, struct vs_error *err)
{
    struct wif_recipe recipe = {.folder = NULL};
    struct vs_text command = {NULL, 0, 0};
    enum vs_status st;

    if (app->may_rerun)
        return VS_OK;
    st = wif_recipe_read(app->base.trace, &recipe, err);
    if (st)
        goto out;
    wif_recipe_add_changes(&recipe, app->base.trace, &command);
    wif_recipe_add_brief(&recipe, &command);
    if (!wif_recipe_is_own(&recipe)) {
        st = vs_fail(err, VS_E_UNSUPPORTED,
                     "this runs the recorded program again, which another user or another machine "
                     "recorded; if you trust it, open the trace with --rerun: %s",
                     vs_text_get(&command));
    } else if (!app->rerun_said) {
        app->rerun_said = true;
        st = vs_fail(err, VS_E_UNSUPPORTED,
                     "press the key again, or give the command again, to agree to run: %s (the "
                     "recorded program, for all of this session)",
                     vs_text_get(&command));
    } else {
        app->may_rerun = true;
    }
out:
    vs_text_release(&command);
    wif_recipe_release(&recipe);
    return st;
}

/* ---- in the background ---- */

/* Whether a what-if need not run, because its result is kept or has just come. */
static bool is_known(struct tui_app *app)
{
    const struct wif_result *result;

    if (app->rerun.is_over)
        return true;
    result = wif_cache_find(tui_change_cache(app), &app->change.set, wif_capacity(app->base.trace),
                            NULL);
    return result && (result->trace || result->status);
}

bool tui_program_begin(struct tui_app *app, struct vs_error *err)
{
    struct tui_rerun *rerun = &app->rerun;

    if (!app->has_ticks || !wif_rerun_is_needed(app->base.trace, &app->change.set) || is_known(app))
        return false;
    if (rerun->job) {
        struct vs_text text = {NULL, 0, 0};

        tui_program_text(app, &text);
        (void)vs_fail(err, VS_E_UNSUPPORTED, "%s already; <C-c> stops it", vs_text_get(&text));
        vs_text_release(&text);
        return true;
    }
    if (wif_rerun_check(&app->change.set, err) || tui_program_agree(app, err))
        return true;
    wif_cache_allow_rerun(tui_change_cache(app));
    if (wif_rerun_begin(app->base.trace, &app->change.set, &rerun->job, err))
        return true;
    vs_toggles_copy(&rerun->set, &app->change.set);
    clock_gettime(CLOCK_MONOTONIC, &rerun->began);
    rerun->seconds = 0;
    return true;
}

void tui_program_text(const struct tui_app *app, struct vs_text *out)
{
    const struct vs_toggles *set = &app->rerun.set;

    for (int i = 0; i < VS_TOGGLE_COUNT; i++)
        if (vs_toggles_is_set(set, (enum vs_toggle)i))
            vs_text_addf(out, "%s=%s ", vs_toggle_info((enum vs_toggle)i)->name,
                         vs_toggles_get(set, (enum vs_toggle)i));
    vs_text_addf(out, "runs in the background, for %" PRId64 " s", app->rerun.seconds);
}

/* The run has ended: it becomes the other run, as if its toggles had been switched now. */
static void show_result(struct tui_app *app)
{
    const bool is_asked = tui_app_focused(app) == &tui_view_whatif || app->change.is_shown;
    const uint64_t at = app->at;
    const struct tui_window window = app->window;
    struct vs_text text = {NULL, 0, 0};
    char before[VS_BYTES_TEXT_MAX];
    char after[VS_BYTES_TEXT_MAX];

    app->rerun.is_over = true;
    vs_toggles_copy(&app->change.set, &app->rerun.set);
    wif_cache_offer(tui_change_cache(app), app->rerun.job);
    tui_app_change(app);
    wif_cache_offer(tui_change_cache(app),
                    NULL); /* the job is freed, whether its result was taken or not */
    if (app->is_bad)
        return;
    if (!is_asked) {
        tui_change_show(app, false);
        app->window = window;
        tui_app_go(app, at, false);
    }
    tui_change_text(app, &text);
    tui_app_say(app, "%s has run: peak %s, was %s; D shows the %s run", vs_text_get(&text),
                vs_bytes_text(app->change.compare.after.peak, after),
                vs_bytes_text(app->change.compare.before.peak, before),
                is_asked ? "recorded" : "other");
    vs_text_release(&text);
}

static void rerun_release(struct tui_app *app)
{
    wif_rerun_job_free(app->rerun.job);
    app->rerun.job = NULL;
    app->rerun.is_over = false;
    vs_toggles_release(&app->rerun.set);
    app->moves++;
}

bool tui_program_poll(struct tui_app *app)
{
    struct tui_rerun *rerun = &app->rerun;
    const int64_t seconds = rerun->seconds;
    struct timespec now;

    if (!rerun->job)
        return false;
    clock_gettime(CLOCK_MONOTONIC, &now);
    rerun->seconds = (int64_t)(now.tv_sec - rerun->began.tv_sec);
    if (!app->prompt.kind && wif_rerun_has_ended(rerun->job)) {
        show_result(app);
        rerun_release(app);
        return true;
    }
    if (rerun->seconds == seconds)
        return false;
    app->moves++;
    return true;
}

bool tui_program_stop(struct tui_app *app)
{
    if (!app->rerun.job)
        return false;
    rerun_release(app);
    return true;
}

/* ---- up to an event ---- */

/* Is the program's own run shown, can it be stopped at events, and may it run? */
static enum vs_status event_check(struct tui_app *app, struct vs_error *err)
{
    enum vs_status st = wif_holders_check(app->base.trace, err);

    if (!st && app->change.is_shown)
        st = vs_fail(err, VS_E_UNSUPPORTED, "the other run is shown; D shows the recorded one");
    if (!st && !app->at)
        st = vs_fail(err, VS_E_UNSUPPORTED, "there is no event");
    return st ? st : tui_program_agree(app, err);
}

void tui_program_holders(struct tui_app *app)
{
    struct vs_error err = VS_ERROR_INIT;
    struct tui_waiting waiting;
    enum vs_status st = event_check(app, &err);

    tui_waiting_init(&waiting, app, "running the program again to this event");
    if (!st)
        st = wif_holders_find(app->base.index, app->at, tui_waiting_show, &waiting, &err);
    if (!st)
        st = rpl_cursor_seek(app->base.cursor, app->at, &err);
    if (st)
        tui_app_fail(app, "%s", err.text);
    else
        tui_app_say(app, "who holds each block here is known now, and kept in the trace");
    app->moves++;
}

/* Between quotes of the shell. */
static void add_quoted(struct vs_text *out, const char *word)
{
    vs_text_add_char(out, '\'');
    for (; *word; word++)
        if (*word == '\'')
            vs_text_add(out, "'\\''");
        else
            vs_text_add_char(out, *word);
    vs_text_add_char(out, '\'');
}

void tui_program_prompt(struct tui_app *app)
{
    struct vs_error err = VS_ERROR_INIT;
    char program[4096];
    const ssize_t len = readlink(OWN_EXECUTABLE, program, sizeof(program) - 1);

    if (event_check(app, &err)) {
        tui_app_fail(app, "%s", err.text);
        return;
    }
    if (len < 0) {
        tui_app_fail(app, OWN_EXECUTABLE " cannot be read");
        return;
    }
    program[len] = '\0';
    vs_text_clear(&app->copied);
    add_quoted(&app->copied, program);
    vs_text_add(&app->copied, " python --rerun --at ");
    vs_text_addf(&app->copied, "%" PRIu64 " ", app->at);
    add_quoted(&app->copied, rpl_found_path(app->base.trace));
    vs_text_add(&app->copied, " || { echo 'Enter goes back'; read -r line; false; }");
    app->wish = TUI_WISH_RUN;
}
