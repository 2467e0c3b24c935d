/*
 * tui/parts/format.h - formats figures in few cells.
 *
 * For:            axes, legends, columns of lists.
 * Must not know:  the meaning of the figures; of words it knows the phases.
 * Invariant:      no figure is wider than TUI_SHORT_W cells.
 */
#ifndef TUI_FORMAT_H
#define TUI_FORMAT_H

#include <stdint.h>

#include "base/attr.h"

#define TUI_SHORT_W 6
#define TUI_SHORT_MAX 16
/*
 * "512B", "8.1K", "61.3M", "1.39G", "1023G": binary units. These functions return buf, which has TUI_SHORT_MAX bytes.
 */
const char *tui_short_bytes(uint64_t n, char *buf);
/* The same with a sign; "0" for 0. */
const char *tui_short_delta(int64_t n, char *buf);
/* "312", "4.8k", "10.2M": counts. */
const char *tui_short_count(uint64_t n, char *buf);
/* "850ns", "12.3us", "4.0ms", "72.1s": a duration; above 9999 s the text is "long". */
const char *tui_short_ns(uint64_t ns, char *buf);
/*
 * The name of a phase (enum vs_phase) if it has at most w cells, otherwise what it is called for short, if it is:
 * "fwd", "bwd", "opt", "zero".
 */
const char *tui_phase_text(int phase, int w);

#endif
