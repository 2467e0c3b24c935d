/*
 * tui/act.c - dispatches input: to the prompt, to the focused view, or to an action of the session.
 *
 * Must not know:  terminals, what a view shows.
 * Invariant:      every action of keys.def has an implementation (tests/tui/test_app.c checks it).
 */
#include "tui/act.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tui/change.h"
#include "tui/names.h"
#include "tui/program.h"
#include "tui/screen.h"

/* ---- panes and views ---- */

static void focus_move(struct tui_app *app, int64_t by)
{
    int64_t count = app->layout.pane_count;

    if (count == 1)
        tui_app_say(app, app->is_single ? "this pane is shown alone; M shows all"
                                        : "one pane fits on this screen; g and a letter change it");
    if (count)
        app->focus = (int)((((int64_t)app->focus + by) % count + count) % count);
}

static void maximise(struct tui_app *app)
{
    const int view = app->panes[app->focus];
    const struct tui_arrangement before = app->before;
    const bool has_before = app->has_before;

    app->is_single = !app->is_single;
    if (app->is_single)
        app->all = tui_app_arrangement(app);
    else
        tui_app_arrange(app, &app->all);
    tui_app_resize(app, app->w, app->h);
    tui_app_view_at(app, view);
    /* no view was opened: q leaves the same one as before */
    app->before = before;
    app->has_before = has_before;
}

/*
 * One step back: from a view to the panes that it changed, from a maximised pane to all panes, from other panes to
 * those at start, with the focus on the main one, where it ends.
 */
static void close_view(struct tui_app *app)
{
    bool is_home = app->focus == 0 && app->panes[0] == app->home.panes[0];

    if (app->has_before && !is_home) {
        app->has_before = false;
        tui_app_arrange(app, &app->before);
    } else if (app->is_single && app->layout.pane_count && app->h > 0) {
        maximise(app);
    } else if (!is_home) {
        tui_app_arrange(app, &app->home);
    } else {
        app->wish = TUI_WISH_QUIT;
    }
}

static void other_run(struct tui_app *app)
{
    if (!app->change.is_run)
        tui_app_say(app, "there is no other run: gw, then space on a toggle");
    else
        tui_change_next_run(app);
}

void tui_view_open(struct tui_app *app, int view)
{
    tui_app_view_at(app, view);
    if (tui_view_at((size_t)view)->opened)
        tui_view_at((size_t)view)->opened(app->view_state[view], app);
}

static bool act_view(struct tui_app *app, const struct tui_command *command)
{
    enum tui_action action = command->action;

    for (int i = 0; tui_view_at((size_t)i); i++) {
        if (tui_view_at((size_t)i)->go == action) {
            tui_view_open(app, i);
            return true;
        }
    }
    if (action == TUI_PANE_NEXT || action == TUI_PANE_BACK)
        focus_move(app, action == TUI_PANE_NEXT ? command->count : -command->count);
    else if (action == TUI_MAXIMISE)
        maximise(app);
    else if (action == TUI_CLOSE)
        close_view(app);
    else if (action == TUI_OTHER_RUN)
        other_run(app);
    else if (action == TUI_RESET)
        tui_change_reset(app);
    else
        return false;
    return true;
}

/* ---- copying, editing ---- */

static void *state_of(const struct tui_app *app)
{
    return app->view_state[app->panes[app->focus]];
}

static void copy_row(struct tui_app *app)
{
    const struct tui_view *view = tui_app_focused(app);
    const struct tui_list *list = state_of(app);

    vs_text_clear(&app->copied);
    if (view->is_list && list->count)
        view->text(state_of(app), app, list->at, &app->copied);
    else
        tui_where_text(app, INT_MAX, &app->copied);
    app->wish = TUI_WISH_COPY;
}

static void copy_view(struct tui_app *app)
{
    if (!app->layout.pane_count)
        return;
    vs_text_clear(&app->copied);
    tui_pane_text(app, &app->copied);
    app->wish = TUI_WISH_COPY;
}

/*
 * The net's file under the name it was recorded by. A name with a quote is refused: it is put between quotes for the
 * shell as it is. So is one that an editor would take for an option or a command of its own.
 */
static void edit(struct tui_app *app)
{
    const char *name = rpl_trace_source_name(app->base.trace);
    uint32_t line = rpl_cursor_here(tui_app_run(app)->cursor).line;

    if (!name || strchr(name, '\'') || *name == '-' || *name == '+') {
        tui_app_say(app, "this trace has no source file to edit");
        return;
    }
    vs_text_clear(&app->copied);
    vs_text_addf(&app->copied, "${VISUAL:-${EDITOR:-vi}} +%" PRIu32 " '%s'", line ? line : 1, name);
    app->wish = TUI_WISH_EDIT;
}

/* The prompt opens with this command; the list above it shows the formats. */
static void export_prompt(struct tui_app *app)
{
    struct vs_text line = {NULL, 0, 0};
    struct vs_text fits = {NULL, 0, 0};

    tui_prompt_open(&app->prompt, ':', "export ");
    tui_command_complete(app, "export ", &line, &fits);
    tui_app_say(app, "%s", vs_text_get(&fits));
    vs_text_release(&line);
    vs_text_release(&fits);
}

/* ---- looks ---- */

static void next_unit(struct tui_app *app)
{
    static const char *const UNITS[TUI_UNIT_COUNT] = {
        [TUI_UNIT_BYTES] = "in bytes",
        [TUI_UNIT_PEAK] = "as a part of the peak",
        [TUI_UNIT_DEVICE] = "as a part of the device's memory",
    };

    app->unit = (enum tui_unit)((app->unit + 1) % TUI_UNIT_COUNT);
    if (app->unit == TUI_UNIT_DEVICE && !app->capacity)
        app->unit = TUI_UNIT_BYTES;
    app->changed |= 1u << TUI_OPTION_UNIT;
    tui_app_say(app, "figures %s", UNITS[app->unit]);
}

static void turn_glyphs(struct tui_app *app)
{
    app->is_letters = !app->is_letters;
    app->changed |= 1u << TUI_OPTION_GLYPHS;
    if (app->is_letters || !tui_app_has_letters(app))
        tui_app_say(app,
                    app->is_letters ? "bars are drawn as letters" : "bars are drawn as blocks");
    else
        tui_app_say(app, "bars are letters where there are no colours; T changes the theme");
}

static bool act_display(struct tui_app *app, enum tui_action action)
{
    if (action == TUI_UNIT) {
        next_unit(app);
    } else if (action == TUI_GLYPHS) {
        turn_glyphs(app);
    } else if (action == TUI_THEME_NEXT) {
        app->theme = (enum tui_theme)((app->theme + 1) % TUI_THEME_COUNT);
        app->changed |= 1u << TUI_OPTION_THEME;
        tui_app_say(app, "theme %s", tui_theme_name(app->theme));
    } else if (action == TUI_MOUSE_TURN) {
        app->has_mouse = !app->has_mouse;
        app->changed |= 1u << TUI_OPTION_MOUSE;
        app->wish = TUI_WISH_MOUSE;
        tui_app_say(app, app->has_mouse
                             ? "the mouse moves in the views; <f2> or gz lets it select text"
                             : "the mouse selects text again");
    } else if (action == TUI_REDRAW) {
        app->wish = TUI_WISH_REDRAW;
    } else if (action == TUI_SUSPEND) {
        app->wish = TUI_WISH_SUSPEND;
    } else if (action == TUI_QUIT) {
        app->wish = TUI_WISH_QUIT;
    } else {
        return false;
    }
    app->moves++;
    return true;
}

/* ---- words ---- */

static void filters_clear(struct tui_app *app)
{
    tui_app_say(app, app->filter_count || app->hidden
                         ? "all rows"
                         : "there is no filter; \\ keeps the rows with some words");
    for (size_t i = 0; i < app->filter_count; i++)
        vs_free(app->filters[i]);
    app->filter_count = 0;
    app->hidden = 0;
    app->moves++;
}

static void filter_add(struct tui_app *app, const char *words)
{
    if (!*words) {
        filters_clear(app);
        return;
    }
    if (app->filter_count == TUI_FILTER_MAX) {
        tui_app_say(app, "at most %d filters; g\\ discards them", TUI_FILTER_MAX);
        return;
    }
    app->filters[app->filter_count++] = vs_strdup(words);
    app->moves++;
}

static void search_set(struct tui_app *app, const char *text)
{
    if (*text) {
        vs_free(app->search);
        app->search = vs_strdup(text);
    }
    tui_search(app, false, 1);
}

static bool act_words(struct tui_app *app, const struct tui_command *command)
{
    enum tui_action action = command->action;

    if (action == TUI_COMMAND || action == TUI_SEARCH || action == TUI_FILTER)
        tui_prompt_open(&app->prompt,
                        action == TUI_COMMAND  ? ':'
                        : action == TUI_SEARCH ? '/'
                                               : '\\',
                        "");
    else if (action == TUI_SEARCH_NEXT || action == TUI_SEARCH_BACK)
        tui_search(app, action == TUI_SEARCH_BACK, command->count);
    else if (action == TUI_FILTER_CLEAR)
        filters_clear(app);
    else if (action == TUI_COPY)
        copy_row(app);
    else if (action == TUI_COPY_VIEW)
        copy_view(app);
    else if (action == TUI_EDIT)
        edit(app);
    else if (action == TUI_EXPORT)
        export_prompt(app);
    else if (action == TUI_HOLDERS)
        tui_program_holders(app);
    else if (action == TUI_PYTHON)
        tui_program_prompt(app);
    else
        return false;
    return true;
}

/* Bytes of `words`, separated by two blanks, that fit into `w` cells: whole words, at least one. */
static size_t words_fit(const char *words, int w)
{
    const char *at = words;
    size_t fit = strcspn(words, " ");
    int x = 0;

    while (*at && x <= w) {
        x += tui_char_width(tui_utf8_next(&at));
        if (x <= w && (!*at || *at == ' ') && at[-1] != ' ')
            fit = (size_t)(at - words);
    }
    return fit;
}

/* Say what completes the line; where that is more than fits, the next <tab> shows more, and begins anew at the end. */
static void completions_say(struct tui_app *app, const char *words)
{
    const int w = app->w - 6;
    const char *at = words;

    for (size_t i = 1; i < app->prompt.tabs; i++) {
        at += words_fit(at, w);
        at += strspn(at, " ");
        if (!*at)
            at = words;
    }
    tui_app_say(app, "%s%.*s%s", at > words ? "\xE2\x80\xA6 " : "", (int)words_fit(at, w), at,
                at[words_fit(at, w)] ? "  \xE2\x80\xA6" : "");
}

static void prompted(struct tui_app *app, char kind, uint32_t key)
{
    enum tui_prompted result = tui_prompt_type(&app->prompt, key);
    char *line;

    if (result == TUI_PROMPT_COMPLETE && kind == ':') {
        struct vs_text out = {NULL, 0, 0};
        struct vs_text fits = {NULL, 0, 0};

        tui_command_complete(app, vs_text_get(&app->prompt.text), &out, &fits);
        if (strcmp(vs_text_get(&app->prompt.text), vs_text_get(&out)) != 0)
            app->prompt.tabs = 1;
        tui_prompt_set(&app->prompt, vs_text_get(&out));
        if (fits.len)
            completions_say(app, vs_text_get(&fits));
        else
            tui_value_hint(app);
        vs_text_release(&out);
        vs_text_release(&fits);
    }
    if (result == TUI_PROMPT_GOES_ON && kind == ':')
        tui_value_hint(app);
    if (result != TUI_PROMPT_DONE)
        return;
    line = vs_strdup(vs_text_get(&app->prompt.text));
    if (kind == ':')
        tui_command_run(app, line);
    else if (kind == '/')
        search_set(app, line);
    else
        filter_add(app, line);
    vs_free(line);
}

/* ---- inputs ---- */

/* 12G and 12gg: row 12 of a list, elsewhere event 12. */
static void go_to_number(struct tui_app *app, const struct tui_view *view, int64_t number)
{
    struct tui_list *list = state_of(app);

    if (!view->is_list) {
        tui_app_go(app, (uint64_t)number, true);
        return;
    }
    list->at = (uint64_t)number < list->count ? (size_t)number - 1
               : list->count                  ? list->count - 1
                                              : 0;
    if (view->moved && list->count)
        view->moved(list, app);
}

/* No view and no part of the session has handled this action. */
static void refuse(struct tui_app *app, enum tui_action action)
{
    const struct tui_view *view = tui_app_focused(app);
    const struct tui_list *list = state_of(app);

    if (view->is_list && !list->count)
        tui_app_say(app, "the view %s has no row here", view->name);
    else if (action == TUI_OPEN || action == TUI_ACT)
        tui_app_say(app, "there is nothing to open in the view %s", view->name);
    else
        tui_app_say(app, "`%s` has no meaning in the view %s; ? lists its keys",
                    tui_action_info(action)->name, view->name);
}

void tui_app_act(struct tui_app *app, const struct tui_command *command)
{
    const struct tui_view *view = tui_app_focused(app);

    /*
     * In a pane that is too small to be drawn keys do nothing: the user cannot see their effect, and the rows the view
     * keeps may belong to another run.
     */
    if (app->layout.is_too_small) {
        (void)act_display(app, command->action);
        return;
    }
    if (command->has_count && (command->action == TUI_TOP || command->action == TUI_BOTTOM)) {
        go_to_number(app, view, command->count);
        return;
    }
    if (view->key && view->key(state_of(app), app, command->action, command->count))
        return;
    if (view->is_list && tui_list_act(state_of(app), command->action, command->count)) {
        if (view->moved)
            view->moved(state_of(app), app);
        return;
    }
    if (act_view(app, command) || act_display(app, command->action) || act_words(app, command) ||
        tui_move_act(app, command))
        return;
    if (command->action == TUI_UP || command->action == TUI_DOWN ||
        command->action == TUI_PAGE_UP || command->action == TUI_PAGE_DOWN)
        return;
    refuse(app, command->action);
}

static void header_click(struct tui_app *app, int x)
{
    int view = tui_screen_tab_at(app, x);

    if (view >= 0)
        tui_view_open(app, view);
}

static void click(struct tui_app *app, const struct tui_input *input)
{
    int pane = tui_layout_pane_at(&app->layout, input->x, input->y);
    const struct tui_view *view;
    void *state;
    int x;
    int y;

    if (pane < 0) {
        if (input->y == 0)
            header_click(app, input->x);
        return;
    }
    app->focus = pane;
    view = tui_app_focused(app);
    state = state_of(app);
    x = input->x - app->layout.panes[pane].x;
    y = input->y - app->layout.panes[pane].y - 1;
    if (y < 0)
        return;
    if (view->click && view->click(state, app, x, y))
        return;
    if (view->is_list && y >= view->list_y) {
        struct tui_list *list = state;
        size_t row = list->top + (size_t)(y - view->list_y);

        if (row >= list->count)
            return;
        list->at = row;
        if (view->moved)
            view->moved(state, app);
    }
}

static void mouse(struct tui_app *app, const struct tui_input *input)
{
    int pane = tui_layout_pane_at(&app->layout, input->x, input->y);
    struct tui_command command = {.action = TUI_DOWN, .count = 3};

    if (!app->has_mouse)
        return;
    if (input->mouse == TUI_MOUSE_CLICK || input->mouse == TUI_MOUSE_DOUBLE) {
        click(app, input);
        command = (struct tui_command){.action = TUI_OPEN, .count = 1};
        if (input->mouse == TUI_MOUSE_DOUBLE && pane >= 0)
            tui_app_act(app, &command);
        return;
    }
    if (pane < 0)
        return;
    app->focus = pane;
    if (input->mouse == TUI_MOUSE_WHEEL_UP)
        command.action = TUI_UP;
    if (!tui_app_focused(app)->is_list)
        command = (struct tui_command){
            .action = input->mouse == TUI_MOUSE_WHEEL_UP ? TUI_ZOOM_IN : TUI_ZOOM_OUT, .count = 1};
    tui_app_act(app, &command);
}

/* Pasted text goes into an open prompt, a line break as a blank; it never is a key. */
static void pasted(struct tui_app *app, uint32_t key)
{
    if (!app->prompt.kind)
        tui_app_say(app, "pasted text is not read as keys; it goes into the prompts : / and \\");
    else if (key == TUI_KEY_ENTER || (key >= 0x20 && key < TUI_SPECIAL))
        (void)tui_prompt_type(&app->prompt, key == TUI_KEY_ENTER ? ' ' : key);
}

static void input_take(struct tui_app *app, const struct tui_input *input)
{
    struct tui_command command;
    enum tui_typed typed;

    app->wish = TUI_WISH_NOTHING;
    if (input->key == TUI_KEY_RESIZE || input->key == TUI_KEY_TICK)
        return;
    vs_text_clear(&app->message);
    if (input->key == TUI_CTRL('C') && !input->is_pasted && !app->prompt.kind &&
        tui_program_stop(app)) {
        tui_app_say(app, "the program was stopped");
        return;
    }
    if (input->is_pasted) {
        pasted(app, input->key);
        return;
    }
    if (app->prompt.kind) {
        if (input->key != TUI_KEY_MOUSE)
            prompted(app, app->prompt.kind, input->key);
        return;
    }
    if (input->key == TUI_KEY_MOUSE) {
        mouse(app, input);
        return;
    }
    typed = tui_keys_type(&app->config.keys, &app->pending, input->key, tui_app_focused(app)->scope,
                          &command);
    if (typed == TUI_TYPED_ACTION)
        tui_app_act(app, &command);
    if (typed == TUI_TYPED_ACTION && input->key == TUI_KEY_ESC && app->wish == TUI_WISH_QUIT) {
        /* it is pressed to be sure to have left everything */
        app->wish = TUI_WISH_NOTHING;
        tui_app_say(app, "q quits");
    }
    if (typed == TUI_TYPED_NOTHING && input->key != TUI_KEY_ESC)
        tui_app_say(app, "no such key here; ? lists them");
}

void tui_app_input(struct tui_app *app, const struct tui_input *input)
{
    input_take(app, input);
    tui_breaks_store(app);
}
