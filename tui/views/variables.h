/*
 * tui/views/variables.h - lists the variables of a net, by function, and the tensors that they hold.
 *
 * For:            the source view.
 * Must not know:  where the list is drawn.
 * Invariant:      the list has as many lines as fit: an optimizer holds thousands of tensors.
 */
#ifndef TUI_VARIABLES_H
#define TUI_VARIABLES_H

#include <stdint.h>

#include "replay/inspect/frame.h"
#include "tui/app.h"
#include "tui/parts/page.h"

/*
 * Fill `frames` with the functions at the run's cursor, and `page`, which is cleared first, with at most `h` lines of
 * them. chosen: the function (a string's id) that comes first; 0: the one that runs is marked.
 */
void tui_variables_fill(struct tui_page *page, struct rpl_frames *frames, const struct tui_run *run,
                        uint32_t chosen, int h);
/* The frame of a function that has variables; NULL: it has none. */
const struct rpl_frame *tui_variables_of(const struct rpl_frames *frames, uint32_t scope);

#endif
