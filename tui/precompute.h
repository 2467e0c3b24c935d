/*
 * tui/precompute.h - speculative what-if runs: those that one key would request, run while no key is typed.
 *
 * For:            prefetch.c, which does background work.
 * Must not know:  terminals, drawing.
 * Invariant:      no result changes, and on the screen only the column of effects in the what-if panel; the runs are
 *                 kept in the what-if cache (whatif/cache.h).
 *
 * It begins when no input waits, unless the session is lazy; with two traces it begins when the panel is opened or a
 * toggle is changed. Starting from the current set of toggles, each toggle's next and previous value is run: first the
 * chosen row, then the nearest rows. Of those for which the cache has no memory left, the figures are kept.
 * Another set or another row starts it again; runs in the cache are not repeated. A key stops the current run at once,
 * unless it requests that very run and the run is to be kept: then it is finished. Nothing is precomputed for a
 * recording that is still being written.
 */
#ifndef TUI_PRECOMPUTE_H
#define TUI_PRECOMPUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/toggle.h"

struct tui_app;

/*
 * from, toggle  the set of toggles as text, and the chosen row, for which `next` counts; from NULL: not begun
 * next          index of the next candidate: all before it were run or are not possible
 * bytes         memory of their runs; largest: the largest of them before it was compressed
 * is_made       candidate `next` has been run
 * runs          runs that were completed so far: whoever shows their figures draws again when it has grown
 */
struct tui_precompute {
    char *from;
    enum vs_toggle toggle;
    size_t next;
    uint64_t bytes;
    uint64_t largest;
    bool is_made;
    uint64_t runs;
};

void tui_precompute_release(struct tui_precompute *precompute);
/* Do a piece of the work. False: nothing is left to do. */
bool tui_precompute_next(struct tui_app *app);

#endif
