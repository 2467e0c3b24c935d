/*
 * cli/screen.c - see screen.h.
 *
 * Must not know:  what a screen shows.
 * Invariant:      messages that the screen would hide are printed before it is drawn.
 */
#include "cli/screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
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

static enum vs_status theme_get(const struct cli_args *args, struct cli_screen *out,
                                struct vs_error *err)
{
    const char *name = cli_args_value(args, "theme");
    const char *no_color = getenv("NO_COLOR");

    out->has_theme = name || (no_color && *no_color);
    out->theme = tui_theme_pick(no_color, getenv("COLORFGBG"));
    if (name && tui_theme_find(name, &out->theme, err)) {
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
    return st ? st : theme_get(args, out, err);
}

static int dump(const struct cli_screen *screen, struct tui_app *app, const char *keys)
{
    struct vs_text text = {NULL, 0, 0};
    int status;

    /* a text has letters, whatever the file says */
    app->is_letters |= screen->has_letters;
    tui_app_resize(app, screen->w, screen->h);
    tui_app_sync(app);
    /* after a key that quits the last screen is printed */
    (void)tui_type_patiently(app, keys);
    tui_dump(app, screen->has_styles, &text);
    status = cli_print_of(app->base.trace, &text);
    vs_text_release(&text);
    return status;
}

/* ---- the user's file ---- */

/* An option of the file; `otherwise` where it has none. */
static int option(const struct tui_app *app, enum tui_option option, int otherwise)
{
    return app->config.values[option] ? app->config.values[option] - 1 : otherwise;
}

static void config_use(const struct cli_screen *screen, struct tui_app *app, const char *path)
{
    if (path)
        tui_config_read(&app->config, path);
    if (!screen->has_theme)
        app->theme = (enum tui_theme)option(app, TUI_OPTION_THEME, (int)app->theme);
    app->is_letters = option(app, TUI_OPTION_GLYPHS, app->is_letters) != 0;
    app->unit = (enum tui_unit)option(app, TUI_OPTION_UNIT, (int)app->unit);
    if (app->unit == TUI_UNIT_DEVICE && !app->capacity)
        app->unit = TUI_UNIT_BYTES;
    app->has_mouse = app->has_mouse && option(app, TUI_OPTION_MOUSE, 1);
    if (app->config.error_count) {
        const char *errors = vs_text_get(&app->config.errors);

        tui_app_fail(app, "%.*s", (int)strcspn(errors, "\n"), errors);
        if (app->config.error_count > 1)
            vs_text_addf(&app->message, " (? lists all %zu errors)", app->config.error_count);
    }
}

/* That it cannot be written does not make the session a failure. */
static void config_remember(const struct tui_app *app, const char *path)
{
    const int now[TUI_OPTION_COUNT] = {
        [TUI_OPTION_THEME] = (int)app->theme + 1,
        [TUI_OPTION_GLYPHS] = app->is_letters + 1,
        [TUI_OPTION_UNIT] = (int)app->unit + 1,
        [TUI_OPTION_MOUSE] = app->has_mouse + 1,
    };
    int values[TUI_OPTION_COUNT];
    struct vs_error err = VS_ERROR_INIT;

    for (int i = 0; i < TUI_OPTION_COUNT; i++)
        values[i] = app->changed >> i & 1 ? now[i] : 0;
    if (tui_config_remember(path, values, &err))
        fprintf(stderr, "vramscope: %s: what was changed in the screen is not remembered\n",
                err.text);
}

static int on_terminal(struct tui_app *app, const char *keys, const char *path)
{
    struct vs_error err = VS_ERROR_INIT;
    int signal;

    if (tui_loop(app, keys, &signal, &err))
        return cli_fail(&err);
    if (path && app->changed)
        config_remember(app, path);
    return signal ? 128 + signal : 0;
}

int cli_screen_run(const struct cli_screen *screen, struct tui_app *app, const char *first)
{
    struct vs_text keys = {NULL, 0, 0};
    char *path = tui_config_path();
    int status;

    vs_text_addf(&keys, "%s%s", first, screen->keys);
    app->theme = screen->theme;
    app->is_ascii = screen->is_ascii;
    app->has_mouse = screen->has_mouse;
    config_use(screen, app, path);
    status = screen->is_dump ? dump(screen, app, vs_text_get(&keys))
                             : on_terminal(app, vs_text_get(&keys), path);
    vs_free(path);
    vs_text_release(&keys);
    return status;
}
