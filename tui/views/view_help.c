/*
 * tui/views/view_help.c - the keys, from the table; those of the pane from which help was opened come first.
 *
 * Must not know:  what an action does.
 * Invariant:      every row of keys.def has a line, and so has every command with arguments. In a pane of an 80x24
 *                 terminal some keys are visible at once.
 */
#include <string.h>

#include "tui/act.h"
#include "tui/app.h"
#include "tui/parts/page.h"
#include "tui/views.h"

#define KEYS_W 14
#define NAME_W 19

/* of, w: the view whose keys come first, and the width for which the page was built */
struct help {
    struct tui_page page;
    int of;
    int w;
};

/* All sequences of an action, separated by blanks. */
static void keys_text(const struct tui_keymap *map, enum tui_action action, struct vs_text *out)
{
    struct vs_text one = {NULL, 0, 0};

    for (size_t i = 0; tui_action_keys(map, action, i, &one); i++) {
        vs_text_addf(out, "%s%s", i ? " " : "", vs_text_get(&one));
        vs_text_clear(&one);
    }
    vs_text_release(&one);
}

static void add_row(struct tui_page *page, const struct tui_keymap *map, enum tui_action action,
                    int w)
{
    const struct tui_action_info *info = tui_action_info(action);
    struct vs_text keys = {NULL, 0, 0};

    keys_text(map, action, &keys);
    tui_page_add(page, TUI_KEY_NAME, "%s", vs_text_get(&keys));
    tui_page_more(page, KEYS_W, TUI_DIM, *info->name ? ":%s" : "%s", info->name);
    tui_page_more(page, KEYS_W + NAME_W, TUI_PLAIN, "%s", info->help);
    if (map->keys[action]) {
        vs_text_clear(&keys);
        keys_text(NULL, action, &keys);
        tui_page_more(page, 0, TUI_DIM, " (without the file: %s)", vs_text_get(&keys));
    }
    tui_page_fold(page, w - 2, KEYS_W + NAME_W);
    vs_text_release(&keys);
}

/* The keys of the view's own, or all others. */
static void add_rows(struct tui_page *page, const struct tui_keymap *map, unsigned scope,
                     bool is_own, int w)
{
    for (int i = 0; i < TUI_ACTION_COUNT; i++) {
        const unsigned of = tui_action_info((enum tui_action)i)->scope;

        if ((of != TUI_IN_ANY && (of & scope)) == is_own)
            add_row(page, map, (enum tui_action)i, w);
    }
}

/* What is wrong in the user's file. */
static void add_errors(struct tui_page *page, const struct tui_config *config, int w)
{
    const char *line = vs_text_get(&config->errors);

    while (*line) {
        size_t len = strcspn(line, "\n");

        tui_page_add(page, TUI_BAD, "%.*s", (int)len, line);
        tui_page_fold(page, w - 2, 2);
        line += len + (line[len] == '\n');
    }
    if (config->error_count)
        tui_page_add(page, TUI_PLAIN, "%s", "");
}

static void add_command(struct tui_page *page, const struct tui_command_info *info, int w)
{
    tui_page_add(page, TUI_KEY_NAME, ":%s", info->name);
    tui_page_more(page, 0, TUI_DIM, " %s", info->words);
    tui_page_more(page, KEYS_W + NAME_W, TUI_PLAIN, "%s", info->help);
    tui_page_fold(page, w - 2, KEYS_W + NAME_W);
}

/* The letters of the header's tabs; their names only fit on a wide screen. */
static void add_views(struct tui_page *page, int w)
{
    struct vs_text text = {NULL, 0, 0};

    vs_text_add(&text, "The letters above are the views, each after g:");
    for (size_t i = 0; tui_view_at(i); i++)
        vs_text_addf(&text, "%s %c %s", i ? "," : "", tui_view_at(i)->letter, tui_view_at(i)->name);
    vs_text_add_char(&text, '.');
    tui_page_wrap(page, w - 2, 0, TUI_PLAIN, vs_text_get(&text));
    vs_text_release(&text);
}

static void page_make(struct tui_page *page, const struct tui_config *config, int of, int w)
{
    const struct tui_view *view = tui_view_at((size_t)of);

    tui_page_clear(page);
    add_errors(page, config, w);
    if (view->help) {
        tui_page_add(page, TUI_TITLE_FOCUS, "%s", view->name);
        tui_page_wrap(page, w - 2, 0, TUI_PLAIN, view->help);
        tui_page_add(page, TUI_PLAIN, "%s", "");
    }
    tui_page_add(page, TUI_STRONG,
                 "Lower case goes forwards, upper case backwards; 20s repeats s 20 times.");
    add_rows(page, &config->keys, view->scope, true, w);
    add_rows(page, &config->keys, view->scope, false, w);
    tui_page_add(page, TUI_PLAIN, "/ searches this list. q goes back.");
    add_views(page, w);
    tui_page_add(page, TUI_STRONG, "Commands with words: <tab> completes");
    for (size_t i = 0; tui_command_info(i); i++)
        add_command(page, tui_command_info(i), w);
}

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct help *s = state;

    if (!s->page.count || s->of != app->previous || s->w != w) {
        s->of = app->previous;
        s->w = w;
        page_make(&s->page, &app->config, s->of, w);
    }
    tui_list_fit(&s->page.list, s->page.count, h);
}

const struct tui_view tui_view_help = {
    .name = "help",
    .title = "keys",
    .letter = '?',
    .scope = TUI_IN_HELP,
    .go = TUI_HELP,
    .state_size = sizeof(struct help),
    .is_list = true,
    .sync = sync,
    .draw = tui_page_view_draw,
    .text = tui_page_view_text,
    .release = tui_page_view_release,
};
