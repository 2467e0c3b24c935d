/*
 * tui/sites.h - where what is alive was made, for a trace that carries no source: function and line, the most bytes first.
 *
 * For:            the source view.
 * Must not know:  drawing.
 * Invariant:      the bytes of the lines add up to what is allocated at the cursor.
 */
#ifndef TUI_SITES_H
#define TUI_SITES_H

#include "tui/app.h"
#include "tui/parts/page.h"

/* A line a site into `page`, which is cleared; its `block` is the largest one made there. The site of the event at the cursor is marked. */
void tui_sites_fill(struct tui_page *page, const struct tui_run *run);

#endif
