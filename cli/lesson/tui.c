/*
 * cli/lesson/tui.c - see tui.h.
 *
 * Must not know:  verdicts.
 * Invariant:      a trace belongs to the runs or to the app, never to both.
 */
#include "cli/lesson/tui.h"

#include <string.h>

#include "base/mem.h"
#include "cli/cmds.h"
#include "cli/lesson/run.h"

/* The trace of a run, whose owner is now the caller. */
static struct rpl_trace *trace_take(struct cli_lesson_runs *runs, const char *name)
{
    struct cli_lesson_trace *run =
        &runs->runs[cli_lesson_run_find(runs->lesson, name, strlen(name))];
    struct rpl_trace *trace = run->trace;

    run->trace = NULL;
    return trace;
}

static enum vs_status keys_check(const struct cli_lesson *lesson, struct vs_error *err)
{
    return tui_keys_unknown(lesson->keys) ? vs_fail(err, VS_E_FORMAT, "%s: there is no key `%s`",
                                                    lesson->name, tui_keys_unknown(lesson->keys))
                                          : VS_OK;
}

int cli_lesson_tui(const struct cli_lesson *lesson, const struct cli_lesson_folder *folder,
                   const struct cli_screen *screen)
{
    struct cli_lesson_runs *runs = vs_calloc(1, sizeof(*runs));
    struct tui_app *app = vs_calloc(1, sizeof(*app));
    struct vs_error err = VS_ERROR_INIT;
    int status;

    vs_mem_keep();
    if (keys_check(lesson, &err) || cli_lesson_run(lesson, folder->root, runs, &err) ||
        tui_app_take(app, "before", trace_take(runs, "before"), &err) ||
        tui_app_take_other(app, "after", trace_take(runs, "after"), &err))
        status = cli_fail(&err);
    else
        status = cli_screen_run(screen, app, lesson->keys);
    tui_app_release(app);
    cli_lesson_runs_release(runs);
    vs_free(runs);
    vs_free(app);
    return status;
}
