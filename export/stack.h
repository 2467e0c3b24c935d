/*
 * export/stack.h - where the blocks that are alive at a position come from, as stacks of frames.
 *
 * For:            export/collapsed.c, export/speedscope.c: flame graphs of bytes.
 * Must not know:  how a stack is written.
 * Invariant:      every live block is in exactly one stack; the bytes of the stacks add up to what is allocated there.
 */
#ifndef EXP_STACK_H
#define EXP_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "export/export.h"

/* file: "" where there is none; line: 0 likewise. */
struct exp_frame {
    const char *name;
    const char *file;
    uint32_t line;
};

/*
 * frames  frame_count of them, outermost first: category, phase, the parts of the module's path, function and line, op, tensor; those
 *         that are not known are left out
 * bytes   of the blocks that have this stack
 */
struct exp_stack {
    const struct exp_frame **frames;
    size_t frame_count;
    uint64_t bytes;
};

/*
 * frames  frame_count different ones, in order of name, file and line; stacks: stack_count different ones, in order of their frames
 * seq     event that they are right after
 */
struct exp_stacks {
    struct exp_frame *frames;
    size_t frame_count;
    struct exp_stack *stacks;
    size_t stack_count;
    uint64_t seq;
    struct vs_arena *arena;
};

/* Those at `position`. Errors: as exp_position_seq, and those of reading the trace. `out` is released also after a failure. */
VS_MUST_USE enum vs_status exp_stacks_fill(struct exp_stacks *out, struct rpl_index *index,
                                           const struct exp_position *position,
                                           struct vs_error *err);
void exp_stacks_release(struct exp_stacks *stacks);

#endif
