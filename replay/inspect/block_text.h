/*
 * replay/inspect/block_text.h - blocks, their holders and shapes in words.
 *
 * For:            the report, `check`, `diff`, exports and the TUI's views.
 * Must not know:  where the text goes.
 * Invariant:      a block or holder is described in the same words everywhere.
 *
 * Each function appends to `out`.
 */
#ifndef RPL_BLOCK_TEXT_H
#define RPL_BLOCK_TEXT_H

#include <stdint.h>

#include "base/text.h"
#include "replay/inspect/alive.h"
#include "replay/state/holders.h"
#include "replay/state/live.h"
#include "replay/trace/trace.h"

/* One sentence without a full stop: "local `x0` of `Net.forward`, line 14". */
void rpl_holder_text(const struct rpl_trace *trace, const struct rpl_holder *holder,
                     struct vs_text *out);

/*
 * Keep, of the holders of `why`, only the first of those that read the same, in their order: two ops of one line that
 * save a block read the same. O(holders times what is left).
 */
void rpl_why_distinct(const struct rpl_trace *trace, struct rpl_why *why);

/*
 * Data type and shape of a tensor: "f32[16, 64, 112, 112]". Nothing where the trace has no tensor of this id, as for
 * workspaces.
 */
void rpl_shape_text(const struct rpl_trace *trace, uint32_t tensor, struct vs_text *out);

/*
 * A short name of a block: its parameter's or buffer's name ("layer1.0.conv1.weight"), which is the string id `name`;
 * where that is 0, what allocated it ("allocated by conv2d in layer1.0.conv1, line 25"). Of the block only tensor,
 * category and alloc_location are used.
 */
void rpl_block_text(const struct rpl_trace *trace, const struct rpl_block *block, uint32_t name,
                    struct vs_text *out);
/* The same of a block of which more is known: its title, if it has one. */
void rpl_why_text(const struct rpl_trace *trace, const struct rpl_why *why, struct vs_text *out);
/* The name of a block, NULL: it has none. Borrowed from the trace or `why`. */
const char *rpl_why_name(const struct rpl_trace *trace, const struct rpl_why *why);

#endif
