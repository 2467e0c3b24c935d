/*
 * cli/screen.c - see screen.h.
 *
 * Must not know:  what a screen shows.
 * Invariant:      messages that the screen would hide are printed before it is drawn.
 */
#include "cli/screen.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cmds.h"
#include "tui/loop.h"

#define SIZE_MAX_CELLS 1000

/* "80x24" */
static enum vs_status size_get(const struct cli_args *args, int *w, int *h, struct vs_error *err)
{
    const char *text = cli_args_value(args, "size");
    char *end;
    long x = 80;
    long y = 24;

    if (text) {
        x = strtol(text, &end, 10);
        y = *end == 'x' ? strtol(end + 1, &end, 10) : 0;
        if (*end || x < 1 || y < 1 || x > SIZE_MAX_CELLS || y > SIZE_MAX_CELLS)
            return vs_fail(err, VS_E_USAGE,
                           "%s: --size cannot be `%s`; give COLUMNSxROWS, such as 80x24",
                           args->cmd->name, text);
    }
    *w = (int)x;
    *h = (int)y;
    return VS_OK;
}

static enum vs_status theme_get(const struct cli_args *args, enum tui_theme *out,
                                struct vs_error *err)
{
    const char *name = cli_args_value(args, "theme");

    *out = tui_theme_pick(getenv("NO_COLOR"), getenv("COLORFGBG"));
    if (name && tui_theme_find(name, out, err)) {
        vs_error_prefix(err, "%s", args->cmd->name);
        err->status = VS_E_USAGE;
        return VS_E_USAGE;
    }
    return VS_OK;
}

static enum vs_status keys_check(const struct cli_args *args, const char *keys,
                                 struct vs_error *err)
{
    const char *at = tui_keys_unknown(keys);

    if (!at)
        return VS_OK;
    return vs_fail(err, VS_E_USAGE,
                   "%s: there is no key `%.*s`; <enter>, <esc>, <tab>, <left>, <pgdn>, <f1>, <C-d> "
                   "are examples; <lt> stands for `<`",
                   args->cmd->name, (int)strcspn(at, ">") + 1, at);
}

enum vs_status cli_screen_read(const struct cli_args *args, struct cli_screen *out,
                               struct vs_error *err)
{
    const char *keys = cli_args_value(args, "keys");
    enum vs_status st;

    *out = (struct cli_screen){
        .keys = keys ? keys : "",
        .is_dump = cli_args_has(args, "dump"),
        .has_styles = cli_args_has(args, "styles"),
        /* as text there are no colours, so categories are drawn with letters */
        .has_letters = !cli_args_has(args, "styles") && !cli_args_has(args, "theme"),
        .is_ascii = cli_args_has(args, "ascii"),
        .has_mouse = !cli_args_has(args, "no-mouse"),
    };
    st = keys_check(args, out->keys, err);
    if (!st)
        st = size_get(args, &out->w, &out->h, err);
    return st ? st : theme_get(args, &out->theme, err);
}

static int dump(const struct cli_screen *screen, struct tui_app *app, const char *keys)
{
    struct vs_text text = {NULL, 0, 0};
    int status;

    app->is_letters = screen->has_letters;
    tui_app_resize(app, screen->w, screen->h);
    tui_app_sync(app);
    /* after a key that quits the last screen is printed */
    (void)tui_type(app, keys);
    tui_dump(app, screen->has_styles, &text);
    status = cli_print(&text);
    vs_text_release(&text);
    return status;
}

static int on_terminal(struct tui_app *app, const char *keys)
{
    struct vs_error err = VS_ERROR_INIT;
    int signal;

    if (tui_loop(app, keys, &signal, &err))
        return cli_fail(&err);
    return signal ? 128 + signal : 0;
}

int cli_screen_run(const struct cli_screen *screen, struct tui_app *app, const char *first)
{
    struct vs_text keys = {NULL, 0, 0};
    int status;

    vs_text_addf(&keys, "%s%s", first, screen->keys);
    app->theme = screen->theme;
    app->is_ascii = screen->is_ascii;
    app->has_mouse = screen->has_mouse;
    status = screen->is_dump ? dump(screen, app, vs_text_get(&keys))
                             : on_terminal(app, vs_text_get(&keys));
    vs_text_release(&keys);
    return status;
}
