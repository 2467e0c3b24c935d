/*
 * tui/names.h - the names of blocks, what is known about a block at the cursor, and where that stands.
 *
 * For:            every view that names a block.
 * Must not know:  drawing.
 * Invariant:      a block has the same name in every view.
 */
#ifndef TUI_NAMES_H
#define TUI_NAMES_H

#include <stdbool.h>

#include "base/text.h"
#include "replay/index/cursor.h"
#include "replay/index/lifetimes.h"
#include "replay/state/live.h"
#include "tui/app.h"

/*
 * Append what a block is at the cursor's event, and what allocated it: "fc1.weight", "output, allocated by mm, line
 * 84", "allocated by _softmax in blocks.0.attn, line 37".
 */
void tui_block_name(const struct rpl_cursor *cursor, const struct rpl_block *block,
                    struct vs_text *out);
/*
 * The same in fewer words, for use where the source line is shown, too: "output", "exp_avg of fc1.weight"; of a block
 * that nothing with a name holds what allocated it: "blocks.0.attn _softmax", or imported "forward  model.py". life:
 * its lifetime.
 */
void tui_block_short(const struct rpl_cursor *cursor, const struct rpl_block *block,
                     const struct rpl_lifetime *life, struct vs_text *out);
/* Append what block `id` is, alive or not: its name or what allocates it. Nothing if there is no such block. */
void tui_block_anywhere(const struct tui_run *run, uint64_t id, struct vs_text *out);
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

/* Append where a run has its peak: "step 0 backward, ConvolutionBackward0 of layer4.0.conv1, line 25". */
void tui_peak_text(const struct rpl_trace *trace, const struct rpl_run *run, struct vs_text *out);

/*
 * Of an imported run whose phases and categories are derived: says so, and up to which event the pre-existing
 * blocks stand, whose category follows from less. Nothing of another run.
 */
void tui_derived_text(const struct tui_run *run, struct vs_text *out);

/*
 * One line on where the program is: "5201/20440  alloc +4.5 MiB  relu in layer1  line 14: …". It ends with the line's
 * number where `w` cells are too few for its code.
 */
void tui_where_text(const struct tui_app *app, int w, struct vs_text *out);

#endif
