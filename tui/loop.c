/*
 * tui/loop.c - see loop.h.
 *
 * Must not know:  arguments, what a view shows.
 * Invariant:      the screen is drawn only when no input is waiting, except for the progress of long work.
 */
#include "tui/loop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "tui/gains.h"
#include "tui/program.h"
#include "tui/screen.h"
#include "tui/term/surface_curses.h"
#include "tui/term/surface_text.h"
#include "tui/term/term.h"

/* Interval at which a recording that is being followed is read, and a program in the background looked at. */
#define FOLLOW_MS 250
/* With fewer colours some categories share one, so their letters are drawn, unless the user's file says otherwise. */
#define ENOUGH_COLOURS 256
/* Longer texts are not sent as OSC 52: terminals cut or refuse them. */
#define CLIP_MAX 74000

static bool type(struct tui_app *app, const char *keys, bool is_patient)
{
    while (*keys) {
        struct tui_input input = {.key = tui_key_parse(&keys)};

        tui_app_input(app, &input);
        /* views count their rows when they are drawn, and keys move in rows */
        tui_app_sync(app);
        while (is_patient && tui_app_read_on(app))
            continue;
        if (app->wish == TUI_WISH_QUIT)
            return false;
    }
    return true;
}

bool tui_type(struct tui_app *app, const char *keys)
{
    return type(app, keys, false);
}

bool tui_type_patiently(struct tui_app *app, const char *keys)
{
    return type(app, keys, true);
}

void tui_dump(struct tui_app *app, bool with_styles, struct vs_text *out)
{
    struct tui_surface surface;

    tui_surface_init(&surface, app->w, app->h, app->is_ascii);
    /* as it looks to a user who has stopped typing */
    (void)tui_gains_update(app);
    tui_app_sync(app);
    while (tui_app_read_on(app))
        continue;
    tui_app_sync(app);
    tui_screen_draw(app, &surface);
    tui_surface_text(&surface, (struct tui_rect){0, 0, app->w, app->h}, out);
    if (with_styles)
        tui_surface_styles(&surface, out);
    tui_surface_release(&surface);
}

/* ---- copying ---- */

static void base64(const char *bytes, size_t len, struct vs_text *out)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < len; i += 3) {
        uint32_t three = 0;
        size_t left = len - i < 3 ? len - i : 3;

        for (size_t k = 0; k < 3; k++)
            three = three << 8 | (k < left ? (unsigned char)bytes[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            vs_text_add_char(out, k <= left ? DIGITS[three >> (18 - 6 * k) & 63] : '=');
    }
}

/* A file that also receives what is copied, because not every terminal supports OSC 52. The caller frees it. */
static char *copy_path(void)
{
    const char *folder = getenv("XDG_RUNTIME_DIR");
    struct vs_text path = {NULL, 0, 0};

    if (!folder || !*folder)
        folder = getenv("TMPDIR");
    vs_text_addf(&path, "%s/vramscope-copy-%u.txt", folder && *folder ? folder : "/tmp",
                 (unsigned)getuid());
    return vs_text_take(&path);
}

static void copy(struct tui_app *app)
{
    struct vs_text osc = {NULL, 0, 0};
    char *path = copy_path();
    FILE *file;

    if (app->copied.len < CLIP_MAX) {
        vs_text_add(&osc, "\033]52;c;");
        base64(vs_text_get(&app->copied), app->copied.len, &osc);
        vs_text_add(&osc, "\a");
        tui_term_write(vs_text_get(&osc), osc.len);
    }
    /* created anew, so that a link that another user put there is not followed */
    unlink(path);
    file = fopen(path, "wx");
    if (file && fwrite(vs_text_get(&app->copied), 1, app->copied.len, file) == app->copied.len)
        tui_app_say(app, "copied, and written to %s", path);
    else
        tui_app_say(app, "copied; %s cannot be written: %s", path, strerror(errno));
    if (file)
        fclose(file);
    vs_free(path);
    vs_text_release(&osc);
}

/* ---- the loop ---- */

static void grant(struct tui_app *app)
{
    switch (app->wish) {
    case TUI_WISH_NOTHING:
    case TUI_WISH_QUIT:
        return;
    case TUI_WISH_SUSPEND:
        tui_term_suspend();
        tui_curses_forget();
        return;
    case TUI_WISH_REDRAW:
        tui_curses_forget();
        return;
    case TUI_WISH_COPY:
        copy(app);
        return;
    case TUI_WISH_EDIT:
        if (tui_term_run(vs_text_get(&app->copied)) != 0)
            tui_app_fail(app, "the editor could not be run: %s", vs_text_get(&app->copied));
        tui_curses_forget();
        return;
    case TUI_WISH_RUN:
        (void)tui_term_run(vs_text_get(&app->copied));
        tui_curses_forget();
        return;
    case TUI_WISH_MOUSE:
        tui_term_mouse(app->has_mouse);
        return;
    case TUI_WISH_COUNT:
        return;
    }
}

static void resize(struct tui_app *app, struct tui_surface *surface)
{
    int w;
    int h;

    tui_term_size(&w, &h);
    tui_surface_resize(surface, w > 0 ? w : 1, h > 0 ? h : 1);
    tui_app_resize(app, surface->w, surface->h);
}

static void draw(struct tui_app *app, struct tui_surface *surface)
{
    int x = -1;
    int y = 0;

    tui_app_sync(app);
    tui_screen_draw(app, surface);
    if (!tui_screen_cursor(app, &x, &y))
        x = -1;
    tui_curses_show(surface, app->theme, x, y);
}

static void pump(void *user, struct tui_app *app)
{
    draw(app, user);
}

/* Do background work until a key is typed or nothing is left to do. */
static void rest(struct tui_app *app, struct tui_surface *surface)
{
    uint64_t news = app->news;

    while (!tui_term_is_pending() && tui_app_background(app)) {
        if (app->news == news)
            continue;
        news = app->news;
        draw(app, surface);
    }
    if (app->news != news)
        draw(app, surface);
}

/* How long an input is waited for; -1: without end. What was put off because input was pending is drawn before. */
static int wait_ms(const struct tui_app *app, bool is_drawn)
{
    if (!is_drawn)
        return 0;
    return app->is_following || app->rerun.job ? FOLLOW_MS : -1;
}

static void drive(struct tui_app *app, struct tui_surface *surface)
{
    bool is_drawn = false;

    while (app->wish != TUI_WISH_QUIT) {
        struct tui_input input = tui_term_read(wait_ms(app, is_drawn));

        /* what was pending need not be an input: the end of a paste is none */
        if (input.key == TUI_KEY_TICK && !is_drawn) {
            draw(app, surface);
            rest(app, surface);
            is_drawn = true;
            continue;
        }
        if (input.key == TUI_KEY_END_OF_INPUT)
            return;
        if (input.key == TUI_KEY_RESIZE) {
            resize(app, surface);
            tui_curses_forget();
        }
        if (input.key == TUI_KEY_TICK) {
            const bool has_more = app->is_following && tui_app_refresh(app);

            if (!tui_program_poll(app) && !has_more)
                continue;
        } else {
            tui_app_input(app, &input);
            grant(app);
        }
        is_drawn = false;
        if (tui_term_is_pending())
            tui_app_sync(app);
    }
}

enum vs_status tui_loop(struct tui_app *app, const char *keys, int *signal, struct vs_error *err)
{
    struct tui_surface surface;
    enum vs_status st = tui_term_open(app->has_mouse, err);

    *signal = 0;
    if (st)
        return st;
    if (!tui_term_is_utf8())
        app->is_ascii = true;
    if (tui_term_colours() < 8)
        app->theme = TUI_THEME_MONO;
    else if (tui_term_colours() < ENOUGH_COLOURS && !app->config.values[TUI_OPTION_GLYPHS])
        app->is_letters = true;
    tui_surface_init(&surface, 1, 1, app->is_ascii);
    resize(app, &surface);
    tui_app_sync(app);
    app->pump = pump;
    app->pump_user = &surface;
    app->typed = tui_term_peek;
    app->wants_stop = tui_term_wants_stop;
    app->has_ticks = true;
    if (tui_type(app, keys))
        drive(app, &surface);
    app->pump = NULL;
    app->typed = NULL;
    app->wants_stop = NULL;
    app->has_ticks = false;
    *signal = tui_term_signal();
    tui_term_close();
    tui_surface_release(&surface);
    return VS_OK;
}
