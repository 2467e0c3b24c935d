/*
 * tests/tui/session.c - see session.h.
 */
#include "tests/tui/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/e2e/program.h"
#include "tui/loop.h"

#define TRACE_MAX 16

static void record(const char *net, const char *toggle, const char *path)
{
    char source[128];
    char option[128];
    char *value;
    struct program p;

    snprintf(source, sizeof(source), "sample_nets/%s.py", net);
    snprintf(option, sizeof(option), "--%s", toggle ? toggle : "steps=3");
    value = strchr(option, '=');
    *value++ = 0;
    p = program_run("record", source, "--device", "meta", option, value, "-o", path, NULL);
    if (p.status != 0)
        fail_msg("%s", p.err);
    program_release(&p);
}

const char *session_trace(const char *net, const char *toggle)
{
    static char paths[TRACE_MAX][200];
    static size_t count;
    char name[128];

    snprintf(name, sizeof(name), "/%s%s%s.db", net, toggle ? "-" : "", toggle ? toggle : "");
    for (size_t i = 0; i < count; i++)
        if (strcmp(strrchr(paths[i], '/'), name) == 0)
            return paths[i];
    assert_true(count < TRACE_MAX);
    snprintf(paths[count], sizeof(paths[0]), "%s%s", program_folder(), name);
    record(net, toggle, paths[count]);
    return paths[count++];
}

void session_open(struct tui_app *app, const char *path, int w, int h)
{
    sql_run(path, "drop table if exists breakpoint");
    session_reopen(app, path, w, h);
}

void session_reopen(struct tui_app *app, const char *path, int w, int h)
{
    struct vs_error err = VS_ERROR_INIT;

    memset(app, 0, sizeof(*app));
    if (tui_app_open(app, path, &err))
        fail_msg("%s", err.text);
    tui_app_resize(app, w, h);
    tui_app_sync(app);
}

void session_open_pair(struct tui_app *app, const char *a, const char *b, int w, int h)
{
    struct vs_error err = VS_ERROR_INIT;

    session_open(app, a, w, h);
    if (tui_app_open_other(app, b, &err))
        fail_msg("%s", err.text);
    tui_app_sync(app);
}

void session_type(struct tui_app *app, const char *keys)
{
    (void)tui_type(app, keys);
}

/* After so many polls `key` is found there, until it is taken. */
static struct {
    uint64_t polls;
    uint64_t found_at;
    uint32_t key;
} keyboard;

static bool key_poll(struct tui_input *out)
{
    *out = (struct tui_input){.key = keyboard.key};
    return keyboard.found_at && ++keyboard.polls >= keyboard.found_at;
}

void session_background(struct tui_app *app, uint64_t found_at, uint32_t key)
{
    struct tui_input input;

    keyboard.polls = 0;
    keyboard.found_at = found_at;
    keyboard.key = key;
    app->typed = key_poll;
    while (!key_poll(&input) && tui_app_background(app))
        continue;
    app->typed = NULL;
}

char *session_screen(struct tui_app *app, bool with_styles)
{
    struct vs_text text = {NULL, 0, 0};

    tui_dump(app, with_styles, &text);
    return vs_text_take(&text);
}

void session_expect(struct tui_app *app, const char *text)
{
    char *screen = session_screen(app, false);

    if (!strstr(screen, text))
        fail_msg("the screen does not say `%s`:\n%s", text, screen);
    free(screen);
}

void session_expect_not(struct tui_app *app, const char *text)
{
    char *screen = session_screen(app, false);

    if (strstr(screen, text))
        fail_msg("the screen says `%s`:\n%s", text, screen);
    free(screen);
}
