/*
 * tui/names.h - the names of blocks, and what is known about a block at the cursor.
 *
 * For:            every view that names a block.
 * Must not know:  drawing.
 * Invariant:      a block has the name that the report gives it.
 */
#ifndef TUI_NAMES_H
#define TUI_NAMES_H

#include <stdbool.h>

#include "base/text.h"
#include "replay/index/lifetimes.h"
#include "replay/state/live.h"
#include "tui/app.h"

/* Append the name of a block: "layer1.0.conv1.weight", or the op and location that allocated it. life: its lifetime;
 * NULL: look it up. */
void tui_block_name(const struct tui_run *run, const struct rpl_block *block,
                    const struct rpl_lifetime *life, struct vs_text *out);
/* A shorter name, for use where the source line is shown, too: "layer1.0.conv1.weight", "conv1 _convolution"; for an
 * imported block "forward  model.py". */
void tui_block_short(const struct tui_run *run, const struct rpl_block *block,
                     const struct rpl_lifetime *life, struct vs_text *out);
/* The lifetime of block `id`; all zero if it cannot be read. */
struct rpl_lifetime tui_block_life(const struct tui_run *run, uint64_t id);
/*
 * Has the block no later use after event `at`? False for blocks that the next step reads: parameters, buffers,
 * optimizer state. False if it is not known: for a block that was allocated in the last step and is not freed within
 * the trace, which may be read after its end, and in imported traces, which do not record reads.
 */
bool tui_block_is_done(const struct tui_run *run, const struct rpl_block *block,
                       const struct rpl_lifetime *life, uint64_t at);
/* The largest live block; NULL: there is none. */
const struct rpl_block *tui_block_largest(const struct tui_run *run);

#endif
