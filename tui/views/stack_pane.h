/*
 * tui/views/stack_pane.h - the call stack of an event, which can be walked, with the source of the chosen frame.
 *
 * For:            view_source.c, for traces without a net.
 * Must not know:  terminals.
 * Invariant:      frame 0 is the innermost; `up` is less than count, or both are 0.
 */
#ifndef TUI_STACK_PANE_H
#define TUI_STACK_PANE_H

#include "tui/app.h"
#include "tui/parts/page.h"

/* A frame. file: the part of its name before the colon, owned; func: the rest, in the same memory. */
struct tui_frame {
    char *file;
    const char *func;
    uint32_t line;
};

/*
 * page    what is drawn
 * frames  `count` of them, of event `seq`; up: the chosen one
 * text    the source of text_of (NULL: none was looked for yet); NULL: it cannot be read
 */
struct tui_stack_pane {
    struct tui_page page;
    struct tui_frame *frames;
    size_t count;
    size_t cap;
    size_t up;
    uint64_t seq;
    char *text;
    char *text_of;
};

/*
 * Show the stack of event `seq` of the shown run in `h` rows. Of another event than the one before, the innermost frame
 * of the program's own files is chosen, if there is one; then frames of libraries share rows. A source is the recorded
 * one, or read from the current folder or that of the trace; of frames of PyTorch none is.
 */
void tui_stack_pane_fill(struct tui_stack_pane *pane, const struct tui_app *app, uint64_t seq,
                         int h);
/*
 * Choose the frame `by` calls above the chosen one, below it where negative, and say which it is. Only frames of the
 * program's own files count, where the chosen one is one.
 */
void tui_stack_pane_step(struct tui_stack_pane *pane, struct tui_app *app, int64_t by);
void tui_stack_pane_release(struct tui_stack_pane *pane);

#endif
