/*
 * cli/cmd_tui.c - opens a trace in the TUI, or prints one of its screens.
 *
 * For:            `vramscope tui`.
 * Must not know:  what a screen shows.
 * Invariant:      --dump needs no terminal and prints the screen that the same keys would show.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/cmds.h"
#include "cli/ranks.h"
#include "cli/screen.h"
#include "tui/change.h"
#include "tui/results.h"

/* Interval at which it is looked whether there is a file. */
#define WAIT_MS 250

static const struct cli_option OPTIONS[] = {
    {"set", 's', "TOGGLE=VALUE", true, "open with this what-if; may be given more than once"},
    {"keys", 'k', "KEYS", false, "keys to type first: 3s, gb, <enter>, :set amp=bf16<enter>"},
    {"dump", 0, NULL, false, "print the screen as text instead of taking the terminal"},
    {"styles", 0, NULL, false, "with --dump: also print the style of each stretch of cells"},
    {"size", 0, "WxH", false, "size of the screen that --dump prints (default 80x24)"},
    {"theme", 0, "THEME", false, "dark, light or mono; NO_COLOR means mono"},
    {"ascii", 0, NULL, false, "use only ASCII characters"},
    {"no-mouse", 0, NULL, false, "leave the mouse to the terminal"},
    {"no-precompute", 0, NULL, false, "run no what-if speculatively, before a key requests it"},
    {"rerun", 0, NULL, false,
     "of a program: what-ifs run it again without asking, even if another user or machine recorded "
     "it"},
    {"ranks", 0, NULL, false,
     "lay the traces of all ranks that were recorded with this one, or those given, beside each "
     "other"},
    {"follow", 'f', NULL, false,
     "watch a recording that is still running; on a terminal, wait for one that has not begun"},
    {NULL, 0, NULL, false, NULL},
};

/* Runs the what-if of --set and shows it. An illegal value is wrong usage; if the run fails, the screen shows why. */
static enum vs_status changes_set(const struct cli_args *args, struct tui_app *app,
                                  struct vs_error *err)
{
    const char *pair;

    for (size_t i = 0; (pair = cli_args_value_at(args, "set", i)) != NULL; i++) {
        struct vs_toggles one = {{NULL}};
        enum vs_status st = vs_toggles_set_pair(&one, pair, err);

        for (int t = 0; t < VS_TOGGLE_COUNT && !st; t++)
            if (vs_toggles_is_set(&one, (enum vs_toggle)t))
                st = tui_change_set(app, (enum vs_toggle)t, vs_toggles_get(&one, (enum vs_toggle)t),
                                    err);
        vs_toggles_release(&one);
        if (st) {
            err->status = VS_E_USAGE;
            return VS_E_USAGE;
        }
    }
    if (tui_change_count(app))
        tui_app_change(app);
    return VS_OK;
}

/* Messages that the screen would hide are printed before it is drawn. */
static enum vs_status args_check(const struct cli_args *args, struct vs_error *err)
{
    if (args->positional_count > 2 && !cli_args_has(args, "ranks"))
        return vs_fail(err, VS_E_USAGE, "tui: more than two traces need --ranks");
    if (args->positional_count > 1 && cli_args_has(args, "set"))
        return vs_fail(
            err, VS_E_USAGE,
            "tui: give a second trace or --set, not both: each is the run to compare with");
    return VS_OK;
}

/* The ranks of --ranks; the app has them from now on. The first one named is the run that is open. */
static enum vs_status ranks_open(const struct cli_args *args, struct tui_app *app,
                                 struct vs_error *err)
{
    enum vs_status st = VS_OK;

    app->ranks = vs_calloc(1, sizeof(*app->ranks));
    if (args->positional_count == 1)
        st = cli_ranks_find(args->positionals[0], app->ranks, err);
    for (size_t i = 0; i < args->positional_count && args->positional_count > 1 && !st; i++)
        st = rpl_ranks_add(app->ranks, args->positionals[i], err);
    if (!st)
        st = rpl_ranks_fill(app->ranks, app->opening, app->opening_user, err);
    if (st)
        return st;
    tui_app_view(app, "ranks");
    /* the text below the charts needs the width */
    app->is_single = true;
    return VS_OK;
}

/* A trace without a stored index is read once completely. */
static bool opening_show(void *user, uint64_t done, uint64_t total)
{
    int *shown = user;
    int percent = total ? (int)(done * 100 / total) : 100;

    if (percent != *shown)
        fprintf(stderr, "\rreading the trace: %d %%; <C-c> ends this", percent);
    *shown = percent;
    return true;
}

/* Whether nothing was written there yet: there is no such file, or it is empty. */
static bool is_unwritten(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return errno == ENOENT;
    return S_ISREG(st.st_mode) && st.st_size == 0;
}

/* The same of a trace; with "@1" behind it, which names a device, the file before that counts, too. */
static bool is_missing(const char *path)
{
    const char *at = strrchr(path, '@');
    char *file;
    bool is;

    if (!is_unwritten(path))
        return false;
    if (access(path, F_OK) == 0 || !at || !at[1] || at[1 + strspn(at + 1, "0123456789")])
        return true;
    file = vs_strndup(path, (size_t)(at - path));
    is = is_unwritten(file);
    vs_free(file);
    return is;
}

/* A recording that is to be followed may not have begun, or be that of a program, which is written when it ends. */
static void file_await(const char *path)
{
    const struct timespec pause = {.tv_nsec = WAIT_MS * 1000000L};

    if (!is_missing(path) || !isatty(STDERR_FILENO))
        return;
    fprintf(stderr,
            "waiting for %s, which a program's recording writes when it ends; <C-c> ends this\n",
            path);
    do
        nanosleep(&pause, NULL);
    while (is_missing(path));
}

/* The file of a sweep's results instead of a trace. */
static enum vs_status base_open(const struct cli_args *args, struct tui_app *app,
                                struct vs_error *err)
{
    const char *path = args->positionals[0];

    if (cli_args_has(args, "follow"))
        file_await(path);
    if (args->positional_count == 1 && tui_results_is_file(path))
        return tui_results_begin(app, path, err);
    return tui_app_open(app, path, err);
}

static int run(const struct cli_args *args)
{
    int shown = 0;
    struct tui_app *app = vs_calloc(1, sizeof(*app));
    struct vs_error err = VS_ERROR_INIT;
    struct cli_screen screen;
    int status;

    vs_mem_keep();
    if (isatty(STDERR_FILENO))
        app->opening = opening_show;
    app->opening_user = &shown;
    if (cli_screen_read(args, &screen, &err) || args_check(args, &err) ||
        base_open(args, app, &err) ||
        (cli_args_has(args, "ranks")  ? ranks_open(args, app, &err)
         : args->positional_count > 1 ? tui_app_open_other(app, args->positionals[1], &err)
                                      : VS_OK)) {
        if (shown)
            fputs("\r\033[K", stderr);
        status = cli_fail(&err);
        goto out;
    }
    if (shown)
        fputs("\r\033[K", stderr);
    app->may_rerun = cli_args_has(args, "rerun");
    app->is_lazy = cli_args_has(args, "no-precompute");
    app->is_following = cli_args_has(args, "follow");
    /* at the end of what was recorded, which the screen follows until the user goes elsewhere */
    if (app->is_following)
        tui_app_go(app, app->base.events, false);
    if (changes_set(args, app, &err))
        status = cli_fail(&err);
    else
        status = cli_screen_run(&screen, app, "");
out:
    tui_app_release(app);
    vs_free(app);
    return status;
}

const struct cli_cmd cli_cmd_tui = {
    .name = "tui",
    .usage = "TRACE [TRACE] [--set TOGGLE=VALUE …] [--follow] [--ranks] | RESULTS | --dump [--size "
             "WxH] [--keys KEYS]",
    .summary = "Step through a trace like a debugger, and change toggles",
    .help = "Keys: ? lists them. s steps to the next op, S to the previous one; gp goes to the "
            "peak, gw to the what-if "
            "panel; q leaves.\n"
            "With --ranks, given one trace or all of them: the ranks of a run on one axis, which "
            "peaks, "
            "and why they differ.\n"
            "With a second trace: the differences between the two, and their events side by side; "
            "n goes "
            "to the next difference, D switches to the other run.\n\n"
            "  vramscope tui trace.db\n"
            "  vramscope tui before.db after.db\n"
            "  vramscope tui trace.db --set checkpoint=blocks\n"
            "  vramscope tui trace.db --ranks\n"
            "  vramscope tui results.db        (of vramscope sweep -o results.db)\n"
            "  vramscope tui trace.db --dump --size 160x48 --keys 'gpgb<enter>'\n",
    .options = OPTIONS,
    .positionals_min = 1,
    .positionals_max = 4096,
    .run = run,
};
