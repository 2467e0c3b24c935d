/*
 * lang/syntax/strs.h - the interned strings of one net file.
 *
 * For:            the parser: names and literals become struct lang_str with dense ids.
 * Must not know:  how the strings are used.
 * Invariant:      equal strings are one object; ids are dense and start at 0.
 */
#ifndef LANG_STRS_H
#define LANG_STRS_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/table.h"
#include "lang/syntax/ast.h"

/*
 * arena  owns the strings; the table itself is on the heap
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

/* The string equal to these `len` bytes (under 4 GiB), which are copied if it is new. Owned by the arena. */
const struct lang_str *lang_strs_get(struct lang_strs *strs, const char *text, size_t len);

/* An array of the strings by id, in the arena, which remains valid after lang_strs_release(). */
const struct lang_str **lang_strs_list(const struct lang_strs *strs);

#endif
