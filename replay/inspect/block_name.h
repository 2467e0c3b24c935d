/*
 * replay/inspect/block_name.h - what a block is, in a few words: the name that a reader of the net knows it by.
 *
 * For:            the TUI's views, export/html/.
 * Must not know:  where the text goes.
 * Invariant:      a block has one name at one event, whichever view asks.
 *
 * Each function appends to `out`.
 */
#ifndef RPL_BLOCK_NAME_H
#define RPL_BLOCK_NAME_H

#include <stdbool.h>

#include "base/text.h"
#include "replay/index/cursor.h"
#include "replay/index/lifetimes.h"
#include "replay/state/live.h"

/*
 * The name of a block at the cursor's event: of a parameter or buffer its path ("layer1.0.conv1.weight"); of a
 * gradient "grad of fc1.weight"; of optimizer state "exp_avg of fc1.weight"; else that of the variable, attribute or
 * item that has held it longest ("output"). life: its lifetime.
 *
 * False, and nothing is appended: nothing with a name holds it at this event; rpl_block_origin says what allocated it.
 * Reads at most the few events before the allocation of a block of optimizer state.
 */
bool rpl_block_name(const struct rpl_cursor *cursor, const struct rpl_block *block,
                    const struct rpl_lifetime *life, struct vs_text *out);

/*
 * String id of the name from which the module of a block follows, at the cursor's event: its own name (life->name,
 * "layer1.0.conv1.weight" or "exp_avg of layer1.0.conv1.weight"); of a gradient or of optimizer state without a name
 * that of its parameter. 0: there is none. Reads at most the few events before the allocation of optimizer state.
 */
uint32_t rpl_block_parameter(const struct rpl_cursor *cursor, const struct rpl_block *block,
                             const struct rpl_lifetime *life);

/*
 * What allocated a block, without its line: "layer1.0.conv1 _convolution", "mm workspace"; of a block that no op
 * allocated the text of its category or, if it was imported, its function: "forward  model.py".
 */
void rpl_block_origin(const struct rpl_trace *trace, const struct rpl_block *block,
                      struct vs_text *out);

/*
 * What an event did, as a sentence without a full stop: "`x1` of Net.forward takes block 30 (`fc1.weight`)", "free
 * -17.0 MiB, block 30 (`x1`)". A block is called by its name or, where nothing with a name holds it, by what allocated
 * it; of a freed one it is the name that released it last. The cursor is at the event. Nothing for op_begin and op_end,
 * whose op the reader of an event sees anyway. Reads at most the few events before a free.
 */
void rpl_event_text(const struct rpl_cursor *cursor, const struct vs_event *event,
                    struct vs_text *out);

#endif
