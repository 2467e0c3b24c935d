/*
 * tui/views/fragmentation.h - whether memory is fragmented, and the allocator setting that helps, found by running it.
 *
 * For:            view_segments.c.
 * Must not know:  terminals.
 * Invariant:      a gain that is shown is that of a run with the setting, not an estimate.
 */
#ifndef TUI_FRAGMENTATION_H
#define TUI_FRAGMENTATION_H

#include "replay/inspect/space.h"
#include "tui/app.h"

/*
 * The settings that were run for the recorded run. Zero-initialise; release with tui_tried_release.
 *
 * count      how many were run; 0: none yet
 * best       the one that reserves least, less than the run without it; NULL: none does
 * before, after   highest bytes in segments without it and with it
 * is_fitting the run without it ran out of memory, and the one with it does not
 * failure    why a run was not possible; NULL: it was
 */
struct tui_tried {
    size_t count;
    const char *best;
    uint64_t before;
    uint64_t after;
    bool is_fitting;
    char *failure;
};

/* Whether the state at the cursor is fragmented; appends the sentence that says so and why. */
bool tui_fragmentation_text(const struct rpl_space *space, const struct tui_app *app,
                            struct vs_text *out);
/*
 * Run each setting, unless that was done: of a net with its toggles as recorded, of a recording its requests. A key
 * that is typed stops it; the next call begins again.
 */
void tui_tried_run(struct tui_tried *tried, struct tui_app *app);
/* Append what was found: "reserved 2.00 GiB (-300.0 MiB): `:set alloc-conf=expandable_segments:True`". */
void tui_tried_text(const struct tui_tried *tried, struct vs_text *out);
void tui_tried_release(struct tui_tried *tried);

#endif
