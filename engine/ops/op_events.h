/*
 * engine/ops/op_events.h - the events around the call of an op: its begin, what it reads, its end.
 *
 * For:            dispatch.c.
 * Must not know:  what any single op computes.
 * Invariant:      nothing is emitted without an observer; call these only with one.
 */
#ifndef ENG_OP_EVENTS_H
#define ENG_OP_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/core/engine.h"
#include "engine/core/op.h"

/*
 * op_begin, then a use of each tensor among `count` arguments. node_id: of the op's backward node, or 0; flops: its
 * arithmetic; inplace: it overwrites its first argument, which may be a list.
 */
void eng_emit_op_begin(struct eng *e, const char *name, uint64_t node_id, uint64_t flops,
                       const struct eng_arg *args, int count, bool inplace);
/* op_end. flops: the arithmetic that was done, 0 if the op failed. */
void eng_emit_op_end(struct eng *e, const char *name, uint64_t flops);

#endif
