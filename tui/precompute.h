/*
 * tui/precompute.h - the precompute that are one key away, run while nobody types.
 *
 * For:            prefetch.c, which has the idle time.
 * Must not know:  terminals, drawing.
 * Invariant:      nothing that is shown changes, and no answer: what is made is kept with the answers (whatif/cache.h), where whoever asks finds it.
 *
 * Begins at the first moment without a key, unless the session is lazy, or of two traces, where the panel or a toggle has to be in use. From what is set then, each toggle's next value is run, and the one before it:
 * first that of the chosen row, then those of the rows nearest to it. It ends when all are made, or when what is made from here fills the memory for answers;
 * another choice or another row begins anew, with what is known already. A key stops the run at once; where the key asks for the very run that is being made,
 * that goes on and the key waits for it. A recording that is being written is not run ahead.
 */
#ifndef TUI_PRECOMPUTE_H
#define TUI_PRECOMPUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/toggle.h"

struct tui_app;

/*
 * from       what is set, in words, and the row, that `next` counts from; NULL: nothing yet
 * next       of the candidates (in the order in which they are made): all before it are made, or cannot be
 * bytes      memory of those; largest: of one before it was made small
 * is_made    the next one has been run
 */
struct tui_precompute {
    char *from;
    enum vs_toggle toggle;
    size_t next;
    uint64_t bytes;
    uint64_t largest;
    bool is_made;
};

void tui_precompute_release(struct tui_precompute *precompute);
/* Do a part of it. False: there is nothing left to do. */
bool tui_precompute_next(struct tui_app *app);

#endif
