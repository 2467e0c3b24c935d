/*
 * engine/alloc/set.h - ordered sets whose nodes are members of their elements.
 *
 * For:            the allocator's free blocks, unmapped blocks and segments; recorded traces by address.
 * Must not know:  what the elements are.
 * Invariant:      in-order walks ascend by key; no two elements have the same key; order and content depend on the keys
 *                 only, never on addresses of the nodes.
 *
 * A treap: a search tree by key that is a heap by a priority computed from the key, so it is balanced whatever the
 * order of insertion. All operations are O(log n) expected and allocate nothing. The node must be the first member of
 * its element, so that one can be cast to the other.
 */
#ifndef ENG_ALLOC_SET_H
#define ENG_ALLOC_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

/* Compared lexicographically. */
struct eng_set_key {
    uint64_t word[3];
};

struct eng_set_node {
    struct eng_set_node *parent;
    struct eng_set_node *left;
    struct eng_set_node *right;
    struct eng_set_key key;
    uint32_t priority;
};

/* Zero-initialised: empty. */
struct eng_set {
    struct eng_set_node *root;
    size_t count;
};

/*
 * Inserts `node`, which must not be in any set, under `key` and returns NULL. If an element has that key already, that
 * element is returned and nothing changes.
 */
VS_MUST_USE struct eng_set_node *eng_set_put(struct eng_set *set, struct eng_set_node *node,
                                             struct eng_set_key key);
/* Inserts `node`, which must not be in any set, under `key`, which must not be in the set. */
void eng_set_insert(struct eng_set *set, struct eng_set_node *node, struct eng_set_key key);
/* Removes `node`, which must be in this set. */
void eng_set_remove(struct eng_set *set, struct eng_set_node *node);

/* The first element with a key >= `key`; the last one with a key <= `key`; NULL if there is none. */
struct eng_set_node *eng_set_ceil(const struct eng_set *set, const struct eng_set_key *key);
struct eng_set_node *eng_set_floor(const struct eng_set *set, const struct eng_set_key *key);
struct eng_set_node *eng_set_first(const struct eng_set *set);
struct eng_set_node *eng_set_last(const struct eng_set *set);

/* Neighbours in order; NULL past the ends. */
struct eng_set_node *eng_set_next(const struct eng_set_node *node);
struct eng_set_node *eng_set_prev(const struct eng_set_node *node);

#endif
