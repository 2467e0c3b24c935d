/*
 * base/recorded/callstack.h - the call stacks of a recording, each distinct one once.
 *
 * For:            store/ fills it while it reads a snapshot, import/ derives from it what the recording does not say.
 * Must not know:  what a stack means; how it was written.
 * Invariant:      equal frames have equal numbers, equal stacks have equal numbers; both count from 1, 0 is none.
 *
 * Only Python's frames are kept. Of the others, thousands of which are C++ symbols, a stack keeps what they say in sum: the op and the
 * flags.
 */
#ifndef VS_BASE_CALLSTACK_H
#define VS_BASE_CALLSTACK_H

#include <stddef.h>
#include <stdint.h>

#include "base/table.h"

/* Whose code a frame is: the user's, PyTorch's own, another package's, Python's library, or text a compiler generated. */
enum vs_frame_kind {
    VS_FRAME_USER,
    VS_FRAME_TORCH,
    VS_FRAME_PACKAGE,
    VS_FRAME_STDLIB,
    VS_FRAME_GENERATED
};

/* func, file: strings of the list. file: of PyTorch and packages the path below site-packages ("torch/nn/modules/module.py"), else the base name. */
struct vs_frame {
    uint32_t func;
    uint32_t file;
    uint32_t line;
    uint8_t kind;
};

/* The model's own path is empty, which a frame's name is not. And the file of such a frame; of a path that an import derived itself. */
#define VS_STACK_MODEL "(model)"
#define VS_STACK_MODULE_FILE "module"
#define VS_STACK_DERIVED_FILE "derived module"

enum {
    VS_STACK_HAS_CPP = 1,     /* C++ frames were recorded */
    VS_STACK_ENGINE = 2,      /* autograd's engine runs */
    VS_STACK_RELEASE = 4,     /* a node lets go of what it saved */
    VS_STACK_CAST = 8,        /* autocast converts an argument */
    VS_STACK_SET_DATA = 16,   /* `tensor.data = …` */
    VS_STACK_SET_GRAD = 32,   /* `tensor.grad = …` */
    VS_STACK_ACCUMULATE = 64, /* the node that keeps a .grad */
    VS_STACK_INSIDE_OP = 128  /* an op is running */
};

/*
 * first: of its frames in the pool, innermost first. op: string, "op" or "Node/op". module: string, the path that a frame of `vramscope export` names,
 * VS_STACK_MODEL for the model itself; 0: none does. cls: enum vs_mem_class.
 */
struct vs_callstack {
    size_t first;
    uint32_t count;
    uint32_t op;
    uint32_t module;
    uint8_t cls;
    uint8_t flags;
};

/* Zeroed is empty. Items are number - 1. */
struct vs_callstacks {
    struct vs_frame *frames;
    size_t frame_count, frame_cap;
    struct vs_callstack *items;
    size_t count, cap;
    uint32_t *pool; /* numbers of frames */
    size_t pool_count, pool_cap;
    struct vs_table frames_by_hash, items_by_hash;
};

void vs_callstacks_release(struct vs_callstacks *stacks);

/* The number of an equal frame or stack, which is added where there is none. `about` without first and count; frames: of Python, by number. */
uint32_t vs_callstacks_frame(struct vs_callstacks *stacks, const struct vs_frame *frame);
uint32_t vs_callstacks_add(struct vs_callstacks *stacks, const uint32_t *frames, size_t count,
                           const struct vs_callstack *about);

/* id: from 1. Borrowed until the next one is added. */
const struct vs_callstack *vs_callstacks_get(const struct vs_callstacks *stacks, uint32_t id);
/* Frame `i` of a stack, 0 the innermost; i < stack->count. */
const struct vs_frame *vs_callstacks_at(const struct vs_callstacks *stacks,
                                        const struct vs_callstack *stack, size_t i);

#endif
