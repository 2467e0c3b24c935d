/*
 * engine/moment_internal.h - what a moment consists of.
 *
 * For:            engine/moment.c, engine/repeat.c.
 * Must not know:  the net language.
 * Invariant:      things of two equal moments are the same in the same order, by other numbers.
 */
#ifndef ENG_MOMENT_INTERNAL_H
#define ENG_MOMENT_INTERNAL_H

#include "engine/engine_internal.h"
#include "engine/moment.h"

enum moment_kind { THING_TENSOR, THING_STORAGE, THING_NODE, THING_KIND_COUNT };

/* id: of the tensor, the block, the node, in the trace; 0: it has none. block: of a storage */
struct moment_thing {
    enum moment_kind kind;
    union {
        struct eng_tensor *tensor;
        struct eng_storage *storage;
        struct eng_node *node;
    } as;
    uint64_t id;
    struct eng_block *block;
};

/* What a number of before is called now, by that number; 0: it is called nothing. */
struct moment_names {
    uint64_t *now;
    size_t count;
};

/*
 * words, things    what it is like; see moment.h
 * numbered         things by their numbers, and slots: these numbers by the things' addresses (0 is free; a power of two, at most half full);
 *                  until it is closed
 * events           told before it; *_ids: given away before it
 * is_odd           something of it cannot be compared
 * names, blocks    of the earlier of two moments while what is between them is told again: by kind, of its things; blocks by their numbers
 */
struct eng_moment {
    struct eng_words words; /* first: see eng_moment_put */
    struct eng *e;
    const struct eng_told *told;
    uint32_t *slots;
    size_t slot_count;
    const void **numbered;
    uint32_t numbers;
    struct moment_thing *things;
    size_t thing_count;
    size_t thing_cap;
    uint64_t events;
    uint64_t tensor_ids;
    uint64_t block_ids;
    uint64_t node_ids;
    struct eng_counters counters;
    bool is_odd;
    struct moment_names names[THING_KIND_COUNT];
    struct eng_block **blocks;
    size_t block_cap;
};

#endif
