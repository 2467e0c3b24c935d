/*
 * replay/inspect/alive.h - why is it alive, and need it be: answers at the cursor, at once.
 *
 * For:            the why view, the blocks view, the peak page.
 * Must not know:  drawing.
 * Invariant:      the same answers as replay/inspect/why.h, replay/inspect/kept.h and replay/inspect/leak.h give, which read the whole trace.
 */
#ifndef RPL_ALIVE_H
#define RPL_ALIVE_H

#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/index/cursor.h"
#include "replay/inspect/kept.h"
#include "replay/inspect/leak.h"
#include "replay/inspect/why.h"

/*
 * As rpl_why_fill for one block at the cursor's event: why->id is set, the other members are zero or of a call before. The caller
 * releases it. Every member is filled; the first use after the event may cost reading a chunk.
 */
VS_MUST_USE enum vs_status rpl_alive_why(struct rpl_cursor *cursor, struct rpl_why *why,
                                         struct vs_error *err);

/*
 * As rpl_kept_fill at the cursor's event, which is not 0: who is alive although nothing will read it, the largest first, and with each by
 * how much the trace's peak would fall if it went right after its last use.
 */
VS_MUST_USE enum vs_status rpl_alive_kept(struct rpl_cursor *cursor, struct rpl_kept_list *out,
                                          struct vs_error *err);

/* As rpl_leak_fill: what the training steps left behind for good. Costs a seek to the end of the last whole step; no cursor moves. */
VS_MUST_USE enum vs_status rpl_alive_leak(struct rpl_index *index, struct rpl_leak *out,
                                          struct vs_error *err);

#endif
