/*
 * tui/gains.h - what would lower the peak of a run if it were freed right after its last use, and how to do that;
 *               likely mistakes of a program.
 *
 * For:            the views that mark such blocks, and try the remedy.
 * Must not know:  drawing.
 * Invariant:      a block is marked only where freeing it lowers the peak of the whole run.
 */
#ifndef TUI_GAINS_H
#define TUI_GAINS_H

#include <stdint.h>

#include "base/error.h"
#include "replay/inspect/alive.h"
#include "replay/report/mistakes.h"
#include "tui/app.h"
#include "whatif/remedy.h"

/*
 * kept    the unused block at the peak, and by how much the peak falls without it
 * remedy  how to free it; text NULL: not known
 */
struct tui_gain {
    struct rpl_kept kept;
    struct wif_remedy remedy;
};

/*
 * items        `count` unused blocks at the peak, the largest first
 * total        bytes of all unused blocks there
 * gain         by how much the peak falls if all of the items were freed early
 * failure      why they are not known; "" for none
 */
struct tui_gains {
    struct tui_gain items[RPL_KEPT_MAX];
    size_t count;
    uint64_t total;
    uint64_t gain;
    struct vs_error failure;
};

/*
 * The gains of the shown run, computed when they are first asked for, by a view that needs them or while no key is
 * typed: after a key that shows another run the marks follow the figures. Borrowed until the run changes. Of an
 * imported trace, which has no reads, there are none.
 */
const struct tui_gains *tui_gains_get(struct tui_app *app);
/* Compute the gains of the shown run, for the views that show them where they are known. False: they were known. */
bool tui_gains_update(struct tui_app *app);
void tui_gains_free(struct tui_gains *gains);

/*
 * The item that a live block of the run stands for: one of the same allocation site and size, whose gain is not
 * negligible. NULL: freeing the block does not lower the peak, or the gains have not been asked for.
 */
const struct tui_gain *tui_gain_of(const struct tui_run *run, const struct rpl_block *block);

/*
 * Likely mistakes of a program (replay/report/mistakes.h). is_busy: its events are being read; failure: why they are
 * not known, "" for none
 */
struct tui_mistakes {
    struct rpl_mistakes found;
    bool is_busy;
    struct vs_error failure;
};

/*
 * Those of the shown run, of whose events all are read when they are first asked for, with progress; <C-c> stops it.
 * Borrowed until the run changes.
 */
const struct tui_mistakes *tui_mistakes_get(struct tui_app *app);
/* Read them again when they are next asked for. */
void tui_mistakes_forget(struct tui_run *run);

/* "`del output` before backward: -196.3 MiB": append the remedy, or what the gain is where none is known. */
void tui_gain_text(const struct tui_gain *gain, struct vs_text *out);

/* Run the net with the remedy over the toggles and lines in force, and show it. A message says where it has none. */
void tui_gain_try(struct tui_app *app, const struct tui_gain *gain);

#endif
