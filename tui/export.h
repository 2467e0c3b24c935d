/*
 * tui/export.h - what is looked at as a file: the run in a format of another tool, or the pane as text.
 *
 * For:            `:export`, the key for it.
 * Must not know:  what is in a format (export/export.h).
 * Invariant:      no file that was there is written to, and none is left that is not whole.
 */
#ifndef TUI_EXPORT_H
#define TUI_EXPORT_H

#include "tui/app.h"

/* Formats by number, those of export/export.h and "txt"; NULL past the end. */
const char *tui_export_format(size_t i);
/*
 * Do `words`: "FORMAT FILE"; without FILE it is called after the trace, in the folder one is in. The run is the one shown, at the event looked
 * at where a format is of one moment, with the other run beside it where a format shows two. What came of it is said.
 */
void tui_export(struct tui_app *app, const char *words);

#endif
