/*
 * tui/program.c - see program.h.
 *
 * Must not know:  how a program is run, terminals.
 */
#include "tui/program.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/mem.h"
#include "replay/trace/found.h"
#include "tui/waiting.h"
#include "whatif/holders.h"
#include "whatif/recipe.h"

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
    wif_recipe_add_command(&recipe, &command);
    if (!wif_recipe_is_own(&recipe)) {
        st = vs_fail(err, VS_E_UNSUPPORTED,
                     "this runs the recorded program again, which another user or another machine "
                     "recorded; if you trust it, open the trace with --rerun: %s",
                     vs_text_get(&command));
    } else if (!app->rerun_said) {
        app->rerun_said = true;
        st = vs_fail(err, VS_E_UNSUPPORTED,
                     "this runs the recorded program again; do it once more to agree, for all of "
                     "this session: %s",
                     vs_text_get(&command));
    } else {
        app->may_rerun = true;
    }
out:
    vs_text_release(&command);
    wif_recipe_release(&recipe);
    return st;
}

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
