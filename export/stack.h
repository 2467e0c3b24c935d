/*
 * export/stack.h - where the live blocks at a position were allocated, as stacks of frames.
 *
 * For:            export/collapsed.c, export/speedscope.c: flame graphs of bytes.
 * Must not know:  the output format.
 * Invariant:      every live block is in exactly one stack; the bytes of the stacks add up to the allocated bytes.
 */
#ifndef EXP_STACK_H
#define EXP_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "export/export.h"

/* A frame. file: "" if there is none; line: 0 if there is none. */
struct exp_frame {
    const char *name;
    const char *file;
    uint32_t line;
};

/*
 * A stack.
 *
 * frames  frame_count frames, outermost first: category, phase, the components of the module path, function and line,
 *         op, tensor; unknown ones are omitted
 * bytes   total size of the blocks with this stack
 */
struct exp_stack {
    const struct exp_frame **frames;
    size_t frame_count;
    uint64_t bytes;
};

/*
 * All stacks at a position.
 *
 * frames  frame_count different frames, sorted by name, file and line
 * stacks  stack_count different stacks, sorted by their frames
 * seq     the stacks are those right after this event
 * arena   owns the memory of the above
 */
struct exp_stacks {
    struct exp_frame *frames;
    size_t frame_count;
    struct exp_stack *stacks;
    size_t stack_count;
    uint64_t seq;
    struct vs_arena *arena;
};

/* Compute the stacks at `position`. Errors: those of exp_position_seq and of reading the trace. Call
 * exp_stacks_release on `out` after a failure, too. */
VS_MUST_USE enum vs_status exp_stacks_fill(struct exp_stacks *out, struct rpl_index *index,
                                           const struct exp_position *position,
                                           struct vs_error *err);
void exp_stacks_release(struct exp_stacks *stacks);

#endif
