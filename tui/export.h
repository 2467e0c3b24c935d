/*
 * tui/export.h - writes the shown run in a format of another tool, or the focused pane as text.
 *
 * For:            `:export` and its key.
 * Must not know:  the contents of a format (export/export.h).
 * Invariant:      no existing file is overwritten, and no incomplete file is left behind.
 */
#ifndef TUI_EXPORT_H
#define TUI_EXPORT_H

#include "tui/app.h"

/* Name of format number `i`: those of export/export.h, then "txt"; NULL past the end. */
const char *tui_export_format(size_t i);
/*
 * Export as `words` says: "FORMAT FILE"; without FILE the file is named after the trace and written to the current
 * folder. The shown run is exported: at the current event if the format describes one position, and with the other run
 * if the format supports two. The status line shows the result.
 */
void tui_export(struct tui_app *app, const char *words);

#endif
