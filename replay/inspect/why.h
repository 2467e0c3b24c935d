/*
 * replay/inspect/why.h - why is this block still alive? Everyone who holds it, when it was read, when it goes.
 *
 * For:            the report, the TUI's why-alive view.
 * Must not know:  how the answer is shown, other than in one sentence a holder.
 * Invariant:      a holder is named that took hold before the event and has not let go by then; no other.
 */
#ifndef RPL_WHY_H
#define RPL_WHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"
#include "base/text.h"
#include "replay/state/holders.h"
#include "replay/state/live.h"
#include "replay/trace/trace.h"

/*
 * id                 set by the caller; the rest is filled
 * is_alive           at the event; otherwise all below is zero
 * block              as it was right after the event
 * name               string id of the parameter or buffer name; 0: it has none
 * holders            holder_count of them, in the order in which they took hold
 * next_use_seq       first time it is read after the event; 0: never
 * free_seq           when it is given back; 0: not in this trace
 */
struct rpl_why {
    uint64_t id;
    bool is_alive;
    struct rpl_block block;
    uint32_t name;
    struct rpl_holder *holders;
    size_t holder_count;
    size_t holder_cap;
    uint64_t next_use_seq;
    uint64_t free_seq;
    uint32_t next_use_location;
    uint32_t free_location;
};

/*
 * Answer for `count` blocks right after event `at`; whys[i].id says which, each a different one, the other members are zero.
 * Reads the trace once. Errors: those of reading it. The caller releases every one, also after a failure.
 */
VS_MUST_USE enum vs_status rpl_why_fill(struct rpl_trace *trace, uint64_t at, struct rpl_why *whys,
                                        size_t count, struct vs_error *err);
void rpl_why_release(struct rpl_why *why);

/* One sentence without a full stop: "local `x0` of `Net.forward`, line 14". */
void rpl_holder_text(const struct rpl_trace *trace, const struct rpl_holder *holder,
                     struct vs_text *out);
/* "f32[16, 64, 112, 112]" for a tensor's block, "" for a workspace. */
void rpl_shape_text(const struct rpl_trace *trace, uint32_t tensor, struct vs_text *out);
/*
 * The best short name of a block: "layer1.0.conv1.weight", or "conv2d result of layer1.0.conv1, line 25",
 * from where it was made.
 */
void rpl_block_text(const struct rpl_trace *trace, const struct rpl_why *why, struct vs_text *out);

#endif
