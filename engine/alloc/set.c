/*
 * engine/alloc/set.c - ordered sets as treaps with parent links.
 *
 * For:            engine/alloc/set.h.
 * Must not know:  what the elements are.
 * Invariant:      left < node < right by key; no child has a higher priority than its parent.
 */
#include "engine/alloc/set.h"

#include "base/error.h"

/* Unrolled, because about a dozen keys are compared for each block that is freed. */
static inline bool is_less(const struct eng_set_key *a, const struct eng_set_key *b)
{
    if (a->word[0] != b->word[0])
        return a->word[0] < b->word[0];
    if (a->word[1] != b->word[1])
        return a->word[1] < b->word[1];
    return a->word[2] < b->word[2];
}

/* A mix of the key's words (multiply and fold), so that runs of neighbouring keys get unrelated priorities. */
static uint32_t key_priority(const struct eng_set_key *key)
{
    uint64_t h = key->word[0] * UINT64_C(0x9e3779b97f4a7c15);

    h = (h ^ (h >> 32) ^ key->word[1]) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ (h >> 29) ^ key->word[2]) * UINT64_C(0x94d049bb133111eb);
    h ^= h >> 32;
    return (uint32_t)(h * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* Puts `child` in the position of `old` below old's parent. */
static void replace(struct eng_set *set, struct eng_set_node *old, struct eng_set_node *child)
{
    struct eng_set_node *parent = old->parent;

    if (!parent)
        set->root = child;
    else if (parent->left == old)
        parent->left = child;
    else
        parent->right = child;
    if (child)
        child->parent = parent;
}

/* Moves `node` above its parent, keeping the order. */
static void rotate_up(struct eng_set *set, struct eng_set_node *node)
{
    struct eng_set_node *parent = node->parent;

    replace(set, parent, node);
    if (parent->left == node) {
        parent->left = node->right;
        if (node->right)
            node->right->parent = parent;
        node->right = parent;
    } else {
        parent->right = node->left;
        if (node->left)
            node->left->parent = parent;
        node->left = parent;
    }
    parent->parent = node;
}

struct eng_set_node *eng_set_put(struct eng_set *set, struct eng_set_node *node,
                                 struct eng_set_key key)
{
    struct eng_set_node **link = &set->root;
    struct eng_set_node *parent = NULL;

    while (*link) {
        const struct eng_set_key *at = &(*link)->key;

        parent = *link;
        if (key.word[0] != at->word[0])
            link = key.word[0] < at->word[0] ? &parent->left : &parent->right;
        else if (key.word[1] != at->word[1])
            link = key.word[1] < at->word[1] ? &parent->left : &parent->right;
        else if (key.word[2] != at->word[2])
            link = key.word[2] < at->word[2] ? &parent->left : &parent->right;
        else
            return parent;
    }
    node->key = key;
    node->priority = key_priority(&key);
    node->left = node->right = NULL;
    *link = node;
    node->parent = parent;
    while (node->parent && node->priority > node->parent->priority)
        rotate_up(set, node);
    set->count++;
    return NULL;
}

void eng_set_insert(struct eng_set *set, struct eng_set_node *node, struct eng_set_key key)
{
    const struct eng_set_node *other = eng_set_put(set, node, key);

    VS_ASSERT(!other);
}

void eng_set_remove(struct eng_set *set, struct eng_set_node *node)
{
    VS_ASSERT(set->count > 0 && (node->parent || set->root == node));
    while (node->left && node->right)
        rotate_up(set, node->left->priority > node->right->priority ? node->left : node->right);
    replace(set, node, node->left ? node->left : node->right);
    node->parent = node->left = node->right = NULL;
    set->count--;
}

struct eng_set_node *eng_set_ceil(const struct eng_set *set, const struct eng_set_key *key)
{
    struct eng_set_node *best = NULL;

    for (struct eng_set_node *at = set->root; at;) {
        if (!is_less(&at->key, key)) {
            best = at;
            at = at->left;
        } else {
            at = at->right;
        }
    }
    return best;
}

struct eng_set_node *eng_set_floor(const struct eng_set *set, const struct eng_set_key *key)
{
    struct eng_set_node *best = NULL;

    for (struct eng_set_node *at = set->root; at;) {
        if (!is_less(key, &at->key)) {
            best = at;
            at = at->right;
        } else {
            at = at->left;
        }
    }
    return best;
}

struct eng_set_node *eng_set_first(const struct eng_set *set)
{
    struct eng_set_node *at = set->root;

    while (at && at->left)
        at = at->left;
    return at;
}

struct eng_set_node *eng_set_last(const struct eng_set *set)
{
    struct eng_set_node *at = set->root;

    while (at && at->right)
        at = at->right;
    return at;
}

struct eng_set_node *eng_set_next(const struct eng_set_node *node)
{
    if (node->right) {
        struct eng_set_node *at = node->right;

        while (at->left)
            at = at->left;
        return at;
    }
    while (node->parent && node->parent->right == node)
        node = node->parent;
    return node->parent;
}

struct eng_set_node *eng_set_prev(const struct eng_set_node *node)
{
    if (node->left) {
        struct eng_set_node *at = node->left;

        while (at->right)
            at = at->right;
        return at;
    }
    while (node->parent && node->parent->left == node)
        node = node->parent;
    return node->parent;
}
