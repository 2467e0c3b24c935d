/*
 * tui/names.h - what blocks are called, and what is known of each at the cursor.
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

/* "layer1.0.conv1.weight", or how and where it was made. life: of the block, or NULL to look it up. */
void tui_block_name(const struct tui_run *run, const struct rpl_block *block,
                    const struct rpl_lifetime *life, struct vs_text *out);
/* In fewer cells, for where the line stands beside it: "layer1.0.conv1.weight", "conv1 _convolution"; of an imported block "forward  model.py". */
void tui_block_short(const struct tui_run *run, const struct rpl_block *block,
                     const struct rpl_lifetime *life, struct vs_text *out);
/* Its life; zeroed where it cannot be had. */
struct rpl_lifetime tui_block_life(const struct tui_run *run, uint64_t id);
/*
 * Nothing reads it after event `at`, and it is not of those that the next step reads: parameters, buffers, the optimizer's state. What was
 * made in the last step and is not given back in this trace might be read after its end: that is not known, so it is not said. Nor is it of
 * an imported trace, which has no reads.
 */
bool tui_block_is_done(const struct tui_run *run, const struct rpl_block *block,
                       const struct rpl_lifetime *life, uint64_t at);
/* The largest live block; NULL: there is none. */
const struct rpl_block *tui_block_largest(const struct tui_run *run);

#endif
