/*
 * import/between.h - events of a trace for what a program did between the events of the allocator, as it was observed:
 * ops, uses, what autograd saves, gradients, casts, second runs of checkpoints.
 *
 * For:            import/derive.c.
 * Must not know:  phases, steps, locations: the caller sets those.
 * Invariant:      categories change as the engine changes them (engine/core/storage.c); no event is about a block that
 *                 is not in use.
 */
#ifndef IMP_BETWEEN_H
#define IMP_BETWEEN_H

#include "import/import.h"

/* saves, inputs: how often autograd and checkpoints hold it. tensor, category: as in the trace. */
struct imp_between_block {
    uint32_t saves;
    uint32_t inputs;
    uint32_t tensor;
    uint8_t category;
    bool is_alive;
};

/*
 * blocks: by block - 1. block_of: by event of the list, the block that it allocated; 0: none yet.
 */
struct imp_between {
    struct imp_import *import;
    const struct vs_memlist *list;
    struct imp_between_block *blocks;
    size_t block_count;
    uint64_t *block_of;
};

/* Both borrowed. The caller releases it. */
void imp_between_init(struct imp_between *between, struct imp_import *import,
                      const struct vs_memlist *list);
void imp_between_release(struct imp_between *between);

/* An event of the allocator was added, made from event `at` of the list (SIZE_MAX: none). */
void imp_between_note(struct imp_between *between, size_t at, const struct vs_event *event);

/* The events for one thing that was done; returns how many of `out` were filled, none where its block is gone. */
#define IMP_BETWEEN_MAX 2
size_t imp_between_events(struct imp_between *between, const struct vs_mem_did *did,
                          struct vs_event out[IMP_BETWEEN_MAX]);

/* Whether an allocation of the list is a copy that autocast made, and whether it became the `.grad` of a parameter. */
enum { IMP_BETWEEN_CAST = 1, IMP_BETWEEN_GRADIENT = 2 };
/* By event of the list, these flags. The caller frees it. */
uint8_t *imp_between_flags(const struct vs_memlist *list);

#endif
