/*
 * tui/view.h - the interface of a view.
 *
 * For:            view_*.c, one view per file; views.c lists them.
 * Must not know:  terminals.
 * Invariant:      draw changes nothing but cells of its canvas.
 */
#ifndef TUI_VIEW_H
#define TUI_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "tui/parts/keys.h"
#include "tui/parts/list.h"
#include "tui/term/surface.h"

struct tui_app;

/* A hint in the last row: keys, and a word for what they do. */
struct tui_hint {
    const char *keys;
    const char *word;
};

/*
 * name, title  name in commands and in the header, such as "blocks"; title of the pane
 * letter       `g` followed by this letter opens the view
 * scope, go    its bit in keys.def; the action that opens it
 * help         shown by the help view in addition to the rows of keys.def; NULL: nothing
 * hints        keys with a meaning of their own in this view, most useful first, ended by {NULL, NULL}; NULL: none
 * net_hints    the same, only for traces with a net that can be run again
 * beside       name of the view in the pane below, if there are two panes
 * state_size   bytes of its state, zeroed, one per session; if is_list, the state begins with a struct tui_list
 * list_y       row of the canvas at which a list begins
 *
 * sync        called before each draw with the size of the canvas; computes the rows for the current event and filters
 * read_on     goes on for a few milliseconds with what takes too long for a key, while no key is typed, and increments
 *             app->news where the screen shows it; false: nothing is left. NULL: there never is
 * draw        draws everything below the pane's title. is_focused: the pane has the keyboard
 * key         true: the view has handled the action
 * text        text of row `row` of a list, for searching, filtering and copying
 * find        *row: the next row after *row, or the one before it, whose text contains `word`, in capitals or not,
 *             round the end of the list; VS_E_NOT_FOUND: there is none; VS_E_STOPPED: the user stopped it. NULL: the
 *             texts of the rows are compared
 * opened      called when a key or command shows the view, which then begins its work; NULL: it has none
 * moved       called when another row of the list was chosen; NULL: nothing to do
 * click       a click into the canvas; NULL: a list chooses the clicked row, other views ignore it
 * title_more  adds text behind the title; NULL: none
 */
struct tui_view {
    const char *name;
    const char *title;
    char letter;
    unsigned scope;
    enum tui_action go;
    const char *help;
    const struct tui_hint *hints;
    const struct tui_hint *net_hints;
    const char *beside;
    size_t state_size;
    bool is_list;
    int list_y;
    void (*sync)(void *state, struct tui_app *app, int w, int h);
    bool (*read_on)(void *state, struct tui_app *app);
    void (*draw)(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused);
    bool (*key)(void *state, struct tui_app *app, enum tui_action action, int64_t count);
    void (*text)(const void *state, const struct tui_app *app, size_t row, struct vs_text *out);
    enum vs_status (*find)(void *state, struct tui_app *app, const char *word, bool is_backward,
                           size_t *row, struct vs_error *err);
    void (*opened)(void *state, struct tui_app *app);
    void (*moved)(void *state, struct tui_app *app);
    bool (*click)(void *state, struct tui_app *app, int x, int y);
    void (*title_more)(const void *state, const struct tui_app *app, struct vs_text *out);
    void (*release)(void *state);
};

#define TUI_VIEW_MAX 24
/* View number `i`, in the order of the header; NULL past the end. */
const struct tui_view *tui_view_at(size_t i);
/* Index of the view called `name`; -1: there is none. */
int tui_view_find(const char *name);

#endif
