/*
 * lang/syntax/strs.h - the strings of one net file, each kept once.
 *
 * For:            the parser: names and literals become struct lang_str with dense ids.
 * Must not know:  what the strings mean.
 * Invariant:      equal strings are one object; ids count from 0 without gaps.
 */
#ifndef LANG_STRS_H
#define LANG_STRS_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/table.h"
#include "lang/syntax/ast.h"

/*
 * arena  owns the strings; the table itself is on the heap until released
 * items  by id, `count` of them
 */
struct lang_strs {
    struct vs_arena *arena;
    const struct lang_str **items;
    size_t count;
    size_t cap;
    struct vs_table by_hash;
};

void lang_strs_init(struct lang_strs *strs, struct vs_arena *arena);
void lang_strs_release(struct lang_strs *strs);

/* The one string equal to these `len` bytes (under 4 GiB); they are copied when new. */
const struct lang_str *lang_strs_get(struct lang_strs *strs, const char *text, size_t len);

/* The strings by id, copied into the arena: outlives the table. */
const struct lang_str **lang_strs_list(const struct lang_strs *strs);

#endif
