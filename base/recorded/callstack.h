/*
 * base/recorded/callstack.h - the call stacks of a recording, without duplicates.
 *
 * For:            recording/ fills the list while it reads a snapshot; import/ derives modules and phases from it.
 * Must not know:  what a stack means; the file format it was read from.
 * Invariant:      equal frames have equal ids, and so have equal stacks; ids begin at 1, and 0 means "none".
 *
 * Only Python frames are kept. Of the other frames (thousands of C++ symbols) a stack keeps a summary: the op and the
 * flags.
 */
#ifndef VS_BASE_CALLSTACK_H
#define VS_BASE_CALLSTACK_H

#include <stddef.h>
#include <stdint.h>

#include "base/table.h"

/*
 * Whose code a frame belongs to: the user's program, PyTorch, another package, Python's standard library, or source
 * text that a compiler generated.
 */
enum vs_frame_kind {
    VS_FRAME_USER,
    VS_FRAME_TORCH,
    VS_FRAME_PACKAGE,
    VS_FRAME_STDLIB,
    VS_FRAME_GENERATED
};

/*
 * func, file  string ids of the list that owns the stacks. file is the path below site-packages for PyTorch and other
 *             packages ("torch/nn/modules/module.py"), else the base name
 * line        from 1
 * kind        enum vs_frame_kind
 */
struct vs_frame {
    uint32_t func;
    uint32_t file;
    uint32_t line;
    uint8_t kind;
};

/*
 * VS_STACK_MODEL stands for the model's own module path, which is empty (a frame's name cannot be empty). The other
 * two are the file names of frames that name a module: one recorded by `vramscope export`, and one that an import
 * derived.
 */
#define VS_STACK_MODEL "(model)"
#define VS_STACK_MODULE_FILE "module"
#define VS_STACK_DERIVED_FILE "derived module"

enum {
    VS_STACK_HAS_CPP = 1,     /* C++ frames were recorded */
    VS_STACK_ENGINE = 2,      /* autograd's engine runs */
    VS_STACK_RELEASE = 4,     /* a node releases its saved tensors */
    VS_STACK_CAST = 8,        /* autocast converts an argument */
    VS_STACK_SET_DATA = 16,   /* `tensor.data = ...` is running */
    VS_STACK_SET_GRAD = 32,   /* `tensor.grad = ...` is running */
    VS_STACK_ACCUMULATE = 64, /* the node that accumulates a .grad is running */
    VS_STACK_INSIDE_OP = 128  /* an op is running */
};

/*
 * first   index in vs_callstacks.pool of the innermost frame; the others follow, outermost last
 * count   how many frames
 * op      string id of "op" or "Node/op"; 0 if unknown
 * module  string id of the module path that a frame from `vramscope export` names, VS_STACK_MODEL for the model
 *         itself; 0 if no frame names one
 * cls     enum vs_mem_class
 * flags   VS_STACK_*, or-ed
 */
struct vs_callstack {
    size_t first;
    uint32_t count;
    uint32_t op;
    uint32_t module;
    uint8_t cls;
    uint8_t flags;
};

/* All stacks and frames of one recording. A zero-initialised list is empty. Ids are index + 1. */
struct vs_callstacks {
    struct vs_frame *frames;
    size_t frame_count, frame_cap;
    struct vs_callstack *items;
    size_t count, cap;
    uint32_t *pool; /* ids of the frames of all stacks */
    size_t pool_count, pool_cap;
    struct vs_table frames_by_hash, items_by_hash;
};

void vs_callstacks_release(struct vs_callstacks *stacks);

/*
 * Return the id of an equal frame or stack; if there is none, a copy is added first. `about` describes the stack; its
 * fields first and count are ignored. `frames`: ids of `count` Python frames, innermost first.
 */
uint32_t vs_callstacks_frame(struct vs_callstacks *stacks, const struct vs_frame *frame);
uint32_t vs_callstacks_add(struct vs_callstacks *stacks, const uint32_t *frames, size_t count,
                           const struct vs_callstack *about);

/* The stack with this id (not 0). Borrowed until the next one is added. */
const struct vs_callstack *vs_callstacks_get(const struct vs_callstacks *stacks, uint32_t id);
/*
 * Frame `i` of a stack, counted from the innermost; i < stack->count. Borrowed until the next frame is added.
 */
const struct vs_frame *vs_callstacks_at(const struct vs_callstacks *stacks,
                                        const struct vs_callstack *stack, size_t i);

#endif
