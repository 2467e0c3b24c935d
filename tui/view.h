/*
 * tui/view.h - what a view is.
 *
 * For:            view_*.c, one a file; views.c lists them.
 * Must not know:  terminals.
 * Invariant:      draw changes nothing but cells of its canvas.
 */
#ifndef TUI_VIEW_H
#define TUI_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "tui/parts/keys.h"
#include "tui/parts/list.h"
#include "tui/term/surface.h"

struct tui_app;

/* Keys and a word for what they do, in the last row. */
struct tui_hint {
    const char *keys;
    const char *word;
};

/*
 * name, title  "blocks"; what stands above the pane
 * letter       g and this opens it, for the header
 * scope, go    its bit in keys.def, and the action that opens it
 * help         what its keys do that a row of keys.def cannot say; NULL: nothing
 * hints        the keys that mean something of their own here, most useful first, ended by {NULL, NULL}; NULL: none
 * net_hints    likewise, only where the trace has a net that can be run again
 * beside       name of the view that stands below it where two fit
 * state_size   zeroed memory of its own, one a session. Where is_list is set it begins with a struct tui_list
 * list_y       rows of a list begin in this row of the canvas
 *
 * sync   before each draw, with the size of its canvas: rows for this event, size, filter. May ask replay/
 * draw   everything below the pane's title. is_focused: its keys are the pane's
 * key    true: it has dealt with the action
 * text   row `row` of a list, for searching, filtering and copying
 * moved  another row of the list has been chosen: by a key, a search, a click; NULL: nothing is to be done
 * click  a click into the canvas; NULL: a list chooses the row, others do nothing
 * title_more  what to say behind the title, or NULL
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
    void (*draw)(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused);
    bool (*key)(void *state, struct tui_app *app, enum tui_action action, int64_t count);
    void (*text)(const void *state, const struct tui_app *app, size_t row, struct vs_text *out);
    void (*moved)(void *state, struct tui_app *app);
    bool (*click)(void *state, struct tui_app *app, int x, int y);
    void (*title_more)(const void *state, const struct tui_app *app, struct vs_text *out);
    void (*release)(void *state);
};

#define TUI_VIEW_MAX 16
/* View number `i`, in the order of the header; NULL past the end. */
const struct tui_view *tui_view_at(size_t i);
/* Number of the view called `name`; -1: there is none. */
int tui_view_find(const char *name);

#endif
