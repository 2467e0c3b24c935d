/*
 * lang/run/plan_pass.h - what one pass through a net did: calls of modules, and memory and cost between their ends.
 *
 * For:            lang/run/plan_chain.c, which makes a chain of stages of it.
 * Must not know:  stages, placements of checkpoints.
 * Invariant:      describes the last forward that was begun, and the backward that followed it.
 *
 * A mark is where the call of a module begins or ends. Section k lies between mark k and mark k + 1; the last section
 * goes on to the beginning of backward. A backward op belongs to the section whose op it is the gradient of.
 */
#ifndef LANG_PLAN_PASS_H
#define LANG_PLAN_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/event.h"
#include "engine/core/observer.h"
#include "engine/core/tensor.h"

/* Operations that count as much as one byte read or written: see docs/internals/planner.md. */
#define LANG_PLAN_BYTE_COST 16.0

/*
 * A tensor at a mark; all 0: none. id: number of the tensor object; block: of its storage; version: how often that
 * was written in place.
 */
struct lang_pass_tensor {
    uint64_t id;
    uint64_t block;
    uint32_t version;
};

/*
 * path   of the module, owned; NULL at the end of a call
 * input  the only argument of the call, at both its ends; none where there is not exactly one, a tensor
 * output what it returned, at its end; none where it is no tensor
 */
struct lang_pass_mark {
    char *path;
    struct lang_pass_tensor input;
    struct lang_pass_tensor output;
};

/*
 * start, peak, end   bytes alive when it begins, at most, and when it ends
 * cost        of its ops; flops: their arithmetic
 * tail        cost of the ops after the last tensor that was saved, which includes an op that saved only its inputs;
 *             all of `cost` where nothing was saved (!is_saving); tail_flops: their arithmetic
 * saved       bytes that ops computed whose results a selective checkpoint keeps; saved_…: of their cost
 * ops         number of ops
 * back_peak   most that is alive during its backward; 0: it has none
 * gradients   bytes that its backward allocated and that remain after backward
 */
struct lang_pass_section {
    uint64_t start;
    uint64_t peak;
    uint64_t end;
    double cost;
    double tail;
    double flops;
    double tail_flops;
    uint64_t saved;
    double saved_cost;
    double saved_tail;
    double saved_flops;
    double saved_tail_flops;
    bool is_saving;
    uint32_t ops;
    uint64_t back_peak;
    uint64_t gradients;
};

/* The first backward node of a section's ops. */
struct lang_pass_node {
    uint64_t node;
    uint32_t section;
};

/* An event of a block in a section: an op read it, or it was freed. */
struct lang_pass_event {
    uint64_t block;
    uint32_t section;
};

struct lang_pass {
    struct lang_pass_mark *marks;
    size_t mark_count, mark_cap;
    struct lang_pass_section *sections;
    size_t section_count, section_cap;
    struct lang_pass_event *reads;
    size_t read_count, read_cap;
    struct lang_pass_event *frees;
    size_t free_count, free_cap;
    struct lang_pass_node *nodes;
    size_t node_count, node_cap;
    uint64_t *bytes; /* of each block, by number */
    size_t block_count;
    uint32_t *owner;   /* section + 1 whose backward allocated the block; 0: none */
    uint64_t ops_hash; /* of the forward ops of the run and their order */
    /* while it is being filled */
    uint64_t alive;
    uint64_t written;  /* bytes allocated by the current op */
    uint64_t read;     /* bytes read by it */
    uint64_t before;   /* alive when it began */
    bool is_late_save; /* it saved something that it allocated */
    bool is_early_save;
    uint32_t depth; /* calls of modules */
    uint32_t open_ops;
    uint32_t recompute; /* re-runs of checkpoints */
    bool is_forward;
    bool is_backward;
    uint32_t at; /* section of the current event */
};

/* An observer that fills *pass, which is zeroed, outlives the run and is released by the caller. */
struct eng_observer lang_pass_observer(struct lang_pass *pass);
void lang_pass_release(struct lang_pass *pass);

/* Notes that the module at `path` is called, with an argument or NULL, and that the call ends. Both are borrowed. */
void lang_pass_enter(struct lang_pass *pass, const char *path, const struct eng_tensor *input);
void lang_pass_exit(struct lang_pass *pass, const struct eng_tensor *input,
                    const struct eng_tensor *output);

/* Bytes of a block of the run, as the allocator counts them; 0 for block 0. */
uint64_t lang_pass_bytes(const struct lang_pass *pass, uint64_t block);

#endif
