/*
 * tui/views/sites.h - lists the allocation sites of live blocks for a trace without source: function and line, sorted
 * by bytes.
 *
 * For:            the source view.
 * Must not know:  drawing.
 * Invariant:      the bytes of the lines add up to the bytes allocated at the cursor.
 */
#ifndef TUI_SITES_H
#define TUI_SITES_H

#include "tui/app.h"
#include "tui/parts/page.h"

/* Fill `page`, which is cleared first, with one line per site; its `block` is the largest live block allocated there.
 * The site of the event at the cursor is marked. */
void tui_sites_fill(struct tui_page *page, const struct tui_run *run);

#endif
